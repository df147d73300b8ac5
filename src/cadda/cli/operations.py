"""`cadda operations`: names, magnitudes in physical units, references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from typer import Option

from cadda.cli.options import AsJson
from cadda.cli.parsing import parse_names

__all__ = ["operations"]

FACTS = ("domain", "summary", "references", "in_paper", "in_default", "quantity", "full", "unit")
"""What JSON has of a row of the catalogue."""


def operations(
    channels: Annotated[
        str | None,
        Option(help="Channels of a montage, separated by commas, to see what applies to it."),
    ] = None,
    picture: Annotated[
        Path | None, Option(help="Picture of all operations, before and after (png, svg, pdf).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the operations with their domain, the meaning of magnitude 1, and references.

    Examples: cadda operations · cadda operations --channels "EEG Fpz-Cz,EEG Pz-Oz" ·
    cadda operations --picture operations.png
    """
    from cadda.operations.catalogue import CATALOGUE

    left_out = _left_out(channels)
    if as_json:
        rows = [
            {
                "name": name,
                **{key: getattr(entry, key) for key in FACTS},
                "left_out": left_out.get(name),
            }
            for name, entry in CATALOGUE.items()
        ]
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        _print_table(left_out)
    if picture is not None:
        from cadda.cli.display import save_operations_picture

        typer.echo(f"Picture: {save_operations_picture(picture)}", err=as_json)


def _left_out(channels: str | None) -> dict[str, str]:
    names = parse_names(channels)
    if names is None:
        return {}
    from cadda.api.prepare import operation_pool

    # Which operations apply does not depend on how high the sampling rate is.
    return operation_pool(sfreq=100.0, ch_names=names).left_out


def _print_table(left_out: dict[str, str]) -> None:

    from cadda.operations.catalogue import CATALOGUE, REFERENCES

    number = {short: i for i, short in enumerate(REFERENCES, start=1)}
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for heading in ("operation", "domain", "what it does", "magnitude 1", "ref"):
        table.add_column(heading, no_wrap=heading != "what it does")
    for name, entry in CATALOGUE.items():
        cited = ",".join(str(number[short]) for short in entry.references)
        meaning = entry.describe(1.0) or "–"
        style = "dim" if name in left_out else ""
        table.add_row(name, entry.domain, entry.summary, meaning, cited, style=style)
    console = Console(highlight=False)
    console.print(table)
    extra = ", ".join(name for name, entry in CATALOGUE.items() if not entry.in_default)
    console.print(f"only by name, or with `--operations all`: {extra}", markup=False)
    for name, reason in left_out.items():
        console.print(f"not applicable: [bold]{name}[/bold], {reason}")
    for short, full in REFERENCES.items():
        console.print(f"{number[short]}  {full}", style="dim", markup=False)
