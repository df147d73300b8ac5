"""What a relaxed policy is at one moment, and the mean over several moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["PolicyValues", "mean_values"]


@dataclass(frozen=True)
class PolicyValues:
    """What a relaxed policy is at one moment, without gradients.

    Parameters
    ----------
    share : Tensor
        Probability of each option of the choices with learnable weights, of the shape of `weight`.
    probability : Tensor
        Probabilities p of applying an operation once it is chosen.
    magnitude : Tensor
        Magnitudes µ, of the shape of ``probability``.
    """

    share: Tensor
    probability: Tensor
    magnitude: Tensor


def mean_values(moments: Sequence[PolicyValues]) -> PolicyValues:
    """Compute the mean of a policy over several moments.

    Each operation of each stage is applied as often as in the mean over the moments, and with the
    mean magnitude of the windows that it was applied to. The mean of weights or logits would be
    another policy: an operation with 99 % of the windows at one moment and 1 % at another one has
    half of them here.

    Parameters
    ----------
    moments : sequence of PolicyValues
        Values of one policy, at least one; a single one is returned as it is.

    Returns
    -------
    PolicyValues
        The mean, in double precision.
    """
    if len(moments) == 1:
        return moments[0]
    share, probability, magnitude = (
        torch.stack([getattr(moment, name).double() for moment in moments])
        for name in ("share", "probability", "magnitude")
    )
    # A sequence of operations has one share, and a probability for each of its stages.
    chosen = share.view(*share.shape, *(1,) * (probability.ndim - share.ndim))
    applied = chosen * probability
    return PolicyValues(
        share.mean(0),
        _weighted_mean(probability, chosen.expand_as(probability)),
        _weighted_mean(magnitude, applied),
    )


def _weighted_mean(values: Tensor, weight: Tensor) -> Tensor:
    """Compute the mean over the first axis, the plain one where all weights are 0."""
    total = weight.sum(0)
    mean = (values * weight).sum(0) / total.clamp_min(torch.finfo(total.dtype).tiny)
    # Rounding must not lead out of [0, 1].
    return torch.where(total > 0, mean, values.mean(0)).clamp(0.0, 1.0)
