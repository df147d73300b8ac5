"""What `cadda experiment` and `cadda compare` share: run a study and print its results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cadda.cli.display import progress_bar
from cadda.cli.experiment_display import print_progress, print_table
from cadda.cli.options import read

if TYPE_CHECKING:
    from pydantic import JsonValue

    from cadda.data.windows import Windows
    from cadda.experiments import StudyResult
    from cadda.experiments.plan import AnyPlan, AnyProgress
    from cadda.experiments.runner import StudyEvent
    from cadda.tracking.jobs import JobDisplay

__all__ = ["counts", "make_reader", "print_result", "run_and_print", "simulation_bar"]

Reading = Mapping[str, Any]  # Arguments of `cadda.read_windows`, from `ReadingOptions`.


def make_reader(reading: Reading) -> Callable[[str | Windows], Windows]:
    """Return a function that reads a path, or selects from windows, with the user's options."""

    def read_source(source: str | Windows) -> Windows:
        return read({"arguments": {**reading["arguments"], "source": source}})

    return read_source


def simulation_bar(data: str, stack: ExitStack) -> Callable[[int, int, str], None]:
    """Return a receiver of progress, with a bar if data are simulated."""
    from cadda.experiments.sources import is_simulated

    if not is_simulated(data):
        return lambda *_: None
    return stack.enter_context(progress_bar("Simulating"))


def run_and_print(
    name: str,
    *,
    data: str,
    scale: str,
    settings: Mapping[str, Any],
    out: Path | None,
    engine: str,
    formats: Sequence[str],
    reading: Reading,
    as_json: bool,
) -> None:
    """Run a study, print its table, and exit with 1 if jobs failed."""
    from cadda.experiments import run_study

    with ExitStack() as stack:
        reporter = _Reporter(stack, as_json=as_json)
        try:
            result = run_study(
                name,
                data=data,
                scale=scale,
                settings=settings,
                out=out,
                engine=engine,
                formats=formats,
                read=make_reader(reading),
                on_progress=simulation_bar(data, reporter.simulating),
                on_event=reporter,
            )
        except KeyboardInterrupt:
            typer.echo(
                "Interrupted. Every finished job is saved; the same command continues.", err=True
            )
            raise
    print_result(result, as_json=as_json)
    if result.progress.missing:
        raise typer.Exit(1)


class _Reporter:
    """Prints what a study is, then shows its jobs."""

    def __init__(self, stack: ExitStack, *, as_json: bool) -> None:
        self._stack, self._as_json = stack, as_json
        self._display: JobDisplay | None = None
        self.simulating = stack.enter_context(ExitStack())

    def __call__(self, event: StudyEvent) -> None:
        from cadda.experiments import StudyStart
        from cadda.tracking.jobs import JobDisplay

        if not isinstance(event, StudyStart):
            if self._display is not None:
                text = event.job.describe()
                self._display.show(text, event.error, event.done, event.seconds_left)
            return
        self.simulating.close()
        plan = event.plan
        if not self._as_json:
            typer.echo(f"{plan.study}, {plan.scale}: {plan.data.summary}")
            if event.n_reused:
                typer.echo(f"Reused {event.n_reused} results of studies in neighbouring folders.")
        display = JobDisplay(len(plan.jobs), event.n_done, event.seconds_left)
        self._display = self._stack.enter_context(display)


def print_result(result: StudyResult, *, as_json: bool) -> None:
    """Print the table, the files of the figure, and what is missing."""
    plan, progress = result.plan, result.progress
    if as_json:
        content = {"study": plan.study, **counts(plan, progress)}
        content |= {"figures": [str(file) for file in result.files]}
        typer.echo(json.dumps({**content, "table": result.table.to_dict()}))
        return
    print_table(result.table)
    if progress.missing:
        print_progress(plan, progress)
    typer.echo(f"Figure: {' and '.join(map(str, result.files))}")


def counts(plan: AnyPlan, progress: AnyProgress) -> dict[str, JsonValue]:
    """Return numbers of jobs, failures and seconds, for programs."""
    return {
        "n_jobs": len(plan.jobs),
        "n_done": len(progress.records),
        "n_missing": len(progress.missing),
        "failures": [{"job": job.to_json(), "error": error} for job, error in progress.failures],
        "seconds_left": progress.seconds_left,
    }
