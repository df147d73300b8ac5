"""`cadda data cache`: what the cache of preprocessed windows holds, and how to empty it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cadda.data.io.cache import CacheEntry

__all__ = ["cache"]

MOST_ENTRIES = 20


def cache(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove all of it; the next reading makes it anew.")
    ] = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Remove what is damaged, or differs from its recording, by content.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the cache of preprocessed windows, verify it, or empty it.

    Recordings are filtered once and then kept, in the folder CADDA_CACHE if that variable is set.
    A changed recording is noticed by its size and modification time; --verify compares its
    content. Nothing is removed without one of these options.

    Examples: cadda data cache · cadda data cache --clear
    """
    from cadda.data.io.cache import cache_entries, cache_folder, clear_cache, remove_outdated

    if clear and verify:
        raise ValueError("--clear removes everything; use it without --verify.")
    removing = clear or verify
    entries = clear_cache() if clear else remove_outdated() if verify else cache_entries()
    total = sum(entry.n_bytes for entry in entries)
    if as_json:
        report = {
            "folder": str(cache_folder()),
            "bytes": total,
            "removed": removing,
            "entries": [_as_data(entry) for entry in entries],
        }
        typer.echo(json.dumps(report, indent=1))
        return
    count = f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}, {_size(total)}"
    if removing:
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
        "kind": entry.kind,
        "windows": entry.n_windows,
        "recordings": [recording.name for recording in entry.recordings],
    }


def _print_table(entries: list[CacheEntry]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("made", "size", "kind", "windows", "recordings")
    for i in (1, 3):
        table.columns[i].justify = "right"
    for entry in entries[:MOST_ENTRIES]:
        made = entry.made.strftime("%Y-%m-%d %H:%M")
        kind = entry.kind or "damaged, not used"
        windows = str(entry.n_windows) if entry.kind else "–"
        table.add_row(made, _size(entry.n_bytes), kind, windows, escape(_recordings(entry)))
    if len(entries) > MOST_ENTRIES:
        table.add_row(f"and {len(entries) - MOST_ENTRIES} more")
    Console(highlight=False).print(table)


def _recordings(entry: CacheEntry) -> str:
    names = [recording.name for recording in entry.recordings]
    return ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]} ({len(names)})"


def _size(n_bytes: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} bytes"
