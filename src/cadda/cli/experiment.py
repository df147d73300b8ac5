"""`cadda experiment`: the studies of the paper, plan, run, resume, draw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from cadda.cli.commands import add_command
from cadda.cli.options import MODEL_HELP, AsJson, Engine, ReadingOptions, parse_settings
from cadda.cli.studies import (
    counts,
    print_plan,
    print_progress,
    print_result,
    print_studies,
    run_and_print,
    simulation_bar,
)

__all__ = ["app"]

app = typer.Typer(
    help="Plan, run, resume and draw the studies of the paper.",
    epilog="Examples: cadda experiment list · cadda experiment plan manual · "
    "cadda experiment run manual --engine processes:2 · cadda experiment figure manual",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="Name of the study; see `cadda experiment list`.")]
Scale = Annotated[
    Literal["quick", "cpu", "paper"],
    typer.Option(help="Size: a minute, half an hour on two cores, or the paper's."),
]
Config = Annotated[
    Path | None, typer.Option(help="TOML file with settings, such as config.toml of another run.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting, such as n_folds=3; `plan` shows all. May be repeated."),
]
Data = Annotated[
    str, typer.Option(help="simulated, simulated-mass, or a path as in the other commands.")
]
Model = Annotated[str | None, typer.Option(help=MODEL_HELP)]
Out = Annotated[
    Path | None, typer.Option(help="Folder of the study.", show_default="experiments/NAME")
]

Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format", help="Format of the figure: png, svg or pdf; may be repeated; default: png."
    ),
]


@app.callback()
def root() -> None:
    """Plan, run, resume and draw the studies of the paper."""


def list_studies(as_json: AsJson = False) -> None:
    """List the studies.

    Example: cadda experiment list
    """
    from dataclasses import asdict

    from cadda.experiments.registry import STUDIES

    if as_json:
        typer.echo(json.dumps({name: asdict(entry) for name, entry in STUDIES.items()}, indent=1))
    else:
        print_studies(STUDIES)


def plan(
    name: Name,
    read_options: ReadingOptions,
    *,
    scale: Scale = "cpu",
    config: Config = None,
    settings: Settings = None,
    data: Data = "simulated",
    model: Model = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Show settings and jobs of a study, and the time that is left.

    Example: cadda experiment plan frequency-shift --set class_name=N3
    """
    from contextlib import ExitStack

    from cadda.experiments import plan_study

    with ExitStack() as stack:
        planned = plan_study(
            name,
            data=data,
            scale=scale,
            settings=_settings(config, settings, model),
            out=out,
            read=read_options.read,
            on_progress=simulation_bar(data, stack),
        )
    made, progress = planned.plan, planned.progress
    if as_json:
        content = {**made.to_dict(), **counts(made, progress)}
        typer.echo(json.dumps({**content, "config": planned.config.model_dump(mode="json")}))
        return
    print_plan(made, progress, planned.config)
    if n_others := planned.n_other_results:
        typer.echo(f"The folder also has {n_others} results of other settings, data or studies.")


def run(
    name: Name,
    read_options: ReadingOptions,
    *,
    scale: Scale = "cpu",
    config: Config = None,
    settings: Settings = None,
    data: Data = "simulated",
    model: Model = None,
    out: Out = None,
    engine: Engine = "serial",
    formats: Formats = None,
    as_json: AsJson = False,
) -> None:
    """Run the missing jobs of a study, then draw its figure.

    An interrupted study is resumed by the same command, which repeats at most the jobs that were
    running. Results of other settings or data in the same folder are kept.

    Example: cadda experiment run frequency-shift --engine processes:2
    """
    run_and_print(
        name,
        data=data,
        scale=scale,
        settings=_settings(config, settings, model),
        out=out,
        engine=engine,
        formats=formats or ["png"],
        read=read_options.read,
        as_json=as_json,
    )


def status(name: Name, out: Out = None, as_json: AsJson = False) -> None:
    """Show the progress of a study from its folder, also while it runs.

    Example: cadda experiment status frequency-shift
    """
    from cadda.experiments import study_status

    made, progress = study_status(name, out)
    if as_json:
        typer.echo(json.dumps({"study": name, "scale": made.scale, **counts(made, progress)}))
    else:
        print_progress(made, progress)


def figure(name: Name, out: Out = None, formats: Formats = None, as_json: AsJson = False) -> None:
    """Draw the figure of a study and print its results, from its folder.

    Example: cadda experiment figure frequency-shift
    """
    from cadda.experiments import draw_study

    print_result(draw_study(name, out, formats=formats or ["png"]), as_json=as_json)


# Settings as users give them, which the study checks.
def _settings(
    config: Path | None, settings: list[str] | None, model: str | None
) -> dict[str, object]:
    """Return the settings that differ from the scale's."""
    from cadda.experiments.config import read_toml

    given: dict[str, object] = {} if config is None else {**read_toml(config)}
    given |= {} if model is None else {"model": model}
    return given | parse_settings(settings or [])


add_command(app, list_studies, "list")
for command in (plan, run, status, figure):
    add_command(app, command)
