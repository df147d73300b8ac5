"""The options that all commands share which read data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cadda.data.windows import Windows

__all__ = ["Channels", "Classes", "Data", "DropBad", "Subject", "read"]

Data = Annotated[
    Path,
    typer.Argument(help="Epochs file, .npz file, mapping file, or folder of recordings."),
]
Subject = Annotated[
    str | None, typer.Option(help="Column of the metadata of epochs with the subjects.")
]
Channels = Annotated[str | None, typer.Option(help="Channels to take, separated by commas.")]
Classes = Annotated[str | None, typer.Option(help="Classes to take, separated by commas.")]
DropBad = Annotated[
    bool, typer.Option("--drop-bad", help="Leave out windows with NaN or a flat channel.")
]


def read(
    data: Path, subject: str | None, channels: str | None, classes: str | None, *, drop_bad: bool
) -> Windows:
    """Read windows as the options say, with a progress bar.

    Parameters
    ----------
    data : Path
        Where they are.
    subject : str | None
        Column with the subjects.
    channels : str | None
        Channels to take.
    classes : str | None
        Classes to take.
    drop_bad : bool
        Whether to leave out bad windows instead of refusing them.

    Returns
    -------
    Windows
        The windows.
    """
    from cadda.cli.data import progress_bar
    from cadda.data.readers import read_windows

    with progress_bar("Reading") as on_progress:
        return read_windows(
            data,
            subject=subject,
            channels=_names(channels),
            classes=_names(classes),
            bad="drop" if drop_bad else "refuse",
            on_progress=on_progress,
        )


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]
