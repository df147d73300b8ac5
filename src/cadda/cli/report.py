"""`cadda report`: a run as one HTML page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cadda.cli.options import AsJson

__all__ = ["report"]


def report(
    run: Annotated[Path, typer.Argument(help="Folder of a search or a training run.")],
    open_it: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the report of a run, report.html in its folder.

    The page is self-contained: result, data, policy, curves, example windows, scores and
    provenance. `cadda search` writes it automatically.

    Example: cadda report run --open
    """
    from cadda.exceptions import RunError
    from cadda.experiments.folder import StudyFolder
    from cadda.runs.report import write_report

    if StudyFolder(run).plan.exists():
        raise RunError(
            f"{run} contains a study, not a training run or a search; `cadda experiment figure "
            f"NAME --out {run}` draws it."
        )
    path = write_report(run).path
    typer.echo(json.dumps({"report": str(path)}) if as_json else str(path))
    if open_it:
        _open(path)


def _open(path: Path) -> None:
    import webbrowser

    if not webbrowser.open(path.as_uri()):
        typer.echo("No browser found; open the file manually.", err=True)
