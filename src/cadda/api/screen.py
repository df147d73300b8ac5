"""Windows in, out comes which operations help, hurt, or cannot be told, before any search."""

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
from cadda.screening.result import Screening
from cadda.screening.rewards import collect_trials
from cadda.screening.settings import (
    MIN_SUBJECTS,
    ScreeningProgress,
    ScreeningSettings,
)
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
    """Say which operations help, hurt, or cannot be told, class by class, from one training.

    A model is trained without augmentation until it begins to overfit. From then on operations are
    tried on training windows, and their rewards compared with those of the same windows unchanged,
    and with those of two controls that destroy the window: see `cadda.screening.rewards` for
    rewards and `cadda.screening.verdicts.reach_verdicts` for what follows from them.

    Parameters
    ----------
    train : Windows
        What the model learns from, and what operations are tried on.
    valid : Windows
        What they are judged by: other subjects.
    model : str | nn.Module | callable
        The model that augmentation shall help; see `cadda.fit`.
    operations : sequence of str | OperationPool | None
        What to try: names or a pool; None takes all that mean something on the montage.
    level : float
        Probability of any wrong verdict over all operations.
    by : 'auto' | 'subject' | 'window'
        What counts as independent. With subjects, verdicts hold for other subjects too; with
        windows only for those here. Auto takes subjects where there are at least eight, in
        training and in validation each by itself.
    seed : int
        Decides everything that is random: same seed, same bytes.
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        Where to compute.
    on_event : callable | None
        Called after every epoch and every round.
    **settings : object
        Further settings, such as ``n_rounds=160`` or ``lr=3e-3``: see
        `cadda.screening.settings.ScreeningSettings`.

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
    learned_from, learned_name = _clusters(train, by)
    judged_by, judged_name = _clusters(valid, by)
    controls = destructive_controls(train.sfreq)
    trials, accuracy = collect_trials(
        problem, controls, chosen, valid_cluster=judged_by, on_event=on_event
    )
    if accuracy < chosen.min_accuracy:
        warnings.warn(
            f"the model knew {accuracy:.0%} of its training windows after {chosen.max_warmup} "
            f"epochs, less than {chosen.min_accuracy:.0%} (in Python `min_accuracy`): before it "
            "overfits, little can help. Train longer with a higher `max_warmup`, "
            "or faster with a higher `lr`.",
            stacklevel=2,
        )
    share = torch.bincount(train.y, minlength=train.n_classes) / len(train)
    return Screening(
        table=reach_verdicts(trials, train.class_names, share, learned_from, level=level),
        independent=(learned_name, judged_name),
        accuracy=accuracy,
        left_out=dict(problem.pool.left_out),
        settings={
            "model": model if isinstance(model, str) else "custom",
            "level": level,
            **asdict(chosen),
            "package_version": __version__,
        },
    )


def _check_classes(train: Windows, valid: Windows) -> None:
    """Refuse classes that cannot be judged because validation has none of them."""
    missing = (train.class_counts() > 0) & (valid.class_counts() == 0)
    if missing.any():
        name = train.class_names[int(missing.argmax())]
        raise ValueError(
            f"`valid` must have windows of every class of `train`, but has none of {name!r}; "
            "leave the class out, or split the subjects by another seed."
        )


def _clusters(windows: Windows, by: Independent) -> tuple[Tensor, str]:
    """Give the number of what each window shares with others, and how many of what there are."""
    n_subjects = len(windows.subjects)
    if by == "window" or (by == "auto" and n_subjects < MIN_SUBJECTS):
        return torch.arange(len(windows)), f"{len(windows)} windows"
    number = torch.from_numpy(np.unique(windows.subject, return_inverse=True)[1])
    return number, f"{n_subjects} subjects"
