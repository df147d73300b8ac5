"""What to read from recordings and what to do to it, known before any signal is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cadda._internal.validation import Positive, validated_dataclass

__all__ = ["Preprocessing", "ReadPlan", "Recording"]


@validated_dataclass
class Preprocessing:
    """What is done to a recording before it is cut; the defaults are those of the paper.

    Parameters
    ----------
    lowpass : float | None
        Edge of the pass band in Hz; None does not filter.
    transition : float
        Width of the transition band above it in Hz.
    sfreq : float | None
        Sampling rate to resample to in Hz; None keeps that of the recording.
    seconds : float
        Length of a window.
    """

    lowpass: Positive | None = 30.0
    transition: Positive = 7.0
    sfreq: Positive | None = None
    seconds: Positive = 30.0

    def rate(self, sfreq: float) -> float:
        """Give the sampling rate of the windows.

        Parameters
        ----------
        sfreq : float
            Sampling rate of the recording in Hz.

        Returns
        -------
        float
            Sampling rate in Hz.
        """
        return sfreq if self.sfreq is None else float(self.sfreq)


@dataclass(frozen=True, eq=False)
class Recording:
    """One EDF file and the windows to cut from it."""

    path: Path
    picks: tuple[str, ...]
    sfreq: float
    starts: NDArray[np.float64]
    labels: NDArray[np.int64]
    subject: str
    name: str


@dataclass(frozen=True, eq=False)
class ReadPlan:
    """What to read from a folder of recordings, known before any signal is read."""

    recordings: list[Recording]
    ch_names: tuple[str, ...]
    class_names: tuple[str, ...]
    preprocessing: Preprocessing
