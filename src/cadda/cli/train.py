"""`cadda train`: a model from recordings, with or without a policy."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from cadda.cli import options
from cadda.cli.commands import command_line, hint_on_interrupt
from cadda.cli.parsing import parse_names, parse_operation_settings, parse_operations
from cadda.cli.reading import ReadingOptions

if TYPE_CHECKING:
    from cadda.api.cross_validation import CrossValidation
    from cadda.api.run import TrainingRun
    from cadda.data.windows import Windows

__all__ = ["train"]


def train(
    data: options.Data,
    read_options: ReadingOptions,
    split: options.SplitOptions,
    training: options.TrainingOptions,
    *,
    out: Annotated[Path, Option(help="Folder for the model and its scores.")],
    policy: Annotated[
        Path | None,
        Option(
            help="Policy or schedule file, zoo:NAME (see `cadda policy zoo`), or a policy in its "
            "short form, such as 'sign_flip p=0.5'; default: no augmentation."
        ),
    ] = None,
    operations: Annotated[
        str | None,
        Option(help="Operations of your own that the policy has, as module:Class, by commas."),
    ] = None,
    operation_settings: options.OperationSettings = None,
    n_folds: Annotated[
        int | None,
        Option(
            "--folds",
            help="Cross-validation over subjects with this many folds, instead of one split.",
            min=2,
            rich_help_panel="Subjects",
        ),
    ] = None,
    model: options.Model = "auto",
    seed: options.Seed = 0,
    device: options.Device = "auto",
    log_to: options.LogTo = None,
    as_json: options.AsJson = False,
) -> None:
    """Train a model on some subjects and test it on others.

    Settings of operations that are stored in the policy are used instead of --operation-setting.
    With --folds, a model is trained for each fold of the subjects, so that each subject is tested
    once. The same command with the same folder resumes an interrupted training run.

    Examples: cadda train night-epo.fif.gz --policy policy.json --out run ·
    cadda train night-epo.fif.gz --folds 5 --out run
    """
    from cadda.api.policies import (
        AS_OPERATIONS,
        policy_named,
        read_policy,
        with_operation_settings,
    )
    from cadda.api.prepare import policy_pool
    from cadda.cli.display import print_model_choice
    from cadda.data.io.sources import describe_sources
    from cadda.operations.own import locate_operations
    from cadda.policies.spec.model import PolicySpec
    from cadda.runs.sessions import recorded_session
    from cadda.tracking import TrainingDisplay

    if n_folds is not None and (split.test is not None or split.split_from is not None):
        raise ValueError("pass `n_folds`, or `test` or `split_from`, not both.")
    changed = parse_operation_settings(operation_settings)
    if changed and policy is None:
        raise ValueError("`operation_settings` has no effect without `policy`; pass both.")
    own = parse_operations(operations)
    known = [item if isinstance(item, str) else item.name for item in own or ()]
    # Before recordings are read, which may take long.
    spec = None if policy is None else read_policy(policy, known, way_out=AS_OPERATIONS)
    hint = "Every finished epoch is saved: resume with the same command."
    if isinstance(spec, PolicySpec) and spec.is_none:
        typer.echo(f"note: {policy} is no augmentation: windows are used as they are", err=True)
    with hint_on_interrupt(hint), recorded_session(out, command_line()) as session:
        windows = read_options.read(data)
        print_model_choice(model, windows)
        pool = policy_pool(windows, own, changed)
        if policy is not None:
            spec = read_policy(policy, known, windows.class_names, AS_OPERATIONS)
            if pool is not None and changed:
                spec = with_operation_settings(spec, changed, pool)
        if not as_json:
            typer.echo(repr(windows))
        if n_folds is None:
            split.announce(windows, seed, session)
        with TrainingDisplay(training.patience) as display:
            arguments: dict[str, Any] = {  # of two functions
                "settings": training.settings(seed),
                "data": describe_sources(data),
                "policy": spec,
                "pool": pool,
                "valid": split.valid,
                "model": model,
                "device": device,
                "on_event": display,
                "log_to": log_to,
                "reading": read_options.reading(data),
                "own_operations": locate_operations(parse_names(operations)),
            }
            with policy_named("`policy`"):
                outcome = _train(windows, out, split, n_folds, display.print_line, arguments)
    if as_json:
        typer.echo(json.dumps(outcome.scores.scores.to_dict()))
    else:
        _print(outcome, out)


def _train(
    windows: Windows,
    out: Path,
    split: options.SplitOptions,
    n_folds: int | None,
    print_line: Callable[[str], None],
    arguments: Mapping[str, Any],
) -> TrainingRun | CrossValidation:
    """Train once, or for each fold."""
    from cadda.api.cross_validation import cross_validate
    from cadda.api.run import run_training

    if n_folds is None:
        earlier = split.split_from
        return run_training(windows, out, test=split.test, split_from=earlier, **arguments)
    return cross_validate(
        windows,
        out,
        n_folds=n_folds,
        on_fold=lambda number: print_line(f"fold {number} of {n_folds}"),
        **arguments,
    )


def _print(outcome: TrainingRun | CrossValidation, out: Path) -> None:
    """Print the scores, and where everything is."""
    from cadda.api.run import TrainingRun
    from cadda.cli.display import (
        count_test_subjects,
        print_scores,
        print_subjects,
        print_warnings,
    )

    scores = outcome.scores.scores
    subjects = count_test_subjects(len(outcome.scores.test_subjects))
    if isinstance(outcome, TrainingRun):
        print_scores(scores, f"{subjects}, epoch {outcome.fitted.best_epoch}")
        print_subjects({"": scores})
        print_warnings(outcome.fitted.warnings)
    else:
        print_scores(scores, f"{subjects}, {len(outcome.runs)} models")
        print_subjects({"": scores})
        for number, run in enumerate(outcome.runs, start=1):
            print_warnings(f"fold {number}: {text}" for text in run.fitted.warnings)
    typer.echo(f"Model, scores and events: {out.resolve()}")
    typer.echo(f"Next: `cadda report {shlex.quote(str(out))}` writes a report as one HTML page.")
