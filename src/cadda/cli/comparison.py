"""Scores of several models side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cadda.training import Scores

__all__ = ["print_comparison"]


def print_comparison(columns: Mapping[str, Scores], title: str) -> None:
    """Print scores side by side, a column each.

    Parameters
    ----------
    columns : mapping of str to Scores
        Scores by what they are of.
    title : str
        What was tested on.
    """
    from rich.console import Console
    from rich.table import Table

    scores = list(columns.values())
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    rows = {
        "balanced accuracy": [one.balanced_accuracy for one in scores],
        "macro F1": [one.macro_f1 for one in scores],
        "kappa": [one.kappa for one in scores],
        **{
            f"F1 of {name}": [one.f1_per_class[name] for one in scores]
            for name in scores[0].f1_per_class
        },
    }
    for name, values in rows.items():
        table.add_row(name, *(f"{value:.3f}" for value in values))
    Console(highlight=False).print(table)
