"""`cadda evaluate`: a trained model on other recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cadda.cli.options import AsJson, Data, ReadingOptions

__all__ = ["evaluate"]


def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of a training run or a search.")],
    data: Data,
    read_options: ReadingOptions,
    *,
    skip_seen: Annotated[
        bool, typer.Option("--skip-seen", help="Skip subjects that the model was trained on.")
    ] = False,
    different_subjects: Annotated[
        bool,
        typer.Option(
            "--different-subjects",
            help="Subjects with the same names as in training are different people.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Score a trained model on windows of unseen subjects.

    Example: cadda evaluate run other-epo.fif.gz
    """
    from cadda.api.evaluate import evaluate_run
    from cadda.cli.display import print_scores

    windows = read_options.read(data)
    scores, n_subjects = evaluate_run(
        run, windows, skip_seen=skip_seen, different_subjects=different_subjects
    )
    if as_json:
        typer.echo(json.dumps(scores.to_dict()))
    else:
        print_scores(scores, f"{n_subjects} subjects")
