"""`cadda search`: the right augmentation for recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cadda.cli.command_line import command_line
from cadda.cli.reading import (
    Channels,
    Classes,
    Data,
    DropBad,
    MinWindows,
    Standardise,
    Subject,
    names_in,
    read,
    reading_of,
)
from cadda.cli.settings import parse_settings

if TYPE_CHECKING:
    from cadda.api.run import SearchOutcome

__all__ = ["search"]


def search(
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for policy, model, scores and pictures.")],
    method: Annotated[
        str,
        typer.Option(
            help="adda, cadda, dada, faster_autoaugment, autoaugment, fast_autoaugment, "
            "randaugment, random or population."
        ),
    ] = "cadda",
    classwise: Annotated[
        bool | None,
        typer.Option(
            "--classwise/--no-classwise",
            help="Find a policy for each class; cadda does so by itself, the others do not.",
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(help="chambon2018, shallow, lenet1 or braindecode:NAME.")
    ] = "chambon2018",
    operations: Annotated[
        str | None,
        typer.Option(help="Operations to choose from, separated by commas, or `paper`."),
    ] = None,
    budget: Annotated[int, typer.Option(help="Epochs of the search, or trials.", min=1)] = 50,
    max_seconds: Annotated[
        float | None, typer.Option(help="Stop searching after this time.")
    ] = None,
    retrain_every: Annotated[
        int | None,
        typer.Option(help="Epochs or trials between retrainings; none: at the end.", min=1),
    ] = None,
    max_epochs: Annotated[int, typer.Option(help="Most epochs of a training.", min=1)] = 300,
    patience: Annotated[
        int, typer.Option(help="Epochs of a training without improvement.", min=1)
    ] = 30,
    baseline: Annotated[bool, typer.Option(help="Train without augmentation too.")] = True,
    preset: Annotated[str | None, typer.Option(help="`paper`: the paper's settings.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of the method, such as estimator=straight-through."),
    ] = None,
    subject: Subject = None,
    channels: Channels = None,
    classes: Classes = None,
    min_windows: MinWindows = None,
    standardise: Standardise = "auto",
    drop_bad: DropBad = False,
    valid: Annotated[float, typer.Option(help="Fraction of subjects for validation.")] = 0.2,
    test: Annotated[float, typer.Option(help="Fraction of subjects for testing.")] = 0.2,
    seed: Annotated[int, typer.Option(help="Same seed, same result.")] = 0,
    device: Annotated[
        Literal["auto", "cpu", "cuda", "mps"], typer.Option(help="Where to compute.")
    ] = "auto",
    engine: Annotated[
        str,
        typer.Option(help="Where trials are done: serial, processes:N or dask:ADDRESS."),
    ] = "serial",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted search.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Find the augmentation with which a model generalises best to other subjects.

    Searches on some subjects, judges by others, trains with and without the policy found, and
    tests both on a third group. All that came out is in report.html in the folder, to be opened
    in any browser.

    Example: cadda search night-epo.fif.gz --method cadda --out run
    """
    from cadda.api.run import search_in_folder
    from cadda.runs.report import write_report
    from cadda.runs.sessions import recorded_session
    from cadda.tracking import SearchDisplay, both
    from cadda.training import TrainingSettings

    chosen = parse_settings(settings or [])
    reading = reading_of(
        data,
        subject,
        channels,
        classes,
        drop_bad=drop_bad,
        min_windows=min_windows,
        standardise=standardise,
    )
    try:
        with recorded_session(out, "search", command_line()) as session:
            windows = read(reading)
            with SearchDisplay(repr(windows)) as display:
                outcome = search_in_folder(
                    windows,
                    out,
                    valid=valid,
                    test=test,
                    retrain_every=retrain_every,
                    baseline=baseline,
                    arguments={
                        "method": method,
                        "classwise": classwise,
                        "model": model,
                        "operations": names_in(operations),
                        "budget": budget,
                        "training": TrainingSettings(
                            max_epochs=max_epochs, patience=patience, seed=seed
                        ),
                        "max_seconds": max_seconds,
                        "preset": preset,
                        "seed": seed,
                        "device": device,
                        "engine": engine,
                        "resume": resume,
                        "data": str(data),
                        "reading": reading,
                        "on_event": both(session, display),
                        **chosen,
                    },
                )
    except KeyboardInterrupt:
        typer.echo(
            "Interrupted; every finished epoch or trial is saved. Go on with:\n"
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
        typer.echo(f"Open this next, in any browser: {report.path}")


def summary_of(outcome: SearchOutcome) -> dict[str, Any]:
    """Give the result as plain data.

    Parameters
    ----------
    outcome : SearchOutcome
        What came out.

    Returns
    -------
    dict
        Policy, scores with and without it, and time.
    """
    baseline = outcome.baseline
    return {
        "policy": outcome.result.policy.model_dump(mode="json"),
        "scores": outcome.scores.to_dict(),
        "without_augmentation": None if baseline is None else baseline.to_dict(),
        "search_seconds": outcome.result.seconds,
    }


def print_outcome(outcome: SearchOutcome, out: Path) -> None:
    """Print scores with and without the policy, and where the rest is.

    Parameters
    ----------
    outcome : SearchOutcome
        What came out.
    out : Path
        The run folder.
    """
    from cadda.cli.comparison import print_comparison
    from cadda.cli.tables import subjects_in_words

    columns = {"with the policy": outcome.scores}
    if outcome.baseline is not None:
        columns = {"no augmentation": outcome.baseline, **columns}
    print_comparison(columns, subjects_in_words(outcome.n_test_subjects))
    typer.echo(f"Searched for {outcome.result.seconds:.0f} s. Policy, model and pictures: {out}")
    typer.echo(f"`cadda policy show {out / 'policy.json'}` shows the policy in units.")
