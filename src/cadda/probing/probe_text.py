"""The findings of a probe as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from cadda._internal.statistics import Estimate
from cadda.operations.label_maps import cycles_of
from cadda.reporting.probe_records import ProbeRow

__all__ = [
    "describe_map",
    "describe_no_map",
    "describe_operation",
    "describe_plain",
    "kept_up_to",
]


def _with_interval(estimate: Estimate) -> str:
    """Return such as ``"0.68 [0.64 to 0.72]"``."""
    return f"{estimate.value:.2f} [{estimate.low:.2f} to {estimate.high:.2f}]"


def describe_plain(accuracy: Estimate, n_classes: int, n_subjects: int, *, is_useful: bool) -> str:
    """Return how well the model recognises windows as they are, and what that means."""
    reached = f"{_with_interval(accuracy)} on {n_subjects} unseen subjects"
    chance = f"chance {1 / n_classes:.2f}"
    if is_useful:
        return f"Without an operation, the model has a balanced accuracy of {reached}, {chance}."
    return (
        f"The model is not distinguishable from chance: balanced accuracy {reached}, {chance}. It "
        "proves nothing about operations, and no label map is proposed, although a search may try "
        "one; take more subjects, or another model."
    )


def describe_map(
    operation: str,
    magnitude: float | None,
    mapping: dict[str, str],
    agreement: Estimate,
    plain: float,
) -> str:
    """Return a sentence such as "channel_symmetry turns left into right and back: 0.68 …"."""
    moved = {old: new for old, new in mapping.items() if old != new}
    at = "" if magnitude is None else f" at magnitude {magnitude:g}"
    turns = _listed([_describe_cycle(cycle) for cycle in cycles_of(moved)])
    kept = [name for name in mapping if name not in moved]
    and_keeps = f" and keeps {_listed(kept)}" if kept else ""
    share = f"{_with_interval(agreement)} of windows, plain {plain:.2f}"
    return f"{operation}{at} turns {turns}{and_keeps}: {share}."


def describe_no_map(rows: Sequence[ProbeRow]) -> str:
    """Return why no label map is proposed, with the operation that comes closest to one."""
    moved = [row for row in rows if row.verdict == "becomes"]
    if moved:
        return f"No label map is proposed: {_why_not(max(moved, key=_lead), moved)}."
    if max(map(_lead, rows)) <= 0:
        return (
            "No label map is proposed: after every operation, windows of each class are still "
            "taken for their own class most."
        )
    # A map moves all of its classes: an operation that turns all into one is no candidate.
    leads: dict[str, list[float]] = {}
    for row in rows:
        leads.setdefault(_condition(row), []).append(_lead(row))
    closest = max(rows, key=lambda row: (fmean(leads[_condition(row)]), _lead(row)))
    sentence = "No label map is proposed: no operation turns a class significantly into another."
    if fmean(leads[_condition(closest)]) <= 0:
        return sentence
    return (
        f"{sentence} The closest is {_condition(closest)}: {closest.other_share:.2f} of "
        f"{closest.class_name} are taken for {closest.other}, {closest.kept:.2f} for "
        f"{closest.class_name}."
    )


def _why_not(row: ProbeRow, moved: Sequence[ProbeRow]) -> str:
    """Return why a class that becomes another is not part of a label map."""
    here = (row.operation, row.magnitude)
    target = {r.class_name: r.other for r in moved if (r.operation, r.magnitude) == here}
    name, seen = row.class_name, set[str]()
    while name in target and name not in seen:
        seen.add(name)
        name = target[name]
    turns = f"{_condition(row)} turns {row.class_name} into {row.other}"
    if name not in target:
        return f"{turns}, but {name} into no other class, and a label map permutes classes"
    return f"{turns}, but the exchange is not significant, corrected for the number of operations"


def _condition(row: ProbeRow) -> str:
    return row.operation + ("" if row.magnitude is None else f" at magnitude {row.magnitude:g}")


def _lead(row: ProbeRow) -> float:
    """Return by how much a class is taken for another rather than for itself."""
    return row.other_share - row.kept


def _describe_cycle(cycle: list[str]) -> str:
    ways = " and ".join(f"{old} into {new}" for old, new in pairwise(cycle))
    back = "back" if len(cycle) == 2 else f"{cycle[-1]} into {cycle[0]}"
    return f"{ways} and {back}"


def kept_up_to(rows: Sequence[ProbeRow]) -> float:
    """Return the largest magnitude up to which a class is kept; `rows` are of that class.

    0 if it is not kept at the smallest, and 1 for an operation without magnitude that keeps it.
    """
    largest = 0.0
    for row in sorted(rows, key=_magnitude):
        if row.verdict != "keeps":
            break
        largest = _magnitude(row)
    return largest


def _magnitude(row: ProbeRow) -> float:
    return 1.0 if row.magnitude is None else row.magnitude


def describe_operation(operation: str, rows: Sequence[ProbeRow]) -> str:
    """Return what an operation does to the classes, in one sentence."""
    classes = dict.fromkeys(row.class_name for row in rows)
    phrases: dict[tuple[str, str], list[str]] = {}
    for name in classes:
        for phrase in _class_phrases([row for row in rows if row.class_name == name]):
            phrases.setdefault(phrase, []).append(name)
    parts = [
        before + ("every class" if len(names) == len(classes) else _listed(names)) + after
        for (before, after), names in phrases.items()
    ]
    return f"{operation} {', '.join(parts)}."


def _class_phrases(rows: Sequence[ProbeRow]) -> list[tuple[str, str]]:
    """Return what becomes of a class, over the magnitudes of an operation.

    What comes before and after its name.
    """
    ordered = sorted(rows, key=_magnitude)
    has_magnitude = ordered[0].magnitude is not None
    phrases = []
    largest = kept_up_to(ordered)
    if largest:
        phrases.append(("keeps ", f" up to magnitude {largest:g}" * has_magnitude))
    for other in dict.fromkeys(row.other for row in ordered if row.verdict == "becomes"):
        here = [row for row in ordered if row.verdict == "becomes" and row.other == other]
        at = " at magnitude " + _listed([f"{_magnitude(row):g}" for row in here])
        phrases.append(("turns ", f" into {other}" + at * has_magnitude))
    destroyed = [row for row in ordered if row.verdict == "destroys"]
    if destroyed and destroyed == ordered[-len(destroyed) :]:
        everywhere = len(destroyed) == len(ordered)
        start = "" if everywhere else f" from magnitude {_magnitude(destroyed[0]):g}"
        phrases.append(("destroys ", start))
    elif destroyed:
        at = _listed([f"{_magnitude(row):g}" for row in destroyed])
        phrases.append(("destroys ", f" at magnitude {at}"))
    return phrases or [("leaves ", " undecided")]


def _listed(names: Sequence[str]) -> str:
    """Return names with commas and "and"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
