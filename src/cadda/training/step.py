"""One step of training, the same for every loop that trains a model."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from cadda.training.settings import TrainingSettings

__all__ = ["class_weights", "descend", "make_optimizer"]


def make_optimizer(parameters: Iterable[Tensor], settings: TrainingSettings) -> torch.optim.Adam:
    """Make Adam with the settings of a training run."""
    return torch.optim.Adam(
        parameters, lr=settings.lr, betas=settings.betas, weight_decay=settings.weight_decay
    )


def descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """Move the parameters of an optimizer one step down a loss; their gradients stay readable."""
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    optimizer.step()


def class_weights(
    y: Tensor, n_classes: int, settings: TrainingSettings, device: torch.device
) -> Tensor | None:
    """Return the inverse frequency of classes, 0 for absent classes; None if all count alike."""
    if not settings.class_weights:
        return None
    counts = torch.bincount(y, minlength=n_classes)
    n_present = int((counts > 0).sum())
    return torch.where(counts > 0, len(y) / (n_present * counts.clamp_min(1)), 0.0).to(device)
