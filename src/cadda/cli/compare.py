"""`cadda compare`: which method is the best on one's own recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cadda.cli.reading import (
    Channels,
    Classes,
    Data,
    DropBad,
    MinWindows,
    Standardise,
    Subject,
    names_in,
    reading_of,
)
from cadda.cli.study_runs import prepare_study, run_study

__all__ = ["compare"]


def compare(
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for results and figure.")] = Path("compare"),
    methods: Annotated[
        str,
        typer.Option(
            help="Methods, separated by commas; `none` is no augmentation, `classwise:` before a "
            "name gives each class a policy of its own."
        ),
    ] = "none,adda,cadda",
    folds: Annotated[int, typer.Option(help="Everybody is tested in one of them.", min=2)] = 5,
    seconds: Annotated[
        float, typer.Option(help="Computing time of each search.", min=0.001)
    ] = 120.0,
    model: Annotated[
        str, typer.Option(help="chambon2018, shallow, lenet1 or braindecode:NAME.")
    ] = "chambon2018",
    operations: Annotated[
        str | None, typer.Option(help="Operations to choose from, separated by commas.")
    ] = None,
    max_epochs: Annotated[int, typer.Option(help="Most epochs of a training.", min=1)] = 300,
    patience: Annotated[
        int, typer.Option(help="Epochs of a training without improvement.", min=1)
    ] = 30,
    subject: Subject = None,
    channels: Channels = None,
    classes: Classes = None,
    min_windows: MinWindows = None,
    standardise: Standardise = "auto",
    drop_bad: DropBad = False,
    seed: Annotated[int, typer.Option(help="Same seed, same folds.", min=0)] = 0,
    engine: Annotated[
        str, typer.Option(help="Where searches are done: serial, processes:N or dask:ADDRESS.")
    ] = "serial",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare methods by cross-validation over subjects, and recommend one.

    Every search may compute for the same time; a model is trained with its policy and tested on
    subjects that neither has seen. It can be stopped at any moment: the same command goes on.

    Example: cadda compare night-epo.fif.gz --methods none,adda,cadda,autoaugment --folds 5
    """
    from cadda.compute import check_engine

    check_engine(engine)
    changes: dict[str, Any] = {
        "methods": methods,
        "n_folds": folds,
        "stops": (seconds,),
        "model": model,
        "operations": names_in(operations),
        "max_epochs": max_epochs,
        "patience": patience,
        "seed": seed,
    }
    reading = reading_of(
        data,
        subject,
        channels,
        classes,
        drop_bad=drop_bad,
        min_windows=min_windows,
        standardise=standardise,
    )
    work, plan = prepare_study("compare", "cpu", changes, str(data), reading)
    run_study(work, plan, out, engine, as_json=as_json)
