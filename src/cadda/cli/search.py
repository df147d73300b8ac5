"""`cadda search`: search for the best augmentation policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from cadda.cli import options
from cadda.cli.commands import command_line, hint_on_interrupt, name_options, option_names
from cadda.cli.parsing import (
    parse_names,
    parse_operation_settings,
    parse_operations,
    parse_settings,
)
from cadda.cli.reading import ReadingOptions
from cadda.searchers.registry import METHODS, find_method

if TYPE_CHECKING:
    from cadda.api.run import SearchRun
    from cadda.runs.report import Report

__all__ = ["print_outcome", "search"]

MAX_LINES = 12
"""Longer policies are not printed."""


def search(
    data: options.Data,
    read_options: ReadingOptions,
    split: options.SplitOptions,
    training: options.TrainingOptions,
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
    model: options.Model = "auto",
    operations: options.Operations = None,
    operation_settings: options.OperationSettings = None,
    probe: Annotated[
        bool,
        Option(
            "--probe",
            help="First probe what operations do to classes, on the training subjects: the search "
            "then chooses from those that keep the classes, or that have a label map, up to the "
            "magnitudes where they do; auto and guided always probe, on all but the test "
            "subjects.",
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
            "default: 120 training runs, 50 epochs or trials.",
            min=1,
        ),
    ] = None,
    max_seconds: Annotated[
        float | None,
        Option(
            help="Stop the search after this many seconds, its probe included; the final training "
            "runs come on top."
        ),
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
    trial_epochs: options.TrialEpochs = None,
    preset: Annotated[str | None, Option(help="`paper` for the settings of the paper.")] = None,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            help="A setting of the method, such as estimator=straight-through; may be repeated.",
        ),
    ] = None,
    seed: options.Seed = 0,
    n_seeds: Annotated[
        int | None,
        Option(
            "--seeds",
            help="Search by gradients with so many seeds; the policy is the mean over them.",
            min=1,
        ),
    ] = None,
    device: options.Device = "auto",
    engine: options.SearchEngine = "auto",
    resume: Annotated[
        bool,
        Option(
            "--resume",
            help="Also continue an Optuna study in a database (`--set storage=URL`); a search in "
            "the folder is continued without this option.",
        ),
    ] = False,
    log_to: options.LogTo = None,
    as_json: options.AsJson = False,
) -> None:
    """Find the augmentation with which a model generalises best to other subjects.

    The search trains on some subjects and validates on others. Then a model is trained with the
    policy and another one without augmentation, and both are tested on a third group of subjects.
    Results are in report.html in the run folder; policy.json is there as soon as the search ends.
    The same command with the same folder resumes an interrupted search.

    Example: cadda search night-epo.fif.gz --out run
    """
    from cadda.api.run import run_search
    from cadda.cli.display import print_model_choice
    from cadda.data.io.sources import describe_sources
    from cadda.runs.report import write_report
    from cadda.runs.sessions import recorded_session
    from cadda.tracking import SearchDisplay, tee

    if probe and probe_file is not None:
        raise ValueError("pass `probe` or `probe_file`, not both.")
    # Before recordings are read, which may take long.
    parse_operations(operations)
    chosen = parse_settings(settings or [])
    _check_settings(method, chosen)
    if n_seeds is not None:
        _check_seeds(method)
        chosen["n_seeds"] = n_seeds
    hint = (
        "Every finished epoch, trial, training run of a race and fold of a probe is saved: resume "
        "with the same command."
    )
    with hint_on_interrupt(hint):
        with recorded_session(out, command_line()) as session:
            windows = read_options.read(data)
            print_model_choice(model, windows)
            split.announce(windows, seed, session)
            with SearchDisplay(repr(windows), format_warning=name_options) as display:
                outcome = run_search(
                    windows,
                    out,
                    valid=split.valid,
                    test=split.test,
                    split_from=split.split_from,
                    retrain_every=retrain_every,
                    baseline=baseline,
                    method=method,
                    classwise=classwise,
                    model=model,
                    operations=parse_names(operations),
                    operation_settings=parse_operation_settings(operation_settings),
                    probe=probe_file or probe or None,
                    budget=budget,
                    training=training.settings(seed),
                    trial_epochs=trial_epochs,
                    max_seconds=max_seconds,
                    preset=preset,
                    seed=seed,
                    device=device,
                    engine=engine,
                    resume=resume or None,
                    data=describe_sources(data),
                    reading=read_options.reading(data),
                    on_event=tee(session, display),
                    log_to=log_to,
                    **chosen,
                )
        report = write_report(out)
    if as_json:
        baseline_scores, race = outcome.scores.without_augmentation, outcome.result.race
        summary = {
            "policy": outcome.result.policy.to_dict(),
            "scores": outcome.scores.scores.to_dict(),
            "without_augmentation": baseline_scores and baseline_scores.to_dict(),
            "verdict": outcome.result.verdict,
            "race": race and asdict(race),
            "notes": outcome.result.notes,
            "search_seconds": outcome.result.seconds,
            "report": str(report.path),
        }
        typer.echo(json.dumps(summary))
    else:
        print_outcome(outcome, report, out)


def _check_settings(method: str, settings: Mapping[str, object]) -> None:
    """Raise if `--set` has what is not a setting of the method, such as another option."""
    from cadda.api.search import check_setting_names
    from cadda.api.search import search as search_function

    arguments, known = signature(search_function).parameters, option_names()
    own = find_method(method).setting_names
    for name in settings:
        option = {"run_dir": "out", "training": "max_epochs"}.get(name, name)
        if name in arguments or (name in known and name not in own):
            hint = f"; use `{option}`" if option in known else ""
            raise ValueError(f"{name!r} is not a setting of the method{hint}.")
    check_setting_names(method, settings)
    try:
        find_method(method).resolve_settings(settings)
    except ValueError as error:
        # Some have the name of an option.
        raise ValueError(f"setting {error}") from error


def _check_seeds(method: str) -> None:
    """Raise if a method has no seeds to choose the number of."""
    from cadda.searchers.registry import find_method

    if "n_seeds" not in find_method(method).setting_names:
        known = [name for name, item in METHODS.items() if "n_seeds" in item.setting_names]
        raise ValueError(f"`n_seeds` is for `method` {', '.join(known)}, not for {method}.")


def print_outcome(outcome: SearchRun, report: Report, out: Path) -> None:
    """Print the result, the scores with and without the policy, and the policy."""
    from cadda.cli.display import (
        count_test_subjects,
        print_comparison,
        print_subjects,
        print_warnings,
    )
    from cadda.runs.folder import RunFolder

    typer.echo(report.sentence)
    scores = outcome.scores
    is_augmented = outcome.result.schedule is not None or not outcome.result.policy.is_none
    columns = {"with the policy" if is_augmented else "no augmentation": scores.scores}
    if is_augmented and scores.without_augmentation is not None:
        columns = {"no augmentation": scores.without_augmentation, **columns}
    print_comparison(columns, count_test_subjects(len(scores.test_subjects)))
    print_subjects(columns)
    print_warnings(outcome.result.warnings)
    policy = RunFolder(out).policy_text.read_text("utf-8").rstrip()
    if len(policy.splitlines()) <= MAX_LINES:
        typer.echo(policy)
    for note in outcome.result.notes:
        typer.echo(name_options(note))
    typer.echo(f"`cadda policy show {out / 'policy.json'}` shows the policy in physical units.")
    result = outcome.result
    probed = f"Probed for {result.probe_seconds:.0f} s, s" if result.probe_seconds >= 1 else "S"
    typer.echo(f"{probed}earched for {result.seconds:.0f} s. Policy, model and figures: {out}")
    typer.echo(f"Open the report in a browser: {report.path}")
