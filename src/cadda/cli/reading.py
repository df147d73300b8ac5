"""The options that all commands share which read data."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cadda.cli.progress import progress_bar

if TYPE_CHECKING:
    from cadda.data.windows import Windows

__all__ = [
    "Channels",
    "Classes",
    "Data",
    "DropBad",
    "MinWindows",
    "Standardise",
    "Subject",
    "names_in",
    "read",
    "reading_of",
]

Data = Annotated[
    Path,
    typer.Argument(help="Epochs file, .npz file, mapping file, or folder of recordings."),
]
Subject = Annotated[
    str | None, typer.Option(help="Column of the metadata of epochs with the subjects.")
]
Channels = Annotated[str | None, typer.Option(help="Channels to take, separated by commas.")]
Classes = Annotated[str | None, typer.Option(help="Classes to take, separated by commas.")]
MinWindows = Annotated[
    int | None,
    typer.Option(help="Leave out classes with fewer windows; 0 keeps even empty ones.", min=0),
]
Standardise = Annotated[
    Literal["auto", "window", "recording", "none"],
    typer.Option(
        help="What gets mean 0 and standard deviation 1; auto: each window, but windows that "
        "cadda saved stay as they are."
    ),
]
DropBad = Annotated[
    bool, typer.Option("--drop-bad", help="Leave out windows with NaN or a flat channel.")
]


def reading_of(
    data: Path,
    subject: str | None,
    channels: str | None,
    classes: str | None,
    *,
    drop_bad: bool,
    min_windows: int | None = None,
    standardise: Literal["auto", "window", "recording", "none"] = "auto",
) -> dict[str, Any]:
    """Say how windows are read as the options say, to do it and to write it down.

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
    min_windows : int | None
        Smallest number of windows of a class.
    standardise : 'auto' | 'window' | 'recording' | 'none'
        What gets mean 0 and standard deviation 1.

    Returns
    -------
    dict
        A function and its arguments, as plain data.
    """
    given = {
        "source": str(data),
        "subject": subject,
        "channels": names_in(channels),
        "classes": names_in(classes),
        "min_windows": min_windows,
    }
    arguments = {name: value for name, value in given.items() if value is not None} | {
        "standardise": None if standardise == "none" else standardise,
        "on_bad": "drop" if drop_bad else "raise",
    }
    return {"function": "cadda.read_windows", "arguments": arguments}


def read(reading: Mapping[str, Any]) -> Windows:
    """Read windows, with a progress bar.

    Parameters
    ----------
    reading : mapping
        What `reading_of` gave.

    Returns
    -------
    Windows
        The windows.
    """
    from cadda.data.io.read import read_windows

    # What is in memory takes no time, and two bars at once are more than a terminal can show.
    in_memory = not isinstance(reading["arguments"]["source"], str)
    with nullcontext() if in_memory else progress_bar("Reading") as on_progress:
        return read_windows(**reading["arguments"], on_progress=on_progress)


def names_in(text: str | None) -> list[str] | None:
    """Read names that are separated by commas.

    Parameters
    ----------
    text : str | None
        The names.

    Returns
    -------
    list of str | None
        The names, one by one; None if no text is given.
    """
    return None if text is None else [name.strip() for name in text.split(",")]
