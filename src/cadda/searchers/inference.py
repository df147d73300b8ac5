r"""Means of paired rewards, with standard errors that know what the rewards share.

Rewards of one subject resemble each other, and so do those of one round, which share the state of
the model and the validation batch. The variance of a mean is therefore clustered both ways
(Cameron, Gelbach & Miller 2011),

.. math:: V = V_\text{subject} + V_\text{round} - V_{\text{subject} \times \text{round}} ,

where each part is :math:`\frac{G}{G - 1} \sum_g u_g^2` with :math:`u_g` the sum, over the rewards
of cluster g, of deviations from the mean divided by their number. Means are compared to others by
Student's t with one degree of freedom less than there are clusters of the kind with fewer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

__all__ = ["Cells", "Trials", "average", "holm", "upper_tail"]

MOST_DEGREES = 100
"""More degrees of freedom are counted as this many: the tails hardly change any more."""

N_NODES = 64
"""Nodes of the quadrature for Student's t: enough for all digits."""


@dataclass(frozen=True, eq=False)
class Trials:
    """Paired rewards, one per trial of an operation on a window.

    Parameters
    ----------
    operations : tuple of str
        Names of the operations, controls last.
    n_controls : int
        How many of them are controls.
    graded : tuple of bool
        Whether each operation has a magnitude.
    magnitudes : tuple of float
        Magnitudes that were tried. An operation without one was tried as often as the others.
    operation : Tensor
        Number of the operation of each trial, shape (n_trials,).
    magnitude : Tensor
        Number of its magnitude, shape (n_trials,).
    window : Tensor
        Number of its training window, shape (n_trials,).
    label : Tensor
        Class of that window, shape (n_trials,).
    round : Tensor
        Number of the round, shape (n_trials,).
    reward : Tensor
        Reward beyond that of the same window unchanged, shape (n_trials,).
    """

    operations: tuple[str, ...]
    n_controls: int
    graded: tuple[bool, ...]
    magnitudes: tuple[float, ...]
    operation: Tensor
    magnitude: Tensor
    window: Tensor
    label: Tensor
    round: Tensor
    reward: Tensor


@dataclass(frozen=True, eq=False)
class Cells:
    """Means by operation, magnitude and class, and what each cluster adds to each of them.

    Parameters
    ----------
    mean : Tensor
        Shape (n_operations, n_magnitudes, 1 + n_classes); first comes the mean over classes.
    count : Tensor
        Number of rewards, of the same shape.
    parts : tuple of Tensor
        What clusters, rounds and clusters within rounds add, each in one more axis.
    n_clusters : Tensor
        Number of clusters that have windows of each class, shape (1 + n_classes,).
    """

    mean: Tensor
    count: Tensor
    parts: tuple[Tensor, ...]
    n_clusters: Tensor

    def over_magnitudes(self) -> Cells:
        """Take the means over magnitudes.

        Returns
        -------
        Cells
            With one magnitude.
        """
        parts = tuple(part.mean(1, keepdim=True) for part in self.parts)
        mean, count = self.mean.mean(1, keepdim=True), self.count.sum(1, keepdim=True)
        return replace(self, mean=mean, count=count, parts=parts)

    def less(self, other: int) -> Cells:
        """Subtract the mean of one operation, over its magnitudes, from all of them.

        Parameters
        ----------
        other : int
            Number of the operation.

        Returns
        -------
        Cells
            The differences.
        """
        parts = tuple(part - part[other].mean(0, keepdim=True) for part in self.parts)
        mean = self.mean - self.mean[other].mean(0, keepdim=True)
        return replace(self, mean=mean, parts=parts)

    def standard_error(self) -> Tensor:
        """Compute the standard errors of the means, clustered both ways.

        Returns
        -------
        Tensor
            Of the shape of the means; NaN where there is one cluster only.
        """
        n, n_rounds = self.n_clusters.double(), self.parts[1].shape[-1]
        cluster, rounds, both = (part.square().sum(-1) for part in self.parts)
        cluster = torch.where(n > 1, cluster * n / (n - 1), torch.nan)
        rounds = rounds * n_rounds / max(n_rounds - 1, 1)
        return torch.maximum(cluster, rounds).maximum(cluster + rounds - both).sqrt()

    def p_above(self, threshold: float) -> Tensor:
        """Test whether means are above a number.

        Parameters
        ----------
        threshold : float
            The number.

        Returns
        -------
        Tensor
            One-sided p-values, of the shape of the means.
        """
        return self._tail(self.mean - threshold)

    def p_below(self, threshold: float) -> Tensor:
        """Test whether means are below a number.

        Parameters
        ----------
        threshold : float
            The number.

        Returns
        -------
        Tensor
            One-sided p-values, of the shape of the means.
        """
        return self._tail(threshold - self.mean)

    def _tail(self, distance: Tensor) -> Tensor:
        # Without spread, as without a second cluster, there is no evidence either way.
        t = (distance / self.standard_error()).nan_to_num(0.0, 0.0, 0.0)
        degrees = self.n_clusters.clamp(max=self.parts[1].shape[-1]) - 1
        return upper_tail(t, degrees.clamp(min=1).double().expand_as(t))


def average(trials: Trials, share: Tensor, cluster: Tensor) -> Cells:
    """Average the rewards of each operation, magnitude and class.

    Parameters
    ----------
    trials : Trials
        The rewards.
    share : Tensor
        Weight of each class in the mean over classes, shape (n_classes,); 0 for absent ones, which
        get no column.
    cluster : Tensor
        What each training window shares with others, such as the number of its subject, shape
        (n_windows,).

    Returns
    -------
    Cells
        The means.
    """
    present = share.nonzero().flatten()
    shape = (len(trials.operations), len(trials.magnitudes), len(present))
    label = torch.searchsorted(present, trials.label)
    cell = (trials.operation * shape[1] + trials.magnitude) * shape[2] + label
    n_cells, reward = math.prod(shape), trials.reward.double()
    count = torch.bincount(cell, minlength=n_cells)
    mean = torch.zeros(n_cells, dtype=torch.float64).index_add_(0, cell, reward) / count
    deviation = (reward - mean[cell]) / count[cell]
    weight = (share[present].double() / share.sum())[:, None]

    def widen(values: Tensor) -> Tensor:
        """Put the mean over classes before the first class."""
        table = values.view(*shape, -1)
        return torch.cat([(table * weight).sum(2, keepdim=True), table], 2)

    def part(of: Tensor) -> Tensor:
        kinds, of = torch.unique(of, return_inverse=True)
        sums = torch.zeros(n_cells * len(kinds), dtype=torch.float64)
        return widen(sums.index_add_(0, cell * len(kinds) + of, deviation))

    clusters = torch.unique(cluster, return_inverse=True)[1][trials.window]
    both = clusters * (int(trials.round.max()) + 1) + trials.round
    met = torch.zeros(len(present), int(clusters.max()) + 1, dtype=torch.bool)
    met[label, clusters] = True
    counts = count.view(shape)
    return Cells(
        widen(mean).squeeze(-1),
        torch.cat([counts.sum(2, keepdim=True), counts], 2),
        (part(clusters), part(trials.round), part(both)),
        torch.cat([met.any(0).sum()[None], met.sum(1)]),
    )


def holm(p_value: Tensor) -> Tensor:
    """Correct p-values for their number by Holm's method.

    Parameters
    ----------
    p_value : Tensor
        The p-values, of any shape.

    Returns
    -------
    Tensor
        Corrected ones: where all hypotheses hold, one of them is below 0.05 in 5 % of the cases.
    """
    flat, order = p_value.flatten().sort()
    left = torch.arange(len(flat), 0, -1, dtype=flat.dtype)
    corrected = (left * flat).cummax(0).values.clamp(max=1)
    return torch.empty_like(flat).scatter_(0, order, corrected).view_as(p_value)


def upper_tail(t: Tensor, degrees: Tensor) -> Tensor:
    """Give the probability that Student's t is above a value.

    Parameters
    ----------
    t : Tensor
        The values, float64.
    degrees : Tensor
        Degrees of freedom, at least 1, of the same shape.

    Returns
    -------
    Tensor
        Probabilities.
    """
    # With t = √ν tan φ, the density of φ is proportional to cos^(ν − 1) φ on (−π/2, π/2).
    nodes, weights = (torch.from_numpy(a) for a in np.polynomial.legendre.leggauss(N_NODES))
    degrees = degrees.clamp(max=MOST_DEGREES)
    start = torch.atan(t.abs() / degrees.sqrt())
    half = (math.pi / 2 - start) / 2
    angle = start[..., None] + half[..., None] * (1 + nodes)
    area = half * (weights * torch.cos(angle).pow(degrees[..., None] - 1)).sum(-1)
    gammas = torch.lgamma(degrees / 2) - torch.lgamma((degrees + 1) / 2)
    tail = area / (math.sqrt(math.pi) * gammas.exp())
    return torch.where(t >= 0, tail, 1 - tail)
