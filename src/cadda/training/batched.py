"""Training many models of one small architecture at once, their weights stacked.

Most of the time that a small network takes is overhead. Stepping M of them together costs little
more than stepping one, and each is trained as it would be alone: with its own seed, order of
windows, policy and early stopping.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.functional import cross_entropy

from cadda._internal.random import Seeds, Streams
from cadda._internal.rows import batches, n_at_once
from cadda.exceptions import TrainingError
from cadda.training.augmenter import Augmentation, Augmenter
from cadda.training.problem import Problem
from cadda.training.progress import EarlyStopping, Fitted
from cadda.training.settings import TrainingSettings
from cadda.training.step import (
    MAX_PREDICTED,
    check_logits,
    class_weights,
    descend,
    make_optimizer,
    score_validation,
)

__all__ = ["can_stack", "train_stacked"]


def can_stack(model: nn.Module) -> bool:
    """Return whether a model has neither random numbers nor buffers of its own."""
    draws = any(isinstance(module, nn.modules.dropout._DropoutNd) for module in model.modules())
    return not draws and next(model.buffers(), None) is None


def train_stacked(
    problem: Problem,
    settings: Sequence[TrainingSettings],
    policies: Sequence[Augmentation | None],
) -> list[Fitted | TrainingError]:
    """Train several models together, each as `train` would alone but for rounding.

    Settings may differ in their seeds only. A model whose training diverged is replaced by the
    error.
    """
    members = [
        _Member(problem, own, policy) for own, policy in zip(settings, policies, strict=True)
    ]
    _check(members)
    stack = _Stack(problem, members)
    while stack.members:
        stack.run_epoch()
    return [
        member.error or member.progress.finish(member.model, problem.description)
        for member in members
    ]


class _Member:
    """One of the models, with what is its own."""

    def __init__(
        self, problem: Problem, settings: TrainingSettings, policy: Augmentation | None
    ) -> None:
        self.model, self.settings = problem.new_model(settings.seed), settings
        self.seeds = Seeds(settings.seed)
        self.augment = Augmenter(policy, settings.copies)
        self.progress = EarlyStopping(settings, self.model.state_dict(), problem.missing_classes)
        self.error: TrainingError | None = None

    @property
    def should_continue(self) -> bool:
        return self.error is None and self.progress.should_continue


class _Stack:
    """The models that are still in training, and their weights."""

    def __init__(self, problem: Problem, members: list[_Member]) -> None:
        self.problem, self.members, self.device = problem, members, problem.device
        self.skeleton, self.settings = members[0].model, members[0].settings
        self.weight = class_weights(problem.train.y, problem.n_classes, self.settings, self.device)
        self.parameters, _ = stack_module_state([member.model for member in members])
        self.optimizer = make_optimizer(self.parameters.values(), self.settings)

    def run_epoch(self) -> None:
        """Train all for an epoch, validate, and drop those that are done."""
        train_losses = self._train()
        values = zip(self.members, train_losses, self._validate(), strict=True)
        for i, (member, train_loss, scores) in enumerate(values):
            if not math.isfinite(scores[0]) and member.error is None:
                member.error = TrainingError(f"the validation loss is {scores[0]}.")
            if member.error is None:
                weights = {name: value[i] for name, value in self.parameters.items()}
                member.progress.update(train_loss, *scores, weights)
        kept = [i for i, member in enumerate(self.members) if member.should_continue]
        if len(kept) < len(self.members):
            self._keep(kept)

    def _train(self) -> list[float]:
        epoch = len(self.members[0].progress.history) + 1
        members = [self._augmented_batches(member, epoch) for member in self.members]
        sizes = [len(index) for index in self._order(self.members[0], epoch)]
        losses = torch.empty(len(sizes), len(self.members), device=self.problem.device)
        for number, step in enumerate(zip(*members, strict=True)):
            x, y = zip(*step, strict=True)
            loss = self._losses(torch.stack(x), torch.stack(y))
            losses[number] = loss.detach()
            # Each loss depends on the weights of one member only, so the sum mixes nothing.
            descend(self.optimizer, loss.sum())
        values = losses.T.tolist()
        for member, own in zip(self.members, values, strict=True):
            self._note_divergence(member, own, epoch)
        return [
            sum(loss * size for loss, size in zip(own, sizes, strict=True)) / sum(sizes)
            for own in values
        ]

    def _order(self, member: _Member, epoch: int) -> tuple[Tensor, ...]:
        """Return the windows of each step of a member."""
        stream = member.seeds.stream("order", epoch=epoch)
        order = torch.randperm(len(self.problem.train), generator=stream)
        return torch.split(order, self.settings.batch_size)

    def _augmented_batches(self, member: _Member, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of a member, the same each time."""
        x, y = self.problem.train.x, self.problem.train.y
        draws = Streams.of(member.seeds, "augmentation", self.device, epoch=epoch)
        member.augment.start_epoch(epoch)
        for index in self._order(member, epoch):
            yield member.augment(x[index].to(self.device), y[index], draws)

    def _losses(self, x: Tensor, y: Tensor) -> Tensor:
        logits = self._logits(x, 0)
        check_logits(logits[0], x.shape[1], self.problem.n_classes)

        def loss(own_logits: Tensor, own_y: Tensor) -> Tensor:
            return cross_entropy(own_logits, own_y, weight=self.weight)

        losses: Tensor = vmap(loss)(logits, y)
        return losses

    def _logits(self, x: Tensor, axis: int | None) -> Tensor:
        """Run all members on windows of their own (axis 0), or on the same (None)."""

        def forward(parameters: dict[str, Tensor], own_x: Tensor) -> Any:
            return functional_call(self.skeleton, parameters, (own_x,))

        logits: Tensor = vmap(forward, in_dims=(0, axis))(self.parameters, x)
        return logits

    def _note_divergence(self, member: _Member, losses: list[float], epoch: int) -> None:
        for number, loss in enumerate(losses):
            if not math.isfinite(loss):
                x, _ = next(islice(self._augmented_batches(member, epoch), number, None))
                member.error = member.augment.divergence(x, loss, epoch, number + 1)
                return

    @torch.no_grad()
    def _validate(self) -> list[tuple[float, float]]:
        """Return loss and balanced accuracy of each member."""
        x = self.problem.valid.x
        parts = batches(x, n_at_once(x, MAX_PREDICTED))
        logits_of_parts = [self._logits(part.to(self.device), None) for part in parts]
        return [
            score_validation(self.problem, logits, self.weight)
            for logits in torch.cat(logits_of_parts, dim=1).cpu()
        ]

    def _keep(self, kept: list[int]) -> None:
        """Continue with some of the members, with their part of weights and of what is kept."""
        self.members = [self.members[i] for i in kept]
        if not kept:
            return
        memory = [dict(self.optimizer.state[value]) for value in self.parameters.values()]
        self.parameters = {
            name: value.detach()[kept].clone().requires_grad_()
            for name, value in self.parameters.items()
        }
        self.optimizer = make_optimizer(self.parameters.values(), self.settings)
        for value, before in zip(self.parameters.values(), memory, strict=True):
            # Steps are counted for all members together.
            self.optimizer.state[value] = {
                name: part[kept] if isinstance(part, Tensor) and part.ndim == value.ndim else part
                for name, part in before.items()
            }


def _check(members: list[_Member]) -> None:
    for member in members:
        if not can_stack(member.model):
            raise ValueError(
                "`model` must have neither dropout nor buffers such as those of batch "
                "normalisation to be stacked; train one model at a time."
            )
        if not isinstance(member.settings.optimizer, str):
            raise ValueError(
                "`optimizer` must be a name where models are stacked, as a function may mix them."
            )
        if member.settings.precision != "float32" or member.settings.compile:
            raise ValueError(
                "`precision` must be float32 and `compile` False where models are stacked."
            )
        if replace(member.settings, seed=0) != replace(members[0].settings, seed=0):
            raise ValueError("`settings` must be the same for all models, but for the seed.")
    if len({member.augment.copies for member in members}) > 1:
        raise ValueError(
            "`policies` must be given for all models or for none where `copies` adds windows, and "
            "must be class-wise for all or for none where it is None."
        )
