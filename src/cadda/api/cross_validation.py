"""Training runs in the folds of a cross-validation by subject, and their scores together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cadda.api.prepare import Device
from cadda.api.run import TrainingRun, train_split
from cadda.data.windows import Windows
from cadda.exceptions import RunError
from cadda.operations.own import OwnOperation
from cadda.operations.pool import OperationPool
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.model import PolicySpec
from cadda.reporting.records import Predictions, Reading
from cadda.runs.folder import RunFolder
from cadda.runs.records import RunScores
from cadda.runs.splits import WindowSplit
from cadda.tracking import LogTo
from cadda.training import TrainingEvent, TrainingSettings, score_subjects

__all__ = ["CrossValidation", "cross_validate"]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Finished training runs, and the scores of all subjects, each tested by one of the models."""

    runs: tuple[TrainingRun, ...]
    scores: RunScores


def cross_validate(
    windows: Windows,
    folder: Path,
    *,
    n_folds: int,
    settings: TrainingSettings,
    model: str = "auto",
    policy: PolicySpec | PolicySchedule | None = None,
    pool: OperationPool | None = None,
    valid: float = 0.2,
    device: Device = "auto",
    data: str | None = None,
    reading: Reading | None = None,
    own_operations: tuple[OwnOperation, ...] = (),
    on_event: Callable[[TrainingEvent], None] | None = None,
    log_to: LogTo = None,
    on_fold: Callable[[int], None] = lambda number: None,
) -> CrossValidation:
    """Train a model for each fold of the subjects, and test it on the subjects of the fold.

    Each fold is a training run in a folder of its own, ``fold-1`` and so on; what is finished is
    not repeated. `on_fold` is called with the number of each fold.
    """
    folds = list(WindowSplit.folds(windows, n_folds, valid=valid, seed=settings.seed))
    if RunFolder(folder).config.exists():
        raise RunError(
            f"{folder} contains a run without `n_folds`; choose another folder for a "
            "cross-validation."
        )
    runs = []
    for number, split in enumerate(folds, start=1):
        on_fold(number)
        runs.append(
            train_split(
                split,
                RunFolder(folder).fold(number).folder,
                settings=settings,
                model=model,
                policy=policy,
                pool=pool,
                device=device,
                data=data,
                reading=reading,
                own_operations=own_operations,
                on_event=on_event,
                log_to=log_to,
            )
        )
    return CrossValidation(tuple(runs), _pooled(folder, n_folds, windows))


def _pooled(folder: Path, n_folds: int, windows: Windows) -> RunScores:
    """Score the predictions of all folds together, and write the scores."""
    folds = (RunFolder(folder).fold(number) for number in range(1, n_folds + 1))
    parts = [Predictions.load(fold.predictions) for fold in folds]
    truth, predicted, subject = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("truth", "predicted", "subject")
    )
    together = score_subjects(truth, predicted, subject, windows.class_names)
    scores = RunScores(tuple(windows.subjects), together, None)
    scores.save(RunFolder(folder).scores)
    return scores
