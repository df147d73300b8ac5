"""`cadda data`: look at data, fetch them; other files add commands to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cadda.cli.progress import progress_bar
from cadda.cli.reading import Channels, Classes, Data, DropBad, MinWindows, Subject, names_in

if TYPE_CHECKING:
    from cadda.data.quality import Quality
    from cadda.data.windows import Windows

__all__ = ["data_app"]

data_app = typer.Typer(
    help="Look at data, fetch or simulate them.",
    epilog="Examples: cadda data info night-epo.fif.gz · cadda data simulate sleep.npz · "
    "cadda data fetch sleep-physionet --subjects 0-4",
    no_args_is_help=True,
)

MOST_SUBJECTS = 20


@data_app.callback()
def root() -> None:
    """Look at data, fetch or simulate them."""


@data_app.command()
def info(
    data: Data,
    subject: Subject = None,
    channels: Channels = None,
    classes: Classes = None,
    min_windows: MinWindows = 1,
    drop_bad: DropBad = False,
    engine: Annotated[
        str,
        typer.Option(
            help="Where nights are preprocessed, once for all commands: serial, processes:N or "
            "dask:ADDRESS."
        ),
    ] = "serial",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what is in data: windows per class and subject, flaws, what can be applied.

    Examples: cadda data info sleep-epo.fif.gz · cadda data info ~/mne_data/physionet-sleep-data
    """
    from cadda.data.io.read import ReadOptions, read_with_quality

    with progress_bar("Reading") as on_progress:
        options = ReadOptions(
            subject,
            names_in(channels),
            names_in(classes),
            min_windows=min_windows,
            engine=engine,
            on_progress=on_progress,
        )
        windows, quality = read_with_quality(data, options)
    report = _report(windows, quality)
    if as_json:
        typer.echo(json.dumps({"data": str(data), **report}, indent=1, ensure_ascii=False))
    else:
        _print_report(windows, report, drop_bad=drop_bad)


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
    from cadda.data.datasets.sleep_physionet import fetch_sleep_physionet

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


def _numbers(option: str, text: str) -> list[int]:
    """Read numbers such as ``0-4,7``."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and (not last.isdigit() or int(last) < int(first))):
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


def _print_report(windows: Windows, report: dict[str, Any], *, drop_bad: bool) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    console.print(str(windows), markup=False)
    table = Table("subject", *map(escape, windows.class_names), "all")
    for column in table.columns[1:]:
        column.justify = "right"
    subjects = list(report["subjects"].items())
    for subject, counts in subjects[:MOST_SUBJECTS]:
        table.add_row(escape(subject), *map(str, counts.values()), str(sum(counts.values())))
    if len(subjects) > MOST_SUBJECTS:
        table.add_row(f"and {len(subjects) - MOST_SUBJECTS} more")
    table.add_section()
    counts = report["classes"].values()
    table.add_row("all", *map(str, counts), str(sum(counts)))
    console.print(table)
    for line in _lines(report, drop_bad=drop_bad):
        console.print(line, markup=False)


def _lines(report: dict[str, Any], *, drop_bad: bool) -> Iterator[str]:
    strengths = (f"{name} {_amplitude(value)}" for name, value in report["amplitude"].items())
    yield f"amplitude (standard deviation within a window): {', '.join(strengths)}"
    refused = ", not counted above; read with on_bad='drop' or --drop-bad"
    hint = ", left out" if drop_bad else refused
    yield f"windows with NaN or a flat channel: {report['n_bad']}{hint if report['n_bad'] else ''}"
    yield f"windows with a clipped channel: {report['n_clipped']}"
    yield f"operations ({len(report['operations'])}): {', '.join(report['operations'])}"
    for name, reason in report["left_out"].items():
        yield f"left out: {name}, {reason}"


def _amplitude(value: float) -> str:
    """Say a number in µV if it is in volts, as in recordings; what is near 1 has no unit."""
    return f"{1e6 * value:.1f} µV" if value < 0.05 else f"{value:.2g}"
