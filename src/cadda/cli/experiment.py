"""`cadda experiment`: the studies of the paper, planned, run, resumed and drawn."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cadda.cli.experiment_display import (
    JobDisplay,
    print_plan,
    print_progress,
    print_studies,
    print_table,
)
from cadda.cli.progress import progress_bar
from cadda.cli.reading import Channels, Classes, DropBad, MinWindows, Standardise, Subject, read
from cadda.cli.settings import parse_settings

if TYPE_CHECKING:
    from cadda.data.windows import Windows
    from cadda.experiments.base import Study
    from cadda.experiments.folder import StudyFolder
    from cadda.experiments.plan import Plan, Progress
    from cadda.experiments.preparing import Work
    from cadda.experiments.sources import Reader

__all__ = ["app"]

app = typer.Typer(
    help="The studies of the paper: plan, run, resume, draw.",
    epilog="Examples: cadda experiment list · cadda experiment plan manual · "
    "cadda experiment run manual --engine processes:2 · cadda experiment figure manual",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="Name of the study; `cadda experiment list` has all.")]
Scale = Annotated[
    Literal["quick", "cpu", "paper"],
    typer.Option(help="Sizes to start from: a minute, 20 minutes on two cores, the paper's."),
]
Config = Annotated[
    Path | None, typer.Option(help="TOML file with settings, such as config.toml of another run.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting, such as n_folds=3; `plan` shows all. May be repeated."),
]
Data = Annotated[str, typer.Option(help="simulated, simulated-mass, or what other commands read.")]
Model = Annotated[
    str | None, typer.Option(help="chambon2018, shallow, lenet1 or braindecode:NAME.")
]
Out = Annotated[
    Path | None, typer.Option(help="Folder of the study.", show_default="experiments/NAME")
]
Engine = Annotated[
    str, typer.Option(help="Where jobs are done: serial, processes:N or dask:ADDRESS.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def root() -> None:
    """Plan, run, resume and draw the studies of the paper."""


@app.command("list")
def list_studies(as_json: AsJson = False) -> None:
    """Say which studies there are.

    Example: cadda experiment list
    """
    from dataclasses import asdict

    from cadda.experiments.registry import STUDIES

    if as_json:
        typer.echo(json.dumps({name: asdict(entry) for name, entry in STUDIES.items()}, indent=1))
    else:
        print_studies(STUDIES)


@app.command()
def plan(
    name: Name,
    scale: Scale = "cpu",
    config: Config = None,
    settings: Settings = None,
    data: Data = "simulated",
    subject: Subject = None,
    channels: Channels = None,
    classes: Classes = None,
    min_windows: MinWindows = None,
    standardise: Standardise = "auto",
    drop_bad: DropBad = False,
    model: Model = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Say what would be done, what of it is done already, and how long the rest takes.

    Example: cadda experiment plan frequency-shift --set class_name=N3
    """
    from cadda.experiments.folder import StudyFolder

    reader = partial(
        _read,
        subject=subject,
        channels=channels,
        classes=classes,
        min_windows=min_windows,
        standardise=standardise,
        drop_bad=drop_bad,
    )
    work, made = _prepare(name, scale, _changes(config, settings, model), data, reader)
    progress = made.progress(StudyFolder(_folder(name, out)).results.read())
    if as_json:
        content = json.loads(made.to_json()) | _counts(made, progress)
        typer.echo(json.dumps(content | {"config": work.config.model_dump(mode="json")}))
        return
    print_plan(made, progress, work.config)


@app.command()
def run(
    name: Name,
    scale: Scale = "cpu",
    config: Config = None,
    settings: Settings = None,
    data: Data = "simulated",
    subject: Subject = None,
    channels: Channels = None,
    classes: Classes = None,
    min_windows: MinWindows = None,
    standardise: Standardise = "auto",
    drop_bad: DropBad = False,
    model: Model = None,
    out: Out = None,
    engine: Engine = "serial",
    as_json: AsJson = False,
) -> None:
    """Do all jobs of a study that are not done yet, then draw its figure.

    It can be stopped at any moment: the same command goes on, and repeats at most the jobs that
    were under way. Results of other settings or data in the same folder are left as they are.

    Example: cadda experiment run frequency-shift --engine processes:2
    """
    from cadda.compute import check_engine, open_engine
    from cadda.experiments.folder import StudyFolder
    from cadda.experiments.runner import run_missing

    check_engine(engine)
    reader = partial(
        _read,
        subject=subject,
        channels=channels,
        classes=classes,
        min_windows=min_windows,
        standardise=standardise,
        drop_bad=drop_bad,
    )
    work, made = _prepare(name, scale, _changes(config, settings, model), data, reader)
    folder = StudyFolder(_folder(name, out))
    if not as_json:
        typer.echo(f"{name}, {scale}: {made.data.summary}")
    try:
        # The engine first: one that cannot be reached shall leave no folder behind.
        with open_engine(engine) as workers:
            folder.begin(made, work.config)
            before = made.progress(folder.results.read())
            seconds = before.seconds_left / workers.n_workers
            with JobDisplay(len(before.missing), seconds) as display:
                progress = run_missing(work, made, folder, workers, display)
    except KeyboardInterrupt:
        typer.echo("Interrupted. Every finished job is saved: the same command goes on.", err=True)
        raise
    _show(work.study, made, progress, folder, as_json=as_json)
    if progress.missing:
        raise typer.Exit(1)


@app.command()
def status(name: Name, out: Out = None, as_json: AsJson = False) -> None:
    """Say how far a study is, from its folder alone, also while it runs.

    Example: cadda experiment status frequency-shift
    """
    from cadda.experiments.folder import StudyFolder
    from cadda.experiments.registry import find_study

    find_study(name)
    folder = StudyFolder(_folder(name, out))
    made = folder.read_plan(name)
    progress = made.progress(folder.results.read())
    if as_json:
        typer.echo(json.dumps({"study": name, "scale": made.scale} | _counts(made, progress)))
    else:
        print_progress(made, progress)


@app.command()
def figure(name: Name, out: Out = None, as_json: AsJson = False) -> None:
    """Draw the figure of a study and print its numbers, from its folder alone.

    Example: cadda experiment figure frequency-shift
    """
    from cadda.experiments.folder import StudyFolder
    from cadda.experiments.registry import find_study

    study = find_study(name)
    folder = StudyFolder(_folder(name, out))
    made = folder.read_plan(name)
    _show(study, made, made.progress(folder.results.read()), folder, as_json=as_json)


def _changes(config: Path | None, settings: list[str] | None, model: str | None) -> dict[str, Any]:
    """Put settings together; what is nearer to the command counts more."""
    from cadda.experiments.settings import read_toml

    changes = {} if config is None else read_toml(config)
    changes |= {} if model is None else {"model": model}
    return changes | parse_settings(settings or [])


def _read(
    source: str | Windows,
    *,
    subject: str | None,
    channels: str | None,
    classes: str | None,
    **options: Any,
) -> Windows:
    where = Path(source) if isinstance(source, str) else source
    return read(where, subject, channels, classes, **options)


def _prepare(
    name: str, scale: str, changes: dict[str, Any], data: str, reader: Reader
) -> tuple[Work, Plan]:
    from cadda.experiments.preparing import prepare
    from cadda.experiments.sources import is_simulated

    if not is_simulated(data):
        return prepare(name, scale, changes, data, reader, lambda *_: None)
    with progress_bar("Simulating") as on_progress:
        return prepare(name, scale, changes, data, reader, on_progress)


def _show(
    study: Study[Any], made: Plan, progress: Progress, folder: StudyFolder, *, as_json: bool
) -> None:
    """Print the table, save the figure, and say what is missing."""
    from cadda.exceptions import RunError

    if not progress.records:
        first = f": {progress.failures[0][1]}" if progress.failures else ""
        raise RunError(f"{folder.folder} has no finished job to draw{first}.")
    table = study.table(progress.records)
    files = folder.save_figure(study.figure(progress.records), made)
    if as_json:
        content = _counts(made, progress) | {"figures": [str(file) for file in files]}
        typer.echo(json.dumps({"study": made.study} | content | {"table": table.to_dict()}))
        return
    print_table(table)
    if progress.missing:
        print_progress(made, progress)
    typer.echo(f"Figure: {' and '.join(map(str, files))}")


def _counts(made: Plan, progress: Progress) -> dict[str, Any]:
    return {
        "n_jobs": len(made.jobs),
        "n_done": len(progress.records),
        "n_missing": len(progress.missing),
        "failures": [{"job": job, "error": error} for job, error in progress.failures],
        "seconds_left": progress.seconds_left,
    }


def _folder(name: str, out: Path | None) -> Path:
    return Path("experiments") / name if out is None else out
