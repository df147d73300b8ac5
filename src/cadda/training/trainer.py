"""The training loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from cadda._internal.random import Seeds, seeded
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
    class_weights,
    compute_logits,
    descend,
    least_windows,
    make_optimizer,
    predict_logits,
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
        self.optimizer = make_optimizer(self.model.parameters(), settings)
        self.class_weight = class_weights(
            problem.train.y, problem.n_classes, settings, self.device
        )
        self.progress = EarlyStopping(settings, self.model.state_dict())

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
        fitted = self.progress.finish(self.model, self.problem.description)
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
        train_loss = self.train_epoch(len(self.progress.history) + 1)
        scores = score_validation(self.problem, self.predict_validation(), self.class_weight)
        return self.progress.update(train_loss, *scores, self.model.state_dict())

    def train_epoch(self, epoch: int) -> float:
        """Iterate once over the training windows and return the mean loss."""
        x, y = self.problem.train.x, self.problem.train.y
        # Each epoch has streams of its own, so a resumed run needs no saved random state.
        order = torch.randperm(len(x), generator=self.seeds.stream("order", epoch=epoch))
        draws = self.seeds.stream("augmentation", device=self.device, epoch=epoch)
        self.augment.start_epoch(epoch)
        losses = []
        self.model.train()
        with seeded(self.seeds.integer("dropout", epoch=epoch), self.device):
            for step, index in enumerate(self._batches(order), 1):
                batch = self.augment(x[index].to(self.device), y[index].to(self.device), draws)
                loss = self._loss(*batch)
                losses.append(loss.item() * len(index))
                if not math.isfinite(losses[-1]):
                    raise self.augment.divergence(batch[0], loss.item(), epoch, step)
                descend(self.optimizer, loss)
        return sum(losses) / len(x)

    def _batches(self, order: Tensor) -> list[Tensor]:
        """Split an order of windows into batches that the model can be trained with."""
        size = self.settings.batch_size
        is_alone = len(order) % size == 1 and not self.augment.copies
        x = self.problem.train.x[:1].to(self.device)
        return batches_of(order, size, least=least_windows(self.model, x) if is_alone else 1)

    def predict_validation(self) -> Tensor:
        """Compute the logits of the validation windows."""
        return predict_logits(self.model, self.problem.valid.x, self.problem.n_classes)

    def _loss(self, x: Tensor, y: Tensor) -> Tensor:
        logits = compute_logits(self.model, x, self.problem.n_classes, differentiable=True)
        return cross_entropy(logits, y, weight=self.class_weight)

    @cached_property
    def _fingerprint(self) -> Fingerprint:
        """What identifies this run, so that no other run is resumed in its place."""
        return asdict(self.settings) | {
            "betas": list(self.settings.betas),
            # None as in checkpoints that were written before there were others.
            "optimizer": None if (name := name_of(self.settings.optimizer)) == "adam" else name,
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
