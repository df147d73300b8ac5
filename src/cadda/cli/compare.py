"""`cadda compare`: the best search method for one's own recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cadda.cli.options import (
    AsJson,
    Data,
    EarlyStopping,
    Engine,
    Model,
    Operations,
    ReadingOptions,
    Seed,
    parse_names,
)
from cadda.cli.studies import run_and_print
from cadda.searchers import METHOD_NAMES

__all__ = ["compare"]


def compare(
    data: Data,
    read_options: ReadingOptions,
    training: EarlyStopping,
    *,
    out: Annotated[Path, typer.Option(help="Folder for results and figure.")] = Path("compare"),
    methods: Annotated[
        str,
        typer.Option(
            help=f"Methods, separated by commas: {', '.join(METHOD_NAMES)}; `none` is no "
            "augmentation, `classwise:` before a name searches one policy per class."
        ),
    ] = "none,adda,cadda",
    n_folds: Annotated[
        int, typer.Option("--folds", help="Folds of the cross-validation over subjects.", min=2)
    ] = 5,
    seconds: Annotated[
        float, typer.Option(help="Computing time of each search.", min=0.001)
    ] = 120.0,
    model: Model = "chambon2018",
    operations: Operations = None,
    seed: Seed = 0,
    engine: Engine = "serial",
    as_json: AsJson = False,
) -> None:
    """Compare methods by cross-validation over subjects, and recommend one.

    All searches get the same computing time. For each fold a model is trained with the policy and
    tested on subjects not used by the search or the training. An interrupted comparison is resumed
    by the same command.

    Example: cadda compare night-epo.fif.gz --methods none,adda,cadda,autoaugment --folds 5
    """
    settings: dict[str, object] = {
        "methods": methods,
        "n_folds": n_folds,
        "stops": [seconds],
        "model": model,
        "operations": parse_names(operations),
        "max_epochs": training.max_epochs,
        "patience": training.patience,
        "seed": seed,
    }
    run_and_print(
        "compare",
        data=str(data),
        scale="cpu",
        settings=settings,
        out=out,
        engine=engine,
        formats=["png"],
        read=read_options.read,
        as_json=as_json,
    )
