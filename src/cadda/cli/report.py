"""`cadda report`: a run on one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    run: Annotated[Path, typer.Argument(help="Folder of a search or of a training.")],
    open_it: Annotated[
        bool, typer.Option("--open", help="Open it in a browser, if there is one.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the path as JSON.")] = False,
) -> None:
    """Write all that came of a run as one page, report.html in its folder.

    The page needs nothing beside itself: result, data, policy, curves, windows before and after,
    scores and provenance, to be opened in any browser, sent or printed. `cadda search` writes it
    by itself.

    Example: cadda report run --open
    """
    from cadda.runs.report import write_report

    path = write_report(run).path
    typer.echo(json.dumps({"report": str(path)}) if as_json else str(path))
    if open_it:
        _open(path)


def _open(path: Path) -> None:
    import webbrowser

    if not webbrowser.open(path.as_uri()):
        typer.echo("No browser was found here; open the file with one of your own.", err=True)
