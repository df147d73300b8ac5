"""Data of the panel: few subjects to learn from, all others to test on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

import cadda
from benchmarks.accuracy import read_recorded
from cadda.data.simulation.nights import nights_to_windows, simulate_nights
from cadda.data.windows import Windows
from cadda.training import TrainingSettings

__all__ = [
    "FILTERED",
    "N_ROTATIONS",
    "N_RUNS",
    "PER_RECORDING",
    "SETS",
    "Cell",
    "PanelSet",
    "Parts",
    "find_set",
    "highpassed",
]

N_ROTATIONS = 3
"""Parts of the usable subjects; each of them validates in turn."""
N_RUNS = 6
"""Training runs with a policy: accuracies of two runs can differ by 0.1 and more."""
FIRST_DRAW = 20
"""Earlier draws were looked at while methods were chosen."""
N_FRESH = 60
"""Simulated test subjects."""
HIGHPASS = 4.0
"""Cutoff in Hz; slower activity, probably of the eyes, tells left from right in the fists."""
FILTER_REACH = 0.8
"""Seconds of a window at each end that are affected by what is not in the window."""
MOVEMENT = TrainingSettings(batch_size=64, lr=3e-3, patience=20, max_epochs=80)
SLEEP = TrainingSettings(batch_size=16, patience=30, max_epochs=150)


@dataclass(frozen=True)
class PanelSet:
    """Windows, how many subjects may be used, and how to train."""

    number: int  # decides the draws, so it stays
    title: str
    read: Callable[[Path, int], Windows]
    """Returns the windows of a draw, given the folder of the recordings."""
    sizes: tuple[int, ...]
    n_draws: int
    model: str
    training: TrainingSettings
    n_fresh: int | None = None
    """Test subjects of every draw; None for all that are not used."""
    has_trials: bool = False
    """Whether searches by as many trials as `auto` has training runs are compared, too."""

    @property
    def draws(self) -> range:
        """Numbers of the draws that results are reported of."""
        return range(FIRST_DRAW, FIRST_DRAW + self.n_draws)


@dataclass(frozen=True)
class Parts:
    """Training, validation and test windows."""

    train: Windows
    valid: Windows
    test: Windows


@dataclass(frozen=True)
class Cell:
    """A draw of usable subjects, in which all conditions are compared."""

    set: str
    n_usable: int
    draw: int
    permuted: bool = False
    """Whether labels are permuted within subjects, so that there is nothing to learn."""

    @property
    def data(self) -> PanelSet:
        return find_set(self.set)

    @property
    def key(self) -> dict[str, Any]:
        return {"set": self.set, "n_usable": self.n_usable, "draw": self.draw}

    @property
    def name(self) -> str:
        permuted = "-permuted" if self.permuted else ""
        return f"{self.set}-{self.n_usable}-{self.draw}{permuted}"

    def parts(self, folder: Path, number: int) -> Parts:
        """Split the subjects for a training run: some usable ones validate, the others train."""
        rotation = number % N_ROTATIONS
        windows = draw_windows(self.set, folder, self.draw)
        if self.permuted:
            windows = permute_labels(windows, [self.draw, self.data.number, 1])
        order = np.random.default_rng([self.draw, self.data.number]).permutation(windows.subjects)
        usable, fresh = order[: self.n_usable], order[self.n_usable :]
        if self.data.n_fresh is not None:
            fresh = order[len(order) - self.data.n_fresh :]
        thirds = np.array_split(usable, N_ROTATIONS)
        train = np.concatenate([part for i, part in enumerate(thirds) if i != rotation])
        chosen = (train, thirds[rotation], fresh)
        return Parts(*(windows.of_subjects(subjects.tolist()) for subjects in chosen))


@lru_cache(maxsize=4)
def draw_windows(name: str, folder: Path, draw: int) -> Windows:
    """Read the windows of a draw, once in a process."""
    return find_set(name).read(folder, draw)


def permute_labels(windows: Windows, seed: list[int]) -> Windows:
    """Return windows with the labels of each subject in random order."""
    rng = np.random.default_rng(seed)
    changed = windows[:]
    changed.y = windows.y.clone()
    for subject in windows.subjects:
        index = np.flatnonzero(windows.subject == subject)
        changed.y[index] = windows.y[rng.permutation(index)]
    return changed


def recorded(
    name: str, standardise: Literal["window", "recording"] = "window"
) -> Callable[[Path, int], Windows]:
    @lru_cache(maxsize=1)
    def read(folder: Path) -> Windows:
        return read_recorded(name, folder, standardise=standardise)

    return lambda folder, draw: read(folder)


def highpassed(name: str) -> Callable[[Path, int], Windows]:
    """Return a reader of recordings without slow activity, and without the ends of windows.

    A filter of single windows leaves traces of slow activity at their ends.
    """

    @lru_cache(maxsize=1)
    def read(folder: Path) -> Windows:
        import mne

        epochs = mne.read_epochs(folder / f"{name}-epo.fif.gz", verbose="error")
        epochs.filter(HIGHPASS, None, verbose="error")
        epochs.crop(epochs.tmin + FILTER_REACH, epochs.tmax - FILTER_REACH)
        return cadda.read_windows(epochs, subject="subject")

    return lambda folder, draw: read(folder)


def sleepers(n_usable: int, folder: Path, draw: int) -> Windows:
    return cadda.simulate_sleep(n_subjects=n_usable + N_FRESH, n_windows=12, seed=1000 + draw)


def sleepers_per_recording(n_usable: int, folder: Path, draw: int) -> Windows:
    nights = simulate_nights(n_usable + N_FRESH, 12, seed=1000 + draw)
    return nights_to_windows(nights, unit="recording")


def imaginers(n_usable: int, folder: Path, draw: int) -> Windows:
    n_subjects = n_usable + N_FRESH
    return cadda.simulate_motor_imagery(n_subjects=n_subjects, n_windows=45, seed=1000 + draw)


SETS = {
    "motor-imagery": PanelSet(
        0,
        "imagined fists",
        recorded("motor-imagery"),
        (6, 12),
        10,
        "shallow",
        MOVEMENT,
        has_trials=True,
    ),
    "executed-fists": PanelSet(
        1, "executed fists", recorded("executed-fists"), (6, 12), 10, "shallow", MOVEMENT
    ),
    "simulated-sleep": PanelSet(
        2,
        "simulated sleep",
        partial(sleepers, 12),
        (6, 12),
        10,
        "chambon2018",
        SLEEP,
        n_fresh=N_FRESH,
        has_trials=True,
    ),
    "fists-feet": PanelSet(
        3, "imagined fists or feet", recorded("fists-feet"), (12,), 5, "shallow", MOVEMENT
    ),
    "arithmetic": PanelSet(
        4, "mental arithmetic or rest", recorded("arithmetic"), (12,), 5, "shallow", MOVEMENT
    ),
    "sleep": PanelSet(5, "DREAM sleep", recorded("sleep"), (18,), 5, "chambon2018", SLEEP),
    "simulated-motor-imagery": PanelSet(
        6,
        "simulated motor imagery",
        partial(imaginers, 12),
        (12,),
        5,
        "shallow",
        MOVEMENT,
        n_fresh=N_FRESH,
    ),
}

FILTERED = {
    f"{name}-4hz": replace(
        SETS[name],
        title=f"{SETS[name].title} above {HIGHPASS:g} Hz",
        read=highpassed(name),
        sizes=(12,),
        n_draws=5,
        has_trials=False,
    )
    for name in ("motor-imagery", "executed-fists")
}
"""Sets of the panel without slow activity; draws are those of the same subjects."""


PER_RECORDING = {
    f"{name}-recording": replace(
        data,
        title=f"{data.title}, standardised per recording",
        read=recorded(name, "recording"),
        sizes=data.sizes[-1:],
        n_draws=(data.n_draws + 1) // 2,
        has_trials=False,
    )
    for name, data in SETS.items()
    # In DREAM sleep, each window is a recording.
    if data.n_fresh is None and name != "sleep"
} | {
    "simulated-sleep-recording": replace(
        SETS["simulated-sleep"],
        title=f"{SETS['simulated-sleep'].title}, standardised per recording",
        read=partial(sleepers_per_recording, 12),
        sizes=(12,),
        n_draws=5,
        has_trials=False,
    )
}
"""Recorded sets of the panel in another unit; draws are those of the same subjects."""


def find_set(name: str) -> PanelSet:
    """Return a set of the panel, or one that is preprocessed in another way."""
    return (SETS | FILTERED | PER_RECORDING)[name]
