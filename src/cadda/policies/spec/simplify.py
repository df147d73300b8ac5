"""Soft policies, of many subpolicies with many weighted entries, as a few crisp lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from cadda.operations.label_maps import target_labels
from cadda.policies.spec.compare import total_variation
from cadda.policies.spec.entries import ALL_CLASSES, StageEntry, Subpolicy, make_entry
from cadda.policies.spec.leakage import record_leak
from cadda.policies.spec.mixture import Mixture, Outcomes
from cadda.policies.spec.pruning import prune

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec

__all__ = ["crisp_policy", "describe_loss", "largest_distance", "simplify"]

MAX_LINES = 12
"""Lines of the policy of a class that are few enough to be read."""

MAX_CELLS = 20_000
"""Combinations of choices of all stages, above which the policy of a class is left as it is."""

ROUNDING_ERROR = 1e-12

FOR_PRUNING = 0.95
"""Part of the distance that merging and dropping may use; the rest is for rounding."""

DIGITS = (2, 3, 4)
"""Decimals of weights and probabilities, if the distance allows it; else they are exact."""

MAGNITUDE_DIGITS = 3

OTHER_CLASS = ""
"""Stands for classes that no label map names."""

Spec = TypeVar("Spec", bound="PolicySpec")


def simplify(spec: Spec, max_loss: float) -> Spec:
    """Return a simpler policy; see `PolicySpec.simplified`."""
    if not 0 <= max_loss <= 1:
        raise ValueError(f"`max_loss` must be in [0, 1], got {max_loss}.")
    lost_before = spec.provenance.simplified or 0.0
    found, loss = spec, lost_before
    while True:
        simpler = _simplified_rows(found, max_loss - loss)
        lost = lost_before + largest_distance(spec, simpler)
        if _length(simpler) >= _length(found) or lost > max_loss + ROUNDING_ERROR:
            break
        found, loss = simpler, lost
    if found is spec:
        return spec
    update: dict[str, object] = {"simplified": loss}
    if loss > lost_before:
        # Scores were measured with the policy as it was before.
        update["scores"] = {}
    provenance = spec.provenance.model_copy(update=update)
    signed = found.model_copy(update={"provenance": provenance})
    return signed if provenance.leak is None else record_leak(signed)


def crisp_policy(spec: Spec) -> Spec:
    """Return a policy to be read: itself if it is short, else a simpler one."""
    n_lines = len(spec.to_text().splitlines())
    return spec if n_lines <= MAX_LINES * len(spec.rows) else spec.simplified()


def describe_loss(loss: float) -> str:
    """Return what simplifying has cost; as a comment of the short form, it is read again."""
    return f"simplified, at a total variation distance of {loss:.3f}"


def largest_distance(first: PolicySpec, second: PolicySpec) -> float:
    """Compute the total variation distance of two policies, the largest over classes.

    It is that of the distributions of the sequence of operations, with their label maps, that
    transforms a window.
    """
    distances = (
        total_variation(first.policy[row], second.policy[row], name)
        for row in first.rows
        if first.policy[row] != second.policy[row]
        for name in _first_classes(first, row)
    )
    # A policy of too many sequences to enumerate is not simplified.
    largest = max((distance for distance in distances if distance is not None), default=0.0)
    return largest if largest > ROUNDING_ERROR else 0.0


def _length(spec: PolicySpec) -> tuple[int, int, int]:
    """Return how long a policy is: number of entries and of subpolicies, and its text."""
    return len(spec.entries), sum(map(len, spec.policy.values())), len(spec.to_text())


def _first_classes(spec: PolicySpec, row: str) -> tuple[str, ...]:
    """Return the classes that windows of a row can have; one of all that are treated alike."""
    if row != ALL_CLASSES or not spec.label_maps:
        return (row,)
    mapped = dict.fromkeys(name for item in spec.label_maps for name in item.mapping)
    return spec.class_names or (*mapped, OTHER_CLASS)


def _simplified_rows(spec: Spec, max_distance: float) -> Spec:
    """Make the policy of every class simpler, each within a distance."""
    policy = {
        row: _simplified_row(spec.policy[row], _first_classes(spec, row), max_distance)
        for row in spec.rows
    }
    return spec.model_copy(update={"policy": policy})


def _simplified_row(
    subpolicies: tuple[Subpolicy, ...], classes: Sequence[str], max_distance: float
) -> tuple[Subpolicy, ...]:
    stages = [stage for subpolicy in subpolicies for stage in subpolicy.stages]
    choices = {entry.choice: entry for stage in stages for entry in stage if _is_applied(entry)}
    n_stages = max((len(subpolicy.stages) for subpolicy in subpolicies), default=0)
    n_cells = (1 + len(choices)) ** n_stages
    if not subpolicies or n_cells > MAX_CELLS:
        return subpolicies
    mixture = _to_mixture(subpolicies, list(choices), n_stages)
    outcomes = _outcomes(list(choices.values()), classes, n_stages)
    goal, limit = mixture.distribution(), max(max_distance, 0.0) + ROUNDING_ERROR

    def distance(candidate: Mixture) -> float:
        return outcomes.distance(candidate.distribution(), goal)

    pruned = prune(mixture, distance, FOR_PRUNING * limit)
    entries = list(choices.values())
    for digits in DIGITS:
        rounded = _to_subpolicies(pruned, entries, digits)
        if distance(_to_mixture(rounded, list(choices), n_stages)) <= limit:
            return rounded
    return _to_subpolicies(pruned, entries, None)


def _is_applied(entry: StageEntry) -> bool:
    return entry.weight > 0 and entry.probability > 0


def _to_mixture(
    subpolicies: tuple[Subpolicy, ...], choices: Sequence[str], n_stages: int
) -> Mixture:
    """Return the policy of a class as arrays."""
    column = {name: n for n, name in enumerate(choices, start=1)}
    shape = max(1, len(subpolicies)), n_stages, 1 + len(choices)
    applied, magnitudes = np.zeros(shape), np.zeros((*shape, 2))
    for i, subpolicy in enumerate(subpolicies):
        for k, stage in enumerate(subpolicy.stages):
            total = sum(entry.weight for entry in stage)
            for entry in filter(_is_applied, stage):
                place = i, k, column[entry.choice]
                applied[place] = entry.weight / total * entry.probability
                magnitudes[place] = entry.magnitudes or np.nan
    applied[..., 0] = np.maximum(1 - applied.sum(-1), 0)
    weight = np.array([subpolicy.weight for subpolicy in subpolicies] or [1.0])
    return Mixture(weight / weight.sum(), applied, magnitudes)


def _outcomes(choices: Sequence[StageEntry], classes: Sequence[str], n_stages: int) -> Outcomes:
    """Return what tells the outcomes of choices apart, for windows of some classes."""
    mapped = (name for entry in choices for name in entry.label_map or ())
    names = list(dict.fromkeys((*classes, *mapped)))
    unchanged = list(range(len(names)))
    targets = [
        unchanged if entry.label_map is None else target_labels(entry.label_map, names)
        for entry in choices
    ]
    return Outcomes(np.array([unchanged, *targets]), range(len(classes)), n_stages)


def _to_subpolicies(
    mixture: Mixture, choices: Sequence[StageEntry], digits: int | None
) -> tuple[Subpolicy, ...]:
    """Return a mixture as plain data, the likeliest subpolicies and entries first."""
    if mixture.is_empty.all():
        return ()
    order = np.argsort(-mixture.weight, kind="stable").tolist()
    weights = _rounded_weights([float(mixture.weight[i]) for i in order], digits)
    return tuple(
        Subpolicy(weight=weight, stages=_to_stages(mixture, i, choices, digits))
        for i, weight in zip(order, weights, strict=True)
    )


def _to_stages(
    mixture: Mixture, i: int, choices: Sequence[StageEntry], digits: int | None
) -> tuple[tuple[StageEntry, ...], ...]:
    stages = []
    for applied, magnitudes in zip(mixture.applied[i], mixture.magnitudes[i], strict=True):
        used = [n for n in np.argsort(-applied[1:], kind="stable").tolist() if applied[1 + n] > 0]
        if used:
            shares = [float(applied[1 + n]) for n in used]
            probability = min(_rounded(sum(shares), digits), 1.0)
            weights = _rounded_weights([share / sum(shares) for share in shares], digits)
            stages.append(
                tuple(
                    _entry(choices[n], weight, probability, magnitudes[1 + n].tolist(), digits)
                    for n, weight in zip(used, weights, strict=True)
                )
            )
    # A subpolicy that applies nothing needs an operation that is never applied.
    never = choices[0].model_copy(update={"weight": 1.0, "probability": 0.0, "label_map": None})
    return tuple(stages) or ((never,),)


def _entry(
    choice: StageEntry,
    weight: float,
    probability: float,
    magnitudes: Sequence[float],
    digits: int | None,
) -> StageEntry:
    # Exact numbers are rounded, too, so that the mean of equal magnitudes is not above them.
    least, most = (round(end, 9 if digits is None else MAGNITUDE_DIGITS) for end in magnitudes)
    ends = None if np.isnan(most) else (least, most)
    return make_entry(choice.operation, weight, probability, ends, choice.label_map)


def _rounded_weights(weights: Sequence[float], digits: int | None) -> list[float]:
    """Return weights, all 1 if they are equal."""
    rounded = [_rounded(weight, digits) for weight in weights]
    return [1.0] * len(rounded) if len(set(rounded)) == 1 else rounded


def _rounded(value: float, digits: int | None) -> float:
    """Round a number that must not become 0."""
    return value if digits is None else round(value, digits) or value
