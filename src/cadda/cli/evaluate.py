"""`cadda evaluate`: a trained model on other recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

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

__all__ = ["evaluate"]


def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of a training.")],
    data: Data,
    subject: Subject = None,
    channels: Channels = None,
    classes: Classes = None,
    min_windows: MinWindows = None,
    standardise: Standardise = "auto",
    drop_bad: DropBad = False,
    unseen_only: Annotated[
        bool, typer.Option("--unseen-only", help="Leave out subjects that the model has seen.")
    ] = False,
    other_people: Annotated[
        bool,
        typer.Option(
            "--other-people", help="Subjects of the same names are other people than in training."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Score a trained model on windows of subjects that it has not seen.

    Example: cadda evaluate run other-epo.fif.gz
    """
    from cadda.api.run import evaluate_run
    from cadda.cli.tables import print_scores

    reading = reading_of(
        data,
        subject,
        channels,
        classes,
        drop_bad=drop_bad,
        min_windows=min_windows,
        standardise=standardise,
    )
    windows = read(reading)
    scores, n_subjects = evaluate_run(
        run, windows, unseen_only=unseen_only, other_people=other_people
    )
    if as_json:
        typer.echo(json.dumps(scores.to_dict()))
    else:
        print_scores(scores, f"{n_subjects} subjects")
