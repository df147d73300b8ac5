"""Steps of training and of prediction, the same for every loop that has them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from cadda._internal.random import GLOBAL_GENERATORS
from cadda._internal.rows import Signals, batches, n_at_once
from cadda._internal.text import short_reason
from cadda.exceptions import CaddaError, ModelError
from cadda.training.checkpoint import State, Stateful
from cadda.training.metrics import score
from cadda.training.optimizers import construct_optimizer
from cadda.training.problem import Problem
from cadda.training.settings import TrainingSettings

__all__ = [
    "MAX_PREDICTED",
    "batches_of",
    "check_finite",
    "check_logits",
    "check_model",
    "class_weights",
    "compute_logits",
    "descend",
    "least_windows",
    "make_optimizer",
    "predict_logits",
    "predict_on_device",
    "restore_part",
    "score_validation",
]

MAX_PREDICTED = 1 << 18
"""Samples that are predicted at once, 1 MiB; networks multiply them by ten and more."""


def predict_logits(
    model: nn.Module, x: Signals, n_classes: int, *, what: str = "windows"
) -> Tensor:
    """Compute finite logits of shape (n_windows, n_classes) in evaluation mode, on the CPU."""
    return check_finite(predict_on_device(model, x, n_classes).cpu(), what)


@torch.no_grad()
def predict_on_device(model: nn.Module, x: Signals, n_classes: int) -> Tensor:
    """Compute logits as `predict_logits` does, on the device of the model and not checked."""
    was_training, first = model.training, next(model.parameters(), None)
    device = "cpu" if first is None else first.device
    model.eval()
    try:
        # One tensor for all: many small ones would keep the memory between them from reuse.
        logits = torch.empty(len(x), n_classes, device=device)
        size = n_at_once(x, MAX_PREDICTED)
        for part, batch in zip(torch.split(logits, size), batches(x, size), strict=True):
            # A copy, as a model may work in place.
            part.copy_(compute_logits(model, batch.to(device, copy=True), n_classes))
    finally:
        model.train(was_training)
    return logits


def check_finite(logits: Tensor, what: str = "windows") -> Tensor:
    """Return logits; raise if some are not finite."""
    bad = int((~logits.isfinite()).any(1).sum())
    if bad:
        raise ModelError(
            f"the model returned NaN or infinity for {what}, {bad} of {len(logits)}, so that it "
            "predicts nothing; try a lower `lr`, or another `model`."
        )
    return logits


def compute_logits(
    model: nn.Module,
    x: Tensor,
    n_classes: int,
    *,
    differentiable: bool = False,
    forward: Callable[[Tensor], Any] | None = None,
) -> Tensor:
    """Run a model of any origin; raise `ModelError` if it fails, or its output is not logits.

    ``forward`` is another way to call it.
    """
    try:
        output = (model if forward is None else forward)(x)
    except CaddaError:
        raise
    # The code of others raises anything.
    except Exception as error:
        raise ModelError(
            f"the model gave no output for windows of shape {tuple(x.shape)}, {x.dtype} on "
            f"{x.device}: {type(error).__name__}, {short_reason(error)}{_hint(model, x)}."
        ) from error
    logits = check_logits(output, len(x), n_classes)
    if logits.dtype is not x.dtype:
        raise ModelError(
            f"the model's output must be logits of type {x.dtype}, got {logits.dtype}; "
            + ("pass model.float()." if logits.is_floating_point() else "return no labels.")
        )
    if logits.device != x.device:
        raise ModelError(
            f"the model's output must be on the device of its input, {x.device}, got "
            f"{logits.device}; make no tensors on other devices in its forward."
        )
    if differentiable and not logits.requires_grad:
        raise ModelError(
            "the model's output does not depend on its weights: it has no gradient; remove "
            "detach() and torch.no_grad() from its forward."
        )
    return logits


def check_model(model: nn.Module, problem: Problem) -> None:
    """Raise `ModelError` if a model cannot be trained on windows such as these."""
    was_training, x = model.training, problem.train.x[:2].to(problem.device, copy=True)
    model.eval()
    try:
        compute_logits(model, x, problem.n_classes, differentiable=True)
    finally:
        model.train(was_training)


def _hint(model: nn.Module, x: Tensor) -> str:
    """Return a way out if the weights of a model do not go with its input."""
    others = {value.dtype for value in model.parameters() if value.is_floating_point()} - {x.dtype}
    if others:
        return f"; its weights are {next(iter(others))}, so pass model.float()"
    return ""


def check_logits(logits: object, n_windows: int, n_classes: int) -> Tensor:
    """Return the output of a model; raise if it is not a logit per window and class."""
    if not isinstance(logits, Tensor):
        raise ModelError(
            f"the model's output must be a tensor of logits, got {type(logits).__name__}."
        )
    if logits.shape != (n_windows, n_classes):
        raise ModelError(
            f"the model's output must be logits of shape ({n_windows}, {n_classes}) for "
            f"{n_windows} windows and {n_classes} classes, got {tuple(logits.shape)}."
        )
    return logits


def make_optimizer(
    parameters: Iterable[Tensor], settings: TrainingSettings
) -> torch.optim.Optimizer:
    """Make the optimizer of a training run."""
    return construct_optimizer(settings.optimizer, parameters, vars(settings))


def batches_of(order: Tensor, batch_size: int, *, least: int = 1) -> list[Tensor]:
    """Split an order of windows; a last batch of fewer than `least` joins the one before."""
    batches = list(torch.split(order, batch_size))
    if len(batches) > 1 and len(batches[-1]) < least:
        batches[-2:] = [torch.cat(batches[-2:])]
    return batches


def least_windows(model: nn.Module, x: Tensor) -> int:
    """Return how many windows the model needs in a training step, 1 or 2.

    Batch normalisation cannot normalise a single value.
    """
    if not any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in model.modules()):
        return 1
    trial = copy.deepcopy(model).train()
    try:
        with GLOBAL_GENERATORS, torch.random.fork_rng(devices=[]), torch.no_grad():
            trial(x[:1].clone())
    except ValueError:
        return 2
    return 1


def descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """Move the parameters of an optimizer one step down a loss; their gradients stay readable."""
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    optimizer.step()


def restore_part(part: Stateful, state: State) -> None:
    """Restore a state; raise `ValueError` if that of an optimizer is not one of its own."""
    if not isinstance(part, torch.optim.Optimizer):
        part.load_state_dict(state)
        return
    expected = _kinds_after_step(part)
    part.load_state_dict(state)
    for number, values in part.state_dict()["state"].items():
        for name, value in values.items():
            if _kind(value) != expected.get(number, {}).get(name):
                raise ValueError(f"{name} is not what the optimizer keeps")


def _kinds_after_step(optimizer: torch.optim.Optimizer) -> dict[Any, dict[str, object]]:
    """Return type and shape of all that an optimizer keeps, from a step of a copy of it."""
    twin = copy.deepcopy(optimizer)
    for group in twin.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.zeros_like(parameter)
    twin.step()
    states = twin.state_dict()["state"].items()
    return {
        number: {name: _kind(value) for name, value in values.items()} for number, values in states
    }


def _kind(value: object) -> object:
    return (value.shape, value.dtype) if isinstance(value, Tensor) else type(value)


def class_weights(
    y: Tensor, n_classes: int, settings: TrainingSettings, device: torch.device
) -> Tensor | None:
    """Return the inverse frequency of classes, 0 for absent classes; None if all count alike."""
    if not settings.class_weights:
        return None
    counts = torch.bincount(y, minlength=n_classes)
    n_present = int((counts > 0).sum())
    return torch.where(counts > 0, len(y) / (n_present * counts.clamp_min(1)), 0.0).to(device)


def score_validation(
    problem: Problem, logits: Tensor, class_weight: Tensor | None = None
) -> tuple[float, float]:
    """Return loss and balanced accuracy of the logits of the validation windows."""
    y, weight = problem.valid.y, None if class_weight is None else class_weight.cpu()
    loss = cross_entropy(logits, y, weight=weight).item()
    return loss, score(y, logits.argmax(1), problem.class_names).balanced_accuracy
