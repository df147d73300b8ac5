"""What the panel consists of, what of it is finished, and how long the rest may take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.panel_jobs import (
    AUTO,
    BUDGETS,
    CANDIDATE,
    DUPLICATES,
    GUIDED,
    NONE,
    PROBED,
    TRIALS,
    Job,
)
from benchmarks.panel_sets import N_RUNS, SETS, Cell
from benchmarks.parallel import Record

__all__ = ["CONDITIONS", "Kept", "Plan", "panel_cells", "panel_plan", "search_steps"]

STAGES = (
    (NONE, DUPLICATES, "uniform", GUIDED),
    (AUTO,),
    ("randaugment", "adda", "cadda", *PROBED, *TRIALS),
)
"""Conditions in the order in which they are computed, for all draws."""
CONDITIONS = tuple(condition for stage in STAGES for condition in stage)

KEY = ("job", "set", "n_usable", "draw", "condition", "rotation")
ALIKE = (("job", "set", "n_usable", "condition"), ("job", "set", "condition"))
"""What jobs have in common that take about the same time, the most similar first."""
TRAINED_ALIKE = (*ALIKE, ("job", "set"))
"""The same of training runs, which take about the same time under all conditions."""

Key = tuple[object, ...]


class Kept:
    """Records of finished jobs."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records: dict[Key, Record] = {}
        self._seconds: dict[Key, list[float]] = {}
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Add the record of a job."""
        self._records[_values(record, KEY)] = record
        for names in TRAINED_ALIKE:
            self._seconds.setdefault(_values(record, names), []).append(record["seconds"])

    def __contains__(self, job: Job) -> bool:
        return _values(job.key, KEY) in self._records

    def find(self, job: Job) -> Record | None:
        """Return the record of a job, if it is finished."""
        return self._records.get(_values(job.key, KEY))

    def search(self, cell: Cell, condition: str) -> Record | None:
        """Return the record of a search, if it is finished."""
        return self.find(Job("search", cell, condition))

    def expected_seconds(self, job: Job) -> float | None:
        """Return the mean time of similar jobs; None if there are none."""
        for names in TRAINED_ALIKE if job.kind == "training" else ALIKE:
            if seconds := self._seconds.get(_values(job.key, names)):
                return fmean(seconds)
        return None


def _values(record: Record, names: Sequence[str]) -> Key:
    return tuple(record.get(name) for name in names)


Steps = Iterator[list[Job]]
"""Jobs, each list of them after those that it depends on."""


@dataclass(frozen=True)
class Plan:
    """Groups of jobs, in the order in which they are done."""

    groups: Callable[[Kept], Iterable[Steps]]
    """What there is to do depends on what has been found."""

    def all_jobs(self, kept: Kept) -> list[Job]:
        """Return all jobs, finished or not, as far as they are known."""
        jobs = (job for steps in self.groups(kept) for step in steps for job in step)
        return list(dict.fromkeys(jobs))

    def ready(self, kept: Kept) -> Iterator[Job]:
        """Yield the jobs that are not finished and depend on none that is not."""
        for steps in self.groups(kept):
            for step in steps:
                unfinished = [job for job in step if job not in kept]
                yield from unfinished
                if unfinished:
                    break


def panel_plan(cells: Sequence[Cell], conditions: Sequence[str] = CONDITIONS) -> Plan:
    """Plan the panel: the first conditions in all draws, each draw of all sets before the next."""

    def groups(kept: Kept) -> Iterator[Steps]:
        for stage in STAGES:
            for cell in sorted(cells, key=lambda cell: cell.draw):
                for condition in stage:
                    is_here = condition not in TRIALS or cell.data.has_trials
                    if condition in conditions and is_here:
                        yield condition_steps(cell, condition, kept)

    return Plan(groups)


def panel_cells(draws: Iterable[int] | None = None) -> list[Cell]:
    """Return some draws of all sets; None for those that results are reported of."""
    return [
        Cell(name, size, draw)
        for name, data in SETS.items()
        for size in data.sizes
        for draw in draws or data.draws
    ]


def condition_steps(cell: Cell, condition: str, kept: Kept) -> Steps:
    """Yield the jobs of a condition."""
    yield from search_steps(cell, condition, kept)
    found, budget = kept.search(cell, condition), budget_of(cell, condition, kept)
    rotations = range(N_RUNS)
    # Training with a policy that does nothing is training without one.
    if found is None or not found["is_none"]:
        yield [Job("training", cell, condition, number, budget) for number in rotations]
    if found is not None and found.get("race", {}).get("true_condition") == CANDIDATE:
        text = found["race"]["candidate_policy"]
        yield [Job("training", cell, CANDIDATE, number, policy=text) for number in rotations]


def search_steps(cell: Cell, condition: str, kept: Kept) -> Steps:
    """Yield the search of a condition, after those whose results it uses."""
    if condition in (NONE, DUPLICATES):
        return
    needed = GUIDED if condition in (AUTO, *PROBED) else AUTO if condition in TRIALS else None
    if needed is not None:
        yield from search_steps(cell, needed, kept)
    yield [Job("search", cell, condition, budget=budget_of(cell, condition, kept))]


def budget_of(cell: Cell, condition: str, kept: Kept) -> int | None:
    """Return the budget of a search; None for the default of the method."""
    auto = kept.search(cell, AUTO) if condition in TRIALS else None
    return BUDGETS.get(condition) if auto is None else int(auto["race"]["n_runs"])
