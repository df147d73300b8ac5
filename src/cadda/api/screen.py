"""Windows in, verdicts on single operations out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from cadda._version import __version__
from cadda.api.prepare import Device, make_problem
from cadda.data.windows import Windows
from cadda.models.registry import ModelSource
from cadda.operations.pool import OperationPool
from cadda.screening.controls import destructive_controls
from cadda.screening.design import MIN_SUBJECTS, ScreeningProgress, ScreeningSettings
from cadda.screening.result import Screening
from cadda.screening.rewards import collect_trials
from cadda.screening.verdicts import reach_verdicts

__all__ = ["screen"]

Independent = Literal["auto", "subject", "window"]


def screen(
    train: Windows,
    valid: Windows,
    *,
    model: ModelSource = "chambon2018",
    operations: Sequence[str] | OperationPool | None = None,
    level: float = 0.05,
    by: Independent = "auto",
    seed: int = 0,
    device: Device = "auto",
    on_event: Callable[[ScreeningProgress], None] | None = None,
    **settings: Any,
) -> Screening:
    """Test which operations help and which hurt, class by class, while training one model.

    A model is trained without augmentation until it begins to overfit. From then on operations are
    tried on training windows, and their rewards compared with those of the same windows unchanged,
    and with those of two controls that destroy the window: see `cadda.screening.rewards` for
    rewards and `cadda.screening.verdicts.reach_verdicts` for the tests.

    Parameters
    ----------
    train : Windows
        Windows to train the model on, and to try the operations on.
    valid : Windows
        Windows of other subjects, whose loss decides.
    model : str | nn.Module | callable
        The model to train; see `cadda.fit`.
    operations : sequence of str | OperationPool | None
        Operations to try, by name or as a pool; None takes all that are applicable to the
        montage.
    level : float
        Probability of any wrong verdict over all operations.
    by : 'auto' | 'subject' | 'window'
        What counts as independent. With subjects, verdicts hold for other subjects too; with
        windows only for these. Auto takes subjects where there are at least eight, in
        training and in validation each by itself.
    seed : int
        Seed of everything random: same seed, same bytes.
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        Where to compute.
    on_event : callable | None
        Called after every epoch and every round.
    **settings : object
        Further settings, such as ``n_rounds=160`` or ``lr=3e-3``: see
        `cadda.screening.design.ScreeningSettings`.

    Returns
    -------
    Screening
        Rewards, standard errors and verdicts.
    """
    chosen = ScreeningSettings(seed=seed, **settings)
    if not 0 < level < 1:
        raise ValueError(f"`level` must be between 0 and 1, got {level}.")
    if by not in ("auto", "subject", "window"):
        raise ValueError(f"`by` must be 'auto', 'subject' or 'window', got {by!r}.")
    problem = make_problem(train, valid, model=model, operations=operations, device=device)
    _check_classes(train, valid)
    train_cluster, train_name = _clusters(train, by)
    valid_cluster, valid_name = _clusters(valid, by)
    controls = destructive_controls(train.sfreq)
    trials, accuracy = collect_trials(
        problem, controls, chosen, valid_cluster=valid_cluster, on_event=on_event
    )
    if accuracy < chosen.min_accuracy:
        warnings.warn(
            f"the model reached an accuracy of {accuracy:.0%} on its training windows after "
            f"{chosen.max_warmup} epochs, less than `min_accuracy`={chosen.min_accuracy:.0%}: "
            "before it overfits, few operations can help. Increase `max_warmup` or `lr`.",
            stacklevel=2,
        )
    share = torch.bincount(train.y, minlength=train.n_classes) / len(train)
    return Screening(
        table=reach_verdicts(trials, train.class_names, share, train_cluster, level=level),
        independent=(train_name, valid_name),
        accuracy=accuracy,
        left_out=dict(problem.pool.left_out),
        settings={
            "model": problem.description.model,
            "level": level,
            **asdict(chosen),
            "package_version": __version__,
        },
    )


def _check_classes(train: Windows, valid: Windows) -> None:
    """Raise if validation lacks a class of the training windows."""
    missing = (train.class_counts() > 0) & (valid.class_counts() == 0)
    if missing.any():
        name = train.class_names[int(missing.argmax())]
        raise ValueError(
            f"`valid` must have windows of every class of `train`, but has none of {name!r}; "
            "leave the class out, or split the subjects with another seed."
        )


def _clusters(windows: Windows, by: Independent) -> tuple[Tensor, str]:
    """Return the cluster of each window, and the number of clusters in words."""
    n_subjects = len(windows.subjects)
    if by == "window" or (by == "auto" and n_subjects < MIN_SUBJECTS):
        return torch.arange(len(windows)), f"{len(windows)} windows"
    number = torch.from_numpy(np.unique(windows.subject, return_inverse=True)[1])
    return number, f"{n_subjects} subjects"
