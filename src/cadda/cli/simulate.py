"""`cadda data simulate`: simulated sleep recordings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from cadda.cli.display import progress_bar
from cadda.cli.options import AsJson, Seed

if TYPE_CHECKING:
    from cadda.data.simulation.nights import Night

__all__ = ["simulate"]


def simulate(
    out: Annotated[Path, Argument(help="File ending in .npz; a folder with --format edf.")],
    subjects: Annotated[int, Option(help="Number of subjects.", min=1)] = 12,
    windows: Annotated[
        int, Option(help="Windows of 30 s per subject; 40 or more have all stages.", min=10)
    ] = 100,
    montage: Annotated[
        Literal["physionet", "mass"],
        Option(help="Fpz-Cz, Pz-Oz at 100 Hz; or C3, C4, F3, F4, O1, O2 at 128 Hz."),
    ] = "physionet",
    seed: Seed = 0,
    file_format: Annotated[
        Literal["npz", "edf"],
        Option("--format", help="npz: standardised windows; edf: nights in µV with hypnograms."),
    ] = "npz",
    overwrite: Annotated[bool, Option("--overwrite", help="Overwrite existing files.")] = False,
    as_json: AsJson = False,
) -> None:
    """Simulate the sleep EEG of several subjects, with five stages.

    Examples: cadda data simulate sleep.npz · cadda data simulate nights --format edf
    --subjects 4 --montage mass
    """
    if file_format == "npz" and out.suffix != ".npz":
        raise ValueError(
            f"`out` must end in .npz, got {str(out)!r}; add the suffix, or write EDF files into a "
            "folder with --format edf."
        )
    if not overwrite:
        _check_new(out, file_format)
    from cadda.data.simulation.nights import simulate_nights

    nights = _with_progress(
        simulate_nights(subjects, windows, montage=montage, seed=seed), subjects
    )
    summary = _save_npz(nights, out) if file_format == "npz" else _save_edf(nights, out)
    if as_json:
        made = {"subjects": subjects, "windows": subjects * windows, "montage": montage}
        place = {"seed": seed, "format": file_format, "path": str(out.resolve())}
        typer.echo(json.dumps(made | place))
        return
    typer.echo(summary)
    typer.echo(f"Written to {out.resolve()}")


def _check_new(out: Path, file_format: str) -> None:
    if file_format == "npz" and out.exists():
        raise ValueError(
            f"`out` already exists: {str(out)!r}; choose another name, or pass `overwrite=True`."
        )
    n_files = sum(file.suffix.lower() == ".edf" for file in out.rglob("*"))
    if n_files:
        raise ValueError(
            f"`out` already contains {n_files} EDF files: {str(out)!r}; choose another folder, or "
            "overwrite those with the same names with `overwrite=True`."
        )


def _save_npz(nights: Iterator[Night], out: Path) -> str:
    from cadda._internal.files import make_folder
    from cadda.data.simulation.nights import nights_to_windows

    # Before the simulation, so that a wrong path fails at once.
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
