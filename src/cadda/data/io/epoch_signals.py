"""Signals of epochs of MNE: read a chunk at a time, and preprocessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.text import short_reason
from cadda.data.checks import chunks
from cadda.data.io.epoch_parts import EpochsPart
from cadda.data.io.missing import missing_in_reference
from cadda.data.io.preprocess import (
    Preprocessing,
    exceeds,
    filter_signal,
    sampling_ratio,
    warn_of_long_filter,
)
from cadda.data.io.projectors import Projection, projection_of
from cadda.data.quality import WindowQuality, assess_windows
from cadda.data.rounding import to_single
from cadda.data.standardise import Standardise
from cadda.exceptions import DataError

__all__ = ["read_epochs"]


def read_epochs(
    parts: Sequence[EpochsPart],
    labels: NDArray[np.int64],
    preprocessing: Preprocessing | None,
    standardise: Standardise,
) -> tuple[NDArray[Any], WindowQuality]:
    """Read the epochs with a label, a chunk at a time, as MNE uses float64.

    They are float32, without the mean of each window where it is subtracted anyway; and float64 if
    a recording is standardised, whose offset may be large. The quality is that before filtering.
    """
    first = parts[0]
    n_times = len(first.epochs.times)
    if preprocessing is not None:
        n_times = round(n_times * sampling_ratio(first.sfreq, preprocessing.rate(first.sfreq)))
    n_windows = int((labels >= 0).sum())
    if preprocessing is not None:
        warn_of_long_filter(preprocessing, len(first.epochs.times) / first.sfreq, first.where)
    kind = np.float64 if standardise == "recording" else np.float32
    x = np.empty((n_windows, len(first.picks), n_times), dtype=kind)
    quality = WindowQuality.empty(n_windows, len(first.picks))
    ends = np.cumsum([len(part.classes) for part in parts])[:-1]
    done = 0
    for part, own in zip(parts, np.split(labels, ends), strict=True):
        chosen = np.flatnonzero(own >= 0)
        channels = dict.fromkeys((*part.picks, *_reference(part, preprocessing)))
        projection = projection_of(part.epochs.info, tuple(channels))
        for here in chunks(len(chosen)):
            there = slice(done + here.start, done + here.stop)
            signal, quality[there] = _read_chunk(
                part, chosen[here], preprocessing, projection, n_times
            )
            if standardise == "window":
                signal = signal - signal.mean(axis=-1, keepdims=True)
            x[there] = to_single(signal, part.where) if kind is np.float32 else signal
        done += len(chosen)
    return x, quality


def _read_chunk(
    part: EpochsPart,
    chosen: NDArray[np.int64],
    preprocessing: Preprocessing | None,
    projection: Projection,
    n_times: int,
) -> tuple[NDArray[np.float64], WindowQuality]:
    """Read and preprocess some epochs of `n_times` samples."""
    reference = _reference(part, preprocessing)
    picks = list(projection.channels)
    try:
        signal = part.epochs.get_data(picks=picks, item=chosen, copy=True, verbose="error")
    # MNE raises many kinds of errors for truncated files.
    except Exception as error:
        raise DataError(
            f"cannot read {part.where} as MNE epochs: {short_reason(error)}."
        ) from error
    n_picks = len(part.picks)
    quality = assess_windows(signal[:, :n_picks])
    signal = projection.apply(signal)
    if projection.matrix is not None:
        quality.add_missing(signal[:, :n_picks])
    if preprocessing is None:
        return signal, quality
    if reference:
        rows = [picks.index(name) for name in reference]
        missing = missing_in_reference(~np.isfinite(signal), rows, n_picks)
        quality.bad_channels[:] |= missing.any(axis=-1)
        signal = signal[:, :n_picks] - signal[:, rows].mean(axis=1, keepdims=True)
    signal = np.ascontiguousarray(signal[:, :n_picks])
    signal = filter_signal(signal, part.sfreq, preprocessing, part.where, pad="edge")
    if preprocessing.baseline is not None:
        signal = signal - _baseline(part, signal, preprocessing, preprocessing.baseline)
    signal = signal[..., :n_times]
    quality.rejected[:] = exceeds(signal, preprocessing.reject)
    return signal, quality


def _reference(part: EpochsPart, preprocessing: Preprocessing | None) -> tuple[str, ...]:
    return part.header.reference_channels(
        None if preprocessing is None else preprocessing.reference
    )


def _baseline(
    part: EpochsPart,
    signal: NDArray[np.float64],
    preprocessing: Preprocessing,
    limits: tuple[float, float],
) -> NDArray[np.float64]:
    """Return the mean of each channel over the baseline."""
    rate, times = preprocessing.rate(part.sfreq), part.epochs.times
    first, last = (round((limit - float(times[0])) * rate) for limit in limits)
    if first < 0 or last >= signal.shape[-1]:
        raise DataError(
            f"`baseline` must be within the epochs, but {part.where} is from {times[0]:g} to "
            f"{times[-1]:g} s."
        )
    return np.asarray(signal[..., first : last + 1].mean(axis=-1, keepdims=True))
