"""Running a study and printing its results, for `cadda experiment` and `cadda compare`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from cadda._internal.text import plural
from cadda.cli.commands import hint_on_interrupt, name_options
from cadda.cli.display import MAX_SUBJECTS, print_warnings, progress_bar

if TYPE_CHECKING:
    from pydantic import JsonValue

    from cadda.data.windows import Windows
    from cadda.experiments import StudyResult, StudyStart
    from cadda.experiments.plan import AnyPlan, AnyProgress
    from cadda.experiments.registry import StudyInfo
    from cadda.experiments.runner import StudyEvent
    from cadda.experiments.study import ResultTable, StudyConfig
    from cadda.reporting.records import Reading

__all__ = [
    "counts",
    "print_plan",
    "print_progress",
    "print_result",
    "print_studies",
    "print_table",
    "run_and_print",
    "simulation_bar",
]

MAX_FAILURES, MAX_WARNINGS = 3, 6
MIN_WIDTH = 8
"""Letters of a word that stay together in any table."""


def simulation_bar(data: str, stack: ExitStack) -> Callable[[int, int, str], None]:
    """Return a receiver of progress, with a bar if data are simulated."""
    from cadda.experiments.study import is_simulated

    if not is_simulated(data):
        return lambda *_: None
    return stack.enter_context(progress_bar("Simulating"))


def run_and_print(
    name: str,
    *,
    data: str,
    scale: str,
    settings: Mapping[str, object],
    out: Path | None,
    engine: str,
    formats: Sequence[str],
    read: Callable[[str | Path | Windows], Windows],
    reading: Reading | None = None,
    log_to: list[str] | None,
    as_json: bool,
) -> None:
    """Run a study, print its table, and exit with 1 if jobs failed."""
    from cadda.experiments import run_study

    hint = "Every finished job is saved; the same command continues."
    with hint_on_interrupt(hint), ExitStack() as stack:
        reporter = _Reporter(stack, as_json=as_json)
        result = run_study(
            name,
            data=data,
            scale=scale,
            settings=settings,
            out=out,
            engine=engine,
            formats=formats,
            read=read,
            reading=reading,
            on_progress=simulation_bar(data, reporter.simulating),
            progress=False,
            on_event=reporter,
            log_to=log_to,
        )
    print_result(result, as_json=as_json)
    if result.progress.missing:
        raise typer.Exit(1)


class _Reporter:
    """Prints what a study is, then shows its jobs."""

    def __init__(self, stack: ExitStack, *, as_json: bool) -> None:
        from cadda.experiments.display import StudyDisplay

        self._show, self._as_json = stack.enter_context(StudyDisplay()), as_json
        self.simulating = stack.enter_context(ExitStack())

    def __call__(self, event: StudyEvent) -> None:
        from cadda.experiments import StudyStart

        if isinstance(event, StudyStart):
            self.simulating.close()
            if not self._as_json:
                self._print_start(event)
        self._show(event)

    def _print_start(self, event: StudyStart) -> None:
        plan = event.plan
        typer.echo(f"{plan.study}, {plan.scale}: {plan.data.summary}")
        if event.n_reused:
            typer.echo(f"Reused {event.n_reused} results of studies in neighbouring folders.")
        if event.n_other_results:
            typer.echo(
                f"The folder has {plural(event.n_other_results, 'result')} of other settings or "
                "data. They are kept, but tables, figure and report are of this run only; choose "
                "another `--out` to have both.",
                err=True,
            )


def print_result(result: StudyResult, *, as_json: bool) -> None:
    """Print the table, the files of the figure, and what is missing."""
    plan, progress = result.plan, result.progress
    if as_json:
        content = {"study": plan.study, **counts(plan, progress)}
        content |= {"figures": [str(file) for file in result.files], "report": str(result.report)}
        details: list[JsonValue] = [table.to_dict() for table in result.details]
        content |= {"details": details, "warnings": list(result.warnings)}
        typer.echo(json.dumps({**content, "table": result.table.to_dict()}))
        return
    print_table(result.table)
    for table in result.details:
        print_table(table, max_rows=MAX_SUBJECTS)
    print_warnings(result.warnings[:MAX_WARNINGS])
    if len(result.warnings) > MAX_WARNINGS:
        n_more = len(result.warnings) - MAX_WARNINGS
        typer.echo(f"and {n_more} more warnings: see the report, or --json", err=True)
    if progress.missing:
        print_progress(plan, progress)
    typer.echo(f"Figure: {' and '.join(map(str, result.files))}")
    typer.echo(f"Open the report in a browser: {result.report.resolve()}")


def counts(plan: AnyPlan, progress: AnyProgress) -> dict[str, JsonValue]:
    """Return numbers of jobs, failures and seconds, for programs."""
    return {
        "n_jobs": len(plan.jobs),
        "n_done": len(progress.records),
        "n_missing": len(progress.missing),
        "failures": [{"job": job.to_json(), "error": error} for job, error in progress.failures],
        "seconds_left": progress.seconds_left,
    }


def print_studies(studies: Mapping[str, StudyInfo]) -> None:
    """Print which studies there are."""
    table = RichTable("study", "in the paper", "question")
    for name, entry in studies.items():
        table.add_row(name, entry.in_paper, entry.summary)
    console = Console(highlight=False)
    console.print(table)
    first = next(iter(studies))
    console.print(f"Next: `cadda experiment plan {first}` shows what it would do.", markup=False)


def print_plan(plan: AnyPlan, progress: AnyProgress, config: StudyConfig) -> None:
    """Print settings, jobs and time."""
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
    from cadda.tracking.displays import format_duration

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


def print_table(table: ResultTable, max_rows: int | None = None) -> None:
    """Print the numbers of a study, or the first rows of them."""
    console = Console(highlight=False)
    rows = table.to_text()[:max_rows]
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
    if console.measure(shown).maximum >= console.width:
        shown.padding, shown.show_edge = 0, False
    # Where even that is too narrow, long lines are better than truncated text.
    width = max(console.width, console.measure(shown).minimum)
    console.print(shown, width=width, crop=False)
    if len(rows) < len(table.rows):
        console.print(f"and {len(table.rows) - len(rows)} more: see the report, or --json")
    if table.notes:
        console.print(name_options(table.notes), markup=False)
