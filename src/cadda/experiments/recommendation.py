"""What a comparison recommends, and its table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from cadda._internal.statistics import Estimate
from cadda._internal.text import natural_order, plural
from cadda.experiments.comparison import (
    Comparison,
    Records,
    ScoresByBlock,
    common_blocks,
    compare_conditions,
    subject_accuracies,
    subjects_of_one_class,
)
from cadda.experiments.conditions import variant_of
from cadda.experiments.racing import NO_SEARCH
from cadda.experiments.study import Cell, ResultTable
from cadda.reporting.race import COVERAGE
from cadda.searchers.race.candidates import Level
from cadda.searchers.race.paired import LEVEL
from cadda.searchers.race.verdict import describe_choice, describe_no_choice, with_interval

__all__ = ["Recommendation", "comparison_table", "recommend", "subject_table"]

LEVELS = {
    Level.NONE: "none",
    Level.DUPLICATES: "none, twice",
    Level.SINGLE: "single",
    Level.CHAIN: "several",
    Level.CLASSWISE: "class-wise",
}
"""How complex policies are, in words."""

COLUMNS = (
    *("method", "accuracy", "from", "to", "gain", "low", "high", "p", "policy", "steps"),
    "choice",
)
N_DIGITS = 4
"""Decimals of accuracies and gains."""


@dataclass(frozen=True)
class Recommendation:
    """The condition to train under, and why."""

    name: str | None  # None: undecided
    sentence: str


def recommend(comparisons: Sequence[Comparison]) -> Recommendation:
    """Recommend the simplest condition within one standard error of the best.

    Its gain must be distinguishable from 0; otherwise no augmentation is recommended. Searches
    that ended too early in every block are not recommended, nor is anything because of them.
    """
    n_blocks = comparisons[0].n_blocks
    comparisons = [item for item in comparisons if not item.is_undecided]
    others = [item for item in comparisons if item.name != NO_SEARCH]
    if not others:
        return Recommendation(None, "Undecided: nothing else was compared with no augmentation.")
    close = sorted((item for item in comparisons if item.is_close), key=lambda c: c.complexity)
    best = max(others, key=lambda item: item.gain.value)
    if close[0].name == NO_SEARCH:
        measured = _measured(best, n_blocks, len(others))
        return Recommendation(NO_SEARCH, describe_no_choice(best.name, measured))
    chosen = close[0]
    if chosen.level > Level.DUPLICATES:
        chosen = next((item for item in close if item.is_gain), best)
    sentence = describe_choice(
        chosen.name,
        chosen.level,
        _measured(chosen, n_blocks, len(others)),
        is_gain=chosen.is_gain,
    )
    is_policy = chosen.level > Level.DUPLICATES and chosen.is_gain
    return Recommendation(chosen.name if is_policy else NO_SEARCH, sentence)


def _measured(item: Comparison, n_blocks: int, n_compared: int) -> str:
    # The interval is that of one comparison, so that it may exclude 0 where p is above the level.
    adjusted = f" adjusted for {n_compared} comparisons" if n_compared > 1 else ""
    sign = "<" if item.p_value < LEVEL else "≥"
    return (
        f"{with_interval(item.gain.interval)} balanced accuracy on new subjects, measured in "
        f"{plural(n_blocks, 'block')}, over {plural(item.gain.n_subjects, 'subject')}, "
        f"p = {item.p_value:.2g} {sign} {LEVEL}{adjusted}"
    )


def comparison_table(title: str, records: Records) -> ResultTable:
    """List accuracies and gains of all conditions, and recommend one."""
    scores = common_blocks(records)
    compared = {item.name: item for item in compare_conditions(scores)}
    found = recommend(list(compared.values())) if len(compared) > 1 else None
    rows = tuple(
        _row(name, by_block, compared.get(name), found) for name, by_block in scores.items()
    )
    notes, legend = " ".join(_notes(scores, compared, found)), _legend(compared, found)
    return ResultTable(title, COLUMNS, rows, notes, legend)


def subject_table(records: Records) -> ResultTable:
    """List the balanced accuracy of each subject under each condition, and the gains."""
    scores = common_blocks(records)
    accuracies = {name: subject_accuracies(by_block) for name, by_block in scores.items()}
    alone = subjects_of_one_class(next(iter(scores.values())))
    others = [name for name in scores if name != NO_SEARCH]
    subjects = sorted(next(iter(accuracies.values())), key=natural_order)
    has_plain = NO_SEARCH in accuracies
    columns = ("subject", *scores, *(f"gain of {name}" for name in others if has_plain))
    rows: list[tuple[Cell, ...]] = []
    for subject in subjects:
        own = {name: by_subject[subject] for name, by_subject in accuracies.items()}
        gains = [own[name] - own[NO_SEARCH] for name in others if has_plain]
        values = (*own.values(), *gains)
        is_empty = subject in alone
        rows.append((subject, *(None if is_empty else _rounded(value) for value in values)))
    note = "Accuracies of a method are of all windows together, and not means over subjects."
    return ResultTable(
        "Balanced accuracy of each subject", columns, tuple(rows), f"{note}{_alone(alone)}"
    )


def _alone(subjects: Collection[str]) -> str:
    """Return the note on subjects that have no score, if there are any."""
    if not subjects:
        return ""
    return (
        " Empty: the subject has windows of one class only, so that its score does not compare "
        "with those of others."
    )


def _row(
    name: str, by_block: ScoresByBlock, item: Comparison | None, found: Recommendation | None
) -> tuple[Cell, ...]:
    if item is None:
        return (name, *(None,) * (len(COLUMNS) - 1))
    cells: tuple[Cell, ...] = (None,) * 4
    if name != NO_SEARCH:
        cells = (*_with_ends(item.gain.interval), item.p_value)
    choice = "close" if item.is_close else ""
    if found is not None and found.name == name:
        choice = "chosen"
    steps = _median_steps(by_block)
    return (name, *_with_ends(item.accuracy), *cells, LEVELS[item.level], steps, choice)


def _with_ends(estimate: Estimate) -> tuple[float | None, ...]:
    ends = (estimate.low, estimate.high) if estimate.is_bounded else (None, None)
    return tuple(map(_rounded, (estimate.value, *ends)))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, N_DIGITS)


def _median_steps(by_block: ScoresByBlock) -> int | None:
    """Return the median number of epochs, trials or training runs; None without a search."""
    steps = [block.n_steps for block in by_block.values() if block.n_steps is not None]
    return int(median(steps)) if steps else None


def _notes(
    scores: Mapping[str, ScoresByBlock],
    compared: Mapping[str, Comparison],
    found: Recommendation | None,
) -> Iterator[str]:
    """Yield the recommendation, and what else affects the comparison."""
    if not compared:
        yield "No block is finished under all conditions yet."
        return
    if found is None:
        yield f"Nothing was compared with `{NO_SEARCH}`."
        return
    yield from _undecided(compared.values())
    yield found.sentence
    for name, by_block in scores.items():
        yield from _search_notes(name, by_block)
        yield from _one_class_notes(name, by_block)
    levels = {block.level for by_block in scores.values() for block in by_block.values()}
    if Level.CLASSWISE in levels and levels & {Level.SINGLE, Level.CHAIN}:
        yield (
            "Training with a policy per class keeps every window beside an augmented copy; "
            "training with one policy for all replaces it. That is part of the difference."
        )


def _legend(compared: Mapping[str, Comparison], found: Recommendation | None) -> str:
    """Return what the columns mean."""
    if found is None:
        return ""
    n_subjects = compared[NO_SEARCH].gain.n_subjects
    return (
        f"From, to: {100 * COVERAGE:g} % interval of the accuracy over {n_subjects} subjects; "
        "low, high: that of the gain; steps: median number of epochs, trials or training runs; "
        "close: at most one standard error worse than the best."
    )


def _undecided(compared: Iterable[Comparison]) -> Iterator[str]:
    """Yield which searches ended before they could tell gains from none."""
    for item in compared:
        if item.n_undecided:
            yield (
                f"{item.name} is undecided in {item.n_undecided} of "
                f"{plural(item.n_blocks, 'block')}: its search ended before its training runs "
                "could tell gains from none; raise `max_seconds`, or use the default budget."
            )


def _one_class_notes(name: str, by_block: ScoresByBlock) -> Iterator[str]:
    """Yield that models recognise one class only."""
    classes = [np.sum(block.correct, axis=0) > 0 for block in by_block.values()]
    n_single = sum(recognised.sum() <= 1 < len(recognised) for recognised in classes)
    if n_single:
        yield (
            f"Warning: the model of {name} recognises one class only in {n_single} of "
            f"{len(by_block)} blocks; try another `lr`, more `max_epochs` or another `model`."
        )


def _search_notes(name: str, by_block: ScoresByBlock) -> Iterator[str]:
    variant, n_steps = variant_of(name), _median_steps(by_block)
    if variant is None or n_steps is None:
        return
    n_none = sum(
        block.level == Level.NONE and not block.is_undecided for block in by_block.values()
    )
    if n_none:
        yield f"{name} answered no augmentation in {n_none} of {len(by_block)} blocks."
    if 0 < n_steps <= variant.warmup:
        yield (
            f"{name} ended within its warm-up of {variant.warmup} epochs, so its policy has not "
            "changed yet: give it more time (`max_seconds`)."
        )
