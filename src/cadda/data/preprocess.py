"""From a recording to windows: low-pass, resample, cut, standardise, a piece at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cadda._validation import check_positive
from cadda.data.checks import CHUNK, Flaws, find_flaws
from cadda.exceptions import DataError

__all__ = [
    "Plan",
    "Preprocessing",
    "Recording",
    "Standardise",
    "cut_recording",
    "standardise",
    "standardise_as",
]

Standardise: TypeAlias = Literal["window", "recording"] | None
"""What has mean 0 and standard deviation 1: each channel of a window, or of a recording."""

_PIECE_SAMPLES = 1 << 20
"""Samples of all channels together that are filtered at once: 8 MiB as float64."""


@dataclass(frozen=True)
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

    lowpass: float | None = 30.0
    transition: float = 7.0
    sfreq: float | None = None
    seconds: float = 30.0

    def __post_init__(self) -> None:
        for name in ("lowpass", "transition", "sfreq", "seconds"):
            value = getattr(self, name)
            if value is not None:
                check_positive(name, value)

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
    """One EDF file and the windows to cut from it.

    Parameters
    ----------
    path : Path
        The file with the signals.
    picks : tuple of str
        Channels, as the file names them.
    sfreq : float
        Their sampling rate in Hz.
    starts : array of shape (n_windows,)
        Where the windows begin, in seconds from the start of the file, in the order of time.
    labels : array of shape (n_windows,)
        Their labels.
    subject : str
        Who was recorded.
    name : str
        Name of the recording.
    """

    path: Path
    picks: tuple[str, ...]
    sfreq: float
    starts: NDArray[np.float64]
    labels: NDArray[np.int64]
    subject: str
    name: str


@dataclass(frozen=True, eq=False)
class Plan:
    """What to read from a folder of recordings, known before any signal is read.

    Parameters
    ----------
    recordings : list of Recording
        The recordings, in order.
    ch_names : tuple of str
        Names that the channels shall have.
    class_names : tuple of str
        Names of the classes, in the order of the labels.
    preprocessing : Preprocessing
        What is done to the signals.
    """

    recordings: list[Recording]
    ch_names: tuple[str, ...]
    class_names: tuple[str, ...]
    preprocessing: Preprocessing


def standardise(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Scale each channel of each window to mean 0 and standard deviation 1.

    Parameters
    ----------
    x : Tensor
        Windows of shape (n_windows, n_channels, n_times).
    out : Tensor | None
        Where to write; may be ``x`` itself, to need no second copy.

    Returns
    -------
    Tensor
        Standardised windows; a flat channel becomes zeros.
    """
    out = torch.empty_like(x) if out is None else out
    with torch.no_grad():
        for chunk, target in zip(torch.split(x, CHUNK), torch.split(out, CHUNK), strict=True):
            # In double precision, as an offset may be a thousand times the signal.
            centred = chunk.double()
            flat = chunk.amax(-1, keepdim=True) == chunk.amin(-1, keepdim=True)
            centred = centred - centred.mean(-1, keepdim=True)
            scale = centred.square().mean(-1, keepdim=True).sqrt()
            target.copy_((centred / scale).masked_fill_(flat, 0.0))
    return out


def standardise_as(
    how: Standardise, x: NDArray[np.float32], groups: NDArray[np.str_] | None = None
) -> None:
    """Standardise windows in place.

    Parameters
    ----------
    how : "window" | "recording" | None
        What gets mean 0 and standard deviation 1; None changes nothing.
    x : array of shape (n_windows, n_channels, n_times)
        The windows.
    groups : array of shape (n_windows, n_keys) | None
        What tells recordings apart; None means that all windows are of one recording.
    """
    if how == "window":
        tensor = torch.from_numpy(x)
        standardise(tensor, out=tensor)
    elif how == "recording" and groups is None:
        _standardise_recording(x)
    elif how == "recording" and groups is not None:
        for group in np.unique(groups, axis=0):
            here = (groups == group).all(axis=1)
            part = x[here]
            _standardise_recording(part)
            x[here] = part


def cut_recording(
    recording: Recording, preprocessing: Preprocessing
) -> tuple[NDArray[np.float32], Flaws]:
    """Read the windows of one recording.

    The file is read a piece at a time, with enough signal on both sides that every sample is
    as if the whole recording had been filtered.

    Parameters
    ----------
    recording : Recording
        What to read.
    preprocessing : Preprocessing
        What to do to the signals.

    Returns
    -------
    x : array of shape (n_windows, n_channels, n_times)
        The windows in volts.
    flaws : Flaws
        What is wrong with them in the recording itself, before it is filtered.
    """
    raw = _open(recording)
    rate = preprocessing.rate(recording.sfreq)
    shape = (len(recording.starts), len(recording.picks), round(preprocessing.seconds * rate))
    x = np.empty(shape, dtype=np.float32)
    flaws = Flaws(np.empty(len(x), dtype=bool), np.empty(len(x), dtype=bool), np.empty(shape[:2]))
    for part, first, last in _pieces(recording, preprocessing, raw.n_times):
        found = _cut_piece(raw, recording, preprocessing, (part, first, last), x[part])
        flaws.bad[part], flaws.clipped[part] = found.bad, found.clipped
        flaws.spread[part] = found.spread
    return x, flaws


def _cut_piece(
    raw: Any,
    recording: Recording,
    preprocessing: Preprocessing,
    piece: tuple[slice, int, int],
    out: NDArray[np.float32],
) -> Flaws:
    """Write the windows of one piece, and forget everything else when done."""
    part, first, last = piece
    starts, sfreq = recording.starts[part], recording.sfreq
    rate = preprocessing.rate(sfreq)
    signal = raw.get_data(picks=list(recording.picks), start=first, stop=last, verbose="error")
    n_raw = min(round(preprocessing.seconds * sfreq), last - first)
    found = find_flaws(_cut(signal, np.rint(starts * sfreq).astype(int) - first, n_raw))
    signal = _filtered(signal, recording, preprocessing)
    origin = int(first * _ratio(sfreq, rate))
    out[:] = _cut(signal, np.rint(starts * rate).astype(int) - origin, out.shape[-1])
    return found


def _standardise_recording(x: NDArray[np.float32]) -> None:
    chunks = [x[start : start + CHUNK] for start in range(0, len(x), CHUNK)]
    if not chunks:
        return
    count = x.shape[0] * x.shape[2]
    mean = np.sum([c.sum(axis=(0, 2), dtype=float) for c in chunks], axis=0) / count
    power = np.sum([((c - mean[:, None]) ** 2).sum(axis=(0, 2)) for c in chunks], axis=0) / count
    # Not by the power, which rounding keeps above 0.
    varies = x.max(axis=(0, 2)) > x.min(axis=(0, 2))
    factor = np.divide(1.0, np.sqrt(power), out=np.zeros_like(power), where=varies)
    for chunk in chunks:
        chunk[:] = (chunk - mean[:, None]) * factor[:, None]


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
            raise DataError(f"{recording.path} cannot be read: {error}") from error


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
