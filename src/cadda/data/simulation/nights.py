"""`simulate_sleep`: simulated nights, as recordings in volts or as windows ready for use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from cadda._internal.limits import MAX_SEED, MAX_SIMULATED
from cadda._internal.random import Seeds
from cadda._internal.validation import check_whole
from cadda.data.io.hypnogram import STAGES
from cadda.data.io.preprocess import Preprocessing
from cadda.data.simulation.hypnogram import draw_stages, state_weights
from cadda.data.simulation.sleep_montages import sleep_montage
from cadda.data.simulation.sleep_recording import Subject, draw_subject, record
from cadda.data.simulation.sources import fast_length
from cadda.data.standardise import standardise
from cadda.data.windows import Windows

__all__ = [
    "Night",
    "nights_to_windows",
    "simulate_night",
    "simulate_nights",
    "simulate_sleep",
    "simulated_subject",
]

_MIN_WINDOWS = 10


@dataclass(frozen=True, eq=False)
class Night:
    """One simulated recording."""

    subject: str
    volts: NDArray[np.float64]  # shape (n_channels, n_times)
    stages: NDArray[np.int64]  # one per window of 30 s, indices into `STAGES`
    montage: str
    sfreq: float
    ch_names: tuple[str, ...]


def simulate_sleep(
    n_subjects: int = 12, n_windows: int = 100, *, montage: str = "physionet", seed: int = 0
) -> Windows:
    """Simulate sleep of several subjects, as windows ready for use.

    Each subject sleeps one short night with its own hypnogram. Peak frequencies, amplitudes, event
    rates, electrode positions and noise differ between subjects, so a model has to generalise.
    Transitions between stages are gradual, and a window has the label of its most frequent stage.

    Parameters
    ----------
    n_subjects : int
        Number of subjects. The first of them are the same for any number.
    n_windows : int
        Number of windows of 30 s per subject, at least 10; from 40 on, each has all stages.
    montage : str
        ``"physionet"``: the derivations Fpz-Cz and Pz-Oz at 100 Hz. ``"mass"``: C3, C4, F3, F4, O1
        and O2 referenced to linked ears at 128 Hz.
    seed : int
        Same seed, same bytes.

    Returns
    -------
    Windows
        The windows, low-passed at 30 Hz and standardised, in the order of time.

    Examples
    --------
    >>> simulate_sleep(n_subjects=2, n_windows=40)
    Windows: 80 windows of 2 channels × 30 s at 100 Hz, 2 subjects; W 11, N1 5, N2 24, N3 15, R 25
    """
    nights = simulate_nights(n_subjects, n_windows, montage=montage, seed=seed)
    return nights_to_windows(nights)


def simulate_nights(
    n_subjects: int = 12, n_windows: int = 100, *, montage: str = "physionet", seed: int = 0
) -> Iterator[Night]:
    """Simulate a night per subject, lazily; see `simulate_sleep` for the arguments."""
    count = check_whole("n_subjects", n_subjects, 1, MAX_SIMULATED)
    check_whole("n_windows", n_windows, _MIN_WINDOWS, MAX_SIMULATED)
    sleep_montage(montage)
    return (
        simulate_night(subject, n_windows=n_windows, montage=montage, seed=seed)
        for subject in range(count)
    )


def simulate_night(
    subject: int = 0, *, n_windows: int = 100, montage: str = "physionet", seed: int = 0
) -> Night:
    """Simulate one night of one subject."""
    number = check_whole("subject", subject, 0)
    length = check_whole("n_windows", n_windows, _MIN_WINDOWS, MAX_SIMULATED)
    recorded = sleep_montage(montage)
    sleeper = simulated_subject(number, seed=seed)
    seeds = Seeds(seed)
    course = _generator(seeds, "stages", number)
    steps, stages = draw_stages(course, length, wakefulness=sleeper.wakefulness)
    weights = state_weights(course, steps, eyes_open=sleeper.eyes_open)
    signals = _generator(seeds, f"signals of {montage}", number)
    return Night(
        subject=f"sub-{number + 1:02d}",
        volts=record(signals, sleeper, weights, recorded),
        stages=stages,
        montage=montage,
        sfreq=recorded.sfreq,
        ch_names=recorded.ch_names,
    )


def simulated_subject(subject: int = 0, *, seed: int = 0) -> Subject:
    """Return the parameters that a simulated subject was drawn with."""
    number = check_whole("subject", subject, 0)
    seeds = Seeds(check_whole("seed", seed, 0, MAX_SEED))
    return draw_subject(_generator(seeds, "sleeper", number))


def nights_to_windows(
    nights: Iterable[Night], *, unit: Literal["window", "recording"] = "window"
) -> Windows:
    """Convert nights to windows, low-passed and standardised one by one or per night."""
    x, stages, subjects = [], [], []
    montages: set[str] = set()
    for night in nights:
        montages.add(night.montage)
        if len(montages) > 1:
            raise ValueError(f"`nights` must be of one montage, got {sorted(montages)}.")
        x.append(_cut(night))
        stages.append(night.stages)
        subjects += [night.subject] * len(night.stages)
    if not x:
        raise ValueError("`nights` must have at least one night, got none.")
    signals = torch.from_numpy(np.concatenate(x))
    windows = Windows(
        standardise(signals, out=signals) if unit == "window" else signals,
        np.concatenate(stages),
        subject=subjects,
        sfreq=night.sfreq,
        ch_names=night.ch_names,
        class_names=STAGES,
    )
    return windows if unit == "window" else windows.standardised(unit)


def _generator(seeds: Seeds, name: str, subject: int) -> np.random.Generator:
    return np.random.default_rng(seeds.integer(f"simulated sleep: {name}", subject=subject))


def _cut(night: Night) -> NDArray[np.float32]:
    """Low-pass and cut a night like a real one, shape (n_windows, n_channels, n_times)."""
    filtered = _filtered(night.volts, _low_pass(night.sfreq))
    windows = filtered.reshape(len(night.ch_names), len(night.stages), -1)
    return np.asarray(windows.swapaxes(0, 1), dtype=np.float32)


@cache
def _low_pass(sfreq: float) -> NDArray[np.float64]:
    """Design the filter of `Preprocessing`, symmetric and of odd length."""
    import mne

    usual = Preprocessing()
    design = {"h_trans_bandwidth": usual.transition, "verbose": "error"}
    return np.asarray(mne.filter.create_filter(None, sfreq, None, usual.lowpass, **design))


def _filtered(signals: NDArray[np.float64], fir: NDArray[np.float64]) -> NDArray[np.float64]:
    """Filter with zero phase as MNE does, but with one Fourier transform instead of thousands."""
    n_times, reach = signals.shape[1], len(fir) // 2
    margin = ((0, 0), (reach, reach))
    padded = np.pad(signals, margin, mode="reflect", reflect_type="odd")
    length = fast_length(padded.shape[1] + 2 * reach)
    spectrum = np.fft.rfft(padded, n=length) * np.fft.rfft(fir, n=length)
    return np.asarray(np.fft.irfft(spectrum, n=length)[:, 2 * reach : 2 * reach + n_times])
