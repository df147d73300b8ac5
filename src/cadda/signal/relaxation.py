"""Hard choices and edges that let gradients through.

torch's own relaxed distributions take no generator, and search needs the same noise twice; here
noise is always an argument. Uniform numbers must lie strictly between 0 and 1.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = [
    "conditional_gumbel",
    "gumbel",
    "relaxed_bernoulli",
    "smooth_box",
    "straight_through",
]


def straight_through(hard: Tensor, soft: Tensor) -> Tensor:
    """Combine the value of ``hard``, bit for bit, with the derivative of ``soft``."""
    # The difference is exactly 0, which `hard + soft - soft` is not.
    return hard.detach() + (soft - soft.detach())


def relaxed_bernoulli(
    probability: Tensor, uniform: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    r"""Draw from Bernoulli(p) and from its relaxation, coupled by one uniform number.

    .. math:: \text{soft} = \sigma\big((\operatorname{logit} p + \operatorname{logit} u)/\tau\big),
              \qquad \text{hard} = [u > 1 - p].

    Returns hard, 0 or 1 without gradient, and soft, in (0, 1) and differentiable in
    ``probability`` p in [0, 1], which broadcasts against ``uniform`` u in (0, 1). p = 0 never
    gives a 1 and p = 1 always does. Soft approaches hard as the ``temperature`` τ > 0 falls to 0.

    References
    ----------
    Maddison et al. (2017), The concrete distribution.
    """
    margin = torch.finfo(probability.dtype).eps
    soft = torch.sigmoid((torch.logit(probability, margin) + torch.logit(uniform)) / temperature)
    hard = (uniform > 1 - probability.detach()).to(soft.dtype)
    return hard, soft


def gumbel(uniform: Tensor) -> Tensor:
    """Turn ``uniform`` numbers in (0, 1) into standard Gumbel numbers, g = −log(−log u).

    The argmax of ``log_probability + gumbel(uniform)`` is a draw from the categorical
    distribution.
    """
    return -torch.log(-torch.log(uniform))


def conditional_gumbel(log_probability: Tensor, choice: Tensor, uniform: Tensor) -> Tensor:
    r"""Draw perturbed log-probabilities z̃ given which of them is the largest.

    With θ = exp(``log_probability``), normalised along the last axis, b the ``choice``, with one
    axis fewer, and v the ``uniform`` numbers in (0, 1),

    .. math:: \tilde z_b = -\log(-\log v_b), \qquad
              \tilde z_k = -\log\Big(-\frac{\log v_k}{\theta_k} - \log v_b\Big), \quad k \ne b.

    The result is differentiable in ``log_probability``.

    References
    ----------
    Grathwohl et al. (2018), Backpropagation through the void, appendix B.
    """
    index = choice.unsqueeze(-1)
    log_exponential = torch.log(-torch.log(uniform))
    log_exponential_of_choice = log_exponential.gather(-1, index)
    others = -torch.logaddexp(log_exponential - log_probability, log_exponential_of_choice)
    return others.scatter(-1, index, -log_exponential_of_choice)


def smooth_box(axis: Tensor, centre: Tensor, width: Tensor, steepness: float) -> Tensor:
    r"""Compute a box with smooth edges as the difference of two sigmoids.

    .. math:: \sigma\big(\lambda(t - c + w/2)\big) - \sigma\big(\lambda(t - c - w/2)\big)

    Times or frequencies t are the ``axis`` (n_points,); ``centre`` c and ``width`` w are
    (n_boxes,); the ``steepness`` λ is in one over their unit. Values are (n_boxes, n_points), in
    [0, 1]; a width of 0 gives exactly 0 everywhere.
    """
    distance = axis - centre[:, None]
    half = width[:, None] / 2
    return torch.sigmoid(steepness * (distance + half)) - torch.sigmoid(
        steepness * (distance - half)
    )
