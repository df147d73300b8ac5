"""What must be right before a search begins."""

from __future__ import annotations

import torch

from cadda.exceptions import ModelError
from cadda.searchers.task import SearchTask
from cadda.training.predict import check_logits
from cadda.training.stacked import can_stack

__all__ = ["check_stack", "check_task"]


def check_task(task: SearchTask, batch_size: int) -> None:
    """Refuse a search that cannot work, in one sentence.

    Parameters
    ----------
    task : SearchTask
        What to search on.
    batch_size : int
        Windows per step.
    """
    for name, y in (("train", task.y_train), ("valid", task.y_valid)):
        counts = torch.bincount(y, minlength=len(task.class_names)).tolist()
        for class_name, count in zip(task.class_names, counts, strict=True):
            if not count:
                raise ValueError(
                    f"`{name}` must have windows of every class, but has none of {class_name!r}; "
                    "leave the class out, or split the subjects by another seed."
                )
    if len(task.x_train) < batch_size:
        raise ValueError(
            f"`batch_size` must be at most the number of training windows, {len(task.x_train)}, "
            f"got {batch_size}."
        )
    if len(task.pool) < 2:
        raise ValueError(
            "`operations` must name at least two operations to choose from, got only "
            f"{', '.join(task.pool.names)}."
        )
    _check_model(task)


def check_stack(task: SearchTask, stack: int) -> None:
    """Refuse to stack trainings of a model that cannot be stacked.

    Parameters
    ----------
    task : SearchTask
        What to search on.
    stack : int
        How many trainings are stepped together.
    """
    if stack > 1 and not can_stack(task.make_model(0)):
        raise ValueError(
            "`stack` must be 1 for a model with dropout or batch normalisation, which cannot be "
            f"stacked, got {stack}."
        )


def _check_model(task: SearchTask) -> None:
    """Try a model on a few windows."""
    n_windows = min(4, len(task.x_train))
    x = task.x_train[:n_windows].to(task.device)
    model = task.make_model(0).to(task.device).eval()
    with torch.no_grad():
        logits = check_logits(model(x), n_windows, len(task.class_names))
    if not bool(logits.isfinite().all()):
        raise ModelError("the model gives NaN or infinite logits before any training.")
