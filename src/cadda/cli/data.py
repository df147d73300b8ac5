"""`cadda data`: look at data, fetch them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cadda.data.checks import Quality
    from cadda.data.windows import Windows

__all__ = ["data_app", "progress_bar"]

data_app = typer.Typer(help="Look at data, fetch them.", no_args_is_help=True)

MOST_SUBJECTS = 20


@data_app.callback()
def root() -> None:
    """Look at data, fetch them."""


@data_app.command()
def info(
    data: Annotated[
        Path,
        typer.Argument(
            help="Epochs file, .npz file, mapping file, or folder of recordings with hypnograms."
        ),
    ],
    subject: Annotated[
        str | None, typer.Option(help="Column of the metadata of epochs with the subjects.")
    ] = None,
    channels: Annotated[
        str | None, typer.Option(help="Channels to take, separated by commas.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what is in data: windows per class and subject, flaws, what can be applied.

    Examples: cadda data info sleep-epo.fif.gz · cadda data info ~/mne_data/physionet-sleep-data
    """
    from cadda.data.readers import ReadOptions, read_with_quality

    names = None if channels is None else [name.strip() for name in channels.split(",")]
    with progress_bar("Reading") as on_progress:
        # A class without windows is what one wants to see here.
        options = ReadOptions(subject, names, min_windows=1, on_progress=on_progress)
        windows, quality = read_with_quality(data, options)
    report = _report(windows, quality)
    if as_json:
        typer.echo(json.dumps({"data": str(data), **report}, indent=1, ensure_ascii=False))
    else:
        _print_report(windows, report)


@data_app.command()
def fetch(
    dataset: Annotated[str, typer.Argument(help="Which data: sleep-physionet.")],
    subjects: Annotated[str, typer.Option(help="Numbers of subjects, such as 0-4,7.")] = "0-4",
    recordings: Annotated[str, typer.Option(help="Nights of each, such as 1,2.")] = "1,2",
    folder: Annotated[
        Path | None, typer.Option(help="Where to put them; without it, where MNE keeps data.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fetch public recordings, about 50 MB per night; goes on where it stopped.

    Example: cadda data fetch sleep-physionet --subjects 0-4 --recordings 1,2
    """
    from cadda.data.fetch import fetch_sleep_physionet

    if dataset != "sleep-physionet":
        raise ValueError(f"the data must be sleep-physionet, got {dataset!r}.")
    wanted = _numbers("--subjects", subjects)
    with progress_bar("Fetching") as on_progress:
        pairs = fetch_sleep_physionet(
            wanted, _numbers("--recordings", recordings), folder=folder, on_progress=on_progress
        )
    where = pairs[0][0].parent
    if as_json:
        typer.echo(json.dumps({"folder": str(where), "nights": len(pairs)}, indent=1))
        return
    typer.echo(f"{len(pairs)} nights are in {where}")
    typer.echo(f'Next: cadda data info "{where}"')


@contextmanager
def progress_bar(doing: str) -> Iterator[Callable[[int, int, str], None]]:
    """Draw a bar on the terminal while recordings are read; nothing where there is no terminal.

    Parameters
    ----------
    doing : str
        What is done, for the text beside the bar.

    Yields
    ------
    callable
        To be called with the number done, the total and the name of the next.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(doing, total=None, visible=False)

        def show(done: int, total: int, name: str) -> None:
            bar.update(
                task, completed=done, total=total, description=f"{doing} {name}", visible=True
            )

        yield show


def _numbers(option: str, text: str) -> list[int]:
    """Read numbers such as ``0-4,7``."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"`{option}` must be numbers such as 0-4,7, got {text!r}.")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def _report(windows: Windows, quality: Quality) -> dict[str, Any]:
    from cadda import operation_pool

    pool = operation_pool(windows)
    by_subject = {
        subject: windows.of_subjects([subject]).class_counts().tolist()
        for subject in windows.subjects
    }
    return {
        "n_windows": len(windows),
        "seconds": windows.n_times / windows.sfreq,
        "sfreq": windows.sfreq,
        "channels": list(windows.ch_names),
        "classes": dict(zip(windows.class_names, windows.class_counts().tolist(), strict=True)),
        "subjects": {
            subject: dict(zip(windows.class_names, counts, strict=True))
            for subject, counts in by_subject.items()
        },
        "n_recordings": len(set(zip(windows.subject, windows.recording, strict=True))),
        "n_bad": quality.n_bad,
        "n_clipped": quality.n_clipped,
        "amplitude": dict(zip(windows.ch_names, quality.amplitude, strict=True)),
        "operations": list(pool.names),
        "left_out": dict(pool.left_out),
    }


def _print_report(windows: Windows, report: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(str(windows), markup=False)
    table = Table("subject", *windows.class_names, "all")
    for column in table.columns[1:]:
        column.justify = "right"
    subjects = list(report["subjects"].items())
    for subject, counts in subjects[:MOST_SUBJECTS]:
        table.add_row(subject, *map(str, counts.values()), str(sum(counts.values())))
    if len(subjects) > MOST_SUBJECTS:
        table.add_row(f"and {len(subjects) - MOST_SUBJECTS} more")
    table.add_section()
    counts = report["classes"].values()
    table.add_row("all", *map(str, counts), str(sum(counts)))
    console.print(table)
    for line in _lines(report):
        console.print(line, markup=False)


def _lines(report: dict[str, Any]) -> Iterator[str]:
    strengths = (f"{name} {_amplitude(value)}" for name, value in report["amplitude"].items())
    yield f"amplitude (standard deviation within a window): {', '.join(strengths)}"
    hint = ", not counted above; read with bad='drop' or --drop-bad" if report["n_bad"] else ""
    yield f"windows with NaN or a flat channel: {report['n_bad']}{hint}"
    yield f"windows with a clipped channel: {report['n_clipped']}"
    yield f"operations ({len(report['operations'])}): {', '.join(report['operations'])}"
    for name, reason in report["left_out"].items():
        yield f"left out: {name}, {reason}"


def _amplitude(value: float) -> str:
    """Say a number in µV if it is in volts, as in recordings; what is near 1 has no unit."""
    return f"{1e6 * value:.1f} µV" if value < 0.05 else f"{value:.2g}"
