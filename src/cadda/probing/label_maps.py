r"""From predictions of transformed windows to verdicts and label maps.

:math:`M_o[c, c']` is the share of windows of class c that a model takes for c' after operation o,
:math:`M` the same for windows as they are. Windows that an operation has destroyed are spread by
chance, or all taken for one class. Shares are therefore compared with those of the other classes:
the *advantage* is :math:`M_o[c, c'] - \frac1K \sum_k M_o[k, c']`, which does not depend on
how often the model predicts c'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from cadda._internal.statistics import Numbers, holm
from cadda.probing.clustered import LEVEL, Clustered

__all__ = [
    "Candidate",
    "Findings",
    "best_permutation",
    "find_label_maps",
    "is_above_chance",
    "judge_classes",
    "mean_over_classes",
]

RETAINED = 0.5
"""Part of what the model recognises above chance that must remain; with less, a class is lost."""
MARGIN = 0.25
"""Part of it that a class may lose and still be kept."""

Mask = NDArray[np.bool_]
Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Findings:
    """What each operation, at each magnitude, does to each class.

    Arrays have the shape (n_conditions, n_classes, …); the first condition is no operation.
    """

    keeps: Mask  # (n_conditions, n_classes)
    becomes: Mask  # (n_conditions, n_classes, n_classes)
    destroys: Mask  # (n_conditions, n_classes)


def judge_classes(share: Clustered) -> Findings:
    """Test what becomes of each class; the first condition is windows as they are.

    A class that the model does not recognise in windows as they are remains undecided. Others are
    *kept* where share or advantage are as before, but for a margin, and half of the advantage is
    left. They *become* another class where all other targets are less likely, and half of what the
    model recognises of that class is left, as share above chance or as advantage. They are
    *destroyed* where less than half is left of themselves, and of what they might become.
    """
    advantage = share - share.mean(1)
    plain = _recognition(advantage)
    labels = np.arange(len(plain.value))
    recognised = plain.low > 0
    retained = advantage - plain[None, None].times(RETAINED)
    retains_half = retained.cautious >= 0
    keeps = (_is_as_before(share, advantage) & retains_half)[:, labels, labels]
    wins, loses = _comparisons(advantage)
    enough = retains_half | _retains_share(share)
    others = ~np.eye(len(labels), dtype=bool)
    becomes = wins & enough & recognised[:, None] & recognised & others
    may_become = (retained.high >= 0) & ~loses & others
    lost = retained.high[:, labels, labels] < 0
    return Findings(
        keeps & recognised & ~becomes.any(-1),
        becomes,
        lost & recognised & ~keeps & ~may_become.any(-1),
    )


def _recognition(matrices: Clustered) -> Clustered:
    """Return the diagonal of the first of some matrices, by class."""
    labels = np.arange(matrices.value.shape[-1])
    return matrices[0][labels, labels]


def _retains_share(share: Clustered) -> Mask:
    """Return whether shares are at least halfway from chance to those of windows as they are."""
    chance = 1 / share.value.shape[-1]
    retained = share - _recognition(share)[None, None].times(RETAINED)
    enough: Mask = retained.cautious >= (1 - RETAINED) * chance
    return enough


def _is_as_before(share: Clustered, advantage: Clustered) -> Mask:
    """Test whether shares or advantages are those of windows as they are, give or take a margin.

    The share falls where the model predicts the class less often of all windows, the advantage
    where it takes others for it, too.
    """
    margin = MARGIN * _recognition(advantage).value
    same = (share - share[:1]).low > -margin
    as_good: Mask = (advantage - advantage[:1]).low > -margin
    return same | as_good


def _comparisons(advantage: Clustered) -> tuple[Mask, Mask]:
    """Test for each class and target whether all other targets are less likely, or any more.

    Results have the shape (n_conditions, n_classes, n_classes).
    """
    lead = advantage[:, :, :, None] - advantage[:, :, None, :]
    itself = np.eye(lead.value.shape[-1], dtype=bool)
    return np.all(itself | (lead.low > 0), axis=-1), np.any(lead.high < 0, axis=-1)


def is_above_chance(share: Clustered) -> bool:
    """Return whether the model recognises windows as they are: balanced accuracy above chance."""
    n_classes = share.value.shape[-1]
    plain = mean_over_classes(share[0], np.arange(n_classes))
    return bool(plain.low > 1 / n_classes)


def mean_over_classes(share: Clustered, target: Labels, support: Mask | None = None) -> Clustered:
    """Return the balanced accuracy of the targets in a matrix, over all classes or a support."""
    classes = np.arange(len(target)) if support is None else np.flatnonzero(support)
    return share[classes, target[classes]].mean(0)[0]


def best_permutation(share: Numbers, allowed: Mask) -> Labels:
    """Return the permutation with the largest sum of shares; a class may always stay itself.

    Parameters
    ----------
    share : array of shape (n_classes, n_classes)
        Shares by class and target.
    allowed : array of bool of shape (n_classes, n_classes)
        Which classes may become which others.

    Returns
    -------
    array of shape (n_classes,)
        The target of each class.
    """
    n_classes = len(share)
    # Low enough that no sum with such an entry is the best.
    value = np.where(allowed | np.eye(n_classes, dtype=bool), share, -float(n_classes))
    target: Labels = linear_sum_assignment(value, maximize=True)[1]
    return target


@dataclass(frozen=True, eq=False)
class Candidate:
    """A label map of one condition that is not the identity, before it is accepted."""

    condition: int
    target: Labels
    support: Mask  # classes that it names

    @property
    def moved(self) -> Mask:
        """Classes that it changes."""
        changed: Mask = self.target != np.arange(len(self.target))
        return changed


def find_label_maps(
    share: Clustered, findings: Findings, operations: Sequence[int]
) -> list[Candidate]:
    """Return the label maps that are accepted, at most one per operation.

    For each condition, the permutation that agrees best with the shares is found among the moves
    that are reliable; classes that stay belong to the map if they are kept. It is accepted if by
    subject its balanced accuracy is above that of the labels as they are, and by one standard
    error more than halfway from chance to that of windows as they are. Of the magnitudes of an
    operation, that with the best agreement is tested; its p-value is multiplied by their number,
    and corrected by Holm's method over operations.

    Parameters
    ----------
    share : Clustered
        Shares of shape (n_conditions, n_classes, n_classes); the first condition is no operation.
    findings : Findings
        Results of `judge_classes`.
    operations : sequence of int
        Number of the operation of each condition but the first, from 0.

    Returns
    -------
    list of Candidate
        The maps.
    """
    if not is_above_chance(share):
        return []
    best = dict[int, Candidate]()
    for condition, operation in enumerate(operations, start=1):
        candidate = _candidate(share, findings, condition)
        if candidate is not None and _agreement(share, candidate) > (
            _agreement(share, best[operation]) if operation in best else 0.0
        ):
            best[operation] = candidate
    p_value = np.ones(max(operations) + 1)
    for operation, candidate in best.items():
        n_magnitudes = list(operations).count(operation)
        p_value[operation] = min(1.0, float(_gain(share, candidate).p_above) * n_magnitudes)
    accepted = holm(p_value) < LEVEL
    return [best[operation] for operation in sorted(best) if accepted[operation]]


def _candidate(share: Clustered, findings: Findings, condition: int) -> Candidate | None:
    target = best_permutation(share.value[condition], findings.becomes[condition])
    moved = target != np.arange(len(target))
    found = Candidate(condition, target, moved | findings.keeps[condition])
    return found if moved.any() and _retains_half(share, found) else None


def _retains_half(share: Clustered, candidate: Candidate) -> bool:
    labels, moved = np.arange(len(candidate.target)), candidate.moved
    plain = mean_over_classes(share[0], labels, moved)
    agreement = mean_over_classes(share[candidate.condition], candidate.target, moved)
    retained = agreement - plain.times(RETAINED)
    return bool(retained.cautious >= (1 - RETAINED) / len(labels))


def _gain(share: Clustered, candidate: Candidate) -> Clustered:
    """Return by how much the map agrees better than labels as they are."""
    labels = np.arange(len(candidate.target))
    after = share[candidate.condition]
    kept = mean_over_classes(after, labels, candidate.support)
    return mean_over_classes(after, candidate.target, candidate.support) - kept


def _agreement(share: Clustered, candidate: Candidate) -> float:
    """Return the share above chance, summed over the classes of a map: the more, the better."""
    classes = np.flatnonzero(candidate.support)
    after = share.value[candidate.condition]
    return float((after[classes, candidate.target[classes]] - 1 / len(after)).sum())
