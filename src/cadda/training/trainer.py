"""The training loop: Adam, early stopping on validation, best weights kept, resumable."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from cadda._internal.random import Seeds, seeded
from cadda.exceptions import TrainingError
from cadda.training.augmenter import Augmentation, Augmenter
from cadda.training.checkpoint import load_checkpoint, save_checkpoint
from cadda.training.events import EpochEnd, TrainingEnd, TrainingEvent
from cadda.training.metrics import score
from cadda.training.predict import check_logits, device_of, predict_logits
from cadda.training.settings import TrainingSettings

__all__ = ["Labelled", "Trainer", "TrainingResult", "class_weight_of", "train"]

Labelled = tuple[Tensor, Tensor]


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """A trained model and how it came about.

    Parameters
    ----------
    model : nn.Module
        The model with the weights that were best on validation, in evaluation mode.
    history : list of EpochEnd
        One entry per epoch.
    best_epoch : int
        Epoch of the weights, from 1.
    stopped_early : bool
        Whether patience ran out before the epochs did.
    """

    model: nn.Module
    history: list[EpochEnd]
    best_epoch: int
    stopped_early: bool


def train(
    model: nn.Module,
    training: Labelled,
    validation: Labelled,
    class_names: tuple[str, ...],
    settings: TrainingSettings,
    *,
    policy: Augmentation | None = None,
    on_event: Callable[[TrainingEvent], None] | None = None,
    checkpoint: Path | None = None,
) -> TrainingResult:
    """Train a model in place and keep the weights that are best on validation.

    Parameters
    ----------
    model : nn.Module
        The model; trained where it is.
    training : tuple of Tensor
        Windows and labels to learn from.
    validation : tuple of Tensor
        Windows and labels to stop by.
    class_names : tuple of str
        Names of the classes, in the order of the labels.
    settings : TrainingSettings
        How to train.
    policy : Policy | callable | None
        Augmentation of every training batch, on the device of the model.
    on_event : callable | None
        Called after every epoch and at the end.
    checkpoint : Path | None
        File to save to after every epoch and to go on from if it is there. A resumed training ends
        with the same bytes as one that was not interrupted.

    Returns
    -------
    TrainingResult
        The model and its history.
    """
    report = on_event or (lambda event: None)
    trainer = Trainer(model, training, validation, class_names, settings, policy)
    if checkpoint is not None and checkpoint.exists():
        trainer.restore(load_checkpoint(checkpoint, trainer.fingerprint()))
    while trainer.goes_on():
        event = trainer.run_epoch()
        if checkpoint is not None:
            save_checkpoint(checkpoint, trainer.state(), trainer.fingerprint())
        report(event)
    model.load_state_dict(trainer.best_weights)
    stopped_early = len(trainer.history) < settings.max_epochs
    report(TrainingEnd(len(trainer.history), trainer.best_epoch, stopped_early))
    return TrainingResult(model.eval(), trainer.history, trainer.best_epoch, stopped_early)


class Trainer:
    """One training, an epoch at a time: what it works on, and what it must remember.

    Parameters
    ----------
    model : nn.Module
        The model; trained where it is.
    training : tuple of Tensor
        Windows and labels to learn from.
    validation : tuple of Tensor
        Windows and labels to judge by.
    class_names : tuple of str
        Names of the classes, in the order of the labels.
    settings : TrainingSettings
        How to train.
    policy : Policy | callable | None
        Augmentation of every training batch.
    """

    def __init__(
        self,
        model: nn.Module,
        training: Labelled,
        validation: Labelled,
        class_names: tuple[str, ...],
        settings: TrainingSettings,
        policy: Augmentation | None,
    ) -> None:
        self.model, self.settings, self.class_names = model, settings, class_names
        self.training, self.validation = training, validation
        self.device = device_of(model)
        self.seeds = Seeds(settings.seed)
        self.augment = Augmenter(policy, settings.copies)
        self.optimizer = torch.optim.Adam(
            model.parameters(),
            lr=settings.lr,
            betas=settings.betas,
            weight_decay=settings.weight_decay,
        )
        self.class_weight = class_weight_of(training[1], len(class_names), settings, self.device)
        self.history: list[EpochEnd] = []
        self.best_epoch, self.best_value = 0, math.inf
        self.best_weights = _copied(model)

    def goes_on(self) -> bool:
        """Say whether there is an epoch left, and patience for it.

        Returns
        -------
        bool
            Whether to run another epoch.
        """
        epochs_since_best = len(self.history) - self.best_epoch
        has_patience = epochs_since_best < self.settings.patience
        return len(self.history) < self.settings.max_epochs and has_patience

    def run_epoch(self) -> EpochEnd:
        """Train for one epoch, validate, and keep the weights if they are the best so far.

        Returns
        -------
        EpochEnd
            What came of it.
        """
        epoch = len(self.history) + 1
        train_loss = self._train(epoch)
        valid_loss, accuracy = self._validate()
        value = valid_loss if self.settings.monitor == "loss" else -accuracy
        is_best = value < self.best_value
        if is_best:
            self.best_epoch, self.best_value, self.best_weights = epoch, value, _copied(self.model)
        event = EpochEnd(
            epoch, self.settings.max_epochs, train_loss, valid_loss, accuracy, is_best
        )
        self.history.append(event)
        return event

    def _train(self, epoch: int) -> float:
        """Go once through the training windows and give the mean loss."""
        x, y = self.training
        # Streams start anew in every epoch, so a resumed training needs no saved random state.
        order = torch.randperm(len(x), generator=self.seeds.stream("order", epoch=epoch))
        draws = self.seeds.stream("augmentation", device=self.device, epoch=epoch)
        self.augment.start_epoch(epoch)
        losses = []
        self.model.train()
        with seeded(self.seeds.integer("dropout", epoch=epoch), self.device):
            for step, index in enumerate(torch.split(order, self.settings.batch_size), 1):
                batch = self.augment(x[index].to(self.device), y[index].to(self.device), draws)
                loss = self._loss(*batch)
                losses.append(loss.item() * len(index))
                if not math.isfinite(losses[-1]):
                    why = self.augment.explain(batch[0], untrained=epoch == step == 1)
                    raise TrainingError(
                        f"the loss became {loss.item()} in epoch {epoch}, step {step}: {why}."
                    )
                self.optimizer.zero_grad()
                torch.autograd.backward(loss)
                self.optimizer.step()
        return sum(losses) / len(x)

    def _loss(self, x: Tensor, y: Tensor) -> Tensor:
        logits = check_logits(self.model(x), len(x), len(self.class_names))
        return cross_entropy(logits, y, weight=self.class_weight)

    def _validate(self) -> tuple[float, float]:
        x, y = self.validation
        logits = predict_logits(self.model, x, len(self.class_names))
        weight = None if self.class_weight is None else self.class_weight.cpu()
        loss = cross_entropy(logits, y, weight=weight).item()
        return loss, score(y, logits.argmax(1), self.class_names).balanced_accuracy

    def fingerprint(self) -> dict[str, Any]:
        """Say what this training is, so that it is not resumed as another one.

        Returns
        -------
        dict
            Plain values.
        """
        return asdict(self.settings) | {
            "betas": list(self.settings.betas),
            "class_names": list(self.class_names),
            "n_training_windows": len(self.training[0]),
            "n_validation_windows": len(self.validation[0]),
            "n_weights": sum(parameter.numel() for parameter in self.model.parameters()),
        }

    def state(self) -> dict[str, Any]:
        """Give all that a later process needs to go on.

        Returns
        -------
        dict
            Tensors and plain values.
        """
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "history": [asdict(event) for event in self.history],
            "best_epoch": self.best_epoch,
            "best_value": self.best_value,
            "best_weights": self.best_weights,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where a state was taken.

        Parameters
        ----------
        state : dict
            Result of `state`.
        """
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.history = [EpochEnd(**event) for event in state["history"]]
        self.best_epoch, self.best_value = state["best_epoch"], state["best_value"]
        self.best_weights = state["best_weights"]


def class_weight_of(
    y: Tensor, n_classes: int, settings: TrainingSettings, device: torch.device
) -> Tensor | None:
    """Weigh classes by the inverse of their frequency; absent ones do not count.

    Parameters
    ----------
    y : Tensor
        Labels.
    n_classes : int
        Number of classes.
    settings : TrainingSettings
        Whether to weigh them at all.
    device : torch.device
        Where the weights are needed.

    Returns
    -------
    Tensor | None
        One weight per class; None if all weigh the same.
    """
    if not settings.class_weights:
        return None
    counts = torch.bincount(y, minlength=n_classes)
    n_present = int((counts > 0).sum())
    return torch.where(counts > 0, len(y) / (n_present * counts.clamp_min(1)), 0.0).to(device)


def _copied(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}
