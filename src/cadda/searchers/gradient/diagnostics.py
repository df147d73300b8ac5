"""Why a search prefers what it prefers: rewards and residuals by class, beside a control.

The reward of a window is ⟨Jᵀ(p − y), v⟩, its residual p − y seen through the model. Whatever makes
residuals larger makes rewards larger in size, of either sign. And if the windows of a class have a
negative mean reward, so that training on them raises the validation loss, whatever silences the
class wins the comparison with its unchanged windows, white noise included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import Self

import torch
from torch import Generator, Tensor

from cadda._internal.devices import most_accurate
from cadda._internal.random import normal
from cadda.searchers.events import ClassRewards

__all__ = ["CONTROL_EVERY", "ClassSums", "class_rewards", "reward_warnings", "white_noise"]

CONTROL_EVERY = 10
"""Steps from one to the next with controls, which need two more passes."""

N_ERRORS = 2
"""Standard errors from 0 at which a mean reward counts as negative."""


def white_noise(x: Tensor, generator: Generator) -> Tensor:
    """Replace windows by white noise that has the power of each channel.

    Parameters
    ----------
    x : Tensor
        Windows, (n_windows, n_channels, n_times).
    generator : Generator
        Source of randomness.

    Returns
    -------
    Tensor
        Windows of the same shape, without anything that tells their class but the power.
    """
    return normal(x.shape, x, generator) * x.square().mean(-1, keepdim=True).sqrt()


@dataclass(frozen=True)
class ClassSums:
    """Sums over windows by class, of one step or of several.

    Parameters
    ----------
    n_windows : Tensor
        Number of windows, shape (n_classes,), as of all others.
    unchanged : Tensor
        Rewards of the windows left as they are.
    squares : Tensor
        Squares of these.
    policy : Tensor
        Rewards of the windows as augmented, minus those of the same windows unchanged.
    before : Tensor
        Residuals ‖p − y‖ of the windows left as they are.
    after : Tensor
        Residuals of the windows as augmented.
    n_controls : Tensor
        Number of windows that were replaced by noise.
    controls : Tensor
        Rewards of the noise, minus those of the windows unchanged.
    """

    n_windows: Tensor
    unchanged: Tensor
    squares: Tensor
    policy: Tensor
    before: Tensor
    after: Tensor
    n_controls: Tensor
    controls: Tensor

    @classmethod
    def of_step(
        cls,
        y: Tensor,
        n_classes: int,
        *,
        rewards: Tensor,
        unchanged: Tensor,
        residuals: tuple[Tensor, Tensor],
        controls: Tensor | None,
    ) -> Self:
        """Sum over the windows of a step; ``residuals`` are those before and after the policy."""
        one, before = torch.ones_like(unchanged), unchanged.detach()
        values = (
            one,
            before,
            before.square(),
            rewards.detach() - before,
            *residuals,
            one if controls is not None else 0 * one,
            0 * one if controls is None else controls - before,
        )
        dtype = most_accurate(y.device)
        totals = torch.zeros(len(values), n_classes, dtype=dtype, device=y.device)
        return cls(*totals.index_add_(1, y, torch.stack(values).to(dtype)))

    def __add__(self, other: ClassSums) -> ClassSums:
        names = [field.name for field in fields(self)]
        return ClassSums(*(getattr(self, name) + getattr(other, name) for name in names))


def class_rewards(steps: Iterable[ClassSums | None]) -> ClassRewards | None:
    """Return the means by class over some steps; None if none of them has rewards."""
    sums = [step for step in steps if step is not None]
    if not sums:
        return None
    total = reduce(add, sums)
    mean = total.unchanged / total.n_windows
    variance = (total.squares / total.n_windows - mean.square()).clamp_min(0)
    return ClassRewards(
        unchanged=tuple(mean.tolist()),
        error=tuple((variance / total.n_windows).sqrt().tolist()),
        policy=tuple((total.policy / total.n_windows).tolist()),
        control=tuple((total.controls / total.n_controls).tolist()),
        residual_ratio=tuple((total.after / total.before).tolist()),
    )


def reward_warnings(rewards: ClassRewards | None, class_names: Sequence[str]) -> tuple[str, ...]:
    """Warn of classes whose own windows raise the validation loss."""
    if rewards is None:
        return ()
    return tuple(
        f"unchanged windows of {name} have a negative mean reward, so whatever silences the class "
        "is rewarded, noise included; do not rely on what the policy does to it"
        for name, mean, error in zip(class_names, rewards.unchanged, rewards.error, strict=True)
        if mean < -N_ERRORS * error
    )
