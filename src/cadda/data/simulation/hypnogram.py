"""The hypnogram of a simulated night, and the gradual transitions between stages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cadda.data.io.hypnogram import STAGES

__all__ = ["N_STATES", "STEPS_PER_WINDOW", "WINDOW_SECONDS", "draw_stages", "state_weights"]

WINDOW_SECONDS = 30.0
STEPS_PER_WINDOW = 6
"""Sleep may change within a window, which gets the most frequent stage of its steps."""

N_STATES = 6
"""Wake with eyes open, wake with eyes closed, and the four stages of sleep."""

_WINDOWS_PER_CYCLE = 45
_MAX_CYCLES = 5
_MAX_TRIES = 200

_BLUR = 1.0
"""Width of a transition between stages: a standard deviation in steps."""

# Rows: present stage, columns: next stage. The diagonal is the duration of a stage where all
# attract alike, in hundredths of a cycle.
_TRANSITIONS = np.array(
    [
        [9.0, 1.2, 0.1, 0.0, 0.05],
        [0.5, 4.0, 1.0, 0.0, 0.35],
        [0.25, 0.35, 8.0, 1.0, 0.5],
        [0.06, 0.06, 1.2, 10.0, 0.05],
        [0.35, 0.5, 0.4, 0.0, 8.0],
    ]
)
# Time within a cycle from 0 to 1, and how strongly each stage attracts then.
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
    """Draw the stages of steps and windows from a Markov chain driven by cycle and hour.

    Deep sleep attracts more at the beginning of the night, REM sleep more at its end. A short
    night is a compressed one; from 40 windows on, every stage has at least two of them.
    """
    cdf = _transition_cdf(n_windows, wakefulness)
    fewest = min(2, n_windows // 20)
    for _ in range(_MAX_TRIES):
        steps = _walk(cdf, rng.random(len(cdf)))
        labels = _majority(steps.reshape(n_windows, STEPS_PER_WINDOW))
        counts = np.bincount(labels, minlength=len(STAGES))
        if counts.min() >= fewest and counts.max() < n_windows:
            break
    return steps, labels


def state_weights(
    rng: np.random.Generator, steps: NDArray[np.int64], *, eyes_open: float
) -> NDArray[np.float64]:
    """Return the fraction of each state in each step, shape (n_steps, N_STATES)."""
    # Eyes stay open or closed for some steps at a time.
    spell = np.cumsum(rng.random(len(steps)) < 1 / STEPS_PER_WINDOW)
    is_open = rng.random(len(steps))[spell] < eyes_open
    states = np.where((steps == 0) & is_open, 0, steps + 1)
    reach = int(np.ceil(3 * _BLUR))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / _BLUR) ** 2)
    one_hot = np.pad(np.eye(N_STATES)[states], ((reach, reach), (0, 0)), mode="edge")
    columns = [np.convolve(column, kernel / kernel.sum(), mode="valid") for column in one_hot.T]
    return np.stack(columns, axis=1)


def _transition_cdf(n_windows: int, wakefulness: float) -> NDArray[np.float64]:
    """Compute cumulative transition probabilities, shape (n_steps, n_stages, n_stages)."""
    n_steps = n_windows * STEPS_PER_WINDOW
    n_cycles = int(np.clip(round(n_windows / _WINDOWS_PER_CYCLE), 1, _MAX_CYCLES))
    hour = np.arange(n_steps) / n_steps
    clock = (hour * n_cycles) % 1
    attraction = np.stack([np.interp(clock, _CLOCK, row) for row in _ATTRACTION], axis=1)
    attraction[:, :2] *= wakefulness
    attraction[:, 3] *= 1.6 - 1.2 * hour
    attraction[:, 4] *= 0.5 + hour
    transitions = _TRANSITIONS.copy()
    np.fill_diagonal(transitions, np.diag(transitions) / 100 * n_steps / n_cycles)
    cdf = transitions * attraction[:, None, :]
    return np.asarray(np.cumsum(cdf / cdf.sum(axis=2, keepdims=True), axis=2))


def _walk(cdf: NDArray[np.float64], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Sample the chain from wake on, with one uniform number per step."""
    steps = np.zeros(len(draws), dtype=np.int64)
    stage = 0
    for i, draw in enumerate(draws):
        steps[i] = stage
        stage = min(int(np.searchsorted(cdf[i, stage], draw, side="right")), len(STAGES) - 1)
    return steps


def _majority(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the most frequent stage of each row, and the first one of a tie."""
    counts = (steps[:, :, None] == np.arange(len(STAGES))).sum(axis=1)
    return np.asarray(counts.argmax(axis=1), dtype=np.int64)
