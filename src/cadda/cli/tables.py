"""Tables that several commands print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cadda.training import Scores

__all__ = ["print_scores", "subjects_in_words"]


def print_scores(scores: Scores, title: str) -> None:
    """Print scores for people to read.

    Parameters
    ----------
    scores : Scores
        The scores.
    title : str
        What they are of.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    console.print(
        f"[bold]balanced accuracy {scores.balanced_accuracy:.3f}[/bold], macro F1 "
        f"{scores.macro_f1:.3f}, kappa {scores.kappa:.3f} ({title})"
    )
    names = list(scores.f1_per_class)
    table = Table(title="rows: truth, columns: predicted", title_justify="left")
    table.add_column("class")
    table.add_column("F1", justify="right")
    for name in names:
        table.add_column(escape(name), justify="right")
    for name, row in zip(names, scores.confusion.tolist(), strict=True):
        table.add_row(escape(name), f"{scores.f1_per_class[name]:.3f}", *map(str, row))
    console.print(table)


def subjects_in_words(n_subjects: int) -> str:
    """Say how many test subjects there are.

    Parameters
    ----------
    n_subjects : int
        How many.

    Returns
    -------
    str
        Such as ``"2 test subjects"``.
    """
    return f"{n_subjects} test subject{'s' if n_subjects != 1 else ''}"
