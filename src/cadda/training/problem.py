"""What training, searches and probes work on: tensors, operations and ways to make models."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cadda._internal.rows import Signals, batches, take
from cadda.models.serialization import ModelDescription
from cadda.operations.pool import OperationPool

__all__ = ["Problem", "Samples"]


@dataclass(frozen=True, eq=False)
class Samples:
    """Windows of some subjects, with labels."""

    x: Signals  # (n_windows, n_channels, n_times)
    y: Tensor  # (n_windows,)
    subject: tuple[str, ...] = ()  # of each window; empty if unknown

    @classmethod
    def of(cls, x: Signals, y: Tensor, subject: NDArray[np.str_]) -> Samples:
        """Return windows whose subjects are given as an array, with one text for each subject."""
        different, index = np.unique(subject, return_inverse=True)
        return cls(x, y, tuple(different.astype(object)[index]))

    def __len__(self) -> int:
        return len(self.x)

    def without(self, index: Tensor) -> Samples:
        """Return all windows but some."""
        kept = torch.ones(len(self), dtype=torch.bool)
        kept[index] = False
        subject = compress(self.subject, kept.tolist())
        return Samples(take(self.x, kept), self.y[kept], tuple(subject))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of subjects, labels and values."""
        digest = hashlib.sha256("|".join(self.subject).encode())
        digest.update(self.y.numpy().tobytes())
        for chunk in batches(self.x, 64):
            digest.update(chunk.contiguous().numpy().data)
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Problem:
    """Windows to train on, windows of other subjects to validate on, operations to choose from.

    Made once per command, by `cadda.api.prepare.make_problem`, and passed on: pool and digests are
    computed on first use and kept.
    """

    train: Samples
    valid: Samples
    description: ModelDescription
    make_pool: Callable[[], OperationPool]  # training without augmentation needs no pool
    make_model: Callable[[int], nn.Module]  # untrained, from a seed
    make_critic: Callable[[int], nn.Module]  # the same, for methods that compare distributions
    device: torch.device

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the labels."""
        return self.description.class_names

    @property
    def subjects(self) -> tuple[str, ...]:
        """Different subjects of both parts, as far as they are known."""
        return tuple(sorted({*self.train.subject, *self.valid.subject}))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @cached_property
    def missing_classes(self) -> tuple[str, ...]:
        """Classes with training windows, but without validation windows."""
        train, valid = (
            torch.bincount(part.y, minlength=self.n_classes) for part in (self.train, self.valid)
        )
        return tuple(compress(self.class_names, ((train > 0) & (valid == 0)).tolist()))

    @cached_property
    def pool(self) -> OperationPool:
        """Operations to choose from."""
        return self.make_pool()

    @property
    def identity(self) -> dict[str, object]:
        """What tells the windows from others: for the fingerprints of checkpoints."""
        digests = f"{self.train.digest}|{self.valid.digest}"
        return {
            "class_names": list(self.class_names),
            "ch_names": list(self.description.ch_names),
            "sfreq": self.description.sfreq,
            "data": hashlib.sha256(digests.encode()).hexdigest()[:16],
        }

    def new_model(self, seed: int) -> nn.Module:
        """Make an untrained model on the device."""
        return self.make_model(seed).to(self.device)

    def training_batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Return some training windows and their labels, on the device."""
        return self.train.x[index].to(self.device), self.train.y[index].to(self.device)

    def validation_batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Return some validation windows and their labels, on the device."""
        return self.valid.x[index].to(self.device), self.valid.y[index].to(self.device)
