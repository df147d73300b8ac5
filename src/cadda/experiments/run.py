"""Plan, run, resume and draw studies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cadda._internal.files import write_text_atomically
from cadda._internal.folder_lock import locked
from cadda._internal.text import short_reason
from cadda.compute import check_engine, open_engine
from cadda.data.io.read import read_windows
from cadda.data.windows import Windows
from cadda.exceptions import CaddaError, RunError
from cadda.experiments.display import StudyDisplay
from cadda.experiments.folder import StudyFolder, check_formats
from cadda.experiments.page import study_page
from cadda.experiments.plan import (
    AnyPlan,
    AnyProgress,
    ResultLine,
    StudyRun,
    describe_data,
    make_plan,
)
from cadda.experiments.registry import find_study
from cadda.experiments.result import StudyResult
from cadda.experiments.runner import JobEnd, StudyEvent, StudyStart, run_missing
from cadda.experiments.study import (
    AnyStudy,
    Reader,
    Record,
    ResultTable,
    StudyConfig,
    make_config,
)
from cadda.reporting.html import render_study
from cadda.reporting.records import Reading
from cadda.tracking import LogTo, open_trackers, shown_progress, tee
from cadda.tracking.metrics import Metrics
from cadda.tracking.trackers import Trackers, find_trackers

__all__ = [
    "PlannedStudy",
    "draw_study",
    "plan_study",
    "run_study",
    "study_status",
]


@dataclass(frozen=True)
class PlannedStudy:
    """A study that can be run, and what of it is finished.

    Parameters
    ----------
    run : StudyRun
        Study, settings and windows.
    plan : StudyPlan
        The jobs.
    progress : Progress
        Finished, failed and missing jobs.
    n_other_results : int
        Number of results in the folder that are of other settings, data or studies.
    """

    run: StudyRun
    plan: AnyPlan
    progress: AnyProgress
    n_other_results: int

    @property
    def config(self) -> StudyConfig:
        """The settings."""
        return self.run.config


def _ignore(*_: object) -> None:
    """Ignore an event."""


def plan_study(
    name: str,
    *,
    data: str | Path | Windows = "simulated",
    scale: str = "cpu",
    settings: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    read: Reader = read_windows,
    reading: Reading | None = None,
    on_progress: Callable[[int, int, str], None] = _ignore,
) -> PlannedStudy:
    """Plan a study without running it.

    Parameters
    ----------
    name, data, scale, settings, read, reading, on_progress : as in `run_study`
        The study, its data and its settings.
    out : path-like | None
        Folder of the study, by default ``experiments/NAME``. It is only read.

    Returns
    -------
    PlannedStudy
        Settings, jobs, and which of them are finished.
    """
    study = find_study(name)
    config = make_config(study, scale, settings or {})
    if isinstance(data, Windows):
        windows, data_name = data, "windows"
    else:
        windows = study.windows(config, str(data), read, on_progress)
        data_name = study.data_name(str(data))
    reading = reading and reading.with_filters(windows.filters)
    info = describe_data(windows, data_name, study.data_summary(windows), reading)
    plan = make_plan(name, study, scale, config, windows, info)
    folder = _folder(name, out)
    lines = folder.read_results()
    progress = _progress(plan, study, folder, lines)
    n_results = sum(line.result is not None for line in lines)
    run = StudyRun(study, config, windows)
    return PlannedStudy(run, plan, progress, n_results - len(progress.records))


def run_study(
    name: str,
    *,
    data: str | Path | Windows = "simulated",
    scale: str = "cpu",
    settings: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    engine: str = "serial",
    formats: Sequence[str] = ("png",),
    read: Reader = read_windows,
    reading: Reading | None = None,
    progress: bool = True,
    on_progress: Callable[[int, int, str], None] = _ignore,
    on_event: Callable[[StudyEvent], None] = _ignore,
    log_to: LogTo = None,
) -> StudyResult:
    """Run all jobs of a study that are not finished, then draw its figure.

    It can be stopped at any time: the same call continues, and repeats at most the jobs that were
    running. Results of other settings or data in the same folder are kept.

    Parameters
    ----------
    name : str
        Name of the study, see `cadda experiment list`.
    data : str | Path | Windows
        ``"simulated"``, ``"simulated-mass"``, a path, or windows.
    scale : 'quick' | 'cpu' | 'paper'
        Settings to start from.
    settings : mapping of str to object | None
        Settings that differ from those of the scale.
    out : path-like | None
        Folder of the study, by default ``experiments/NAME``.
    engine : str
        Where jobs run: ``"serial"``, ``"processes:N"`` or ``"dask:ADDRESS"``.
    formats : sequence of str
        File formats of the figure: ``"png"``, ``"svg"``, ``"pdf"``.
    read : callable
        Reads a path, or selects from simulated windows.
    reading : Reading | None
        The call that `read` makes, for the report.
    progress : bool
        Whether to show the progress of a study that takes longer than a few seconds: a bar in a
        terminal, a few lines elsewhere.
    on_progress : callable
        Called with the number of simulated subjects, their total and a name.
    on_event : callable
        Called with `StudyStart`, then with `JobEnd` for each job.
    log_to : str | sequence of str | None
        Experiment trackers that get the numbers of every job, and the table:
        ``"tensorboard:FOLDER"``, ``"mlflow"`` or ``"mlflow:URI"``, ``"wandb"`` or
        ``"wandb:PROJECT"``.

    Returns
    -------
    StudyResult
        Table, figure and records. Jobs that failed are listed in its progress; if all failed,
        `RunError` is raised.
    """
    check_engine(engine)
    check_formats(formats)
    find_trackers(log_to)
    planned = plan_study(
        name,
        data=data,
        scale=scale,
        settings=settings,
        out=out,
        read=read,
        reading=reading,
        on_progress=on_progress,
    )
    run, plan, folder = planned.run, planned.plan, _folder(name, out)
    # The engine comes first: if it cannot be reached, no folder is made.
    with (
        open_engine(engine) as workers,
        open_trackers(log_to, run.config.model_dump(mode="json")) as trackers,
        locked(folder.folder, "study"),
        shown_progress(StudyDisplay, on_event, progress=progress) as report,
    ):
        folder.start(plan, run.config)
        n_reused = folder.reuse_results(plan, run.study, run.study.same_jobs_as)
        before = plan.progress(run.study, folder.read_results())
        n_done = len(plan.jobs) - len(before.missing)
        seconds = before.seconds_left / workers.n_workers
        report(StudyStart(plan, n_done, n_reused, planned.n_other_results, seconds))
        log_job = partial(_log_job, trackers, run.study, plan)
        for record in before.records:
            log_job(record)
        finished = run_missing(run, plan, folder, workers, tee(log_job, report))
        result = _draw(run.study, plan, finished, folder, formats)
        trackers.log_text("result", _format(result.table))
    return result


def _log_job(
    trackers: Trackers, study: AnyStudy, plan: AnyPlan, done: JobEnd | Record[Any, Any]
) -> None:
    """Log the numbers of a job; steps are places in the plan, whichever job ends first."""
    if done.result is not None:
        values = study.logged(done.job, done.result)
        trackers.log(Metrics(plan.study, plan.jobs.index(done.job), values))


def _format(table: ResultTable) -> str:
    """Return a table and its note as lines of text."""
    rows = (" | ".join(row) for row in (table.columns, *table.to_text()))
    return "\n".join([table.title, *rows, table.notes])


def study_status(name: str, out: str | Path | None = None) -> tuple[AnyPlan, AnyProgress]:
    """Read from its folder how far a study is, also while it runs.

    Parameters
    ----------
    name : str
        Name of the study.
    out : path-like | None
        Folder of the study, by default ``experiments/NAME``.

    Returns
    -------
    plan : StudyPlan
        The jobs of the last run.
    progress : Progress
        Finished, failed and missing jobs.
    """
    study, folder = find_study(name), _folder(name, out)
    plan = folder.read_plan(name, study.job_type)
    return plan, _progress(plan, study, folder, folder.read_results())


def _progress(
    plan: AnyPlan, study: AnyStudy, folder: StudyFolder, lines: Sequence[ResultLine]
) -> AnyProgress:
    """Find finished jobs; raise for a line of the folder that cannot be a result of the study."""
    try:
        return plan.progress(study, lines)
    except (ValueError, TypeError) as error:
        raise RunError(
            f"{folder.results} has a result that is not one of {plan.study} "
            f"({short_reason(error)}); remove the line, or choose another folder."
        ) from error


def draw_study(
    name: str, out: str | Path | None = None, *, formats: Sequence[str] = ("png",)
) -> StudyResult:
    """Draw the figure of a study from its folder alone.

    Parameters
    ----------
    name : str
        Name of the study.
    out : path-like | None
        Folder of the study, by default ``experiments/NAME``.
    formats : sequence of str
        File formats of the figure: ``"png"``, ``"svg"``, ``"pdf"``.

    Returns
    -------
    StudyResult
        Table, figure and records.
    """
    check_formats(formats)
    folder = _folder(name, out)
    plan, progress = study_status(name, out)
    try:
        return _draw(find_study(name), plan, progress, folder, formats)
    except (CaddaError, OSError):
        raise
    # Results that are valid one by one may not fit each other.
    except Exception as error:
        raise RunError(
            f"cannot draw {folder.folder}: {folder.results.name} or {folder.plan.name} is damaged "
            f"or of another version of cadda ({short_reason(error)})."
        ) from error


def _draw(
    study: AnyStudy,
    plan: AnyPlan,
    progress: AnyProgress,
    folder: StudyFolder,
    formats: Sequence[str],
) -> StudyResult:
    if not progress.records:
        first = f": {progress.failures[0][1]}" if progress.failures else ""
        raise RunError(
            f"{folder.results} with the jobs of {folder.plan.name} has no finished job to "
            f"draw{first}."
        )
    table, figure = study.table(progress.records), study.figure(progress.records)
    files = folder.save_figure(figure, plan, formats)
    details, warnings = study.details(progress.records), study.warnings(progress.records)
    page = study_page(plan, progress, (table, *details), warnings, figure, folder)
    write_text_atomically(folder.report, render_study(page))
    return StudyResult(
        plan, progress, table, figure, tuple(files), folder.report, details, warnings
    )


def _folder(name: str, out: str | Path | None) -> StudyFolder:
    return StudyFolder(Path("experiments") / name if out is None else Path(out))
