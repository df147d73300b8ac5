"""`cadda train`: a model from recordings, with or without a policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Option

from cadda.cli import options
from cadda.cli.commands import command_line, hint_on_interrupt

__all__ = ["train"]


def train(
    data: options.Data,
    read_options: options.ReadingOptions,
    split: options.SplitOptions,
    training: options.EarlyStopping,
    *,
    out: Annotated[Path, Option(help="Folder for the model and its scores.")],
    policy: Annotated[
        Path | None,
        Option(
            help="Policy or schedule file, or zoo:NAME (see `cadda policy zoo`); default: no "
            "augmentation."
        ),
    ] = None,
    model: options.Model = "chambon2018",
    batch_size: options.BatchSize = 16,
    lr: options.LearningRate = 1e-3,
    class_weights: Annotated[
        bool, Option(help="Weight the loss by inverse class frequency.")
    ] = False,
    copies: Annotated[
        int | None,
        Option(
            help="Augmented copies added to each window; 0 replaces the window. Default: 1 for "
            "class-wise policies, 0 otherwise.",
            min=0,
        ),
    ] = None,
    monitor: Annotated[
        Literal["loss", "balanced_accuracy"],
        Option(help="Validation metric for early stopping and for the best weights."),
    ] = "loss",
    seed: options.Seed = 0,
    device: options.Device = "auto",
    log_to: options.LogTo = None,
    as_json: options.AsJson = False,
) -> None:
    """Train a model on some subjects and test it on others.

    The same command with the same folder resumes an interrupted training run.

    Example: cadda train night-epo.fif.gz --policy policy.json --out run
    """
    from cadda.api.prepare import read_policy
    from cadda.api.run import run_training
    from cadda.cli.display import count_test_subjects, print_scores
    from cadda.runs.sessions import recorded_session
    from cadda.tracking import TrainingDisplay
    from cadda.training import TrainingSettings

    # Before recordings are read, which may take long.
    spec = None if policy is None else read_policy(policy)
    hint = "Every finished epoch is saved: resume with the same command."
    with hint_on_interrupt(hint), recorded_session(out, command_line()):
        windows = read_options.read(data)
        if policy is not None:
            spec = read_policy(policy, class_names=windows.class_names)
        if not as_json:
            typer.echo(repr(windows))
        split.announce(windows, seed)
        with TrainingDisplay(training.patience) as display:
            outcome = run_training(
                windows,
                out,
                data=str(data),
                policy=spec,
                valid=split.valid,
                test=split.test,
                split_from=split.split_from,
                model=model,
                settings=TrainingSettings(
                    max_epochs=training.max_epochs,
                    patience=training.patience,
                    batch_size=batch_size,
                    lr=lr,
                    class_weights=class_weights,
                    copies=copies,
                    monitor=monitor,
                    seed=seed,
                ),
                device=device,
                on_event=display,
                log_to=log_to,
                reading=read_options.reading(data),
            )
    if as_json:
        typer.echo(json.dumps(outcome.scores.scores.to_dict()))
        return
    subjects = count_test_subjects(len(outcome.scores.test_subjects))
    print_scores(outcome.scores.scores, f"{subjects}, epoch {outcome.fitted.best_epoch}")
    typer.echo(f"Model, scores and events: {out.resolve()}")
    typer.echo(f"Next: `cadda report {out}` writes a report as one HTML page.")
