"""Running a model over many windows."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cadda.exceptions import ModelError

__all__ = ["check_logits", "device_of", "predict_logits"]

BATCH = 256


def device_of(model: nn.Module) -> torch.device:
    """Return the device of the first parameter of a model."""
    first = next(model.parameters(), None)
    return torch.device("cpu") if first is None else first.device


@torch.no_grad()
def predict_logits(model: nn.Module, x: Tensor, n_classes: int) -> Tensor:
    """Compute logits of shape (n_windows, n_classes) in evaluation mode, on the CPU."""
    was_training, device = model.training, device_of(model)
    model.eval()
    try:
        batches = [
            check_logits(model(batch.to(device)), len(batch), n_classes).cpu()
            for batch in torch.split(x, BATCH)
        ]
    finally:
        model.train(was_training)
    return torch.cat(batches)


def check_logits(logits: object, n_windows: int, n_classes: int) -> Tensor:
    """Return the output of a model; raise if it is not a logit per window and class."""
    if not isinstance(logits, Tensor):
        raise ModelError(f"the model must give a tensor of logits, got {type(logits).__name__}.")
    if logits.shape != (n_windows, n_classes):
        raise ModelError(
            f"the model must give logits of shape ({n_windows}, {n_classes}) for {n_windows} "
            f"windows and {n_classes} classes, got {tuple(logits.shape)}."
        )
    return logits
