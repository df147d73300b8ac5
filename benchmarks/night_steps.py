"""What is measured of whole data sets, each in a process of its own.

``python -m benchmarks.night_steps STEP FOLDER RESULT`` measures a step on the nights of a folder,
and writes its numbers to a file; ``benchmarks.nights`` calls it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import perf_counter

import torch

import cadda
from cadda.api.prepare import make_problem
from cadda.data.io.preprocess import Preprocessing
from cadda.searchers.gradient.bilevel import BilevelSearcher
from cadda.searchers.gradient.settings import BilevelSettings
from cadda.training import Problem, Trainer, TrainingSettings

__all__ = ["ENGINE", "STEPS"]

ENGINE = "processes:2"
N_SEARCH_STEPS, N_FIRST_STEPS = 200, 5
"""Steps of a search that are timed, and those before them."""

Numbers = dict[str, float]


def read_by_mne(folder: Path) -> Numbers:
    """Read the same files by MNE, and filter them alike, one after the other."""
    import mne.filter
    import mne.io.edf

    usual = Preprocessing()
    files = sorted(folder.glob("*-PSG.edf"))
    start = perf_counter()
    for file in files:
        raw = mne.io.read_raw_edf(file, preload=True, verbose="error")
        raw.filter(None, usual.lowpass, h_trans_bandwidth=usual.transition, verbose="error")
    return {"seconds": perf_counter() - start}


def read(folder: Path) -> Numbers:
    """Read, filter, cut, standardise and cache the nights."""
    return _timed_reading(folder, ENGINE)


def read_again(folder: Path) -> Numbers:
    """Read the nights from the cache."""
    return _timed_reading(folder, "serial")


def train(folder: Path) -> Numbers:
    """Train for one epoch, without validation."""
    torch.set_num_threads(1)
    problem = _problem(folder)
    trainer = Trainer(problem, TrainingSettings())
    start = perf_counter()
    trainer.train_epoch(1)
    return {"seconds": perf_counter() - start, "n_windows": len(problem.train)}


def search(folder: Path) -> Numbers:
    """Search by ADDA for some steps after the warm-up."""
    torch.set_num_threads(1)
    problem = _problem(folder)
    settings = BilevelSettings(warmup_epochs=0)
    start = perf_counter()
    searcher = BilevelSearcher(problem, settings, classwise=False)
    searcher.run(N_FIRST_STEPS)
    first = perf_counter()
    searcher.run(N_SEARCH_STEPS)
    end = perf_counter()
    return {
        "seconds": end - first,
        "seconds_to_start": first - start,
        "n_windows": N_SEARCH_STEPS * settings.batch_size,
        "n_steps": N_SEARCH_STEPS,
    }


STEPS: dict[str, Callable[[Path], Numbers]] = {
    "mne": read_by_mne,
    "read": read,
    "cached": read_again,
    "train": train,
    "search": search,
}
"""Steps in the order in which they must run: the second fills the cache for those after it."""


def _timed_reading(folder: Path, engine: str) -> Numbers:
    # Imports take as long for any number of nights.
    for name in ("mne.io.edf", "mne.filter", "cadda.data.io.read"):
        import_module(name)
    start = perf_counter()
    windows = cadda.read_windows(folder, engine=engine)
    return {"seconds": perf_counter() - start, "n_windows": len(windows)}


def _problem(folder: Path) -> Problem:
    train, valid, _ = cadda.read_windows(folder).split(valid=0.2, test=0.2, seed=0)
    return make_problem(train, valid, model="chambon2018", device="cpu")


if __name__ == "__main__":
    name, nights, result = sys.argv[1:]
    Path(result).write_text(json.dumps(STEPS[name](Path(nights))))
