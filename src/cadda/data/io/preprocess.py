"""From a recording to windows: low-pass, resample and cut, a piece at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.text import short_reason
from cadda._internal.validation import Positive, validated_dataclass
from cadda.data.checks import WindowQuality, assess_windows
from cadda.exceptions import DataError

__all__ = ["Preprocessing", "ReadPlan", "Recording", "cut_recording"]

_PIECE_SAMPLES = 1 << 20
"""Samples of all channels together that are filtered at once: 8 MiB as float64."""


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
        """Return the sampling rate of the windows.

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
    picks: tuple[str, ...]  # channels, as the file names them
    sfreq: float
    starts: NDArray[np.float64]  # seconds from the start of the file, ascending
    labels: NDArray[np.int64]
    subject: str
    name: str


@dataclass(frozen=True, eq=False)
class ReadPlan:
    """What to read from recordings, known before any signal is read."""

    recordings: list[Recording]
    ch_names: tuple[str, ...]  # as the user names them
    class_names: tuple[str, ...]
    preprocessing: Preprocessing


def cut_recording(
    recording: Recording, preprocessing: Preprocessing
) -> tuple[NDArray[np.float32], WindowQuality]:
    """Return the windows of one recording in volts, and their quality before filtering.

    The file is read a piece at a time, with enough signal on both sides that every sample is
    as if the whole recording had been filtered.
    """
    raw = _open(recording)
    rate = preprocessing.rate(recording.sfreq)
    shape = (len(recording.starts), len(recording.picks), round(preprocessing.seconds * rate))
    x = np.empty(shape, dtype=np.float32)
    quality = WindowQuality(
        np.empty(len(x), dtype=bool), np.empty(len(x), dtype=bool), np.empty(shape[:2])
    )
    for part, first, last in _pieces(recording, preprocessing, raw.n_times):
        piece = _cut_piece(raw, recording, preprocessing, (part, first, last), x[part])
        quality.bad[part], quality.clipped[part] = piece.bad, piece.clipped
        quality.spread[part] = piece.spread
    return x, quality


def _cut_piece(
    raw: Any,
    recording: Recording,
    preprocessing: Preprocessing,
    piece: tuple[slice, int, int],
    out: NDArray[np.float32],
) -> WindowQuality:
    """Write the windows of one piece to `out`; its signal is released afterwards."""
    part, first, last = piece
    starts, sfreq = recording.starts[part], recording.sfreq
    rate = preprocessing.rate(sfreq)
    signal = raw.get_data(picks=list(recording.picks), start=first, stop=last, verbose="error")
    n_raw = min(round(preprocessing.seconds * sfreq), last - first)
    quality = assess_windows(_cut(signal, np.rint(starts * sfreq).astype(int) - first, n_raw))
    signal = _filtered(signal, recording, preprocessing)
    origin = int(first * _ratio(sfreq, rate))
    out[:] = _cut(signal, np.rint(starts * rate).astype(int) - origin, out.shape[-1])
    return quality


def _open(recording: Recording) -> Any:
    import mne

    with warnings.catch_warnings():
        # About units and filters that the header lacks, and that are not used here.
        warnings.simplefilter("ignore")
        try:
            return mne.io.read_raw_edf(
                recording.path,
                include=list(recording.picks),
                preload=False,
                # Any bytes are fine: annotations are not used here.
                encoding="latin1",
                verbose="error",
            )
        # MNE raises whatever the first surprise in the file leads to.
        except Exception as error:
            raise DataError(f"cannot read {recording.path}: {short_reason(error)}.") from error


def _ratio(sfreq: float, rate: float) -> Fraction:
    """Return new samples per old one; over a day, the error is below a millisecond."""
    return Fraction(rate / sfreq).limit_denominator(20_000)


def _pieces(
    recording: Recording, preprocessing: Preprocessing, n_times: int
) -> Iterator[tuple[slice, int, int]]:
    """Yield windows that are close to each other, and the samples to read for them."""
    sfreq, starts = recording.sfreq, recording.starts
    step = _ratio(sfreq, preprocessing.rate(sfreq)).denominator
    # Half the length of MNE's filters, the reach of the resampler, and a second to spare.
    margin = round((1 + 1.65 / preprocessing.transition) * sfreq) + 20 * step
    longest = max(_PIECE_SAMPLES / len(recording.picks) / sfreq, preprocessing.seconds)
    piece = np.floor((starts - starts[0]) / longest).astype(int)
    edges = [0, *(np.flatnonzero(np.diff(piece)) + 1), len(starts)]
    for begin, end in pairwise(edges):
        first = max(int(starts[begin] * sfreq) - margin, 0) // step * step
        last = int((starts[end - 1] + preprocessing.seconds) * sfreq) + margin
        yield slice(begin, end), first, min(last, n_times)


def _filtered(
    signal: NDArray[np.float64], recording: Recording, preprocessing: Preprocessing
) -> NDArray[np.float64]:
    import mne

    sfreq = recording.sfreq
    lowpass, transition = preprocessing.lowpass, preprocessing.transition
    if lowpass is not None:
        if lowpass + transition > sfreq / 2:
            raise DataError(
                f"`lowpass` and `transition` together must be below half the sampling rate, but "
                f"{recording.path.name} has {sfreq:g} Hz and they are {lowpass:g} and "
                f"{transition:g} Hz; choose a lower `lowpass`, or None."
            )
        signal = mne.filter.filter_data(
            signal, sfreq, None, lowpass, h_trans_bandwidth=transition, copy=False, verbose="error"
        )
    rate = preprocessing.rate(sfreq)
    ratio = _ratio(sfreq, rate)
    if ratio.numerator == 1 and (ratio == 1 or (lowpass or sfreq) + transition <= rate / 2):
        # Nothing above the new Nyquist frequency remains.
        return signal[:, :: ratio.denominator]
    # Whole steps, or the resampler would take the odd length for another ratio.
    rest = -signal.shape[-1] % ratio.denominator
    signal = np.pad(signal, ((0, 0), (0, rest)), mode="edge")
    resampled = mne.filter.resample(
        signal, up=float(ratio), down=1.0, method="polyphase", verbose="error"
    )
    return np.asarray(resampled)


def _cut(
    signal: NDArray[np.float64], starts: NDArray[np.int64], n_times: int
) -> NDArray[np.float64]:
    """Cut windows of shape (n_windows, n_channels, n_times); clip starts that rounding moved."""
    starts = np.clip(starts, 0, signal.shape[-1] - n_times)
    windows = np.lib.stride_tricks.sliding_window_view(signal, n_times, axis=-1)
    return windows[:, starts].swapaxes(0, 1)
