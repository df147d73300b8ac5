"""Many trainings of one small architecture at once, their weights stacked in one tensor each.

A small network keeps a processor waiting for the next instruction more than it keeps it busy.
Stepping M of them together costs little more than stepping one, and each is trained as it would be
alone: with its own seed, order of windows, policy and early stopping.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.functional import cross_entropy

from cadda._internal.random import Seeds
from cadda.exceptions import TrainingError
from cadda.training.augmenter import Augmentation, Augmenter
from cadda.training.events import EpochEnd
from cadda.training.metrics import score
from cadda.training.predict import BATCH, check_logits, device_of
from cadda.training.settings import TrainingSettings
from cadda.training.trainer import Labelled, TrainingResult, class_weight_of

__all__ = ["can_stack", "train_stacked"]


def can_stack(model: nn.Module) -> bool:
    """Say whether trainings of a model can be stacked and give the same as one by one.

    Parameters
    ----------
    model : nn.Module
        The model.

    Returns
    -------
    bool
        False if it has random numbers or state of its own, such as dropout or batch normalisation.
    """
    draws = any(isinstance(one, nn.modules.dropout._DropoutNd) for one in model.modules())
    return not draws and next(model.buffers(), None) is None


def train_stacked(
    models: Sequence[nn.Module],
    training: Labelled,
    validation: Labelled,
    class_names: tuple[str, ...],
    settings: Sequence[TrainingSettings],
    policies: Sequence[Augmentation | None],
) -> list[TrainingResult | TrainingError]:
    """Train models of one architecture together, each as `train` would train it alone.

    Parameters
    ----------
    models : sequence of nn.Module
        The models, for which `can_stack` holds; trained where they are.
    training : tuple of Tensor
        Windows and labels to learn from.
    validation : tuple of Tensor
        Windows and labels to stop by.
    class_names : tuple of str
        Names of the classes, in the order of the labels.
    settings : sequence of TrainingSettings
        How to train each of them; only seeds may differ.
    policies : sequence of Policy | callable | None
        Augmentation of each of them.

    Returns
    -------
    list of TrainingResult and TrainingError
        The models and their histories, equal to those of `train` but for rounding; an error in the
        place of a training that diverged.
    """
    members = [_Member(*one) for one in zip(models, settings, policies, strict=True)]
    _check(members)
    stack = _Stack(members, training, validation, class_names)
    while stack.members:
        stack.run_epoch()
    return [member.result() for member in members]


class _Member:
    """One of the trainings: what is its own."""

    def __init__(
        self, model: nn.Module, settings: TrainingSettings, policy: Augmentation | None
    ) -> None:
        self.model, self.settings = model, settings
        self.seeds = Seeds(settings.seed)
        self.augment = Augmenter(policy, settings.copies)
        self.history: list[EpochEnd] = []
        self.best_epoch, self.best_value = 0, math.inf
        self.best_weights: dict[str, Tensor] = {}
        self.error: TrainingError | None = None

    def goes_on(self) -> bool:
        since_best = len(self.history) - self.best_epoch
        has_patience = since_best < self.settings.patience
        has_time = len(self.history) < self.settings.max_epochs
        return self.error is None and has_time and has_patience

    def note(self, event_values: tuple[float, float, float], weights: dict[str, Tensor]) -> None:
        """Keep what came of an epoch, and the weights if they are the best so far."""
        train_loss, valid_loss, accuracy = event_values
        epoch = len(self.history) + 1
        value = valid_loss if self.settings.monitor == "loss" else -accuracy
        is_best = value < self.best_value
        if is_best:
            self.best_epoch, self.best_value, self.best_weights = epoch, value, weights
        self.history.append(
            EpochEnd(epoch, self.settings.max_epochs, train_loss, valid_loss, accuracy, is_best)
        )

    def result(self) -> TrainingResult | TrainingError:
        if self.error is not None:
            return self.error
        self.model.load_state_dict(self.best_weights)
        stopped_early = len(self.history) < self.settings.max_epochs
        return TrainingResult(self.model.eval(), self.history, self.best_epoch, stopped_early)


class _Stack:
    """Those trainings that go on, and their weights."""

    def __init__(
        self,
        members: list[_Member],
        training: Labelled,
        validation: Labelled,
        class_names: tuple[str, ...],
    ) -> None:
        first = members[0]
        self.members, self.skeleton, self.settings = members, first.model, first.settings
        self.training, self.validation, self.class_names = training, validation, class_names
        self.device = device_of(first.model)
        self.weight = class_weight_of(training[1], len(class_names), first.settings, self.device)
        self.parameters, _ = stack_module_state([member.model for member in members])
        self.optimizer = self._optimizer()

    def run_epoch(self) -> None:
        """Train all for an epoch, validate, and let go of those that have come to their end."""
        train_losses = self._train()
        valid_losses, accuracies = self._validate()
        numbers = zip(train_losses, valid_losses, accuracies, strict=True)
        for i, (member, values) in enumerate(zip(self.members, numbers, strict=True)):
            if member.error is None:
                weights = {
                    name: value[i].detach().clone() for name, value in self.parameters.items()
                }
                member.note(values, weights)
        kept = [i for i, member in enumerate(self.members) if member.goes_on()]
        if len(kept) < len(self.members):
            self._keep(kept)

    def _train(self) -> list[float]:
        x, y = self.training
        epoch = len(self.members[0].history) + 1
        orders, draws = [], []
        for member in self.members:
            member.augment.start_epoch(epoch)
            stream = member.seeds.stream("order", epoch=epoch)
            orders.append(torch.randperm(len(x), generator=stream))
            draws.append(member.seeds.stream("augmentation", device=self.device, epoch=epoch))
        totals = torch.zeros(len(self.members), dtype=torch.float64)
        index = torch.stack(orders)
        for step, chosen in enumerate(torch.split(index, self.settings.batch_size, dim=1), 1):
            batches = [
                member.augment(x[one].to(self.device), y[one].to(self.device), stream)
                for member, one, stream in zip(self.members, chosen, draws, strict=True)
            ]
            losses = self._losses(
                torch.stack([batch for batch, _ in batches]),
                torch.stack([labels for _, labels in batches]),
            )
            totals += losses.detach().cpu().double() * chosen.shape[1]
            self._note_divergence(losses, batches, epoch, step)
            self.optimizer.zero_grad()
            # Each loss depends on the weights of one member only, so the sum mixes nothing.
            torch.autograd.backward(losses.sum())
            self.optimizer.step()
        return [float(value) for value in totals / len(x)]

    def _losses(self, x: Tensor, y: Tensor) -> Tensor:
        logits = self._logits(x, 0)
        check_logits(logits[0], x.shape[1], len(self.class_names))

        def loss(one_logits: Tensor, one_y: Tensor) -> Tensor:
            return cross_entropy(one_logits, one_y, weight=self.weight)

        losses: Tensor = vmap(loss)(logits, y)
        return losses

    def _logits(self, x: Tensor, axis: int | None) -> Tensor:
        """Run all members on windows of their own (axis 0), or on the same (None)."""

        def forward(parameters: dict[str, Tensor], one: Tensor) -> Any:
            return functional_call(self.skeleton, parameters, (one,))

        logits: Tensor = vmap(forward, in_dims=(0, axis))(self.parameters, x)
        return logits

    def _note_divergence(
        self, losses: Tensor, batches: list[tuple[Tensor, Tensor]], epoch: int, step: int
    ) -> None:
        for member, loss, (x, _) in zip(self.members, losses.tolist(), batches, strict=True):
            if not math.isfinite(loss) and member.error is None:
                why = member.augment.explain(x, untrained=epoch == step == 1)
                member.error = TrainingError(
                    f"the loss became {loss} in epoch {epoch}, step {step}: {why}."
                )

    @torch.no_grad()
    def _validate(self) -> tuple[list[float], list[float]]:
        x, y = self.validation
        batches = [self._logits(one.to(self.device), None).cpu() for one in torch.split(x, BATCH)]
        weight = None if self.weight is None else self.weight.cpu()
        losses, accuracies = [], []
        for logits in torch.cat(batches, dim=1):
            losses.append(cross_entropy(logits, y, weight=weight).item())
            scores = score(y, logits.argmax(1), self.class_names)
            accuracies.append(scores.balanced_accuracy)
        return losses, accuracies

    def _keep(self, kept: list[int]) -> None:
        """Go on with some of the members, with their part of weights and of Adam's memory."""
        self.members = [self.members[i] for i in kept]
        if not kept:
            return
        memory = [dict(self.optimizer.state[value]) for value in self.parameters.values()]
        self.parameters = {
            name: value.detach()[kept].clone().requires_grad_()
            for name, value in self.parameters.items()
        }
        self.optimizer = self._optimizer()
        for value, before in zip(self.parameters.values(), memory, strict=True):
            self.optimizer.state[value] = {
                name: one if name == "step" else one[kept] for name, one in before.items()
            }

    def _optimizer(self) -> torch.optim.Adam:
        return torch.optim.Adam(
            self.parameters.values(),
            lr=self.settings.lr,
            betas=self.settings.betas,
            weight_decay=self.settings.weight_decay,
        )


def _check(members: list[_Member]) -> None:
    for member in members:
        if not can_stack(member.model):
            raise ValueError(
                "`models` must have neither dropout nor buffers such as those of batch "
                "normalisation; train them one by one."
            )
        if replace(member.settings, seed=0) != replace(members[0].settings, seed=0):
            raise ValueError("`settings` must be the same for all models, but for the seed.")
    if len({member.augment.copies for member in members}) > 1:
        raise ValueError(
            "`policies` must be given for all models or for none where `copies` adds windows, and "
            "must be class-wise for all or for none where it is None."
        )
