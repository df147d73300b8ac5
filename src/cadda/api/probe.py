"""Windows in, what each operation does to each class out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cadda._internal.files import make_folder
from cadda._version import __version__
from cadda.api.prepare import Device, Operations, make_problem
from cadda.compute import Engine, SerialEngine, open_engine
from cadda.compute.automatic import automatic_engine
from cadda.data.windows import Windows
from cadda.models.registry import ModelSource
from cadda.operations.base import Settings
from cadda.operations.label_maps import MappedOperation
from cadda.operations.pool import OperationPool
from cadda.probing.probe import ProbeProgress, ProbeSettings, conditions_of, probe_fold
from cadda.probing.probe_result import ProbeResult
from cadda.probing.probe_tables import make_result
from cadda.searchers.trials.protocol import one_thread
from cadda.tracking import ProbeDisplay, shown_progress
from cadda.training import Problem
from cadda.training.checkpoint import (
    Fingerprint,
    load_checkpoint,
    model_digest,
    restoring,
    save_checkpoint,
)

__all__ = ["probe", "run_probe"]


def probe(
    windows: Windows,
    *,
    model: ModelSource = "shallow",
    operations: Operations = None,
    operation_settings: Mapping[str, Settings] | None = None,
    seed: int = 0,
    device: Device = "auto",
    engine: str = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = True,
    on_event: Callable[[ProbeProgress], None] | None = None,
    **settings: Any,
) -> ProbeResult:
    """Find out what each operation does to each class: keep it, turn it into another, destroy it.

    Models are trained without augmentation, each on some of the subjects, and predict transformed
    windows of the others. An operation that turns classes into each other, such as the exchange of
    left and right, is proposed with a label map; see
    `cadda.probing.label_maps.find_label_maps` for the rule.

    Parameters
    ----------
    windows : Windows
        Windows of several subjects; none that a policy will be tested on.
    model : str | nn.Module | callable
        The model to train; see `cadda.fit`. What it does not recognise remains undecided.
    operations : sequence of str or Operation | OperationPool | None
        Operations to try: names, operations of your own, also as ``"module:Class"``, ``"paper"``
        for those of the paper, ``"default"``, ``"all"``, or a pool; None takes the default pool.
        Only those that are applicable to the montage are taken.
    operation_settings : mapping of str to mapping | None
        Settings of operations that are not the default; see `cadda.search`.
    seed : int
        Seed of everything random: same seed, same bytes.
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        Where to compute.
    engine : str
        Where models are trained: ``"serial"``, ``"processes:N"``, ``"dask:ADDRESS"`` or
        ``"dask:local:N"``, with the same result. ``"auto"`` uses all cores if the probe is long
        enough.
    checkpoint : path-like | None
        File to write after every fold, and to continue from if it exists; its folder is created.
        It must be of the same windows, model, operations and settings.
    progress : bool
        Whether to show the progress of a probe that takes longer than a few seconds: a bar in a
        terminal, a few lines elsewhere.
    on_event : callable | None
        Called after every epoch, or after every fold if models are trained elsewhere.
    **settings : object
        Further settings, such as ``n_folds=10`` or ``n_epochs=100``: see
        `cadda.probing.probe.ProbeSettings`.

    Returns
    -------
    ProbeResult
        Shares of predictions, verdicts and label maps.
    """
    return run_probe(
        partial(_open, engine),
        windows,
        model=model,
        operations=operations,
        operation_settings=operation_settings,
        device=device,
        checkpoint=checkpoint,
        progress=progress,
        on_event=on_event,
        seed=seed,
        **settings,
    )


def run_probe(
    open_workers: Callable[[Problem, int], AbstractContextManager[Engine]],
    windows: Windows,
    *,
    checkpoint: str | os.PathLike[str] | None,
    progress: bool,
    on_event: Callable[[ProbeProgress], None] | None,
    model: ModelSource,
    operations: Operations,
    operation_settings: Mapping[str, Settings] | None,
    device: Device,
    **settings: Any,
) -> ProbeResult:
    """Run `probe` on the engine that is opened for the first problem and the number of folds."""
    chosen = ProbeSettings(**settings)
    folds = _Folds(
        windows,
        _make_folds(windows, chosen),
        {
            "model": model,
            "operations": operations,
            "operation_settings": operation_settings,
            "device": device,
        },
    )
    first = folds.problem(0)
    pool = first.pool.select(
        [item.name for item in first.pool if not isinstance(item, MappedOperation)]
    )
    with (
        open_workers(first, len(folds.probed)) as workers,
        shown_progress(ProbeDisplay, on_event, progress=progress) as report,
    ):
        run = _ProbeRun(pool, chosen, folds, report)
        if checkpoint is not None:
            run.resume(Path(checkpoint), first)
        counts = run.run(workers)
    return make_result(
        np.concatenate(counts, axis=1),
        conditions_of(pool, chosen.magnitudes),
        windows.class_names,
        left_out=pool.left_out,
        settings={
            "model": first.description.model,
            **asdict(chosen),
            "package_version": __version__,
        },
    )


@dataclass(frozen=True, eq=False)
class _Folds:
    """Windows, and which subjects each model predicts."""

    windows: Windows
    probed: Sequence[Sequence[str]]
    arguments: Mapping[str, Any]  # of `make_problem`

    def problem(self, number: int) -> Problem:
        """Make the problem of a fold, with the subjects to predict in its validation part."""
        windows, probed = self.windows, self.probed[number]
        others = [name for name in windows.subjects if name not in probed]
        parts = windows.of_subjects(others), windows.of_subjects(probed)
        return make_problem(*parts, **self.arguments)


def _open(engine: str, problem: Problem, n_folds: int) -> Engine:
    """Open an engine; ``"auto"`` uses processes where they pay."""
    if engine == "auto":
        n_samples = problem.train.x.numel() * n_folds
        engine = automatic_engine(n_folds, n_samples, problem.device.type)
    return open_engine(engine)


def _run_fold(
    folds: _Folds,
    number: int,
    pool: OperationPool,
    settings: ProbeSettings,
    on_epoch: Callable[[int], None] | None,
) -> NDArray[np.int64]:
    """Return the counts of a fold; with one thread, they are the same on every engine."""
    with one_thread():
        return probe_fold(
            folds.problem(number),
            pool,
            settings,
            fold=number,
            on_epoch=on_epoch or (lambda epoch: None),
        )


class _ProbeRun:
    """Runs the folds on an engine, and skips those of a checkpoint."""

    def __init__(
        self,
        pool: OperationPool,
        settings: ProbeSettings,
        folds: _Folds,
        on_event: Callable[[ProbeProgress], None],
    ) -> None:
        self.pool, self.settings, self.folds, self.on_event = pool, settings, folds, on_event
        self.checkpoint: Path | None = None
        self.fingerprint: Fingerprint = {}
        self.done: list[Tensor] = []

    def resume(self, checkpoint: Path, problem: Problem) -> None:
        """Write a checkpoint after every fold, and begin with its folds if it exists.

        The first problem has all windows in its two parts.
        """
        self.checkpoint = checkpoint
        self.fingerprint = {
            **asdict(self.settings),
            "magnitudes": list(self.settings.magnitudes),
            **problem.identity,
            "model": model_digest(problem.new_model(self.settings.seed)),
            "operations": self.pool.digest,
        }
        if checkpoint.exists():
            saved = load_checkpoint(checkpoint, self.fingerprint)
            with restoring(checkpoint):
                self.done = [_check_counts(counts) for counts in saved["counts"]]

    def run(self, workers: Engine) -> list[NDArray[np.int64]]:
        """Return the counts of all folds; a checkpoint has those that are finished."""
        is_here = isinstance(workers, SerialEngine)
        shared: Any = workers.share(self.folds)
        tasks = [
            workers.submit(
                _run_fold,
                shared,
                number,
                self.pool,
                self.settings,
                partial(self._report, number) if is_here else None,
            )
            for number in range(len(self.done), len(self.folds.probed))
        ]
        for task in tasks:
            counts = task.result()
            if not is_here:
                self._report(len(self.done), self.settings.n_epochs)
            self.done.append(torch.from_numpy(counts))
            if self.checkpoint is not None:
                make_folder(self.checkpoint.parent)
                save_checkpoint(self.checkpoint, {"counts": self.done}, self.fingerprint)
        return [counts.numpy() for counts in self.done]

    def _report(self, fold: int, epoch: int) -> None:
        n_folds, n_epochs = len(self.folds.probed), self.settings.n_epochs
        self.on_event(ProbeProgress(fold + 1, n_folds, epoch, n_epochs))


def _check_counts(counts: Tensor) -> Tensor:
    """Raise `ValueError` unless these are counts as `probe_fold` returns them; return them."""
    if counts.dtype is not torch.int64 or counts.ndim != 4:
        raise ValueError("not counts of predictions")
    return counts


def _make_folds(windows: Windows, settings: ProbeSettings) -> list[list[str]]:
    """Return the subjects that each model predicts; raise if a model cannot learn a class."""
    if not isinstance(windows, Windows):
        raise TypeError(f"`windows` must be cadda.Windows, got {type(windows).__name__}.")
    n_subjects = len(windows.subjects)
    if n_subjects < 2:
        raise ValueError(
            "`windows` must have at least two subjects, as each is probed by a model that has not "
            f"seen it, got only {windows.subjects[0]!r}. If there are others, read their files as "
            "well, or set `subject` to what tells them apart: for recordings a regular expression "
            "of file names, for epochs a column of epochs.metadata."
        )
    n_folds = min(settings.n_folds, n_subjects)
    folds = [probed.subjects for _, probed in windows.folds(n_folds, seed=settings.seed)]
    for label, name in enumerate(windows.class_names):
        owners = np.unique(windows.subject[windows.y.numpy() == label])
        for probed in folds:
            if np.isin(owners, probed).all():
                raise ValueError(_missing_class(name, owners, probed))
    return folds


def _missing_class(name: str, owners: NDArray[np.str_], probed: Sequence[str]) -> str:
    if not len(owners):
        return f"`windows` must have every class, got none of {name!r}; leave it out."
    return (
        f"class {name!r} is missing in the training windows of a fold: only "
        f"{', '.join(map(repr, owners.tolist()))} has it, who is probed there; leave the class "
        "out, or add subjects that have it."
    )
