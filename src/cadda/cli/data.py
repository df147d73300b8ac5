"""`cadda data`: describe, fetch and simulate data, and the cache of preprocessed windows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer import Option

from cadda.cli.commands import command_group, name_options
from cadda.cli.display import progress_bar
from cadda.cli.fetch import app as fetch_app
from cadda.cli.options import AsJson, Data, Engine
from cadda.cli.parsing import parse_names
from cadda.cli.reading import SelectionOptions, source_of
from cadda.cli.simulate import app as simulate_app

if TYPE_CHECKING:
    from cadda.data.io.cache import CacheEntry
    from cadda.data.io.read_result import ReadResult
    from cadda.data.windows import Windows

__all__ = ["app"]

MAX_SUBJECTS, MAX_ENTRIES = 200, 20
"""Rows of the tables of subjects and of cached recordings."""

MAX_CHANNELS, N_EXTREMES = 8, 3
"""Channels that are all shown with their amplitude, and extremes that are shown of more."""

MAX_AMPLITUDE = 5.0
"""Standard deviation above which signals are neither in volts nor standardised."""


def info(
    data: Data, select: SelectionOptions, *, engine: Engine = "serial", as_json: AsJson = False
) -> None:
    """Describe data: windows per class and subject, quality, applicable operations.

    Recordings are preprocessed once and cached for all other commands.

    Examples: cadda data info sleep-epo.fif.gz · cadda data info ~/mne_data/physionet-sleep-data
    """
    from cadda.data.io.options import ReadOptions
    from cadda.data.io.read_result import read_with_quality
    from cadda.data.io.sources import describe_sources

    with progress_bar("Reading") as on_progress:
        options = ReadOptions(
            select.subject,
            parse_names(select.channels),
            parse_names(select.classes),
            # Classes without windows, which other commands raise for, are shown as such.
            min_windows=select.min_windows or 0,
            engine=engine,
            on_progress=on_progress,
            label=select.label,
            keep_stage_4=select.keep_stage_4,
            settings=select.settings(),
            **select.rules(),
        )
        result = read_with_quality(source_of(data), options)
    summary = _summarise(result)
    if as_json:
        typer.echo(
            json.dumps(
                {"data": describe_sources(data), **asdict(summary)}, indent=1, ensure_ascii=False
            )
        )
    else:
        _print_summary(result.windows, summary, drop_bad=select.drop_bad)


def cache(
    clear: Annotated[bool, Option("--clear", help="Delete all entries.")] = False,
    verify: Annotated[
        bool,
        Option(
            "--verify",
            help="Delete entries that are damaged or differ from the content of their recording.",
        ),
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the cache of preprocessed windows, verify it, or clear it.

    Recordings are filtered once and cached, in the folder given by the environment variable
    CADDA_CACHE if it is set. Changed recordings are detected by size and modification time;
    --verify compares their content. Entries are only deleted by these options.

    Examples: cadda data cache · cadda data cache --clear
    """
    from cadda.data.io.cache import cache_entries, cache_folder, clear_cache, remove_outdated

    if clear and verify:
        raise ValueError("`--clear` deletes everything; use it without `--verify`.")
    removing = clear or verify
    entries = clear_cache() if clear else remove_outdated() if verify else cache_entries()
    total = sum(entry.n_bytes for entry in entries)
    if as_json:
        report = {
            "folder": str(cache_folder()),
            "bytes": total,
            "removed": removing,
            "entries": [_entry_record(entry) for entry in entries],
        }
        typer.echo(json.dumps(report, indent=1))
        return
    count = f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}, {_size(total)}"
    if removing:
        typer.echo(f"Removed {count}, from {cache_folder()}")
        return
    typer.echo(f"{cache_folder()}: {count}")
    if entries:
        _print_entries(entries)
        typer.echo("Delete them with: cadda data cache --clear")


@dataclass(frozen=True)
class DataSummary:
    """What `cadda data info` shows; counts are by class."""

    n_windows: int
    seconds: float | None  # of a window
    sfreq: float | None
    channels: list[str]
    classes: dict[str, int]
    subjects: dict[str, dict[str, int]]
    n_recordings: int
    n_bad: int
    n_clipped: int
    n_rejected: int  # by amplitude
    amplitude: dict[str, float]  # standard deviation within a window, by channel
    operations: list[str]
    left_out: dict[str, str]  # reasons by operation
    n_pairs: int  # of a channel on the left and one on the right
    unpaired: list[str]  # channels that are on one side, or somewhere
    unlocated: list[str]  # channels without a known position
    preprocessing: dict[str, Any] | None  # settings; None if the signals are as in the file
    preprocessing_text: str
    task: str  # that is assumed by the names of the classes
    defaults: str  # what is done without options
    notes: list[str]


def _summarise(result: ReadResult) -> DataSummary:
    from cadda import operation_pool
    from cadda.data.channels import resolve_montage
    from cadda.data.io.preprocess import describe_preprocessing

    windows, quality, settings = result.windows, result.quality, result.preprocessing
    pool = operation_pool(windows)
    montage = resolve_montage(windows.ch_names, windows.positions)

    def count(part: Windows) -> dict[str, int]:
        return dict(zip(windows.class_names, part.class_counts().tolist(), strict=True))

    return DataSummary(
        n_windows=len(windows),
        seconds=windows.sfreq and windows.n_times / windows.sfreq,
        sfreq=windows.sfreq,
        channels=list(windows.ch_names),
        classes=count(windows),
        subjects={name: count(windows.of_subjects([name])) for name in windows.subjects},
        n_recordings=len(set(zip(windows.subject, windows.recording, strict=True))),
        n_bad=quality.n_bad,
        n_clipped=quality.n_clipped,
        n_rejected=quality.n_rejected,
        amplitude=dict(zip(windows.ch_names, quality.amplitude, strict=True)),
        operations=list(pool.names),
        left_out=dict(pool.left_out),
        n_pairs=montage.n_pairs,
        unpaired=[windows.ch_names[i] for i in montage.unpaired],
        unlocated=[windows.ch_names[i] for i in montage.unlocated],
        preprocessing=None if settings is None else asdict(settings),
        preprocessing_text=describe_preprocessing(settings),
        task=result.task,
        defaults=result.defaults,
        notes=[name_options(note) for note in _notes(result)],
    )


def _notes(result: ReadResult) -> Iterator[str]:
    """Yield notes on the unit of the signals, unless there is one on their scale, and others."""
    typical = median(result.quality.amplitude)
    if typical > MAX_AMPLITUDE and not result.has_odd_scale:
        yield (
            f"a typical amplitude of {typical:.2g} is neither in volts nor standardised; "
            "signals of MNE are in volts: if these are in µV, multiply them by 1e-6"
        )
    if values := result.describe_values():
        yield values
    yield from result.notes


def _print_summary(windows: Windows, summary: DataSummary, *, drop_bad: bool) -> None:

    console = Console(highlight=False)
    console.print(str(windows), markup=False)
    table = Table("subject", *map(escape, windows.class_names), "all")
    for column in table.columns[1:]:
        column.justify = "right"
    subjects = list(summary.subjects.items())
    for subject, counts in subjects[:MAX_SUBJECTS]:
        table.add_row(escape(subject), *map(str, counts.values()), str(sum(counts.values())))
    if len(subjects) > MAX_SUBJECTS:
        table.add_row(f"and {len(subjects) - MAX_SUBJECTS} more")
    table.add_section()
    totals = summary.classes.values()
    table.add_row("all", *map(str, totals), str(sum(totals)))
    console.print(table)
    for line in _lines(summary, drop_bad=drop_bad):
        console.print(line, markup=False)


def _lines(summary: DataSummary, *, drop_bad: bool) -> Iterator[str]:
    when = "" if summary.preprocessing is None else "before preprocessing, "
    shown = _describe_amplitudes(summary.amplitude)
    yield f"amplitude ({when}standard deviation within a window): {shown}"
    hint = ", dropped" if drop_bad else ", not counted above; drop them with --drop-bad"
    yield f"windows with NaN or a flat channel: {summary.n_bad}{hint if summary.n_bad else ''}"
    yield f"windows with a clipped channel: {summary.n_clipped}"
    yield f"task, by the names of the classes: {summary.task}; defaults: {summary.defaults}"
    yield f"preprocessing: {summary.preprocessing_text}"
    if summary.n_rejected:
        yield f"windows rejected by amplitude: {summary.n_rejected}, not counted above"
    if empty := [name for name, count in summary.classes.items() if not count]:
        yield (
            f"note: no windows of {', '.join(empty)}; leave out such classes with --min-windows "
            "1, or select others with --classes"
        )
    for note in summary.notes:
        yield f"note: {note}"
    yield f"operations ({len(summary.operations)}): {', '.join(summary.operations)}"
    for name, reason in summary.left_out.items():
        yield f"not applicable: {name}, {reason}"
    yield from _channel_lines(summary)


def _channel_lines(summary: DataSummary) -> Iterator[str]:
    """Yield which channels operations on electrodes change, where these are applicable."""
    has_pairs = "channel_symmetry" in summary.operations
    if has_pairs:
        yield f"left-right pairs of channels: {summary.n_pairs}"
    if has_pairs and summary.unpaired:
        yield (
            f"note: no partner on the other side of the head: {_names(summary.unpaired)}; "
            "channel_symmetry leaves them as they are"
        )
    if summary.unlocated and "rotation_z" in summary.operations:
        yield (
            f"note: no known position: {_names(summary.unlocated)}; rotations leave them as they "
            "are; use names of the 10-20 system, or select other channels with --channels"
        )


def _names(channels: Sequence[str]) -> str:
    more = f" and {len(channels) - MAX_CHANNELS} more" if len(channels) > MAX_CHANNELS else ""
    return ", ".join(channels[:MAX_CHANNELS]) + more


def _describe_amplitudes(amplitude: Mapping[str, float]) -> str:
    """Return the amplitude of each channel; of many, the median and the extremes."""

    def join(names: Sequence[str]) -> str:
        return ", ".join(f"{name} {_amplitude(amplitude[name])}" for name in names)

    if len(amplitude) <= MAX_CHANNELS:
        return join(list(amplitude))
    ranked = sorted(amplitude, key=lambda name: amplitude[name])
    return (
        f"median {_amplitude(median(amplitude.values()))}; lowest {join(ranked[:N_EXTREMES])}; "
        f"highest {join(ranked[: -N_EXTREMES - 1 : -1])}; --json has all {len(amplitude)} channels"
    )


def _amplitude(value: float) -> str:
    """Return an amplitude in µV if it is in volts; standardised signals have no unit."""
    return f"{1e6 * value:.1f} µV" if value < 0.05 else f"{value:.2g}"


def _entry_record(entry: CacheEntry) -> dict[str, object]:
    return {
        "key": entry.key,
        "bytes": entry.n_bytes,
        "made": entry.made.isoformat(timespec="seconds"),
        "kind": entry.kind,
        "windows": entry.n_windows,
        "recordings": [recording.name for recording in entry.recordings],
    }


def _print_entries(entries: list[CacheEntry]) -> None:

    table = Table("made", "size", "kind", "windows", "recordings")
    for i in (1, 3):
        table.columns[i].justify = "right"
    for entry in entries[:MAX_ENTRIES]:
        made = entry.made.strftime("%Y-%m-%d %H:%M")
        kind = entry.kind or "damaged, ignored"
        windows = str(entry.n_windows) if entry.kind else "–"
        table.add_row(made, _size(entry.n_bytes), kind, windows, escape(_recordings(entry)))
    if len(entries) > MAX_ENTRIES:
        table.add_row(f"and {len(entries) - MAX_ENTRIES} more")
    Console(highlight=False).print(table)


def _recordings(entry: CacheEntry) -> str:
    names = [recording.name for recording in entry.recordings]
    return ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]} ({len(names)})"


def _size(n_bytes: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} bytes"


app = command_group(
    "Describe, fetch or simulate data.",
    "cadda data info night-epo.fif.gz · cadda data simulate sleep sleep.npz · "
    "cadda data fetch eegbci --subjects 1-10 --out eegbci",
    *(info, cache),
)
app.add_typer(fetch_app, name="fetch")
app.add_typer(simulate_app, name="simulate")
