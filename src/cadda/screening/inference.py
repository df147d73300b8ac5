r"""Means of paired rewards, with standard errors that know what the rewards share.

A reward belongs to a training window and to the validation windows that it was judged by. Rewards
of one training subject resemble each other, and so do those judged by the same part of the
validation windows. The variance of a mean is therefore clustered both ways (Cameron, Gelbach &
Miller 2011),

.. math:: V = V_\text{subject} + V_\text{part} - V_{\text{subject} \times \text{part}} ,

where each term is :math:`\frac{G}{G - 1} \sum_g u_g^2` with :math:`u_g` the sum, over the rewards
of cluster g, of deviations from the mean divided by their number. Means are compared with 0 by
Student's t with one degree of freedom less than there are clusters of the kind with fewer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from cadda._internal.statistics import t_test_greater, two_way_standard_error

__all__ = ["Means", "Trials", "average"]


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
    part : Tensor
        Part of the validation windows that it was judged by, shape (n_trials,).
    reward : Tensor
        Reward beyond that of the same window unchanged, shape (n_trials,).
    relabelled : Tensor
        The same with a label drawn at random instead of its own, shape (n_trials,).
    """

    operations: tuple[str, ...]
    n_controls: int
    graded: tuple[bool, ...]
    magnitudes: tuple[float, ...]
    operation: Tensor
    magnitude: Tensor
    window: Tensor
    label: Tensor
    part: Tensor
    reward: Tensor
    relabelled: Tensor


@dataclass(frozen=True, eq=False)
class Means:
    """Means by operation, magnitude and class, and what each cluster adds to each of them.

    Parameters
    ----------
    mean : Tensor
        Shape (n_operations, n_magnitudes, 1 + n_classes); first comes the mean over classes.
    count : Tensor
        Number of rewards, of the same shape.
    terms : tuple of Tensor
        What training clusters, validation parts and pairs of both add, each in one more axis.
    n_clusters : Tensor
        Number of training clusters that have windows of each class, shape (1 + n_classes,).
    """

    mean: Tensor
    count: Tensor
    terms: tuple[Tensor, ...]
    n_clusters: Tensor

    def over_magnitudes(self) -> Means:
        """Take the means over magnitudes.

        Returns
        -------
        Means
            With one magnitude.
        """
        terms = tuple(term.mean(1, keepdim=True) for term in self.terms)
        mean, count = self.mean.mean(1, keepdim=True), self.count.sum(1, keepdim=True)
        return replace(self, mean=mean, count=count, terms=terms)

    def less(self, other: int) -> Means:
        """Subtract the mean of one operation, over its magnitudes, from all of them.

        Parameters
        ----------
        other : int
            Number of the operation.

        Returns
        -------
        Means
            The differences.
        """
        terms = tuple(term - term[other].mean(0, keepdim=True) for term in self.terms)
        mean = self.mean - self.mean[other].mean(0, keepdim=True)
        return replace(self, mean=mean, terms=terms)

    def standard_error(self) -> Tensor:
        """Compute the standard errors of the means, clustered both ways; NaN for one cluster."""
        first, second, both = (term.numpy() for term in self.terms)
        n_clusters = self.n_clusters.numpy()
        errors = two_way_standard_error(first, second, both, n_clusters, self.n_parts)
        return torch.from_numpy(errors)

    def p_above(self) -> Tensor:
        """Compute one-sided p-values for means above 0, of the shape of the means."""
        degrees = (self.n_clusters.clamp(max=self.n_parts) - 1).clamp(min=1)
        p = t_test_greater(self.mean.numpy(), self.standard_error().numpy(), degrees.numpy())
        return torch.from_numpy(p)

    @property
    def n_parts(self) -> int:
        """Number of parts of the validation windows."""
        return self.terms[1].shape[-1]


def average(trials: Trials, value: Tensor, share: Tensor, cluster: Tensor) -> Means:
    """Average something of the trials of each operation, magnitude and class.

    Parameters
    ----------
    trials : Trials
        The trials.
    value : Tensor
        What to average, such as their rewards, shape (n_trials,).
    share : Tensor
        Weight of each class in the mean over classes, shape (n_classes,); 0 for absent ones, which
        get no column.
    cluster : Tensor
        What each training window shares with others, such as the number of its subject, shape
        (n_windows,).

    Returns
    -------
    Means
        The means.
    """
    present = share.nonzero().flatten()
    shape = (len(trials.operations), len(trials.magnitudes), len(present))
    label = torch.searchsorted(present, trials.label)
    cell = (trials.operation * shape[1] + trials.magnitude) * shape[2] + label
    n_cells, value = math.prod(shape), value.double()
    count = torch.bincount(cell, minlength=n_cells)
    mean = torch.zeros(n_cells, dtype=torch.float64).index_add_(0, cell, value) / count
    deviation = (value - mean[cell]) / count[cell]
    weight = (share[present].double() / share.sum())[:, None]

    def widen(values: Tensor) -> Tensor:
        """Put the mean over classes before the first class."""
        table = values.view(*shape, -1)
        return torch.cat([(table * weight).sum(2, keepdim=True), table], 2)

    def term(of: Tensor) -> Tensor:
        kinds, of = torch.unique(of, return_inverse=True)
        sums = torch.zeros(n_cells * len(kinds), dtype=torch.float64)
        return widen(sums.index_add_(0, cell * len(kinds) + of, deviation))

    clusters = torch.unique(cluster, return_inverse=True)[1][trials.window]
    both = clusters * (int(trials.part.max()) + 1) + trials.part
    met = torch.zeros(len(present), int(clusters.max()) + 1, dtype=torch.bool)
    met[label, clusters] = True
    counts = count.view(shape)
    return Means(
        widen(mean).squeeze(-1),
        torch.cat([counts.sum(2, keepdim=True), counts], 2),
        (term(clusters), term(trials.part), term(both)),
        torch.cat([met.any(0).sum()[None], met.sum(1)]),
    )
