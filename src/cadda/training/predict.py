"""Running a model over many windows."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cadda.exceptions import ModelError

__all__ = ["check_logits", "device_of", "predict_logits"]

BATCH = 256


def device_of(model: nn.Module) -> torch.device:
    """Say where a model is.

    Parameters
    ----------
    model : nn.Module
        The model.

    Returns
    -------
    torch.device
        Device of its first parameter; the CPU if it has none.
    """
    first = next(model.parameters(), None)
    return torch.device("cpu") if first is None else first.device


@torch.no_grad()
def predict_logits(model: nn.Module, x: Tensor, n_classes: int) -> Tensor:
    """Compute logits in evaluation mode, a batch at a time.

    Parameters
    ----------
    model : nn.Module
        The model; its mode is as before afterwards.
    x : Tensor
        Windows of shape (n_windows, n_channels, n_times), on any device.
    n_classes : int
        Number of classes that the model must tell apart.

    Returns
    -------
    Tensor
        Logits of shape (n_windows, n_classes), on the CPU.
    """
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
    """Refuse what a model gives if it is not one logit per window and class.

    Parameters
    ----------
    logits : object
        What the model gave.
    n_windows : int
        Number of windows that went in.
    n_classes : int
        Number of classes.

    Returns
    -------
    Tensor
        The logits.
    """
    if not isinstance(logits, Tensor):
        raise ModelError(f"the model must give a tensor of logits, got {type(logits).__name__}.")
    if logits.shape != (n_windows, n_classes):
        raise ModelError(
            f"the model must give logits of shape ({n_windows}, {n_classes}) for {n_windows} "
            f"windows and {n_classes} classes, got {tuple(logits.shape)}."
        )
    return logits
