"""`cadda experiment`: the studies of the paper; `cadda compare`: one on recordings of users."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from cadda._internal.text import describe_paths
from cadda.cli import options
from cadda.cli.commands import command_group
from cadda.cli.parsing import parse_names, parse_operation_settings, parse_settings
from cadda.cli.reading import ReadingOptions
from cadda.cli.studies import (
    counts,
    print_plan,
    print_progress,
    print_result,
    print_studies,
    run_and_print,
    simulation_bar,
)
from cadda.searchers.registry import METHODS

__all__ = ["app", "compare"]

Name = Annotated[str, Argument(help="Name of the study; see `cadda experiment list`.")]
Out = Annotated[Path | None, Option(help="Folder of the study.", show_default="experiments/NAME")]
Formats = Annotated[
    list[str] | None,
    Option(
        "--format", help="Format of the figure: png, svg or pdf; may be repeated; default: png."
    ),
]


@dataclass(frozen=True)
class StudyOptions:
    """What a study computes, and from which data."""

    scale: Annotated[
        Literal["quick", "cpu", "paper"],
        Option(help="Size: a minute, half an hour on two cores, or the paper's."),
    ] = "cpu"
    config: Annotated[
        Path | None, Option(help="TOML file with settings, such as config.toml of another run.")
    ] = None
    settings: Annotated[
        list[str] | None,
        Option("--set", help="A setting, such as n_folds=3; `plan` shows all. May be repeated."),
    ] = None
    data: Annotated[
        str, Option(help="simulated, simulated-mass, or a path as in the other commands.")
    ] = "simulated"
    model: Annotated[str | None, Option(help=options.MODEL_HELP)] = None

    def all_settings(self) -> dict[str, object]:
        """Return the settings that differ from the scale's, which the study checks."""
        from cadda.experiments.study import read_toml

        given: dict[str, object] = {} if self.config is None else {**read_toml(self.config)}
        given |= {} if self.model is None else {"model": self.model}
        return given | parse_settings(self.settings or [])


def list_(as_json: options.AsJson = False) -> None:
    """List the studies.

    Example: cadda experiment list
    """
    from cadda.experiments.registry import STUDIES

    if as_json:
        typer.echo(json.dumps({name: asdict(entry) for name, entry in STUDIES.items()}, indent=1))
    else:
        print_studies(STUDIES)


def plan(
    name: Name,
    read_options: ReadingOptions,
    study: StudyOptions,
    *,
    out: Out = None,
    as_json: options.AsJson = False,
) -> None:
    """Show settings and jobs of a study, and the time that is left.

    Example: cadda experiment plan frequency-shift --set class_name=N3
    """
    from cadda.experiments import plan_study

    with ExitStack() as stack:
        planned = plan_study(
            name,
            data=study.data,
            scale=study.scale,
            settings=study.all_settings(),
            out=out,
            read=read_options.read,
            on_progress=simulation_bar(study.data, stack),
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
    study: StudyOptions,
    *,
    out: Out = None,
    engine: options.Engine = "serial",
    formats: Formats = None,
    log_to: options.LogTo = None,
    as_json: options.AsJson = False,
) -> None:
    """Run the missing jobs of a study, then draw its figure.

    An interrupted study is resumed by the same command, which repeats at most the jobs that were
    running. Results of other settings or data in the same folder are kept.

    Example: cadda experiment run frequency-shift --engine processes:2
    """
    run_and_print(
        name,
        data=study.data,
        scale=study.scale,
        settings=study.all_settings(),
        out=out,
        engine=engine,
        formats=formats or ["png"],
        read=read_options.read,
        log_to=log_to,
        as_json=as_json,
    )


def status(name: Name, out: Out = None, as_json: options.AsJson = False) -> None:
    """Show the progress of a study from its folder, also while it runs.

    Example: cadda experiment status frequency-shift
    """
    from cadda.experiments import study_status

    made, progress = study_status(name, out)
    if as_json:
        typer.echo(json.dumps({"study": name, "scale": made.scale, **counts(made, progress)}))
    else:
        print_progress(made, progress)


def figure(
    name: Name, out: Out = None, formats: Formats = None, as_json: options.AsJson = False
) -> None:
    """Draw the figure of a study and print its results, from its folder.

    Example: cadda experiment figure frequency-shift
    """
    from cadda.experiments import draw_study

    print_result(draw_study(name, out, formats=formats or ["png"]), as_json=as_json)


def compare(
    data: options.Data,
    read_options: ReadingOptions,
    training: options.TrainingOptions,
    *,
    out: Annotated[Path, Option(help="Folder for results and figure.")] = Path("compare"),
    methods: Annotated[
        str,
        Option(
            help="What to compare, separated by commas: policies (.json, .yaml, .txt or zoo:NAME) "
            f"and methods, {', '.join(METHODS)}; `none` is no augmentation, `duplicates` every "
            "window twice; `classwise:` before a method searches one policy per class."
        ),
    ] = "none,guided,auto",
    n_folds: Annotated[
        int, Option("--folds", help="Folds of the cross-validation over subjects.", min=2)
    ] = 5,
    n_seeds: Annotated[
        int, Option("--seeds", help="Training runs in each fold; scores are averaged.", min=1)
    ] = 1,
    valid: options.Valid = 0.2,
    max_seconds: Annotated[
        float, Option(help="Most time of each search, in seconds.", min=0.001)
    ] = 120.0,
    budget: Annotated[
        str,
        Option(
            help="What ends searches: the same time for all, or each method's default budget.",
            metavar="seconds|default",
        ),
    ] = "seconds",
    model: options.Model = "auto",
    operations: options.Operations = None,
    operation_settings: options.OperationSettings = None,
    trial_epochs: options.TrialEpochs = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    engine: options.Engine = "serial",
    log_to: options.LogTo = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare methods and policies by cross-validation over subjects, and recommend one.

    In each fold, all models start from the same weights and are tested on subjects that neither
    search nor training has used. Recommended is the simplest method or policy within one standard
    error of the best, if its gain is distinguishable from 0. An interrupted comparison is resumed
    by the same command.

    Example: cadda compare night-epo.fif.gz --methods none,guided,auto,policy.txt --seeds 2
    """
    from cadda.data.io.sources import describe_sources
    from cadda.experiments.study import is_simulated

    source = describe_paths(data)
    if not is_simulated(source):
        source = describe_sources(data)
    if budget not in ("seconds", "default"):
        raise ValueError(
            f"`budget` must be 'seconds' or 'default', got {budget!r}: methods count different "
            "things; `max_seconds` limits the time of each search."
        )
    names = parse_names(methods) or []
    if "none" not in names:
        typer.echo("Added `none`, which gains are measured against.", err=True)
    settings = {
        "methods": names,
        "n_folds": n_folds,
        "n_seeds": n_seeds,
        "valid": valid,
        "max_seconds": max_seconds if budget == "seconds" else None,
        "model": model,
        "operations": parse_names(operations),
        "operation_settings": parse_operation_settings(operation_settings),
        **asdict(training),
        "trial_epochs": trial_epochs,
        "seed": seed,
        "device": device,
    }
    run_and_print(
        "compare",
        data=source,
        scale="cpu",
        settings=settings,
        out=out,
        engine=engine,
        formats=["png"],
        read=lambda given: read_options.read(data if isinstance(given, str) else given),
        reading=None if is_simulated(source) else read_options.reading(data),
        log_to=log_to,
        as_json=as_json,
    )


app = command_group(
    "Plan, run, resume and draw the studies of the paper.",
    "cadda experiment list · cadda experiment plan manual · "
    "cadda experiment run manual --engine processes:2 · cadda experiment figure manual",
    *(list_, plan, run, status, figure),
)
