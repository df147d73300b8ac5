"""The course of a simulated night: which stage follows which, and how one passes into the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cadda.data.io.hypnogram import STAGES

__all__ = ["N_STATES", "STEPS_PER_WINDOW", "WINDOW_SECONDS", "draw_stages", "state_weights"]

WINDOW_SECONDS = 30.0
STEPS_PER_WINDOW = 6
"""Sleep may change within a window; the window is scored by what most of it shows."""

N_STATES = 6
"""Wake has two faces, eyes open and eyes closed, then come the four stages of sleep."""

_WINDOWS_PER_CYCLE = 45
_MOST_CYCLES = 5
_MOST_TRIES = 200

_BLUR = 1.0
"""How gradually a stage passes into the next, as a standard deviation in steps."""

# Rows are the present stage, columns the next one; the diagonal is how long a stage lasts where
# all attract alike, in hundredths of a cycle.
_PASSAGES = np.array(
    [
        [9.0, 1.2, 0.1, 0.0, 0.05],
        [0.5, 4.0, 1.0, 0.0, 0.35],
        [0.25, 0.35, 8.0, 1.0, 0.5],
        [0.06, 0.06, 1.2, 10.0, 0.05],
        [0.35, 0.5, 0.4, 0.0, 8.0],
    ]
)
# Time within a cycle from 0 to 1, and how much each stage attracts then.
_CLOCK = np.array([0.0, 0.08, 0.2, 0.35, 0.55, 0.7, 0.85, 1.0])
_ATTRACTION = np.array(
    [
        [1.5, 0.8, 0.25, 0.15, 0.2, 0.25, 0.3, 1.5],
        [1.0, 1.1, 0.5, 0.25, 0.4, 0.5, 0.6, 1.2],
        [0.2, 0.7, 1.0, 0.6, 0.8, 0.8, 0.5, 0.2],
        [0.02, 0.1, 0.5, 1.5, 0.7, 0.08, 0.02, 0.02],
        [0.1, 0.05, 0.02, 0.02, 0.1, 0.9, 1.6, 0.5],
    ]
)


def draw_stages(
    rng: np.random.Generator, n_windows: int, *, wakefulness: float = 1.0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw a night: a Markov chain that the sleep cycle and the hour pull along.

    Deep sleep attracts more at the beginning of the night, REM sleep more at its end. A short
    night is a compressed one; from 40 windows on, every stage has at least two of them.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    n_windows : int
        Length of the night in windows.
    wakefulness : float
        How much more than usual wake and N1 attract.

    Returns
    -------
    steps : array of shape (n_windows * STEPS_PER_WINDOW,)
        Index in `STAGES` of each step.
    labels : array of shape (n_windows,)
        Index in `STAGES` of each window, the stage that most of its steps are in.
    """
    chances = _chances(n_windows, wakefulness)
    fewest = min(2, n_windows // 20)
    for _ in range(_MOST_TRIES):
        steps = _walk(chances, rng.random(len(chances)))
        labels = _majority(steps.reshape(n_windows, STEPS_PER_WINDOW))
        counts = np.bincount(labels, minlength=len(STAGES))
        if counts.min() >= fewest and counts.max() < n_windows:
            break
    return steps, labels


def state_weights(
    rng: np.random.Generator, steps: NDArray[np.int64], *, eyes_open: float
) -> NDArray[np.float64]:
    """Say how much of each state there is in each step, for stages pass gradually.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    steps : array of shape (n_steps,)
        Stage of each step.
    eyes_open : float
        Fraction of wake with open eyes.

    Returns
    -------
    array of shape (n_steps, N_STATES)
        Weights that sum to 1: wake with eyes open, wake with eyes closed, N1, N2, N3, R.
    """
    # Eyes stay open or closed for some steps at a time.
    spell = np.cumsum(rng.random(len(steps)) < 1 / STEPS_PER_WINDOW)
    is_open = rng.random(len(steps))[spell] < eyes_open
    states = np.where((steps == 0) & is_open, 0, steps + 1)
    reach = int(np.ceil(3 * _BLUR))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / _BLUR) ** 2)
    one_hot = np.pad(np.eye(N_STATES)[states], ((reach, reach), (0, 0)), mode="edge")
    columns = [np.convolve(column, kernel / kernel.sum(), mode="valid") for column in one_hot.T]
    return np.stack(columns, axis=1)


def _chances(n_windows: int, wakefulness: float) -> NDArray[np.float64]:
    """Give for each step the cumulative chances of the next stage, one row per present stage."""
    n_steps = n_windows * STEPS_PER_WINDOW
    n_cycles = int(np.clip(round(n_windows / _WINDOWS_PER_CYCLE), 1, _MOST_CYCLES))
    hour = np.arange(n_steps) / n_steps
    clock = (hour * n_cycles) % 1
    attraction = np.stack([np.interp(clock, _CLOCK, row) for row in _ATTRACTION], axis=1)
    attraction[:, :2] *= wakefulness
    attraction[:, 3] *= 1.6 - 1.2 * hour
    attraction[:, 4] *= 0.5 + hour
    passages = _PASSAGES.copy()
    np.fill_diagonal(passages, np.diag(passages) / 100 * n_steps / n_cycles)
    chances = passages * attraction[:, None, :]
    return np.asarray(np.cumsum(chances / chances.sum(axis=2, keepdims=True), axis=2))


def _walk(chances: NDArray[np.float64], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Go through the night from wake on, one uniform number per step."""
    steps = np.zeros(len(draws), dtype=np.int64)
    stage = 0
    for i, draw in enumerate(draws):
        steps[i] = stage
        stage = min(int(np.searchsorted(chances[i, stage], draw, side="right")), len(STAGES) - 1)
    return steps


def _majority(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the most frequent stage of each row; the first of two that are equally frequent."""
    counts = (steps[:, :, None] == np.arange(len(STAGES))).sum(axis=1)
    return np.asarray(counts.argmax(axis=1), dtype=np.int64)
