"""`cadda search`: search for the best augmentation policy; `cadda demo`: on simulated EEG."""

from __future__ import annotations

import json
from collections.abc import Collection
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from cadda.cli import options
from cadda.cli.commands import command_line, hint_on_interrupt, name_options, option_names
from cadda.searchers.registry import METHODS

if TYPE_CHECKING:
    from cadda.api.run import SearchRun

__all__ = ["demo", "search"]

DEMO_WINDOWS = 60
"""Windows of a simulated subject."""

DEMO_PATIENCE = 30


def search(
    data: options.Data,
    read_options: options.ReadingOptions,
    split: options.SplitOptions,
    stopping: options.EarlyStopping,
    *,
    out: Annotated[Path, Option(help="Run folder for policy, model, scores and report.html.")],
    method: Annotated[str, Option(help=f"Search method: {', '.join(METHODS)}.")] = "auto",
    classwise: Annotated[
        bool | None,
        Option(
            "--classwise/--no-classwise",
            help="Search one policy per class; default: only with the method cadda.",
        ),
    ] = None,
    model: options.Model = "chambon2018",
    operations: options.Operations = None,
    probe: Annotated[
        bool,
        Option(
            "--probe",
            help="First probe what operations do to classes, on the training subjects: the search "
            "then also chooses operations with label maps, and none that keeps no class; auto and "
            "guided always do.",
        ),
    ] = False,
    probe_file: Annotated[
        Path | None,
        Option(help="The same with a probe.json that `cadda probe` has written."),
    ] = None,
    budget: Annotated[
        int | None,
        Option(
            help="Training runs of auto, epochs of a search by gradients, or number of trials; "
            "default: 100 training runs, 50 epochs or trials.",
            min=1,
        ),
    ] = None,
    max_seconds: Annotated[
        float | None, Option(help="Stop the search after this many seconds.")
    ] = None,
    retrain_every: Annotated[
        int | None,
        Option(
            help="Train a model from scratch every so many epochs or trials; default: only at "
            "the end.",
            min=1,
        ),
    ] = None,
    baseline: Annotated[bool, Option(help="Also train a model without augmentation.")] = True,
    preset: Annotated[str | None, Option(help="`paper` for the settings of the paper.")] = None,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            help="A setting of the method, such as estimator=straight-through; may be repeated.",
        ),
    ] = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    engine: Annotated[
        str,
        Option(
            help="Where to train: auto (all cores if the search is long), serial, processes:N, "
            "dask:ADDRESS or dask:local:N."
        ),
    ] = "auto",
    resume: Annotated[bool, Option("--resume", help="Resume an interrupted search.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Find the augmentation with which a model generalises best to other subjects.

    The search trains on some subjects and validates on others. Then a model is trained with the
    policy and another one without augmentation, and both are tested on a third group of subjects.
    Results are in report.html in the run folder.

    Example: cadda search night-epo.fif.gz --out run
    """
    from cadda.api.run import run_search
    from cadda.runs.report import write_report
    from cadda.runs.sessions import recorded_session
    from cadda.tracking import SearchDisplay, tee
    from cadda.training import TrainingSettings

    if probe and probe_file is not None:
        raise ValueError("pass `probe` or `probe_file`, not both.")
    chosen = options.parse_settings(settings or [])
    _check_settings(method, chosen)
    again = f"{command_line(without='--resume')} --resume"
    hint = f"Every finished epoch or trial is saved. Resume with:\n  {again}"
    with hint_on_interrupt(hint), recorded_session(out, command_line()) as session:
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
                operations=options.parse_names(operations),
                probe=probe_file or probe or None,
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
    report = write_report(out)
    if as_json:
        baseline_scores = outcome.scores.without_augmentation
        summary = {
            "policy": outcome.result.policy.model_dump(mode="json"),
            "scores": outcome.scores.scores.to_dict(),
            "without_augmentation": baseline_scores and baseline_scores.to_dict(),
            "verdict": outcome.result.verdict,
            "search_seconds": outcome.result.seconds,
            "report": str(report.path),
        }
        typer.echo(json.dumps(summary))
    else:
        print_outcome(outcome, out)
        typer.echo(report.sentence)
        typer.echo(f"Open the report in a browser: {report.path}")


def demo(
    out: Annotated[Path, Option(help="Folder for the results.")] = Path("demo"),
    n_subjects: Annotated[
        int, Option("--subjects", help="Number of simulated subjects.", min=5)
    ] = 14,
    epochs: Annotated[int, Option(help="Epochs of the search.", min=1)] = 20,
    training_epochs: Annotated[
        int, Option(help="Maximum number of epochs of each training run.", min=1)
    ] = 200,
) -> None:
    """Find augmentation for simulated sleep: search, train with and without it, compare.

    Takes two to four minutes on two cores.

    Example: cadda demo --out demo
    """
    from cadda.api.run import run_search
    from cadda.cli.display import save_operations_picture
    from cadda.data.simulation.nights import simulate_sleep
    from cadda.reporting.records import Reading
    from cadda.runs.report import write_report
    from cadda.runs.sessions import recorded_session
    from cadda.tracking import SearchDisplay, tee
    from cadda.training import TrainingSettings

    typer.echo(
        f"Simulating the sleep of {n_subjects} subjects: two channels, five stages, individual "
        "rhythms and noise …"
    )
    windows = simulate_sleep(n_subjects, DEMO_WINDOWS, seed=0)
    typer.echo(
        "Searching with CADDA for the augmentation of each sleep stage with which a small network "
        "generalises best to other subjects …"
    )
    run = out / "run"
    with (
        recorded_session(run, command_line()) as session,
        SearchDisplay(repr(windows), format_warning=name_options) as display,
    ):
        outcome = run_search(
            windows,
            run,
            test=0.3,
            method="cadda",
            budget=epochs,
            training=TrainingSettings(max_epochs=training_epochs, patience=DEMO_PATIENCE),
            resume=True,
            data="simulated sleep",
            reading=Reading(
                "cadda.simulate_sleep",
                {"n_subjects": n_subjects, "n_windows": DEMO_WINDOWS, "seed": 0},
            ),
            on_event=tee(session, display),
        )
    report = write_report(run)
    print_outcome(outcome, run)
    typer.echo(f"{report.sentence} This is one split of simulated data, not a benchmark.")
    picture = save_operations_picture(out / "operations.png")
    typer.echo(f"Picture of all operations: {picture}")
    typer.echo("Your own recordings: `cadda search night-epo.fif.gz --method cadda --out run`")
    typer.echo(f"Open the report in a browser: {report.path}")


def _check_settings(method: str, settings: Collection[str]) -> None:
    """Raise if `--set` has what is not a setting of the method, such as another option."""
    from cadda.api.search import check_setting_names
    from cadda.api.search import search as search_function

    arguments, known = signature(search_function).parameters, option_names()
    for name in settings:
        option = {"run_dir": "out", "training": "max_epochs"}.get(name, name)
        if name in arguments or name in known:
            hint = f"; use `{option}`" if option in known else ""
            raise ValueError(f"{name!r} is not a setting of the method{hint}.")
    check_setting_names(method, settings)


def print_outcome(outcome: SearchRun, out: Path) -> None:
    """Print scores with and without the policy, and where the results are."""
    from cadda.cli.display import count_test_subjects, print_comparison

    scores = outcome.scores
    is_augmented = outcome.result.schedule is not None or not outcome.result.policy.is_none
    columns = {"with the policy" if is_augmented else "no augmentation": scores.scores}
    if is_augmented and scores.without_augmentation is not None:
        columns = {"no augmentation": scores.without_augmentation, **columns}
    print_comparison(columns, count_test_subjects(len(scores.test_subjects)))
    typer.echo(f"Searched for {outcome.result.seconds:.0f} s. Policy, model and figures: {out}")
    typer.echo(f"`cadda policy show {out / 'policy.json'}` shows the policy in physical units.")
