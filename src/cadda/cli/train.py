"""`cadda train`: a model from recordings, with or without a policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

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
    read,
    reading_of,
)

__all__ = ["train"]


def train(
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for the model and its scores.")],
    policy: Annotated[
        Path | None,
        typer.Option(help="Policy or schedule to augment with; none: no augmentation."),
    ] = None,
    model: Annotated[
        str, typer.Option(help="chambon2018, shallow, lenet1 or braindecode:NAME.")
    ] = "chambon2018",
    subject: Subject = None,
    channels: Channels = None,
    classes: Classes = None,
    min_windows: MinWindows = None,
    standardise: Standardise = "auto",
    drop_bad: DropBad = False,
    valid: Annotated[float, typer.Option(help="Fraction of subjects for validation.")] = 0.2,
    test: Annotated[float, typer.Option(help="Fraction of subjects for testing.")] = 0.2,
    max_epochs: Annotated[int, typer.Option(help="Most epochs.", min=1)] = 300,
    patience: Annotated[int, typer.Option(help="Epochs without improvement.", min=1)] = 30,
    batch_size: Annotated[int, typer.Option(help="Windows per step.", min=1)] = 16,
    lr: Annotated[float, typer.Option(help="Learning rate of Adam.")] = 1e-3,
    class_weights: Annotated[bool, typer.Option(help="Let rare classes count more.")] = False,
    copies: Annotated[
        int | None,
        typer.Option(
            help="Augmented copies beside each window; 0 replaces it. Without: 1 for class-wise "
            "policies.",
            min=0,
        ),
    ] = None,
    monitor: Annotated[
        Literal["loss", "balanced_accuracy"],
        typer.Option(help="What validation looks at to stop and to keep the best weights."),
    ] = "loss",
    seed: Annotated[int, typer.Option(help="Same seed, same result.")] = 0,
    device: Annotated[
        Literal["auto", "cpu", "cuda", "mps"], typer.Option(help="Where to train.")
    ] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Train a model on some subjects and test it on others.

    Calling it again with the same folder goes on with an interrupted training.

    Example: cadda train night-epo.fif.gz --policy policy.json --out run
    """
    from cadda.api.run import train_in_folder
    from cadda.cli.tables import print_scores, subjects_in_words
    from cadda.policies.schedule import load_policy
    from cadda.runs.sessions import recorded_session
    from cadda.tracking import TrainingDisplay

    spec = None if policy is None else load_policy(policy)
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
        with recorded_session(out, "training", command_line()):
            windows = read(reading)
            if not as_json:
                typer.echo(repr(windows))
            with TrainingDisplay(patience) as display:
                outcome = train_in_folder(
                    windows,
                    out,
                    data=str(data),
                    policy=spec,
                    valid=valid,
                    test=test,
                    settings={
                        "model": model,
                        "max_epochs": max_epochs,
                        "patience": patience,
                        "batch_size": batch_size,
                        "lr": lr,
                        "class_weights": class_weights,
                        "copies": copies,
                        "monitor": monitor,
                        "seed": seed,
                    },
                    device=device,
                    on_event=display,
                    reading=reading,
                )
    except KeyboardInterrupt:
        typer.echo(
            "Interrupted. Every finished epoch is saved: the same command goes on.", err=True
        )
        raise
    if as_json:
        typer.echo(json.dumps(outcome.scores.to_dict()))
        return
    subjects = subjects_in_words(outcome.n_test_subjects)
    print_scores(outcome.scores, f"{subjects}, epoch {outcome.fitted.best_epoch}")
    typer.echo(f"Model, scores and events: {out.resolve()}")
    typer.echo(f"Next: `cadda report {out}` shows all of it on one page.")
