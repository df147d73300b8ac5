"""How a training step applies a policy, and explains a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from cadda._internal.random import Streams
from cadda.exceptions import TrainingError
from cadda.policies.policy import Policy, PolicyDraw
from cadda.policies.schedule import ScheduledPolicy

__all__ = ["AugmentFunction", "Augmentation", "Augmenter"]


AugmentFunction: TypeAlias = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Anything that maps (x, y) to augmented (x, y)."""

Augmentation: TypeAlias = Policy | ScheduledPolicy | AugmentFunction


class Augmenter:
    """Augments batches, and remembers the last draw to explain a failure.

    With `copies` = 0 each window is replaced by an augmented window; with k, it is kept and k
    augmented copies are added; None adds one copy for a class-wise policy only.
    """

    def __init__(self, policy: Augmentation | None, copies: int | None = None) -> None:
        if isinstance(policy, Policy) and policy.spec.is_none:
            policy = None
        self.source = policy
        self.policy = policy.at_epoch(1) if isinstance(policy, ScheduledPolicy) else policy
        is_classwise = getattr(policy, "is_classwise", False)
        wanted = int(is_classwise) if copies is None else copies
        self.copies = 0 if policy is None else wanted
        self._last_draw: PolicyDraw | None = None

    def start_epoch(self, epoch: int) -> None:
        """Switch to the policy of an epoch, if the policy changes between epochs."""
        if isinstance(self.source, ScheduledPolicy):
            self.policy = self.source.at_epoch(epoch)

    def __call__(self, x: Tensor, y: Tensor, streams: Streams) -> tuple[Tensor, Tensor]:
        """Augment one batch; labels may be on the CPU, and are on the device of ``x`` then."""
        if not self.copies:
            return self._augment(x, y, streams)
        many_x, many_y = torch.cat([x] * self.copies), torch.cat([y] * self.copies)
        augmented, labels = self._augment(many_x, many_y, streams)
        return torch.cat([x, augmented]), torch.cat([y.to(x.device), labels])

    def divergence(self, x: Tensor, loss: float, epoch: int, step: int) -> TrainingError:
        """Return the error for a loss of the last batch, as augmented, that is not finite."""
        why = self._explain(x, untrained=epoch == step == 1)
        return TrainingError(f"the loss became {loss} in epoch {epoch}, step {step}: {why}.")

    def _explain(self, x: Tensor, *, untrained: bool) -> str:
        broken = (~x.isfinite()).flatten(1).any(1).nonzero().flatten().tolist()
        if not broken and untrained:
            return "the model gives NaN or infinite logits for finite windows before any training"
        if not broken:
            return "the windows are finite, so training diverged; try a smaller `lr`"
        window, names = broken[0], []
        n_unchanged = len(x) // (self.copies + 1) if self.copies else 0
        draw = self._last_draw if window >= n_unchanged else None
        if isinstance(self.policy, Policy) and draw is not None:
            names = self.policy.operations_of(draw, window - n_unchanged)
        after = f" after {', '.join(names)}" if names else ""
        return f"window {window} of the batch is not finite{after}"

    def _augment(self, x: Tensor, y: Tensor, streams: Streams) -> tuple[Tensor, Tensor]:
        if not isinstance(self.policy, Policy):
            y = y.to(x.device)
            return (x, y) if self.policy is None else self.policy(x, y)
        self._last_draw = draw = self.policy.draw(
            x, y, generator=streams.numbers, decisions=streams.decisions
        )
        labels = y if draw.y is None else draw.y
        return self.policy.transform(x, draw), labels.to(x.device)
