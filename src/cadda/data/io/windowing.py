"""From a recording to windows: low-pass, resample and cut, a piece at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.text import short_reason
from cadda.data.io.preprocess import Preprocessing, Recording
from cadda.data.quality import WindowQuality, assess_windows
from cadda.exceptions import DataError

__all__ = ["cut_recording"]

_PIECE_SAMPLES = 1 << 20
"""Samples of all channels together that are filtered at once: 8 MiB as float64."""


def cut_recording(
    recording: Recording, preprocessing: Preprocessing
) -> tuple[NDArray[np.float32], WindowQuality]:
    """Read the windows of one recording.

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
        found = _cut_piece(raw, recording, preprocessing, (part, first, last), x[part])
        quality.bad[part], quality.clipped[part] = found.bad, found.clipped
        quality.spread[part] = found.spread
    return x, quality


def _cut_piece(
    raw: Any,
    recording: Recording,
    preprocessing: Preprocessing,
    piece: tuple[slice, int, int],
    out: NDArray[np.float32],
) -> WindowQuality:
    """Write the windows of one piece, and forget everything else when done."""
    part, first, last = piece
    starts, sfreq = recording.starts[part], recording.sfreq
    rate = preprocessing.rate(sfreq)
    signal = raw.get_data(picks=list(recording.picks), start=first, stop=last, verbose="error")
    n_raw = min(round(preprocessing.seconds * sfreq), last - first)
    found = assess_windows(_cut(signal, np.rint(starts * sfreq).astype(int) - first, n_raw))
    signal = _filtered(signal, recording, preprocessing)
    origin = int(first * _ratio(sfreq, rate))
    out[:] = _cut(signal, np.rint(starts * rate).astype(int) - origin, out.shape[-1])
    return found


def _open(recording: Recording) -> Any:
    import mne

    with warnings.catch_warnings():
        # About units and filters that the header does not know: nothing that matters here.
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
            raise DataError(f"{recording.path} cannot be read: {short_reason(error)}.") from error


def _ratio(sfreq: float, rate: float) -> Fraction:
    """Give new samples per old one; over a day, the error is below a millisecond."""
    return Fraction(rate / sfreq).limit_denominator(20_000)


def _pieces(
    recording: Recording, preprocessing: Preprocessing, n_times: int
) -> Iterator[tuple[slice, int, int]]:
    """Give windows that are near each other, and the samples to read for them."""
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
        # Nothing is left that could alias.
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
    """Cut windows of shape (n_windows, n_channels, n_times); rounding may ask for one too many."""
    starts = np.clip(starts, 0, signal.shape[-1] - n_times)
    windows = np.lib.stride_tricks.sliding_window_view(signal, n_times, axis=-1)
    return windows[:, starts].swapaxes(0, 1)
