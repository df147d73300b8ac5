"""`cadda data cache`: what the cache of preprocessed windows holds, and how to empty it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cadda.data.io.cache_upkeep import CacheEntry

__all__ = ["cache"]

MOST_ENTRIES = 20


def cache(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove all of it; the next reading makes it anew.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the cache of preprocessed windows, or empty it.

    Nights and mapped EDF files are filtered and cut once and then kept, in the folder CADDA_CACHE
    if that variable is set. Nothing in it is ever removed by itself.

    Examples: cadda data cache · cadda data cache --clear
    """
    from cadda.data.io.cache import cache_folder
    from cadda.data.io.cache_upkeep import cache_entries, clear_cache

    entries = clear_cache() if clear else cache_entries()
    total = sum(entry.n_bytes for entry in entries)
    if as_json:
        report = {
            "folder": str(cache_folder()),
            "bytes": total,
            "cleared": clear,
            "entries": [_as_data(entry) for entry in entries],
        }
        typer.echo(json.dumps(report, indent=1))
        return
    count = f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}, {_size(total)}"
    if clear:
        typer.echo(f"Removed {count}, from {cache_folder()}")
        return
    typer.echo(f"{cache_folder()}: {count}")
    if entries:
        _print_table(entries)
        typer.echo("To remove them: cadda data cache --clear")


def _as_data(entry: CacheEntry) -> dict[str, object]:
    return {
        "key": entry.key,
        "bytes": entry.n_bytes,
        "made": entry.made.isoformat(timespec="seconds"),
        "windows": _n_windows(entry),
        "recordings": None if entry.runs is None else [run.recording for run in entry.runs],
    }


def _print_table(entries: list[CacheEntry]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("made", "size", "windows", "recordings")
    for column in table.columns[1:3]:
        column.justify = "right"
    for entry in entries[:MOST_ENTRIES]:
        made = entry.made.strftime("%Y-%m-%d %H:%M")
        n_windows = _n_windows(entry)
        windows = "–" if n_windows is None else str(n_windows)
        table.add_row(made, _size(entry.n_bytes), windows, escape(_recordings(entry)))
    if len(entries) > MOST_ENTRIES:
        table.add_row(f"and {len(entries) - MOST_ENTRIES} more")
    Console(highlight=False).print(table)


def _n_windows(entry: CacheEntry) -> int | None:
    return None if entry.runs is None else sum(run.quality.n_good for run in entry.runs)


def _recordings(entry: CacheEntry) -> str:
    if entry.runs is None:
        return "damaged, not used"
    names = [run.recording for run in entry.runs]
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]} ({len(names)})"


def _size(n_bytes: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} bytes"
