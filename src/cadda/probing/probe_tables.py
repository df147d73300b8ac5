"""From counted predictions to the result of a probe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cadda._internal.jsonlines import JsonObject
from cadda.probing.clustered import Clustered, class_shares
from cadda.probing.label_maps import (
    Candidate,
    Findings,
    find_label_maps,
    is_above_chance,
    judge_classes,
    mean_over_classes,
)
from cadda.probing.probe import Condition
from cadda.probing.probe_result import ProbeResult, ProposedMap
from cadda.reporting.probe_records import ProbeMatrix, ProbeRow, ProbeVerdict

__all__ = ["make_result"]


def make_result(
    counts: NDArray[np.int64],
    conditions: Sequence[Condition],
    class_names: tuple[str, ...],
    *,
    left_out: Mapping[str, str] | None = None,
    settings: JsonObject | None = None,
) -> ProbeResult:
    """Test what each operation does to each class.

    Parameters
    ----------
    counts : array of shape (1 + n_conditions, n_subjects, n_classes, n_classes)
        Predictions of windows as they are, then of each condition; rows are the true classes.
    conditions : sequence of Condition
        Operations and magnitudes.
    class_names : tuple of str
        Names of the classes.
    left_out : mapping of str to str | None
        Operations that were not tried, each with the reason.
    settings : dict | None
        Settings of the probe, for the record.

    Returns
    -------
    ProbeResult
        Verdicts and label maps.
    """
    share = class_shares(counts, n_windows=counts[0].sum(-1))
    findings, is_useful = judge_classes(share), is_above_chance(share)
    names = list(dict.fromkeys(condition.operation for condition in conditions))
    numbers = [names.index(condition.operation) for condition in conditions]
    accuracy = mean_over_classes(share[0], np.arange(len(class_names)))
    return ProbeResult(
        class_names=class_names,
        accuracy=float(accuracy.value),
        accuracy_low=_low(accuracy),
        accuracy_high=_high(accuracy),
        is_useful=is_useful,
        n_subjects=counts.shape[1],
        proposals=tuple(
            _propose(share, candidate, conditions[candidate.condition - 1], class_names)
            for candidate in find_label_maps(share, findings, numbers)
        ),
        table=tuple(_rows(share, findings, conditions, class_names, is_useful=is_useful)),
        matrices=tuple(_matrices(share, conditions)),
        left_out=dict(left_out or {}),
        settings=settings or {},
    )


def _low(share: Clustered) -> float:
    return max(0.0, float(share.low))


def _high(share: Clustered) -> float:
    return min(1.0, float(share.high))


def _propose(
    share: Clustered, candidate: Candidate, condition: Condition, class_names: tuple[str, ...]
) -> ProposedMap:
    labels = np.arange(len(class_names))
    agreement = mean_over_classes(share[candidate.condition], candidate.target, candidate.support)
    return ProposedMap(
        condition.operation,
        condition.magnitude,
        {
            class_names[label]: class_names[candidate.target[label]]
            for label in np.flatnonzero(candidate.support)
        },
        agreement=float(agreement.value),
        low=_low(agreement),
        high=_high(agreement),
        plain=float(mean_over_classes(share[0], labels, candidate.support).value),
    )


def _rows(
    share: Clustered,
    findings: Findings,
    conditions: Sequence[Condition],
    class_names: tuple[str, ...],
    *,
    is_useful: bool,
) -> Iterator[ProbeRow]:
    """Yield the table: operation by operation, magnitude by magnitude, class by class."""
    low, high = np.clip(share.low, 0, 1), np.clip(share.high, 0, 1)
    likeliest = _likeliest_other(share, findings)
    for number, condition in enumerate(conditions, start=1):
        for label, name in enumerate(class_names):
            other = likeliest[number, label]
            kept, moved = (number, label, label), (number, label, other)
            yield ProbeRow(
                condition.operation,
                condition.magnitude,
                name,
                plain=float(share.value[0, label, label]),
                kept=float(share.value[kept]),
                kept_low=float(low[kept]),
                kept_high=float(high[kept]),
                other=class_names[other],
                other_share=float(share.value[moved]),
                other_low=float(low[moved]),
                other_high=float(high[moved]),
                verdict=_verdict(findings, number, label) if is_useful else "undecided",
            )


def _likeliest_other(share: Clustered, findings: Findings) -> NDArray[np.int64]:
    """Return the label that each class becomes, or else is taken for most beside itself."""
    itself = np.eye(share.value.shape[-1])
    return np.asarray((share.value + 2 * findings.becomes - 2 * itself).argmax(-1))


def _verdict(findings: Findings, number: int, label: int) -> ProbeVerdict:
    if findings.becomes[number, label].any():
        return "becomes"
    if findings.keeps[number, label]:
        return "keeps"
    return "destroys" if findings.destroys[number, label] else "undecided"


def _matrices(share: Clustered, conditions: Sequence[Condition]) -> Iterator[ProbeMatrix]:
    places = [(None, None), *((c.operation, c.magnitude) for c in conditions)]
    for (operation, magnitude), matrix in zip(places, share.value.tolist(), strict=True):
        yield ProbeMatrix(operation, magnitude, tuple(tuple(row) for row in matrix))
