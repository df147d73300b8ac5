"""`cadda experiment`: the studies of the paper, planned, run, resumed and drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cadda.cli.experiment_display import print_plan, print_progress, print_studies
from cadda.cli.reading import (
    Channels,
    Classes,
    DropBad,
    MinWindows,
    Standardise,
    Subject,
    reading_of,
)
from cadda.cli.settings import parse_settings
from cadda.cli.study_runs import counts, prepare_study, run_study, show_study

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
    typer.Option(help="Sizes to start from: a minute, half an hour on two cores, the paper's."),
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

    reading = reading_of(
        Path(data),
        subject,
        channels,
        classes,
        drop_bad=drop_bad,
        min_windows=min_windows,
        standardise=standardise,
    )
    changes = _changes(config, settings, model)
    work, made = prepare_study(name, scale, changes, data, reading)
    lines = StudyFolder(_folder(name, out)).results.read()
    progress = made.progress(lines)
    if as_json:
        content = json.loads(made.to_json()) | counts(made, progress)
        typer.echo(json.dumps(content | {"config": work.config.model_dump(mode="json")}))
        return
    print_plan(made, progress, work.config)
    n_others = sum("result" in line for line in lines) - len(progress.records)
    if n_others:
        typer.echo(f"{n_others} other results there are of other settings, data or studies.")


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
    from cadda.compute import check_engine

    check_engine(engine)
    reading = reading_of(
        Path(data),
        subject,
        channels,
        classes,
        drop_bad=drop_bad,
        min_windows=min_windows,
        standardise=standardise,
    )
    changes = _changes(config, settings, model)
    work, made = prepare_study(name, scale, changes, data, reading)
    run_study(work, made, _folder(name, out), engine, as_json=as_json)


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
        typer.echo(json.dumps({"study": name, "scale": made.scale} | counts(made, progress)))
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
    show_study(study, made, made.progress(folder.results.read()), folder, as_json=as_json)


def _changes(config: Path | None, settings: list[str] | None, model: str | None) -> dict[str, Any]:
    """Put the settings together that the user wants otherwise."""
    from cadda.experiments.config import read_toml

    changes = {} if config is None else read_toml(config)
    changes |= {} if model is None else {"model": model}
    return changes | parse_settings(settings or [])


def _folder(name: str, out: Path | None) -> Path:
    return Path("experiments") / name if out is None else out
