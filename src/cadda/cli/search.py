"""`cadda search`: search for the best augmentation policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cadda.cli.commands import command_line, name_options
from cadda.cli.options import (
    AsJson,
    Data,
    Device,
    EarlyStopping,
    Engine,
    Model,
    Operations,
    ReadingOptions,
    Seed,
    SplitOptions,
    parse_names,
    parse_settings,
)
from cadda.searchers import METHOD_NAMES

if TYPE_CHECKING:
    from cadda.api.search_run import SearchRun

__all__ = ["search"]


def search(
    data: Data,
    read_options: ReadingOptions,
    split: SplitOptions,
    stopping: EarlyStopping,
    *,
    out: Annotated[
        Path, typer.Option(help="Run folder for policy, model, scores and report.html.")
    ],
    method: Annotated[
        str, typer.Option(help=f"Search method: {', '.join(METHOD_NAMES)}.")
    ] = "adda",
    classwise: Annotated[
        bool | None,
        typer.Option(
            "--classwise/--no-classwise",
            help="Search one policy per class; default: only with the method cadda.",
        ),
    ] = None,
    model: Model = "chambon2018",
    operations: Operations = None,
    budget: Annotated[
        int, typer.Option(help="Epochs of a search by gradients, or number of trials.", min=1)
    ] = 50,
    max_seconds: Annotated[
        float | None, typer.Option(help="Stop the search after this many seconds.")
    ] = None,
    retrain_every: Annotated[
        int | None,
        typer.Option(
            help="Train a model from scratch every so many epochs or trials; default: only at "
            "the end.",
            min=1,
        ),
    ] = None,
    baseline: Annotated[
        bool, typer.Option(help="Also train a model without augmentation.")
    ] = True,
    preset: Annotated[
        str | None, typer.Option(help="`paper` for the settings of the paper.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A setting of the method, such as estimator=straight-through; may be repeated.",
        ),
    ] = None,
    seed: Seed = 0,
    device: Device = "auto",
    engine: Engine = "serial",
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume an interrupted search.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the augmentation with which a model generalises best to other subjects.

    The search trains on some subjects and validates on others. Then a model is trained with the
    policy and another one without augmentation, and both are tested on a third group of subjects.
    Results are in report.html in the run folder.

    Example: cadda search night-epo.fif.gz --method cadda --out run
    """
    from cadda.api.search_run import run_search
    from cadda.runs.report import write_report
    from cadda.runs.sessions import recorded_session
    from cadda.tracking import SearchDisplay, tee
    from cadda.training import TrainingSettings

    chosen = parse_settings(settings or [])
    try:
        with recorded_session(out, command_line()) as session:
            windows = read_options.read(data)
            with SearchDisplay(repr(windows), format_warning=name_options) as display:
                outcome = run_search(
                    windows,
                    out,
                    valid=split.valid,
                    test=split.test,
                    retrain_every=retrain_every,
                    baseline=baseline,
                    method=method,
                    classwise=classwise,
                    model=model,
                    operations=parse_names(operations),
                    budget=budget,
                    training=TrainingSettings(
                        max_epochs=stopping.max_epochs, patience=stopping.patience, seed=seed
                    ),
                    max_seconds=max_seconds,
                    preset=preset,
                    seed=seed,
                    device=device,
                    engine=engine,
                    resume=resume,
                    data=str(data),
                    reading=read_options.reading(data),
                    on_event=tee(session, display),
                    **chosen,
                )
    except KeyboardInterrupt:
        typer.echo(
            "Interrupted. Every finished epoch or trial is saved. Resume with:\n"
            f"  {command_line(without='--resume')} --resume",
            err=True,
        )
        raise
    report = write_report(out)
    if as_json:
        typer.echo(json.dumps(summary_of(outcome) | {"report": str(report.path)}))
    else:
        print_outcome(outcome, out)
        typer.echo(report.sentence)
        typer.echo(f"Open the report in a browser: {report.path}")


def summary_of(outcome: SearchRun) -> dict[str, object]:
    """Return policy, scores with and without it, and time for ``--json``."""
    baseline = outcome.scores.without_augmentation
    return {
        "policy": outcome.result.policy.model_dump(mode="json"),
        "scores": outcome.scores.scores.to_dict(),
        "without_augmentation": None if baseline is None else baseline.to_dict(),
        "search_seconds": outcome.result.seconds,
    }


def print_outcome(outcome: SearchRun, out: Path) -> None:
    """Print scores with and without the policy, and where the results are."""
    from cadda.cli.display import count_test_subjects, print_comparison

    scores = outcome.scores
    columns = {"with the policy": scores.scores}
    if scores.without_augmentation is not None:
        columns = {"no augmentation": scores.without_augmentation, **columns}
    print_comparison(columns, count_test_subjects(len(scores.test_subjects)))
    typer.echo(f"Searched for {outcome.result.seconds:.0f} s. Policy, model and figures: {out}")
    typer.echo(f"`cadda policy show {out / 'policy.json'}` shows the policy in physical units.")
