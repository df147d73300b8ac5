"""Where the windows of a study come from, and what identifies them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TypeAlias

from pydantic import JsonValue

from cadda.data.simulation.nights import Night, nights_to_windows, simulate_nights
from cadda.data.windows import Windows
from cadda.runs.folder import digest_of

__all__ = ["DataInfo", "Reader", "describe_data", "is_simulated", "simulate"]

MONTAGES = {"simulated": "physionet", "simulated-mass": "mass"}
"""Names of simulated data, and their montages."""

Reader: TypeAlias = Callable[[str | Windows], Windows]
"""Reads a path, or selects from windows, with the user's options."""


def is_simulated(data: str) -> bool:
    """Check whether a name is one of simulated data, not a path."""
    return data in MONTAGES


def simulate(
    data: str,
    n_subjects: int,
    n_windows: int,
    *,
    seed: int,
    on_progress: Callable[[int, int, str], None],
) -> Windows:
    """Simulate sleep as `cadda.simulate_sleep` does, reporting each subject."""

    def reported() -> Iterator[Night]:
        on_progress(0, n_subjects, "sleep")
        nights = simulate_nights(n_subjects, n_windows, montage=MONTAGES[data], seed=seed)
        for done, night in enumerate(nights, start=1):
            yield night
            on_progress(done, n_subjects, night.subject)

    return nights_to_windows(reported())


@dataclass(frozen=True)
class DataInfo:
    """What identifies data: a name and a summary for people, the rest for keys of results."""

    name: str
    summary: str
    digest: str
    sfreq: float
    ch_names: tuple[str, ...]
    class_names: tuple[str, ...]

    def result_key(self) -> dict[str, JsonValue]:
        """Return what results depend on: all but the name and the summary."""
        plain = self.to_dict()
        del plain["name"], plain["summary"]
        return plain

    def to_dict(self) -> dict[str, JsonValue]:
        """Return all as plain values."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }


def describe_data(windows: Windows, name: str, summary: str) -> DataInfo:
    """Collect what identifies windows."""
    return DataInfo(
        name=name,
        summary=summary,
        digest=digest_of(windows),
        sfreq=windows.sfreq,
        ch_names=windows.ch_names,
        class_names=windows.class_names,
    )
