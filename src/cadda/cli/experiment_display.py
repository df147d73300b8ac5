"""What `cadda experiment` prints: studies, plans, progress and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cadda.experiments.plan import AnyPlan, AnyProgress
    from cadda.experiments.registry import StudyInfo
    from cadda.experiments.study import StudyConfig
    from cadda.experiments.tables import ResultTable

__all__ = [
    "print_plan",
    "print_progress",
    "print_studies",
    "print_table",
]

MAX_FAILURES = 3
MIN_WIDTH = 8
"""Letters of a word that stay together in any table."""


def print_studies(studies: Mapping[str, StudyInfo]) -> None:
    """Print which studies there are."""
    from rich.console import Console
    from rich.table import Table as RichTable

    table = RichTable("study", "in the paper", "question")
    for name, entry in studies.items():
        table.add_row(name, entry.in_paper, entry.summary)
    console = Console(highlight=False)
    console.print(table)
    first = next(iter(studies))
    console.print(f"Next: `cadda experiment plan {first}` shows what it would do.", markup=False)


def print_plan(plan: AnyPlan, progress: AnyProgress, config: StudyConfig) -> None:
    """Print settings, jobs and time."""
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
        console.print(f"First job: {plan.jobs[0].describe()}", markup=False)
    print_progress(plan, progress)


def print_progress(plan: AnyPlan, progress: AnyProgress) -> None:
    """Print what is done, what failed, and how long the rest takes."""
    from rich.console import Console

    from cadda.tracking.jobs import format_duration

    console = Console(highlight=False)
    n_left = len(progress.missing)
    console.print(
        f"{len(progress.records)} of {len(plan.jobs)} jobs finished, {len(progress.failures)} "
        f"failed, {n_left} to do."
    )
    for job, error in progress.failures[:MAX_FAILURES]:
        console.print(f"failed: {job.describe()}: {error}", markup=False)
    if not n_left:
        return
    n_known = progress.n_measured
    known = f"from {n_known} finished jobs" if n_known else "a rough guess before any job finished"
    console.print(
        f"Time: about {format_duration(progress.seconds_left)} on one core, {known}; --engine "
        "processes:N shares it among N."
    )


def print_table(table: ResultTable) -> None:
    """Print the numbers of a study."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as RichTable

    from cadda.experiments.tables import format_cell

    console = Console(highlight=False)
    rows = [[format_cell(cell) for cell in row] for row in table.rows]
    shown = RichTable(title=escape(table.title), title_justify="left")
    for i, name in enumerate(table.columns):
        is_number = any(isinstance(row[i], int | float) for row in table.rows)
        # Lines break between words, and in names only where there is no other room: never numbers.
        words = [
            word if is_number or word[:1].isdigit() else word[:MIN_WIDTH]
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
    # Where even that is too narrow, long lines are better than truncated text.
    width = max(console.width, console.measure(shown).minimum)
    console.print(shown, width=width, crop=False)
    if table.note:
        console.print(table.note, markup=False)
