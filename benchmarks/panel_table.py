"""Results of the panel: scores, paired differences, and whether the race keeps its promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

import numpy as np
from rich.console import Group
from rich.table import Table

from benchmarks.equivariance import Gain
from benchmarks.panel_jobs import AUTO, DUPLICATES, GUIDED, NONE, PROBED, Job
from benchmarks.panel_plan import CONDITIONS, Kept, panel_cells
from benchmarks.panel_sets import N_RUNS, SETS, Cell, PanelSet, find_set
from cadda._internal.statistics import Estimate, PairedTest
from cadda.reporting.race import COVERAGE
from cadda.tracking.displays import format_duration

__all__ = [
    "TITLES",
    "Promise",
    "Row",
    "answers",
    "compare",
    "panel_rows",
    "promises",
    "summary_tables",
]

TITLES = {
    NONE: "none",
    DUPLICATES: "every window twice",
    "uniform": "uniform",
    GUIDED: "guided",
    AUTO: "auto",
    "randaugment": "RandAugment",
    "adda": "ADDA",
    "cadda": "CADDA",
    "probed-adda": "ADDA after a probe",
    "probed-cadda": "CADDA after a probe",
    "autoaugment": "AutoAugment",
    "random": "random search",
}
"""What tables and figures call the conditions."""

Scores = Mapping[int, float]
"""Balanced accuracy on test subjects, mean over training runs, by draw."""


@dataclass(frozen=True)
class Row:
    """Scores of all conditions with one set of data and one number of usable subjects."""

    set: str
    n_usable: int
    scores: Mapping[str, Scores]

    @property
    def title(self) -> str:
        return f"{find_set(self.set).title}, {self.n_usable} subjects"


class Promise(NamedTuple):
    """What a race says that its candidate gains, and what it gains on test subjects."""

    low: float
    high: float
    gain: float
    error: float
    """Standard error of the gain, over training runs."""
    is_held_out: bool

    @property
    def is_kept(self) -> bool:
        """Whether the interval holds the gain as measured."""
        return self.low <= self.gain <= self.high

    @property
    def is_plausible(self) -> bool:
        """Whether the gain is in the interval once its own error is added.

        A gain that is measured with an error is outside of an interval more often than the true
        one: where both errors are the same, in 24 % of the draws instead of 10 %.
        """
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        own = self.error * NormalDist().inv_cdf((1 + COVERAGE) / 2)
        return abs(self.gain - middle) <= math.hypot(half, own)


def panel_rows(kept: Kept, sets: Mapping[str, PanelSet] = SETS) -> list[Row]:
    """Return all rows with results."""
    rows = [
        Row(
            name,
            size,
            {condition: scores(kept, name, size, condition) for condition in CONDITIONS},
        )
        for name, data in sets.items()
        for size in data.sizes
    ]
    return [row for row in rows if row.scores[NONE]]


def scores(kept: Kept, name: str, size: int, condition: str) -> Scores:
    """Collect the scores of the draws that are finished."""
    draws = {
        draw: cell_score(kept, Cell(name, size, draw), condition) for draw in find_set(name).draws
    }
    return {draw: score for draw, score in draws.items() if score is not None}


def cell_score(kept: Kept, cell: Cell, condition: str) -> float | None:
    """Return the mean over training runs; None if one of them is not finished."""
    values = run_scores(kept, cell, condition)
    return fmean(values) if values else None


def run_scores(kept: Kept, cell: Cell, condition: str) -> list[float]:
    """Return the score of each training run; nothing if one of them is not finished."""
    found = kept.search(cell, condition)
    trained = NONE if found is not None and found["is_none"] else condition
    runs = [kept.find(Job("training", cell, trained, number)) for number in range(N_RUNS)]
    values = [run["balanced_accuracy"] for run in runs if run is not None]
    return values if len(values) == N_RUNS else []


def compare(made: Scores, reference: Scores) -> Gain | None:
    """Test the gain in the draws that both have, paired by draw; None for fewer than two."""
    gains = [made[draw] - reference[draw] for draw in made if draw in reference]
    if len(gains) < 2:
        return None
    return Gain(t_test(gains), sum(gain > 0 for gain in gains), len(gains))


def t_test(gains: Sequence[float]) -> PairedTest:
    """Test the mean by Student's t, with its 95 % interval."""
    from scipy.stats import ttest_1samp

    mean = fmean(gains)
    if np.ptp(gains) == 0:
        return PairedTest(Estimate(mean, mean, mean), float(mean == 0))
    result = ttest_1samp(gains, 0.0)
    low, high = result.confidence_interval(0.95)
    return PairedTest(Estimate(mean, float(low), float(high)), float(result.pvalue))


def promises(kept: Kept) -> list[Promise]:
    """Return all intervals of `auto`, with the true gains."""
    made = []
    for cell in panel_cells():
        race = (kept.search(cell, AUTO) or {}).get("race", {})
        if race.get("low") is None:
            continue
        plain, reached = (
            run_scores(kept, cell, condition) for condition in (NONE, race["true_condition"])
        )
        if plain and reached:
            error = math.hypot(*(stdev(runs) / math.sqrt(N_RUNS) for runs in (plain, reached)))
            gain = fmean(reached) - fmean(plain)
            made.append(Promise(race["low"], race["high"], gain, error, race["is_held_out"]))
    return made


def answers(kept: Kept, name: str, size: int) -> list[bool]:
    """Return for each draw whether `auto` found an augmentation."""
    found = (kept.search(Cell(name, size, draw), AUTO) for draw in find_set(name).draws)
    return [not record["is_none"] for record in found if record is not None]


def summary_tables(kept: Kept, sets: Mapping[str, PanelSet] = SETS) -> Group:
    """Return all results for the terminal."""
    tables = [row_table(row, kept) for row in panel_rows(kept, sets)]
    return Group(*tables, *describe_promises(promises(kept)))


def row_table(row: Row, kept: Kept) -> Table:
    found = answers(kept, row.set, row.n_usable)
    n_none = found.count(False)
    caption = f"auto: no augmentation in {n_none} of {len(found)} draws" if found else None
    table = Table(title=row.title, caption=caption, title_justify="left", caption_justify="left")
    for column in ("condition", "draws", "mean", "− none (95 %), p", "− auto (95 %), p", "search"):
        table.add_column(column)
    for condition, made in row.scores.items():
        if made:
            gains = [
                "" if condition == reference else describe(compare(made, row.scores[reference]))
                for reference in (NONE, AUTO)
            ]
            mean = fmean(made.values())
            time = fmean(
                search_seconds(kept, Cell(row.set, row.n_usable, draw), condition) for draw in made
            )
            table.add_row(
                TITLES[condition], str(len(made)), f"{mean:.3f}", *gains, format_duration(time)
            )
    return table


def search_seconds(kept: Kept, cell: Cell, condition: str) -> float:
    """Return the processor time of a search, with that of the probe that it begins with."""
    jobs = [Job("search", cell, condition)]
    if condition in (AUTO, *PROBED):
        jobs.append(Job("search", cell, GUIDED))
    found = map(kept.find, jobs)
    return sum(record["processor_seconds"] for record in found if record is not None)


def describe(gain: Gain | None) -> str:
    """Return such as ``"+0.050 (+0.020 to +0.080), 0.002"``."""
    if gain is None:
        return ""
    mean = gain.test.difference
    return f"{mean.value:+.3f} ({mean.low:+.3f} to {mean.high:+.3f}), {gain.test.p_value:.2g}"


def describe_promises(made: Sequence[Promise]) -> list[str]:
    """Return how many intervals of `auto` hold the true gain."""
    kinds: dict[str, Callable[[Promise], bool]] = {
        "all": lambda promise: True,
        "from blocks without part in the choice": lambda promise: promise.is_held_out,
    }
    lines = []
    for title, is_of_kind in kinds.items():
        chosen = [promise for promise in made if is_of_kind(promise)]
        if chosen:
            n_kept = sum(promise.is_kept for promise in chosen)
            n_plausible = sum(promise.is_plausible for promise in chosen)
            lines.append(
                f"90 % intervals of auto that hold the gain on test subjects ({title}): "
                f"{n_kept} of {len(chosen)}; {n_plausible} if the error of that gain is added"
            )
    return lines
