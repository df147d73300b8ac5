"""Progress bars, tables of scores and pictures that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cadda._internal.step_display import StepDisplay
from cadda.cli.commands import name_options

if TYPE_CHECKING:
    from cadda.data.windows import Windows
    from cadda.training import Scores
    from cadda.training.metrics import SubjectScores

__all__ = [
    "MAX_SUBJECTS",
    "count_test_subjects",
    "print_comparison",
    "print_model_choice",
    "print_scores",
    "print_subjects",
    "print_warnings",
    "progress_bar",
    "save_operations_picture",
]

MAX_SUBJECTS = 20
"""Number of subjects in a table."""

OVERALL = {"balanced_accuracy": "balanced accuracy", "macro_f1": "macro F1", "kappa": "kappa"}

UNDEFINED = "–"
"""Score over the classes of a subject that has one class."""

# At full strength these would leave nothing to see.
MAGNITUDES = {
    "channel_dropout": 0.5,
    "channel_shuffle": 0.7,
    "frequency_shift": 0.6,
    "segment_recombination": 0.5,
}

N_EXAMPLES = 8
"""Windows that pictures are made of: the first is shown, others give it segments."""


@contextmanager
def progress_bar(action: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar in a terminal, nothing elsewhere.

    Yields a function to be called with the number done, the total and the name of the next.
    """
    display = StepDisplay(action)
    if not display.console.is_terminal:
        yield lambda done, total, name: None
        return
    with display:
        yield lambda done, total, name: display((done, total, name))


def print_scores(scores: Scores, title: str) -> None:
    """Print the scores of one model with its confusion matrix."""
    console = Console(highlight=False)
    shown = {name: escape(_with_interval(scores, name)) for name in OVERALL}
    console.print(
        f"[bold]balanced accuracy {shown['balanced_accuracy']}[/bold], macro F1 "
        f"{shown['macro_f1']}, kappa {shown['kappa']} ({title})"
    )
    names = list(scores.f1_per_class)
    table = Table(title="rows: true class, columns: predicted class", title_justify="left")
    table.add_column("class")
    table.add_column("F1", justify="right")
    for name in names:
        table.add_column(escape(name), justify="right")
    for name, row in zip(names, scores.confusion.tolist(), strict=True):
        table.add_row(escape(name), f"{scores.f1_per_class[name]:.3f}", *map(str, row))
    console.print(table)
    _print_interval_note(scores)


def print_subjects(columns: Mapping[str, Scores]) -> None:
    """Print the scores of each subject, the lowest of the last model first.

    Of one model all scores are printed; several models have a column of balanced accuracy each.
    """
    *_, last = columns.values()
    is_single = len(columns) == 1
    scores = tuple(OVERALL) if is_single else ("balanced_accuracy",)
    title = "by subject" if is_single else "balanced accuracy by subject"
    order = (
        ", lowest balanced accuracy first" if is_single else ", lowest of the last column first"
    )
    table = Table(title=title + order * (len(last.by_subject) > 1), title_justify="left")
    table.add_column("subject")
    for name in ("windows", *(OVERALL.values() if is_single else columns)):
        table.add_column(name, justify="right")
    ranked = sorted(last.by_subject, key=lambda name: _rank(last.by_subject[name]))
    for subject in ranked[:MAX_SUBJECTS]:
        rows = [model.by_subject[subject] for model in columns.values()]
        cells = (_score_cell(row, name) for row in rows for name in scores)
        table.add_row(escape(subject), str(rows[0].n_windows), *cells)
    if len(ranked) > MAX_SUBJECTS:
        table.add_row(f"and {len(ranked) - MAX_SUBJECTS} more: see scores.json, or --json")
    Console(highlight=False).print(table)
    if not all(own.is_comparable for own in last.by_subject.values()):
        typer.echo(
            f"{UNDEFINED}: the subject has windows of one class only, so that its scores do not "
            "compare with those of others."
        )


def _rank(scores: SubjectScores) -> tuple[bool, float]:
    """Return a key for sorting, subjects without a score last."""
    return not scores.is_comparable, scores.balanced_accuracy


def _score_cell(scores: SubjectScores, name: str) -> str:
    return f"{getattr(scores, name):.3f}" if scores.is_comparable else UNDEFINED


def _with_interval(scores: Scores, name: str) -> str:
    """Return a score, followed by its interval if there is one."""
    ends = scores.intervals.get(name)
    interval = "" if ends is None else f" [{ends[0]:.3f} to {ends[1]:.3f}]"
    return f"{getattr(scores, name):.3f}{interval}"


def _print_interval_note(scores: Scores) -> None:
    """Print what the intervals are over; nothing if there are none."""
    from cadda._internal.statistics import MIN_SUBJECTS

    if not scores.intervals:
        return
    n_units = len(scores.by_subject) if scores.resampled == "subjects" else scores.confusion.sum()
    note = f"In brackets: 95 % bootstrap intervals over {n_units} {scores.resampled}"
    if scores.resampled != "subjects":
        note += " of one subject, not over people"
    elif n_units < MIN_SUBJECTS:
        note += ", too narrow with so few"
    typer.echo(f"{note}.")


def print_comparison(columns: Mapping[str, Scores], title: str) -> None:
    """Print the scores of several models side by side, one column each."""
    models = list(columns.values())
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    for name, words in OVERALL.items():
        table.add_row(words, *(escape(_with_interval(scores, name)) for scores in models))
    for name in models[0].f1_per_class:
        cells = (f"{scores.f1_per_class[name]:.3f}" for scores in models)
        table.add_row(escape(f"F1 of {name}"), *cells)
    Console(highlight=False).print(table)
    _print_interval_note(models[0])


def print_model_choice(model: str, windows: Windows) -> None:
    """Print which model auto is, if the length of the windows in seconds is not known."""
    from cadda.models.registry import describe_choice

    chosen = describe_choice(model, windows.n_times, windows.sfreq)
    if chosen is not None:
        typer.echo(f"note: {name_options(chosen)}", err=True)


def print_warnings(texts: Iterable[str]) -> None:
    """Print warnings in the words of the command line, each once."""
    for text in dict.fromkeys(texts):
        typer.echo(f"Warning: {name_options(text)}.", err=True)


def count_test_subjects(n_subjects: int) -> str:
    """Return such as ``"2 test subjects"``."""
    return f"{n_subjects} test subject{'s' if n_subjects != 1 else ''}"


def save_operations_picture(path: Path) -> Path:
    """Draw every operation on the built-in signal; return the absolute path of the picture."""
    import torch

    from cadda.api.prepare import operation_pool
    from cadda.data.simulation.example import EXAMPLE_CHANNELS, EXAMPLE_SFREQ, example_window
    from cadda.reporting.figures import plot_operations

    pool = operation_pool(sfreq=EXAMPLE_SFREQ, ch_names=EXAMPLE_CHANNELS, operations=["all"])
    window, *others = (torch.from_numpy(example_window(seed=seed)) for seed in range(N_EXAMPLES))
    figure = plot_operations(pool, window, magnitudes=MAGNITUDES, others=torch.stack(others))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return path.resolve()
