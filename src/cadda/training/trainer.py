"""The training loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from cadda._internal.devices import to_host
from cadda._internal.random import Seeds, Streams, seeded
from cadda.training.acceleration import accelerated
from cadda.training.augmenter import Augmentation, Augmenter
from cadda.training.checkpoint import (
    Fingerprint,
    State,
    load_checkpoint,
    model_digest,
    policy_digest,
    restoring,
    save_checkpoint,
)
from cadda.training.optimizers import name_of
from cadda.training.problem import Problem
from cadda.training.progress import EarlyStopping, EpochEnd, Fitted, TrainingEnd, TrainingEvent
from cadda.training.settings import TrainingSettings
from cadda.training.step import (
    batches_of,
    check_finite,
    class_weights,
    compute_logits,
    descend,
    least_windows,
    make_optimizer,
    predict_on_device,
    restore_part,
    score_validation,
)

__all__ = ["Trainer", "train"]


def train(
    problem: Problem,
    settings: TrainingSettings,
    *,
    policy: Augmentation | None = None,
    on_event: Callable[[TrainingEvent], None] | None = None,
    checkpoint: Path | None = None,
) -> Fitted:
    """Train a new model, and keep the weights that are best on validation; see `Trainer.run`."""
    return Trainer(problem, settings, policy).run(on_event=on_event, checkpoint=checkpoint)


class Trainer:
    """A training run, an epoch at a time."""

    def __init__(
        self, problem: Problem, settings: TrainingSettings, policy: Augmentation | None = None
    ) -> None:
        self.problem, self.settings = problem, settings
        self.model, self.device = problem.new_model(settings.seed), problem.device
        self.seeds = Seeds(settings.seed)
        self.augment = Augmenter(policy, settings.copies)
        self.policy = self.augment.source
        self.forward = accelerated(
            self.model, precision=settings.precision, compiled=settings.compile
        )
        self.optimizer = make_optimizer(self.model.parameters(), settings)
        self.class_weight = class_weights(
            problem.train.y, problem.n_classes, settings, self.device
        )
        self.progress = EarlyStopping(settings, self.model.state_dict(), problem.missing_classes)

    def run(
        self,
        *,
        on_event: Callable[[TrainingEvent], None] | None = None,
        checkpoint: Path | None = None,
    ) -> Fitted:
        """Train until the epochs or the patience run out.

        A checkpoint is written after every epoch, and training continues from it if it exists:
        the result has the same bytes as that of a run that was not interrupted.
        """
        report = on_event or (lambda event: None)
        if checkpoint is not None:
            self.resume(checkpoint)
        while self.progress.should_continue:
            event = self.run_epoch()
            if checkpoint is not None:
                save_checkpoint(checkpoint, self.state(), self._fingerprint)
            report(event)
        made = self.progress.finish(self.model, self.problem.description)
        fitted = replace(made, subjects=self.problem.subjects)
        report(TrainingEnd(len(fitted.history), fitted.best_epoch, fitted.stopped_early))
        return fitted

    def resume(self, checkpoint: Path) -> None:
        """Continue from a checkpoint, if it exists and the run has not begun."""
        fingerprint = self._fingerprint
        if checkpoint.exists() and not self.progress.history:
            saved = load_checkpoint(checkpoint, fingerprint)
            with restoring(checkpoint):
                self.restore(saved)

    def run_epoch(self) -> EpochEnd:
        """Train for one epoch, validate, and keep the weights if they are the best so far."""
        epoch = len(self.progress.history) + 1
        losses = self._run_steps(epoch)
        valid = predict_on_device(self.model, self.problem.valid.x, self.problem.n_classes)
        # Read together, so that a GPU is waited for once per epoch.
        losses, valid = to_host([losses, valid])
        train_loss = self._mean_loss(losses, epoch)
        return self.progress.update(train_loss, *self.validate(valid), self.model.state_dict())

    def train_epoch(self, epoch: int) -> float:
        """Iterate once over the training windows and return the mean loss."""
        return self._mean_loss(self._run_steps(epoch).cpu(), epoch)

    def validate(self, logits: Tensor) -> tuple[float, float]:
        """Return loss and balanced accuracy of the logits of the validation windows."""
        return score_validation(self.problem, check_finite(logits), self.class_weight)

    def _run_steps(self, epoch: int) -> Tensor:
        """Iterate once over the training windows; return the losses, on the device."""
        # Small tensors that stay between large ones would keep memory from being reused.
        losses = torch.empty(len(self._batches(epoch)), device=self.device)
        self.model.train()
        with seeded(self.seeds.integer("dropout", epoch=epoch), self.device):
            for number, batch in enumerate(self._augmented_batches(epoch)):
                loss = self._loss(*batch)
                losses[number] = loss.detach()
                descend(self.optimizer, loss)
        return losses

    def _augmented_batches(self, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of an epoch, the same each time."""
        x, y = self.problem.train.x, self.problem.train.y
        # Each epoch has streams of its own, so a resumed run needs no saved random state.
        draws = Streams.of(self.seeds, "augmentation", self.device, epoch=epoch)
        self.augment.start_epoch(epoch)
        for index in self._batches(epoch):
            yield self.augment(x[index].to(self.device), y[index], draws)

    def _mean_loss(self, losses: Tensor, epoch: int) -> float:
        """Return the mean over the windows; raise if a loss is not finite."""
        values: list[float] = losses.tolist()
        for number, value in enumerate(values):
            if not math.isfinite(value):
                x, _ = next(islice(self._augmented_batches(epoch), number, None))
                raise self.augment.divergence(x, value, epoch, number + 1)
        sizes = map(len, self._batches(epoch))
        n_windows = len(self.problem.train.x)
        return sum(value * n for value, n in zip(values, sizes, strict=True)) / n_windows

    def _batches(self, epoch: int) -> list[Tensor]:
        """Split the windows into batches that the model can be trained with."""
        stream = self.seeds.stream("order", epoch=epoch)
        order = torch.randperm(len(self.problem.train.x), generator=stream)
        size = self.settings.batch_size
        is_alone = len(order) % size == 1 and not self.augment.copies
        return batches_of(order, size, least=self._least_windows if is_alone else 1)

    @cached_property
    def _least_windows(self) -> int:
        return least_windows(self.model, self.problem.train.x[:1].to(self.device))

    def _loss(self, x: Tensor, y: Tensor) -> Tensor:
        logits = compute_logits(
            self.model, x, self.problem.n_classes, differentiable=True, forward=self.forward
        )
        return cross_entropy(logits, y, weight=self.class_weight)

    @cached_property
    def _fingerprint(self) -> Fingerprint:
        """What identifies this run, so that no other run is resumed in its place."""
        return asdict(self.settings) | {
            "betas": list(self.settings.betas),
            # None as in checkpoints that were written before there were others.
            "optimizer": None if (name := name_of(self.settings.optimizer)) == "adam" else name,
            # A function of the user's has settings of its own.
            "optimizer settings": repr(sorted(self.optimizer.defaults.items())),
            **self.problem.identity,
            "model": model_digest(self.model),
            "policy": policy_digest(self.policy),
        }

    def state(self) -> State:
        """Return what `restore` needs in another process."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "progress": self.progress.state_dict(),
        }

    def restore(self, state: State) -> None:
        """Continue from where `state` was called."""
        self.model.load_state_dict(state["model"])
        restore_part(self.optimizer, state["optimizer"])
        self.progress.load_state_dict(state["progress"])
