"""Hard choices and edges that let gradients through.

torch's own relaxed distributions take no generator, and search needs the same noise twice; here
noise is always an argument. Uniform numbers must lie strictly between 0 and 1.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = [
    "bernoulli",
    "conditional_gumbel",
    "gumbel",
    "relaxed_bernoulli",
    "smooth_box",
    "smooth_boxes",
    "straight_through",
    "straight_through_bernoulli",
]


def straight_through(hard: Tensor, soft: Tensor) -> Tensor:
    """Combine the value of one tensor with the derivative of another.

    Parameters
    ----------
    hard : Tensor
        Gives the value, bit for bit.
    soft : Tensor
        Gives the derivative; same shape.

    Returns
    -------
    Tensor
        ``hard`` in the forward pass, ``soft`` in the backward pass.
    """
    # The difference is exactly 0, which `hard + soft - soft` is not.
    return hard.detach() + (soft - soft.detach())


def bernoulli(probability: Tensor, uniform: Tensor) -> Tensor:
    """Draw from Bernoulli(p), without gradient: the ``hard`` result of `relaxed_bernoulli`.

    Parameters
    ----------
    probability : Tensor
        Probability p of a 1, in [0, 1]; broadcasts against ``uniform``.
    uniform : Tensor
        Numbers u in (0, 1).

    Returns
    -------
    Tensor
        Whether it is a 1, bool. p = 0 never gives one and p = 1 always does.
    """
    return uniform > 1 - probability.detach()


def relaxed_bernoulli(
    probability: Tensor, uniform: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    r"""Draw from Bernoulli(p) and from its relaxation, coupled by one uniform number.

    .. math:: \text{soft} = \sigma\big((\operatorname{logit} p + \operatorname{logit} u)/\tau\big),
              \qquad \text{hard} = [u > 1 - p].

    Parameters
    ----------
    probability : Tensor
        Probability p of a 1, in [0, 1]; broadcasts against ``uniform``.
    uniform : Tensor
        Numbers u in (0, 1).
    temperature : float
        Temperature τ > 0; the relaxed sample approaches the hard one as it falls to 0.

    Returns
    -------
    hard : Tensor
        0 or 1, without gradient. p = 0 never gives a 1 and p = 1 always does.
    soft : Tensor
        The relaxed sample in (0, 1), differentiable in ``probability``.

    References
    ----------
    Maddison et al. (2017), The concrete distribution.
    """
    margin = torch.finfo(probability.dtype).eps
    soft = torch.sigmoid((torch.logit(probability, margin) + torch.logit(uniform)) / temperature)
    return bernoulli(probability, uniform).to(soft.dtype), soft


def straight_through_bernoulli(probability: Tensor, uniform: Tensor, temperature: float) -> Tensor:
    """Draw from Bernoulli(p), with the derivative of its relaxation.

    Parameters
    ----------
    probability, uniform : Tensor
        As for `relaxed_bernoulli`.
    temperature : float
        Temperature of the relaxation, which is computed only if ``probability`` has a gradient.

    Returns
    -------
    Tensor
        0 or 1 in the forward pass, the relaxed sample in the backward pass.
    """
    if not probability.requires_grad:
        return bernoulli(probability, uniform).to(probability.dtype)
    return straight_through(*relaxed_bernoulli(probability, uniform, temperature))


def gumbel(uniform: Tensor) -> Tensor:
    """Turn uniform numbers into standard Gumbel numbers, g = −log(−log u).

    The argmax of ``log_probability + gumbel(uniform)`` is a draw from the categorical
    distribution.

    Parameters
    ----------
    uniform : Tensor
        Numbers in (0, 1).

    Returns
    -------
    Tensor
        Gumbel numbers of the same shape.
    """
    return -torch.log(-torch.log(uniform))


def conditional_gumbel(log_probability: Tensor, choice: Tensor, uniform: Tensor) -> Tensor:
    r"""Draw perturbed log-probabilities z̃ given which of them is the largest.

    With θ = exp(log_probability), b the choice and v the uniform numbers,

    .. math:: \tilde z_b = -\log(-\log v_b), \qquad
              \tilde z_k = -\log\Big(-\frac{\log v_k}{\theta_k} - \log v_b\Big), \quad k \ne b.

    Parameters
    ----------
    log_probability : Tensor
        Normalised log-probabilities along the last axis.
    choice : Tensor
        Index b of the largest along the last axis; one axis fewer.
    uniform : Tensor
        Numbers v in (0, 1), same shape as ``log_probability``.

    Returns
    -------
    Tensor
        z̃ with ``argmax(z̃) == choice``, differentiable in ``log_probability``.

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

    A width of 0 gives exactly 0 everywhere.

    Parameters
    ----------
    axis : Tensor
        Times or frequencies t, shape (n_points,).
    centre : Tensor
        Middle c of each box, shape (n_boxes,).
    width : Tensor
        Width w of each box, shape (n_boxes,).
    steepness : float
        Steepness λ of the edges, one over the unit of ``axis``.

    Returns
    -------
    Tensor
        Values in [0, 1], about 1 inside and 0 outside, shape (n_boxes, n_points).
    """
    distance = axis - centre[:, None]
    half = width[:, None] / 2
    return torch.sigmoid(steepness * (distance + half)) - torch.sigmoid(
        steepness * (distance - half)
    )


def smooth_boxes(start: Tensor, end: Tensor, n_points: int, steepness: float) -> Tensor:
    """Sum the boxes with smooth edges of each row, see `smooth_box`, at the points 0, 1, 2, ….

    On a CPU, sigmoids are computed near the edges only, where they are not yet 0 or 1 but for
    rounding; elsewhere a row is the number of boxes around a point.

    Parameters
    ----------
    start, end : Tensor
        Where boxes begin and end, in points, shape (n_rows, n_boxes).
    n_points : int
        Length of a row.
    steepness : float
        Steepness λ of the edges, per point.

    Returns
    -------
    Tensor
        Shape (n_rows, n_points); boxes of width 0 add exactly 0.
    """
    reach = math.ceil(math.log(2 / torch.finfo(start.dtype).eps) / steepness)
    if start.device.type == "cpu" and 2 * reach < n_points:
        return _boxes_by_edges(start, end, n_points, steepness, reach)
    axis = torch.arange(n_points, dtype=start.dtype, device=start.device)
    middle, width = (start + end) / 2, end - start
    boxes = smooth_box(axis, middle.flatten(), width.flatten(), steepness)
    return boxes.view(*start.shape, n_points).sum(1)


def _boxes_by_edges(
    start: Tensor, end: Tensor, n_points: int, steepness: float, reach: int
) -> Tensor:
    """Compute `smooth_boxes` with sigmoids at ``reach`` points to both sides of the edges."""
    # Both edges of a box follow each other, so that those of an empty box cancel exactly.
    edge = torch.stack((start, end), dim=-1).flatten(1)
    sign = torch.tensor([1, -1], dtype=torch.int8).repeat(start.shape[1])
    first_after = edge.detach().ceil().clamp(0, n_points)
    n_around = (
        torch.zeros(len(edge), n_points + 1, dtype=torch.int8)
        .scatter_add_(1, first_after.long(), sign.expand(edge.shape))
        .cumsum(1, dtype=torch.int8)
    )
    near = torch.arange(-reach, reach, dtype=edge.dtype)
    point = first_after[..., None] + near
    soft = torch.sigmoid(steepness * (point - edge[..., None])) - (near >= 0).to(edge.dtype)
    padded = edge.new_zeros(len(edge), n_points + 2 * reach).scatter_add(
        1, (point + reach).long().flatten(1), (sign[:, None] * soft).flatten(1)
    )
    return padded[:, reach:-reach] + n_around[:, :-1]
