"""`cadda demo`: the main job on built-in signals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("demo"),
) -> None:
    """Draw every operation on a built-in signal.

    Example: cadda demo --out demo
    """
    from cadda.cli.pictures import save_operations_picture

    typer.echo("Drawing the operations on ten seconds of simulated light sleep …")
    picture = save_operations_picture(out / "operations.png")
    typer.echo(f"Every operation before and after, signal and spectrum: {picture}")
    typer.echo("Next: `cadda operations` says what each one does and what its magnitude means.")
