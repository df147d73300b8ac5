"""`cadda data simulate`: simulated sleep and motor imagery."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from cadda.cli.commands import command_group
from cadda.cli.display import progress_bar
from cadda.cli.options import AsJson, Seed

if TYPE_CHECKING:
    from cadda.data.simulation.nights import Night
    from cadda.data.windows import Windows

__all__ = ["app", "motor_imagery", "sleep"]

Subjects = Annotated[int, Option(help="Number of subjects.", min=1)]
Overwrite = Annotated[bool, Option("--overwrite", help="Overwrite existing files.")]


def sleep(
    out: Annotated[Path, Argument(help="File ending in .npz; a folder with --format edf.")],
    subjects: Subjects = 12,
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
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Simulate the sleep EEG of several subjects, with five stages.

    Examples: cadda data simulate sleep sleep.npz · cadda data simulate sleep nights --format edf
    --subjects 4 --montage mass
    """
    if file_format == "edf":
        _check_no_edf(out, overwrite=overwrite)
    else:
        _prepare_npz(
            out,
            overwrite=overwrite,
            or_else=", or write EDF files into a folder with --format edf",
        )
    from cadda.data.simulation.nights import simulate_nights

    nights = _with_progress(
        simulate_nights(subjects, windows, montage=montage, seed=seed), subjects
    )
    summary = _save_edf(nights, out) if file_format == "edf" else _save_nights(nights, out)
    made = {"subjects": subjects, "windows": subjects * windows, "montage": montage}
    _print_made({**made, "seed": seed, "format": file_format}, summary, out, as_json=as_json)


def motor_imagery(
    out: Annotated[Path, Argument(help="File ending in .npz.")],
    subjects: Subjects = 20,
    windows: Annotated[int, Option(help="Windows of 4 s per subject.", min=2)] = 40,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Simulate subjects who imagine moving the left or the right fist, with eight channels.

    Example: cadda data simulate motor-imagery fists.npz
    """
    _prepare_npz(out, overwrite=overwrite)
    from cadda.data.simulation.motor_imagery import simulate_motor_imagery

    summary = _save_npz(simulate_motor_imagery(subjects, windows, seed=seed), out)
    made = {"subjects": subjects, "windows": subjects * windows}
    _print_made({**made, "seed": seed, "format": "npz"}, summary, out, as_json=as_json)


def _prepare_npz(out: Path, *, overwrite: bool, or_else: str = "") -> None:
    """Check the name of a file of windows, and make its folder."""
    from cadda._internal.files import make_folder

    if out.suffix != ".npz":
        raise ValueError(f"`out` must end in .npz, got {str(out)!r}; add the suffix{or_else}.")
    if out.exists() and not overwrite:
        raise ValueError(
            f"`out` already exists: {str(out)!r}; choose another name, or pass `overwrite=True`."
        )
    # Before the simulation, so that a wrong path fails at once.
    make_folder(out.parent)


def _check_no_edf(out: Path, *, overwrite: bool) -> None:
    n_files = sum(file.suffix.lower() == ".edf" for file in out.rglob("*"))
    if n_files and not overwrite:
        raise ValueError(
            f"`out` already contains {n_files} EDF files: {str(out)!r}; choose another folder, or "
            "overwrite those with the same names with `overwrite=True`."
        )


def _save_nights(nights: Iterator[Night], out: Path) -> str:
    from cadda.data.simulation.nights import nights_to_windows

    return _save_npz(nights_to_windows(nights), out)


def _save_npz(windows: Windows, out: Path) -> str:
    windows.save(out)
    return repr(windows)


def _save_edf(nights: Iterator[Night], out: Path) -> str:
    from cadda.data.simulation.edf_export import write_edf

    pairs = write_edf(nights, out)
    return f"{len(pairs)} pairs such as {pairs[0][0].name!r} and {pairs[0][1].name!r}"


def _print_made(made: dict[str, object], summary: str, out: Path, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(made | {"path": str(out.resolve())}))
        return
    typer.echo(summary)
    typer.echo(f"Written to {out.resolve()}")


def _with_progress(nights: Iterator[Night], total: int) -> Iterator[Night]:
    with progress_bar("Simulating") as on_progress:
        on_progress(0, total, "")
        for done, night in enumerate(nights, start=1):
            yield night
            on_progress(done, total, night.subject)


app = command_group(
    "Simulate recordings of several subjects.",
    "cadda data simulate sleep sleep.npz · cadda data simulate motor-imagery fists.npz",
    *(sleep, motor_imagery),
)
