"""The bar that commands draw while they read, fetch or simulate recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(doing: str) -> Iterator[Callable[[int, int, str], None]]:
    """Draw a bar on the terminal while recordings are read; nothing where there is no terminal.

    Parameters
    ----------
    doing : str
        What is done, for the text beside the bar.

    Yields
    ------
    callable
        To be called with the number done, the total and the name of the next.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(doing, total=None, visible=False)

        def show(done: int, total: int, name: str) -> None:
            bar.update(
                task, completed=done, total=total, description=f"{doing} {name}", visible=True
            )

        yield show
