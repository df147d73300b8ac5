"""From a recording to windows: reference, filter and cut, a piece at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.limits import check_memory
from cadda._internal.text import short_reason
from cadda.data.io.missing import fill_missing, has_missing, missing_in_reference
from cadda.data.io.preprocess import (
    Preprocessing,
    exceeds,
    filter_reach,
    filter_signal,
    reach_in_samples,
    sampling_ratio,
)
from cadda.data.io.projectors import Projection, projection_of
from cadda.data.io.raw_files import open_raw, reading
from cadda.data.quality import WindowQuality, assess_windows
from cadda.data.rounding import to_single
from cadda.exceptions import DataError

__all__ = ["ReadPlan", "Recording", "cut_recording"]

_PIECE_SAMPLES = 1 << 20
"""Samples of all channels together that are filtered at once: 8 MiB as float64."""


@dataclass(frozen=True, eq=False)
class Recording:
    """One recording and the windows to cut from it."""

    path: Path
    picks: tuple[str, ...]  # channels, as the file names them
    sfreq: float
    starts: NDArray[np.float64]  # seconds from the start of the file, ascending
    labels: NDArray[np.int64]
    subject: str
    name: str
    reference: tuple[str, ...] = ()  # channels whose mean is subtracted, as the file names them
    files: tuple[Path, ...] = ()  # that hold the signals beside `path`
    raw: Any = None  # the recording itself, if it is in memory
    projectors: tuple[str, ...] = ()  # that are stored and have not been applied

    @property
    def all_files(self) -> tuple[Path, ...]:
        """Files that the signals depend on."""
        return tuple(file for file in (self.path, *self.files) if file.is_file())

    @property
    def channels(self) -> tuple[str, ...]:
        """Channels to read."""
        return tuple(dict.fromkeys((*self.picks, *self.reference)))


@dataclass(frozen=True, eq=False)
class ReadPlan:
    """What to read from recordings, known before any signal is read."""

    recordings: list[Recording]
    ch_names: tuple[str, ...]  # as the user names them
    class_names: tuple[str, ...]
    preprocessing: Preprocessing
    positions: NDArray[np.float64] | None = None
    notes: tuple[str, ...] = ()  # for `cadda data info`
    default: Preprocessing = field(default_factory=Preprocessing)  # what is done without options
    default_length: str | None = None  # of windows without options, if it is not the same for all
    from_stages: bool = False  # whether the classes are sleep stages, perhaps merged
    given: frozenset[str] = frozenset()  # settings of the preprocessing in a mapping file


def cut_recording(
    recording: Recording, preprocessing: Preprocessing
) -> tuple[NDArray[np.float32], WindowQuality]:
    """Return the windows of one recording in volts, and their quality before filtering.

    The file is read a piece at a time, with enough signal on both sides that every sample is
    as if the whole recording had been filtered.
    """
    raw = recording.raw
    if raw is None:
        raw = open_raw(recording.path, recording.channels)
    rate = preprocessing.rate(recording.sfreq)
    n_windows, n_channels = len(recording.starts), len(recording.picks)
    shape = n_windows, n_channels, round(preprocessing.seconds * rate)
    _check_fits(recording, shape)
    x = np.empty(shape, dtype=np.float32)
    quality = WindowQuality.empty(n_windows, n_channels)
    source = raw, projection_of(raw.info, recording.channels)
    for part, first, last in _pieces(recording, preprocessing, source):
        quality[part] = _cut_piece(source, recording, preprocessing, (part, first, last), x[part])
    return x, quality


def _check_fits(recording: Recording, shape: tuple[int, int, int]) -> None:
    """Raise if the windows of a recording would take far more memory than the recording."""
    sizes = [file.stat().st_size for file in recording.all_files]
    try:
        if sizes:
            check_memory(recording.path, sum(sizes), 4 * math.prod(shape))
    except OSError as error:
        raise DataError(
            f"cannot read {recording.path} as {shape[0]} windows of {shape[2]} samples: "
            f"{short_reason(error)}; choose shorter windows or a lower `sfreq`."
        ) from error


def _cut_piece(
    source: tuple[Any, Projection],
    recording: Recording,
    preprocessing: Preprocessing,
    piece: tuple[slice, int, int],
    out: NDArray[np.float32],
) -> WindowQuality:
    """Write the windows of one piece to `out`; its signal is released afterwards."""
    (raw, projection), (part, first, last) = source, piece
    starts, sfreq = recording.starts[part], recording.sfreq
    rate = preprocessing.rate(sfreq)
    with reading(recording.path):
        picks = list(projection.channels)
        signal = raw.get_data(picks=picks, start=first, stop=last, verbose="error")
    n_picks = len(recording.picks)
    n_raw = min(round(preprocessing.seconds * sfreq), last - first)
    starts_raw = np.rint(starts * sfreq).astype(int) - first
    quality = assess_windows(_cut(signal[:n_picks], starts_raw, n_raw))
    missing = fill_missing(signal)
    signal = projection.apply(signal)
    rows = [recording.channels.index(name) for name in recording.reference]
    if missing is not None:
        missing = missing_in_reference(projection.spread(missing), rows, n_picks)
        quality.bad_channels[:] |= _lacks_samples(
            missing, recording, preprocessing, (starts_raw, n_raw)
        )
    if rows:
        signal = signal[:n_picks] - signal[rows].mean(axis=0)
    signal = filter_signal(signal, sfreq, preprocessing, recording.path.name)
    origin = int(first * sampling_ratio(sfreq, rate))
    windows = _cut(signal, np.rint(starts * rate).astype(int) - origin, out.shape[-1])
    if preprocessing.baseline is not None:
        begin, end = preprocessing.baseline
        times = starts - preprocessing.offset + begin
        # The last sample belongs to the baseline, as in MNE.
        n_times = round((end - begin) * rate) + 1
        baseline = _cut(signal, np.rint(times * rate).astype(int) - origin, n_times)
        windows = windows - baseline.mean(axis=-1, keepdims=True)
    out[:] = to_single(windows, str(recording.path))
    quality.rejected[:] = exceeds(out, preprocessing.reject)
    return quality


def _lacks_samples(
    missing: NDArray[np.bool_],
    recording: Recording,
    preprocessing: Preprocessing,
    windows: tuple[NDArray[np.int64], int],
) -> NDArray[np.bool_]:
    """Return which channels of windows depend on missing samples, as do their baselines."""
    sfreq = recording.sfreq
    reach = reach_in_samples(preprocessing, sfreq)
    starts, n_times = windows
    lacks = has_missing(missing, starts, n_times, reach)
    if preprocessing.baseline is not None:
        begin, end = preprocessing.baseline
        moved = starts + round((begin - preprocessing.offset) * sfreq)
        lacks |= has_missing(missing, moved, round((end - begin) * sfreq) + 1, reach)
    return lacks


def _pieces(
    recording: Recording, preprocessing: Preprocessing, source: tuple[Any, Projection]
) -> Iterator[tuple[slice, int, int]]:
    """Yield windows that are close to each other, and the samples to read for them."""
    raw, projection = source
    sfreq, starts = recording.sfreq, recording.starts
    step = sampling_ratio(sfreq, preprocessing.rate(sfreq)).denominator
    # The filters, the reach of the resampler, and a second to spare.
    margin = round((1 + filter_reach(preprocessing)) * sfreq) + 20 * step
    before, after = preprocessing.extent()
    longest = max(_PIECE_SAMPLES / len(projection.channels) / sfreq, preprocessing.seconds)
    piece = np.floor((starts - starts[0]) / longest).astype(int)
    edges = [0, *(np.flatnonzero(np.diff(piece)) + 1), len(starts)]
    for begin, end in pairwise(edges):
        first = max(int((starts[begin] + before) * sfreq) - margin, 0) // step * step
        last = int((starts[end - 1] + after) * sfreq) + margin
        yield slice(begin, end), first, min(last, raw.n_times)


def _cut(
    signal: NDArray[np.float64], starts: NDArray[np.int64], n_times: int
) -> NDArray[np.float64]:
    """Cut windows of shape (n_windows, n_channels, n_times); clip starts that rounding moved."""
    starts = np.clip(starts, 0, signal.shape[-1] - n_times)
    windows = np.lib.stride_tricks.sliding_window_view(signal, n_times, axis=-1)
    return windows[:, starts].swapaxes(0, 1)
