"""`cadda data simulate`: sleep recordings of which the truth is known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cadda.cli.progress import progress_bar

if TYPE_CHECKING:
    from cadda.data.simulation.nights import Night

__all__ = ["simulate"]


def simulate(
    out: Annotated[
        Path, typer.Argument(help="File to write, ending in .npz; for EDF files, a folder.")
    ],
    subjects: Annotated[int, typer.Option(help="Number of subjects.", min=1)] = 12,
    windows: Annotated[
        int, typer.Option(help="Windows of 30 s of each; from 40 on, all have all stages.", min=10)
    ] = 100,
    montage: Annotated[
        Literal["physionet", "mass"],
        typer.Option(help="Fpz-Cz, Pz-Oz at 100 Hz; or C3, C4, F3, F4, O1, O2 at 128 Hz."),
    ] = "physionet",
    seed: Annotated[int, typer.Option(help="Same seed, same bytes.", min=0)] = 0,
    file_format: Annotated[
        Literal["npz", "edf"],
        typer.Option(
            "--format", help="Windows ready for use; or nights in µV, each with a hypnogram."
        ),
    ] = "npz",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that are there already.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Simulate sleep of several subjects: five stages, with nothing to download.

    Examples: cadda data simulate sleep.npz · cadda data simulate nights --format edf
    --subjects 4 --montage mass
    """
    if file_format == "npz" and out.suffix != ".npz":
        raise ValueError(
            f"`OUT` must end in .npz, got {str(out)!r}; add the ending, or --format edf to write "
            "EDF files into a folder."
        )
    if not overwrite:
        _refuse_existing(out, file_format)
    from cadda.data.simulation.nights import simulate_nights

    nights = _with_progress(
        simulate_nights(subjects, windows, montage=montage, seed=seed), subjects
    )
    said = _save_npz(nights, out) if file_format == "npz" else _save_edf(nights, out)
    if as_json:
        made = {"subjects": subjects, "windows": subjects * windows, "montage": montage}
        place = {"seed": seed, "format": file_format, "path": str(out.resolve())}
        typer.echo(json.dumps(made | place))
        return
    typer.echo(said)
    typer.echo(f"Written to {out.resolve()}")


def _refuse_existing(out: Path, file_format: str) -> None:
    if file_format == "npz" and out.exists():
        raise ValueError(
            f"`OUT` must not exist yet, got {str(out)!r}; choose another name, or replace it with "
            "--overwrite."
        )
    n_files = sum(file.suffix.lower() == ".edf" for file in out.rglob("*"))
    if n_files:
        raise ValueError(
            f"`OUT` must not hold recordings yet, but {str(out)!r} has {n_files} EDF files; "
            "choose another folder, or replace those of the same names with --overwrite."
        )


def _save_npz(nights: Iterator[Night], out: Path) -> str:
    from cadda._internal.files import make_folder
    from cadda.data.simulation.nights import nights_to_windows

    # Before the work is done.
    make_folder(out.parent)
    windows = nights_to_windows(nights)
    windows.save(out)
    return repr(windows)


def _save_edf(nights: Iterator[Night], out: Path) -> str:
    from cadda.data.simulation.edf_export import write_edf

    pairs = write_edf(nights, out)
    return f"{len(pairs)} pairs such as {pairs[0][0].name!r} and {pairs[0][1].name!r}"


def _with_progress(nights: Iterator[Night], total: int) -> Iterator[Night]:
    with progress_bar("Simulating") as on_progress:
        on_progress(0, total, "")
        for done, night in enumerate(nights, start=1):
            yield night
            on_progress(done, total, night.subject)
