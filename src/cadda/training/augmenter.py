"""How a training step applies a policy, and explains a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Generator, Tensor

__all__ = ["Augmentation", "Augmenter"]


@runtime_checkable
class Replayable(Protocol):
    """A policy that keeps its random numbers apart, as `cadda.Policy` does."""

    def draw(self, x: Tensor, y: Tensor, *, generator: Generator | None) -> Any:
        """Decide by chance what happens to each window."""

    def transform(self, x: Tensor, draw: Any) -> Tensor:
        """Transform windows as a draw says."""

    def operations_of(self, draw: Any, window: int) -> list[str]:
        """Name the operations that transform a window."""


@runtime_checkable
class Scheduled(Protocol):
    """A policy that changes from epoch to epoch."""

    def at_epoch(self, epoch: int) -> Replayable:
        """Return the policy of an epoch, counted from 1."""


@runtime_checkable
class KnowsClasses(Protocol):
    """A policy that knows whether it treats classes differently."""

    @property
    def is_classwise(self) -> bool:
        """Whether each class has a policy of its own."""


Augmentation: TypeAlias = (
    Replayable | Scheduled | Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
)
"""A `cadda.Policy`, a schedule of them, or anything that maps (x, y) to augmented (x, y)."""


class Augmenter:
    """Augments batches, and remembers the last draw to explain a failure.

    With `copies` = 0 each window is replaced by an augmented window; with k, it is kept and k
    augmented copies are added; None adds one copy for a class-wise policy only.
    """

    def __init__(self, policy: Augmentation | None, copies: int | None = None) -> None:
        self.source = policy
        self.policy = policy.at_epoch(1) if isinstance(policy, Scheduled) else policy
        is_classwise = isinstance(self.policy, KnowsClasses) and self.policy.is_classwise
        wanted = int(is_classwise) if copies is None else copies
        self.copies = 0 if policy is None else wanted
        self._last_draw: Any = None

    def start_epoch(self, epoch: int) -> None:
        """Switch to the policy of an epoch, if the policy changes between epochs."""
        if isinstance(self.source, Scheduled):
            self.policy = self.source.at_epoch(epoch)

    def __call__(self, x: Tensor, y: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        """Augment one batch."""
        if self.policy is None:
            return x, y
        if not self.copies:
            return self._augment(self.policy, x, y, generator)
        many_x, many_y = torch.cat([x] * self.copies), torch.cat([y] * self.copies)
        augmented, labels = self._augment(self.policy, many_x, many_y, generator)
        return torch.cat([x, augmented]), torch.cat([y, labels])

    def explain(self, x: Tensor, *, untrained: bool) -> str:
        """Explain why the loss of the last batch, as augmented, is not finite; ends a sentence."""
        broken = (~x.isfinite()).flatten(1).any(1).nonzero().flatten().tolist()
        if not broken and untrained:
            return "the model gives NaN or infinite logits for finite windows before any training"
        if not broken:
            return "the windows are finite, so training diverged; try a smaller `lr`"
        window, names = broken[0], []
        n_unchanged = len(x) // (self.copies + 1) if self.copies else 0
        if isinstance(self.policy, Replayable) and window >= n_unchanged:
            names = self.policy.operations_of(self._last_draw, window - n_unchanged)
        after = f" after {', '.join(names)}" if names else ""
        return f"window {window} of the batch is not finite{after}"

    def _augment(
        self,
        policy: Replayable | Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
        x: Tensor,
        y: Tensor,
        generator: Generator,
    ) -> tuple[Tensor, Tensor]:
        if not isinstance(policy, Replayable):
            return policy(x, y)
        self._last_draw = policy.draw(x, y, generator=generator)
        return policy.transform(x, self._last_draw), y
