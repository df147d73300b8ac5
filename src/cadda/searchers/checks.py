"""What must be right before a search begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from cadda.exceptions import ModelError
from cadda.searchers.trials.optuna_store import open_storage, quiet_optuna
from cadda.training.batched import can_stack
from cadda.training.predict import check_logits
from cadda.training.problem import Problem

__all__ = ["check_problem", "check_stack", "check_storage"]


def check_problem(problem: Problem, settings: Mapping[str, Any]) -> None:
    """Refuse a search that cannot work, in one sentence.

    Parameters
    ----------
    problem : Problem
        What to search on.
    settings : mapping of str to object
        Settings of the method.
    """
    for name, y in (("train", problem.train.y), ("valid", problem.valid.y)):
        counts = torch.bincount(y, minlength=problem.n_classes).tolist()
        for class_name, count in zip(problem.class_names, counts, strict=True):
            if not count:
                raise ValueError(
                    f"`{name}` must have windows of every class, but has none of {class_name!r}; "
                    "leave the class out, or split the subjects by another seed."
                )
    for name in ("batch_size", "n_folds"):
        if settings.get(name, 0) > len(problem.train.x):
            raise ValueError(
                f"`{name}` must be at most the number of training windows, {len(problem.train)}, "
                f"got {settings[name]}."
            )
    if len(problem.pool) < 2:
        raise ValueError(
            "`operations` must name at least two operations to choose from, got only "
            f"{', '.join(problem.pool.names)}."
        )
    _check_model(problem)


def check_stack(problem: Problem, stack: int) -> None:
    """Refuse to stack trainings of a model that cannot be stacked.

    Parameters
    ----------
    problem : Problem
        What to search on.
    stack : int
        How many trainings are stepped together.
    """
    if stack > 1 and not can_stack(problem.make_model(0)):
        raise ValueError(
            "`stack` must be 1 for a model with dropout or batch normalisation, which cannot be "
            f"stacked, got {stack}."
        )


def check_storage(settings: Mapping[str, Any], *, resume: bool) -> None:
    """Refuse a database that cannot be opened, or that holds the study already.

    Parameters
    ----------
    settings : mapping of str to object
        Settings of the method.
    resume : bool
        Whether to go on with a study that is there already.
    """
    if settings.get("storage") is not None:
        with quiet_optuna():
            open_storage(settings["storage"], settings["study_name"], resume=resume)


def _check_model(problem: Problem) -> None:
    """Try a model on a few windows."""
    n_windows = min(4, len(problem.train.x))
    x = problem.train.x[:n_windows].to(problem.device)
    model = problem.new_model(0).eval()
    with torch.no_grad():
        logits = check_logits(model(x), n_windows, problem.n_classes)
    if not bool(logits.isfinite().all()):
        raise ModelError("the model gives NaN or infinite logits before any training.")
