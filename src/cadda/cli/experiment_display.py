"""What `cadda experiment` shows: studies, plans, progress and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from cadda.experiments.base import StudyConfig
    from cadda.experiments.plan import Plan, Progress
    from cadda.experiments.registry import Entry
    from cadda.experiments.runner import JobEnd
    from cadda.experiments.tables import Table

__all__ = [
    "JobDisplay",
    "duration",
    "print_plan",
    "print_progress",
    "print_studies",
    "print_table",
]

MOST_FAILURES = 3
SECONDS_PER_LINE = 15.0
LONGEST_NAME = 60


class JobDisplay:
    """Shows jobs while they are done: a bar in a terminal, a line now and then elsewhere.

    Use it as a context and as the receiver of events.

    Parameters
    ----------
    n_jobs : int
        How many jobs are to be done.
    seconds : float
        About how long they take.
    """

    def __init__(self, n_jobs: int, seconds: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self.console = Console(stderr=True, highlight=False)
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=self.console, transient=True)
        self._words = f"jobs, about {duration(seconds)} left"
        self._task = self._bar.add_task(self._words, total=n_jobs)
        self._n_jobs, self._shown = n_jobs, perf_counter()

    def __enter__(self) -> Self:
        """Start to show."""
        if self.console.is_terminal and self._n_jobs:
            self._bar.start()
        elif self._n_jobs:
            self.console.print(f"0 of {self._n_jobs} {self._words}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the screen as it was."""
        self._bar.stop()

    def __call__(self, event: JobEnd) -> None:
        """Show that a job has ended.

        Parameters
        ----------
        event : JobEnd
            Which one, and what is left.
        """
        is_last = event.done == event.total
        left = "" if is_last else f", about {duration(event.seconds_left)} left"
        words = f"jobs{left}: {_in_words(event.job)}"
        if event.error is not None:
            self.console.print(f"failed: {_in_words(event.job)}: {event.error}", markup=False)
        if self.console.is_terminal:
            self._bar.update(self._task, completed=event.done, description=words)
        elif perf_counter() - self._shown > SECONDS_PER_LINE or is_last:
            self._shown = perf_counter()
            self.console.print(f"{event.done} of {event.total} {words}", markup=False)


def print_studies(studies: Mapping[str, Entry]) -> None:
    """Print which studies there are.

    Parameters
    ----------
    studies : mapping of str to Entry
        Studies by name.
    """
    from rich.console import Console
    from rich.table import Table as RichTable

    table = RichTable("study", "in the paper", "what it asks")
    for name, entry in studies.items():
        table.add_row(name, entry.in_paper, entry.summary)
    console = Console(highlight=False)
    console.print(table)
    first = next(iter(studies))
    console.print(f"Next: `cadda experiment plan {first}` says what it would do.", markup=False)


def print_plan(plan: Plan, progress: Progress, config: StudyConfig) -> None:
    """Print settings, jobs and time.

    Parameters
    ----------
    plan : Plan
        The jobs.
    progress : Progress
        What of them is done.
    config : StudyConfig
        The settings.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as RichTable

    console = Console(highlight=False)
    console.print(f"{plan.study}, {plan.scale}: {plan.data.summary}", markup=False)
    table = RichTable("setting", "value", "what it is", title="Change them with --set")
    for name, field in type(config).model_fields.items():
        value = json.dumps(config.model_dump(mode="json")[name], ensure_ascii=False)
        table.add_row(name, escape(value), escape(field.description or ""))
    console.print(table)
    if plan.jobs:
        console.print(f"First job: {_in_words(plan.jobs[0])}", markup=False)
    print_progress(plan, progress)


def print_progress(plan: Plan, progress: Progress) -> None:
    """Print what is done, what failed, and how long the rest takes.

    Parameters
    ----------
    plan : Plan
        The jobs.
    progress : Progress
        What of them is done.
    """
    from rich.console import Console

    console = Console(highlight=False)
    n_left = len(progress.missing)
    console.print(
        f"{len(progress.records)} of {len(plan.jobs)} jobs are done, {len(progress.failures)} "
        f"failed, {n_left} are to do."
    )
    for job, error in progress.failures[:MOST_FAILURES]:
        console.print(f"failed: {_in_words(job)}: {error}", markup=False)
    if not n_left:
        return
    n_known = progress.n_measured
    known = f"judged by {n_known} finished jobs" if n_known else "a guess until jobs are finished"
    console.print(
        f"Time: about {duration(progress.seconds_left)} on one core, {known}; --engine "
        "processes:N shares it among N."
    )


def print_table(table: Table) -> None:
    """Print the numbers of a study.

    Parameters
    ----------
    table : Table
        The numbers.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as RichTable

    from cadda.experiments.tables import cell_in_words

    console = Console(highlight=False)
    rows = [[cell_in_words(cell) for cell in row] for row in table.rows]
    shown = RichTable(title=escape(table.title), title_justify="left")
    for i, name in enumerate(table.columns):
        is_number = any(isinstance(row[i], int | float) for row in table.rows)
        # Lines break between words, and in names only where there is no other room: never numbers.
        words = [
            word for row in rows for word in row[i].split() if is_number or word[:1].isdigit()
        ]
        shown.add_column(
            escape(name),
            justify="right" if is_number else "left",
            overflow="fold",
            min_width=max((len(word) for word in words), default=8),
        )
    for row in rows:
        shown.add_row(*map(escape, row))
    if console.measure(shown).maximum >= console.width:
        shown.box = SIMPLE_HEAD
    console.print(shown)
    if table.note:
        console.print(table.note, markup=False)


def duration(seconds: float) -> str:
    """Say a time as people do.

    Parameters
    ----------
    seconds : float
        The time.

    Returns
    -------
    str
        Such as ``"40 s"``, ``"12 min"`` or ``"3.5 h"``.
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def _in_words(job: Mapping[str, Any]) -> str:
    """Name a job in a line."""
    words = ", ".join(f"{name} {value}" for name, value in job.items() if value is not None)
    return words if len(words) <= LONGEST_NAME else f"{words[:LONGEST_NAME]}…"
