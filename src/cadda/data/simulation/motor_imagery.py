"""`simulate_motor_imagery`: windows in which subjects imagine moving one of their fists."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from cadda._internal.limits import MAX_SEED, MAX_SIMULATED
from cadda._internal.random import Seeds
from cadda._internal.validation import check_whole
from cadda.data.channels import resolve_montage
from cadda.data.simulation.imagery_subject import CHANNELS, ImagerySubject, draw_subject
from cadda.data.simulation.imagery_trials import SFREQ, draw_trials
from cadda.data.standardise import standardise
from cadda.data.windows import Windows

__all__ = ["mirror", "record_trials", "simulate_motor_imagery"]

_CLASSES = ("left_fist", "right_fist")

Trials = tuple[NDArray[np.float32], NDArray[np.int64]]
"""Signals in µV, shape (n_windows, n_channels, n_times), and labels."""


def simulate_motor_imagery(n_subjects: int = 20, n_windows: int = 40, *, seed: int = 0) -> Windows:
    """Simulate subjects who imagine moving the left or the right fist, as windows ready for use.

    A window begins with a cue on the side of the fist. Mu and beta rhythms of the opposite
    hemisphere become weaker, those of the same hemisphere a little stronger. Frequencies and
    amplitudes of rhythms, how much imagery lateralises, responses to the cue, electrode positions
    and artefacts differ between subjects, so a model has to generalise. Subjects have asymmetries,
    the population has none: mirrored windows with exchanged labels have the same distribution.

    Parameters
    ----------
    n_subjects : int
        Number of subjects. The first of them are the same for any number.
    n_windows : int
        Number of windows of 4 s per subject, at least 2. Half of them are of either class; of an
        odd number, a random class has one more.
    seed : int
        Same seed, same bytes.

    Returns
    -------
    Windows
        The windows, standardised: FC3, FC4, C3, Cz, C4, CP3, CP4 and Pz at 100 Hz.

    See Also
    --------
    simulate_sleep : Simulated sleep.

    Examples
    --------
    >>> simulate_motor_imagery(n_subjects=2, n_windows=20)
    Windows: 40 windows of 8 channels × 4 s at 100 Hz, 2 subjects; left_fist 20, right_fist 20
    """
    count = check_whole("n_subjects", n_subjects, 1, MAX_SIMULATED)
    length = check_whole("n_windows", n_windows, 2, MAX_SIMULATED)
    seeds = Seeds(check_whole("seed", seed, 0, MAX_SEED))
    x, y = zip(*(_simulate_subject(seeds, i, length) for i in range(count)), strict=True)
    signals = torch.from_numpy(np.concatenate(x))
    return Windows(
        standardise(signals, out=signals),
        np.concatenate(y),
        subject=np.repeat([f"sub-{number:02d}" for number in range(1, count + 1)], length),
        sfreq=SFREQ,
        ch_names=CHANNELS,
        class_names=_CLASSES,
    )


def _simulate_subject(seeds: Seeds, number: int, n_windows: int) -> Trials:
    rng = np.random.default_rng(seeds.integer("simulated motor imagery", subject=number))
    return record_trials(rng, draw_subject(rng), n_windows)


def record_trials(rng: np.random.Generator, subject: ImagerySubject, n_windows: int) -> Trials:
    """Simulate the trials of a subject, in random order."""
    labels = rng.permutation(np.arange(n_windows) % 2)
    trials = draw_trials(rng, subject, labels), labels
    # Templates of electrode positions are not exactly symmetric, and neither is an odd number of
    # trials. With half of the subjects mirrored, the population is.
    return mirror(*trials) if subject.mirrored else trials


def mirror(signals: NDArray[np.float32], labels: NDArray[np.int64]) -> Trials:
    """Exchange left and right in signals and labels."""
    return signals[:, resolve_montage(CHANNELS).partner], 1 - labels
