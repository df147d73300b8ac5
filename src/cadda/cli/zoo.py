"""`cadda policy zoo`: policies that need no search."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer
from rich.console import Console

from cadda.cli.options import AsJson

__all__ = ["zoo"]


def zoo(as_json: AsJson = False) -> None:
    """List policies that need no search.

    Each can be used wherever a policy file can, as zoo:NAME. In label maps, left and right stand
    for the two classes of the data whose names differ in that only.

    Example: cadda policy zoo
    """
    from cadda.policies.zoo import ZOO

    if as_json:
        typer.echo(json.dumps([asdict(item) for item in ZOO.values()], indent=1))
        return
    console = Console(highlight=False)
    for item in ZOO.values():
        lines = (
            f"{item.full_name}: {item.task}",
            *item.text.splitlines(),
            f"evidence: {item.evidence or 'none yet'}",
            f"source: {item.source}",
        )
        console.print("\n  ".join(lines), markup=False, soft_wrap=True)
        console.print()
    first = next(iter(ZOO.values())).full_name
    console.print(
        f"Next: `cadda compare DATA --methods none,{first}` tests one on your data.", markup=False
    )
