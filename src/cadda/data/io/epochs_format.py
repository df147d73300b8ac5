"""Which channels epochs are read with whose labels are apart, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cadda.data.channels import find_channels, measured_positions
from cadda.exceptions import DataError

__all__ = ["EpochsFormat"]


@dataclass(frozen=True, eq=False)
class EpochsFormat:
    """Channels and sampling rate of epochs, by which others are read in the same way."""

    ch_names: tuple[str, ...]
    sfreq: float
    positions: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, parts: Sequence[Any]) -> Self:
        """Take the EEG channels that are bad in none of the epochs, as `read_windows` does."""
        first = parts[0]
        bads = {name for part in parts for name in part.info["bads"]}
        rows = [
            row
            for row, (name, kind) in enumerate(
                zip(first.ch_names, first.get_channel_types(), strict=True)
            )
            if kind == "eeg" and name not in bads
        ]
        if not rows:
            raise DataError(
                f"none of the channels {list(first.ch_names)} of the epochs is a good EEG "
                "channel; set their types with epochs.set_channel_types."
            )
        positions = measured_positions(first.info)
        return cls(
            tuple(first.ch_names[row] for row in rows),
            float(first.info["sfreq"]),
            None if positions is None else positions[rows],
        )

    def read(self, parts: Sequence[Any]) -> NDArray[np.floating]:
        """Return the signals of these channels, whatever their order, of all epochs.

        Epochs with another sampling rate or length, and those that lack a channel, are an error.
        """
        picks: dict[tuple[str, ...], list[str]] = {}
        signals = []
        for part in parts:
            if float(part.info["sfreq"]) != self.sfreq:
                raise DataError(
                    f"all epochs must have a sampling rate of {self.sfreq:g} Hz, got "
                    f"{part.info['sfreq']:g} Hz; resample them with epochs.resample."
                )
            names = tuple(part.ch_names)
            if names not in picks:
                picks[names] = list(
                    find_channels(
                        self.ch_names, names, "one of them", given_as="each channel of all epochs"
                    )
                )
            signals.append(_projected(part).get_data(picks=picks[names], verbose="error"))
        lengths = {signal.shape[-1] for signal in signals}
        if len(lengths) > 1:
            raise DataError(
                f"all epochs must have the same length, got {sorted(lengths)} samples."
            )
        return np.concatenate(signals)


def _projected(epochs: Any) -> Any:
    """Return epochs with their projectors applied, as MNE does by default."""
    if epochs.proj or not epochs.info["projs"]:
        return epochs
    return epochs.copy().apply_proj(verbose="error")
