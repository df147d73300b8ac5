"""What `cadda experiment` prints: studies, plans, progress and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cadda.experiments.plan import Plan, Progress
    from cadda.experiments.registry import Entry
    from cadda.experiments.study import StudyConfig
    from cadda.experiments.tables import Table

__all__ = [
    "duration",
    "job_in_words",
    "print_plan",
    "print_progress",
    "print_studies",
    "print_table",
]

MOST_FAILURES = 3
LONGEST_NAME = 60
LEAST_WIDTH = 8
"""Letters of a word that stay together in any table."""


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
        console.print(f"First job: {job_in_words(plan.jobs[0])}", markup=False)
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
        console.print(f"failed: {job_in_words(job)}: {error}", markup=False)
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
            word if is_number or word[:1].isdigit() else word[:LEAST_WIDTH]
            for cell in (name, *(row[i] for row in rows))
            for word in cell.split()
        ]
        shown.add_column(
            escape(name),
            justify="right" if is_number else "left",
            overflow="fold",
            min_width=max(map(len, words)),
        )
    for row in rows:
        shown.add_row(*map(escape, row))
    if console.measure(shown).maximum >= console.width:
        shown.box, shown.pad_edge, shown.padding = SIMPLE_HEAD, False, (0, 1, 0, 0)
    # Where even that is too narrow, long lines are better than cut ones.
    width = max(console.width, console.measure(shown).minimum)
    console.print(shown, width=width, crop=False)
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


def job_in_words(job: Mapping[str, Any]) -> str:
    """Name a job in a line.

    Parameters
    ----------
    job : mapping
        What it is to do.

    Returns
    -------
    str
        Names and values, cut if they are many.
    """
    words = ", ".join(f"{name} {value}" for name, value in job.items() if value is not None)
    return words if len(words) <= LONGEST_NAME else f"{words[:LONGEST_NAME]}…"
