"""What `cadda experiment` and `cadda compare` share: to prepare, run and show a study."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cadda.cli.display import progress_bar
from cadda.cli.experiment_display import print_progress, print_table
from cadda.cli.options import read

if TYPE_CHECKING:
    from cadda.data.windows import Windows
    from cadda.experiments.folder import StudyFolder
    from cadda.experiments.plan import Plan, Progress
    from cadda.experiments.preparing import Work
    from cadda.experiments.study import Study

__all__ = ["counts", "prepare_study", "run_study", "show_study"]


def prepare_study(
    name: str, scale: str, changes: dict[str, Any], data: str, reading: Mapping[str, Any]
) -> tuple[Work, Plan]:
    """Check settings, get the data and plan the jobs.

    Parameters
    ----------
    name : str
        Name of the study.
    scale : str
        Settings to start from.
    changes : dict
        Settings that the user wants otherwise.
    data : str
        Name of a simulation, or a path.
    reading : mapping
        How to read, see `cadda.cli.options.reading_of`.

    Returns
    -------
    work : Work
        Study, settings and data.
    plan : Plan
        The jobs.
    """
    from cadda.experiments.preparing import prepare
    from cadda.experiments.sources import is_simulated

    def read_source(source: Any) -> Windows:
        return read({"arguments": {**reading["arguments"], "source": source}})

    if not is_simulated(data):
        return prepare(name, scale, changes, data, read_source, lambda *_: None)
    with progress_bar("Simulating") as on_progress:
        return prepare(name, scale, changes, data, read_source, on_progress)


def run_study(work: Work, plan: Plan, out: Path, engine: str, *, as_json: bool) -> None:
    """Do all jobs that are not done yet, then print the table and draw the figure.

    Parameters
    ----------
    work : Work
        Study, settings and data.
    plan : Plan
        The jobs.
    out : Path
        Folder of the study.
    engine : str
        Where jobs are done.
    as_json : bool
        Whether to print JSON.
    """
    from cadda.cli.job_display import JobDisplay
    from cadda.compute import open_engine
    from cadda.experiments.folder import StudyFolder
    from cadda.experiments.runner import run_missing

    folder = StudyFolder(out)
    if not as_json:
        typer.echo(f"{plan.study}, {plan.scale}: {plan.data.summary}")
    try:
        # The engine first: one that cannot be reached shall leave no folder behind.
        with open_engine(engine) as workers:
            folder.begin(plan, work.config)
            n_taken = folder.take_over(plan, work.study.same_jobs_as)
            if n_taken and not as_json:
                typer.echo(f"{n_taken} results were taken over from studies beside {out}.")
            before = plan.progress(folder.results.read())
            n_jobs = len(plan.jobs)
            seconds = before.seconds_left / workers.n_workers
            with JobDisplay(n_jobs, n_jobs - len(before.missing), seconds) as display:
                progress = run_missing(work, plan, folder, workers, display)
    except KeyboardInterrupt:
        typer.echo("Interrupted. Every finished job is saved: the same command goes on.", err=True)
        raise
    show_study(work.study, plan, progress, folder, as_json=as_json)
    if progress.missing:
        raise typer.Exit(1)


def show_study(
    study: Study[Any], plan: Plan, progress: Progress, folder: StudyFolder, *, as_json: bool
) -> None:
    """Print the table, save the figure, and say what is missing.

    Parameters
    ----------
    study : Study
        The study.
    plan : Plan
        Its jobs.
    progress : Progress
        What of them is done.
    folder : StudyFolder
        Where the figure goes.
    as_json : bool
        Whether to print JSON.
    """
    from cadda.exceptions import RunError

    if not progress.records:
        first = f": {progress.failures[0][1]}" if progress.failures else ""
        raise RunError(f"{folder.folder} has no finished job to draw{first}.")
    table = study.table(progress.records)
    files = folder.save_figure(study.figure(progress.records), plan)
    if as_json:
        content = counts(plan, progress) | {"figures": [str(file) for file in files]}
        typer.echo(json.dumps({"study": plan.study} | content | {"table": table.to_dict()}))
        return
    print_table(table)
    if progress.missing:
        print_progress(plan, progress)
    typer.echo(f"Figure: {' and '.join(map(str, files))}")


def counts(plan: Plan, progress: Progress) -> dict[str, Any]:
    """Say how far a study is, for programs.

    Parameters
    ----------
    plan : Plan
        The jobs.
    progress : Progress
        What of them is done.

    Returns
    -------
    dict
        Numbers of jobs, failures and seconds.
    """
    return {
        "n_jobs": len(plan.jobs),
        "n_done": len(progress.records),
        "n_missing": len(progress.missing),
        "failures": [{"job": job, "error": error} for job, error in progress.failures],
        "seconds_left": progress.seconds_left,
    }
