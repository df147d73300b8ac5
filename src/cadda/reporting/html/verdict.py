"""What a report concludes: whether the policy helped, and what to be careful about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cadda._internal.statistics import MIN_SUBJECTS, Estimate, sign_test
from cadda._internal.text import warning_key
from cadda.policies.spec.leakage import trace_operations, with_classes
from cadda.policies.spec.summary import class_revealing_operations
from cadda.reporting.html.formatting import count, number, signed, with_interval
from cadda.reporting.html.scores import TestScores
from cadda.reporting.race import RaceFacts
from cadda.reporting.records import EventWarning, RunRecord
from cadda.reporting.stability import limit_notes
from cadda.training.diagnosis import chance_loss, loss_warnings, prediction_warnings

__all__ = ["PART_NAMES", "Verdict", "collect_warnings", "make_verdict"]

SIGNIFICANCE = 0.05
"""Level of the sign test over subjects."""

MIN_WINDOWS = 5
"""A class with fewer windows in a part of the split gets a warning."""

PART_NAMES = {"train": "Training", "valid": "Validation", "test": "Test"}

Kind = Literal["gain", "loss", "inconsistent", "undecided", "too few", "no comparison"]


@dataclass(frozen=True)
class Verdict:
    """Whether the policy helped."""

    kind: Kind
    headline: str
    sentence: str  # with all numbers
    caution: str  # limits of the evidence


def make_verdict(record: RunRecord, scores: TestScores) -> Verdict:
    """Word the result of a run: that of its race, if it had one, and that of the test."""
    tested = _test_verdict(record, scores)
    return tested if record.race is None else _race_verdict(record.race, tested)


def _race_verdict(race: RaceFacts, tested: Verdict) -> Verdict:
    """Word the recommendation of a race, followed by the test."""
    headline, found = tested.headline, race.verdict
    if found is not None and not found.is_decided:
        headline = "Undecided: too little was measured"
    elif found is not None and not found.is_gain:
        headline = "No augmentation recommended"
    elif found is not None:
        gain = f"gain in balanced accuracy {signed(found.gain)}"
        headline = f"Augmentation recommended: expected {gain}"
        if tested.kind == "loss":
            headline = f"Conflicting results: {gain} in the race, but a loss on the test subjects"
    return replace(tested, headline=headline, sentence=f"{race.sentence} {tested.sentence}")


def _test_verdict(record: RunRecord, scores: TestScores) -> Verdict:
    """Word the comparison on the test subjects."""
    accuracy = scores.accuracy
    reached = f"balanced accuracy of {with_interval(accuracy.predicted, number)}"
    where = f"on {count(len(scores.subjects), 'unseen subject')}"
    if accuracy.difference is None or accuracy.without is None:
        headline = f"Balanced accuracy {number(accuracy.predicted.value)} {where}"
        if record.search is not None and not record.is_augmented:
            headline = "No augmentation: the search found nothing better"
        return Verdict(
            "no comparison",
            headline,
            f"{_subject(record)} reaches a {reached} {where}.",
            _caution(scores) + _missing_comparison(record),
        )
    kind = _kind(accuracy.difference, scores)
    return Verdict(
        kind,
        _headline(kind, accuracy.difference, len(scores.subjects)),
        f"{_subject(record)} reaches a {reached} {where}, compared with "
        f"{with_interval(accuracy.without, number)} without augmentation: a difference of "
        f"{with_interval(accuracy.difference, signed)}, {_interpretation(kind, scores)}."
        + _baseline_note(kind, accuracy.without, len(record.data.class_names)),
        _caution(scores),
    )


def _baseline_note(kind: Kind, without: Estimate, n_classes: int) -> str:
    """Return that a gain is one over a model that has learned nothing, where it is so."""
    if kind != "gain" or without.low > 1 / n_classes:
        return ""
    return (
        " Without augmentation the model is not distinguishable from chance, so the gain also "
        "depends on the other settings: more patience or another learning rate may help, too."
    )


def _kind(difference: Estimate, scores: TestScores) -> Kind:
    """Classify a difference: a gain is one on average, and for more subjects than by chance."""
    if len(scores.subjects) < MIN_SUBJECTS:
        return "too few"
    if not (difference.low > 0 or difference.high < 0):
        return "undecided"
    with_policy, without = scores.by_subject
    if sign_test(with_policy - without) > SIGNIFICANCE:
        return "inconsistent"
    return "gain" if difference.value > 0 else "loss"


def _headline(kind: Kind, difference: Estimate, n_subjects: int) -> str:
    size = number(abs(difference.value))
    if kind == "gain":
        return f"The policy helps: balanced accuracy increases by {size}"
    if kind == "loss":
        return f"The policy hurts: balanced accuracy decreases by {size}"
    if kind == "undecided":
        return "No significant gain"
    change = "higher" if difference.value > 0 else "lower"
    result = f"Balanced accuracy {size} {change}" if size != number(0) else "No difference"
    if kind == "inconsistent":
        return f"{result} on average, but not consistently across subjects"
    few = "one test subject is" if n_subjects == 1 else f"{n_subjects} test subjects are"
    return f"{result} with the policy; {few} too few for a conclusion"


def _interpretation(kind: Kind, scores: TestScores) -> str:
    with_policy, without = scores.by_subject
    n, better = len(with_policy), int((with_policy > without).sum())
    higher = f"higher for {better} of {n} subjects"
    return {
        "gain": f"a gain ({higher})",
        "loss": f"a loss ({higher})",
        "inconsistent": f"which is not consistent across subjects ({higher})",
        "undecided": f"not distinguishable from chance ({higher})",
        "too few": f"{higher}; with fewer than {MIN_SUBJECTS} it is not distinguishable from "
        "chance",
        "no comparison": "",
    }[kind]


def _subject(record: RunRecord) -> str:
    name, search = PurePath(record.source).name, record.search
    if search is None:
        how = "with the given policy" if record.is_augmented else "without augmentation"
        return f"The model {record.model}, trained {how} on {name},"
    if not record.is_augmented:
        chosen = f"without augmentation, as {search.method} chose on {name}"
        return f"The model {record.model}, trained from scratch {chosen},"
    policy = "class-wise policy" if search.classwise else "policy"
    origin = f"found by {search.method} on {name}"
    if not record.was_searched:
        origin = f"that {search.method} started from on {name} (the search ended in its warm-up)"
    return f"With the {policy} {origin}, the model {record.model}, trained from scratch,"


def _caution(scores: TestScores) -> str:
    intervals = f"In brackets: 95% bootstrap intervals over {scores.n_units} test {scores.unit}"
    if scores.unit == "windows":
        return (
            f"{intervals}. They say nothing about other people, because there is only one test "
            "subject."
        )
    few = ", too narrow with so few" if scores.n_units < MIN_SUBJECTS else ""
    return (
        f"{intervals}{few}. Each model was trained once on one split; results vary with the seed."
    )


def _missing_comparison(record: RunRecord) -> str:
    if not record.is_augmented:
        return ""
    way = "search with `baseline`" if record.search is not None else "train without the policy"
    return f" The effect of the policy is unknown: {way} to compare."


def collect_warnings(record: RunRecord, scores: TestScores) -> list[str]:
    """Return all warnings, each once; those of the final policy replace those of its epochs."""
    results = [
        *_untrained_models(record, scores),
        *_scarce_classes(record),
        *dict.fromkeys(_unpredicted_classes(record, scores)),
    ]
    if record.policy is not None:
        policy = with_classes(record.policy, record.data.class_names)
        results += class_revealing_operations(trace_operations(policy))
        if record.search is not None and record.search.curves is not None:
            results += limit_notes(policy)
    results += [str(reading) for reading in record.leaks if reading.is_read]
    results += [record.edited] if record.edited else []
    session = dict.fromkeys(
        text
        for each in record.sessions
        for text in each.warnings
        if not (record.edited and text.endswith(f"{record.edited}."))
    )
    known = tuple(map(warning_key, results))
    events = [
        each
        for each in record.event_warnings
        if not any(text.startswith(warning_key(each.text)) for text in known)
    ]
    return [*results, *session, *map(_with_numbers, events)]


def _with_numbers(warning: EventWarning) -> str:
    first, *later = warning.numbers
    times = f" to {later[-1]}, {len(warning.numbers)} times" if later else ""
    return f"{warning.text} ({warning.unit} {first}{times})"


def _scarce_classes(record: RunRecord) -> Iterator[str]:
    """Yield classes that are absent from a part of the split, or nearly so."""
    parts = [(PART_NAMES[name].lower(), part.windows) for name, part in record.data.parts.items()]
    for i, name in enumerate(record.data.class_names):
        for part, windows in parts:
            if not windows[i]:
                yield f"no {part} windows of {name}"
        few = [f"{n[i]} {part}" for part, n in parts if 0 < n[i] < MIN_WINDOWS]
        if few:
            yield (
                f"{name} has few windows ({', '.join(few)}) and counts as much as any other "
                "class; exclude it with `min_windows` or `classes`"
            )


def _models(record: RunRecord, scores: TestScores) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield how each model was trained, and its confusion matrix."""
    first = "with the policy" if record.is_augmented else "without augmentation"
    yield from zip((first, "without augmentation"), scores.confusion, strict=False)


def _untrained_models(record: RunRecord, scores: TestScores) -> Iterator[str]:
    """Yield which models predict one class only, or have a loss that is not below chance."""
    parts = record.data.parts
    for model, confusion in _models(record, scores):
        for text in prediction_warnings(confusion, record.data.class_names, "test"):
            yield f"trained {model}, {text}"
    for curve in record.learning:
        counts = parts["train"].windows, parts["valid"].windows
        chance = chance_loss(*counts, class_weights=record.training.class_weights)
        for text in loss_warnings(curve.valid_loss.tolist(), chance):
            yield f"trained {curve.name}, {text}"


def _unpredicted_classes(record: RunRecord, scores: TestScores) -> Iterator[str]:
    for model, counts in _models(record, scores):
        if any(prediction_warnings(counts, record.data.class_names)):
            continue
        for i, name in enumerate(record.data.class_names):
            if counts[i].any() and not counts[:, i].any():
                yield (
                    f"the model trained {model} never predicts {name}, which occurs in the test "
                    "windows"
                )
