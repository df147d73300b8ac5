"""Warnings of a report: those of the run, and those that its results give reason for."""

from __future__ import annotations

from collections.abc import Iterator

from cadda._internal.text import warning_key
from cadda.policies.spec.summary import class_revealing_operations, summarise
from cadda.reporting.html.scores import TestScores
from cadda.reporting.records import EventWarning, RunRecord

__all__ = ["PART_NAMES", "collect_warnings"]

MIN_WINDOWS = 5
"""A class with fewer windows in a part of the split gets a warning."""

PART_NAMES = {"train": "Training", "valid": "Validation", "test": "Test"}


def collect_warnings(record: RunRecord, scores: TestScores) -> list[str]:
    """Return all warnings, each once; those of the final policy replace those of its epochs."""
    policy = () if record.policy is None else class_revealing_operations(summarise(record.policy))
    results = [*_scarce_classes(record), *_unpredicted_classes(record, scores), *policy]
    session = dict.fromkeys(text for each in record.sessions for text in each.warnings)
    known = set(map(warning_key, results))
    events = [each for each in record.event_warnings if warning_key(each.text) not in known]
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


def _unpredicted_classes(record: RunRecord, scores: TestScores) -> Iterator[str]:
    first = "without augmentation" if record.policy is None else "with the policy"
    models = (first, "without augmentation")
    for model, counts in zip(models, scores.confusion, strict=False):
        for i, name in enumerate(record.data.class_names):
            if counts[i].any() and not counts[:, i].any():
                yield (
                    f"the model trained {model} never predicts {name}, which occurs in the test "
                    "windows"
                )
