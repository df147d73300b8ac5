r"""From paired rewards to verdicts: what helps, what hurts, and what remains undecided.

A reward belongs to a training window and to the validation windows that it was computed with.
Rewards of one training subject are correlated, and so are those of the same part of the validation
windows. The variance of a mean is therefore clustered both ways (Cameron, Gelbach &
Miller 2011),

.. math:: V = V_\text{subject} + V_\text{part} - V_{\text{subject} \times \text{part}} ,

where each term is :math:`\frac{G}{G - 1} \sum_g u_g^2` with :math:`u_g` the sum, over the rewards
of cluster g, of deviations from the mean divided by their number. Means are compared with 0 by
Student's t with one degree of freedom less than there are clusters of the kind with fewer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import torch
from torch import Tensor

from cadda._internal.statistics import holm, t_test_greater, two_way_standard_error
from cadda.policies.spec.entries import ALL_CLASSES
from cadda.reporting.records import ScreeningRow, Verdict

__all__ = ["Means", "Trials", "average", "reach_verdicts"]


def reach_verdicts(
    trials: Trials,
    class_names: tuple[str, ...],
    share: Tensor,
    cluster: Tensor,
    *,
    level: float = 0.05,
) -> tuple[ScreeningRow, ...]:
    """Test which operations help and which hurt.

    An operation **helps** where its mean reward is above

    - that of the unchanged windows,
    - that of every control, and
    - that of the same augmented windows with random labels.

    An over-confident model is rewarded for whatever makes it less sure. A destroyed window does
    that, and so does a strange one whatever its label.

    It **hurts** where its mean reward is below that of the unchanged windows, and below that of
    the same augmented windows with random labels: then their own labels are worse than none. What
    merely costs a little, as anything unfamiliar does at first, does not hurt. To be worse
    than the controls is required only in a single class: whether validation wants more or less of
    that class bends its rewards, and those of the controls alike. Over all classes this cancels.

    All else is **undecided**, which is not to say that there is no effect.

    A verdict needs all of its comparisons, so its p-value is the largest of theirs. p-values are
    two-sided and corrected by Holm's method over all operations, for each of four tables by
    itself: all classes or each class, all magnitudes or each magnitude.

    Parameters
    ----------
    trials : Trials
        The rewards.
    class_names : tuple of str
        Names of the classes.
    share : Tensor
        Share of each class in the training windows, shape (n_classes,).
    cluster : Tensor
        What each training window shares with others, such as the number of its subject, shape
        (n_windows,).
    level : float
        Probability of any wrong verdict in a table.

    Returns
    -------
    tuple of ScreeningRow
        For each operation the means over magnitudes, then each magnitude.
    """
    table = average(trials, trials.reward, share, cluster)
    by_label = average(trials, trials.reward - trials.relabelled, share, cluster)
    names = [ALL_CLASSES, *(class_names[i] for i in share.nonzero().flatten().tolist())]
    everything = range(len(trials.operations))
    graded = [i for i in everything if trials.graded[i]]
    whole = (table.over_magnitudes(), by_label.over_magnitudes())
    rows = [
        *_rows(trials, *whole, everything, (None,), names, level),
        *_rows(trials, table, by_label, graded, trials.magnitudes, names, level),
    ]
    return tuple(sorted(rows, key=lambda row: trials.operations.index(row.operation)))


def _rows(
    trials: Trials,
    table: Means,
    by_label: Means,
    operations: Sequence[int],
    magnitudes: Sequence[float | None],
    names: Sequence[str],
    level: float,
) -> Iterator[ScreeningRow]:
    """Test one table of means, and yield its rows operation by operation."""
    first_control = len(trials.operations) - trials.n_controls
    helps, hurts = _p_values(table, by_label, range(first_control, len(trials.operations)))
    smaller = (2 * torch.minimum(helps, hurts)).clamp(max=1)
    p_value, error = torch.ones_like(smaller), table.standard_error()
    tried = [i for i in operations if i < first_control]
    for columns in (slice(0, 1), slice(1, None)):
        p_value[tried, :, columns] = torch.from_numpy(holm(smaller[tried, :, columns]))
    for place in product(operations, range(len(magnitudes)), range(len(names))):
        operation, magnitude, column = place
        verdict: Verdict = "control" if operation >= first_control else "undecided"
        if p_value[place] < level:
            verdict = "helps" if helps[place] < hurts[place] else "hurts"
        yield ScreeningRow(
            trials.operations[operation],
            magnitudes[magnitude],
            names[column],
            float(table.mean[place]),
            float(error[place]),
            int(table.count[place]),
            float(p_value[place]),
            verdict,
        )


def _p_values(table: Means, by_label: Means, controls: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return one-sided p-values of help and of harm."""
    above = torch.stack([table.p_above(), by_label.p_above()])
    above_controls = torch.stack([table.minus(control).p_above() for control in controls])
    helps = torch.cat([above, above_controls]).amax(0)
    hurts = 1 - above.amin(0)
    hurts[..., 1:] = torch.maximum(hurts, 1 - above_controls.amin(0))[..., 1:]
    return helps, hurts


@dataclass(frozen=True, eq=False)
class Trials:
    """Paired rewards, one per trial of an operation on a window; tensors are (n_trials,)."""

    operations: tuple[str, ...]  # controls last
    n_controls: int
    graded: tuple[bool, ...]  # whether each operation has a magnitude
    magnitudes: tuple[float, ...]  # an operation without one was tried as often as the others
    operation: Tensor
    magnitude: Tensor
    window: Tensor
    label: Tensor
    part: Tensor  # of the validation windows
    reward: Tensor  # beyond that of the same window unchanged
    relabelled: Tensor  # reward with a random label instead


@dataclass(frozen=True, eq=False)
class Means:
    """Means by operation, magnitude and class, and the term of each cluster in each of them."""

    mean: Tensor  # (n_operations, n_magnitudes, 1 + n_classes), the mean over classes first
    count: Tensor  # of rewards, the same shape
    terms: tuple[Tensor, ...]  # of training clusters, validation parts and pairs; one more axis
    n_clusters: Tensor  # training clusters with windows of each class, (1 + n_classes,)

    def over_magnitudes(self) -> Means:
        """Return the means over magnitudes."""
        terms = tuple(term.mean(1, keepdim=True) for term in self.terms)
        mean, count = self.mean.mean(1, keepdim=True), self.count.sum(1, keepdim=True)
        return replace(self, mean=mean, count=count, terms=terms)

    def minus(self, other: int) -> Means:
        """Subtract the mean of one operation, over its magnitudes, from all."""
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
    """Average values of trials by operation, magnitude and class.

    `share` weighs the classes in the mean over classes; absent classes get no column. `cluster` is
    the subject, or the like, of each training window.
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
        """Prepend the mean over classes."""
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
