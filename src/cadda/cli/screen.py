"""`cadda screen`: which operations help or hurt, before any search."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer import Option

from cadda.cli import options
from cadda.cli.commands import name_options
from cadda.exceptions import RunError

if TYPE_CHECKING:
    from cadda.reporting.records import ScreeningRow
    from cadda.screening.result import Screening

__all__ = ["screen"]

STYLES = {"helps": "bold blue", "hurts": "bold red", "undecided": "", "control": "dim"}
MARKS = {"helps": "▲", "hurts": "▼"}
TABLE, PICTURE = "screening.json", "screening.png"


def screen(
    data: options.Data,
    read_options: options.ReadingOptions,
    split: options.SplitOptions,
    *,
    out: Annotated[Path, Option(help="Folder for screening.json and screening.png.")],
    model: options.Model = "chambon2018",
    operations: options.Operations = None,
    n_rounds: Annotated[
        int, Option("--rounds", help="How often rewards are computed.", min=2)
    ] = 80,
    n_epochs: Annotated[
        int, Option("--epochs", help="Epochs over which the rounds are spread.", min=1)
    ] = 30,
    max_warmup: Annotated[
        int, Option(help="Maximum number of epochs before the first round.", min=0)
    ] = 60,
    batch_size: options.BatchSize = 16,
    lr: options.LearningRate = 1e-3,
    level: Annotated[float, Option(help="Family-wise error rate over all operations.")] = 0.05,
    by: Annotated[
        Literal["auto", "subject", "window"],
        Option(help="Independent unit of the test; auto: subjects if at least eight."),
    ] = "auto",
    seed: options.Seed = 0,
    device: options.Device = "auto",
    as_json: options.AsJson = False,
) -> None:
    """Estimate which operations help or hurt, class by class, from one training run.

    Subjects are split as by `cadda train` and `cadda search` with the same seed; the test subjects
    are not used.

    Example: cadda screen night-epo.fif.gz --out screening
    """
    from cadda._internal.files import make_folder, replace_atomically
    from cadda.api.screen import screen as run
    from cadda.reporting.figures.screening import plot_screening
    from cadda.tracking import ScreeningDisplay

    _check_out(out)
    windows = read_options.read(data)
    train_part, valid_part, _ = windows.split(valid=split.valid, test=split.test, seed=seed)
    folder = make_folder(out)
    if not as_json:
        typer.echo(f"Train: {train_part}\nValidate: {valid_part}")
    with (
        warnings.catch_warnings(record=True, action="always", category=UserWarning) as notes,
        ScreeningDisplay() as display,
    ):
        screening = run(
            train_part,
            valid_part,
            model=model,
            operations=options.parse_names(operations),
            level=level,
            by=by,
            seed=seed,
            device=device,
            on_event=display,
            n_rounds=n_rounds,
            n_epochs=n_epochs,
            max_warmup=max_warmup,
            batch_size=batch_size,
            lr=lr,
        )
    for note in notes:
        typer.echo(f"Warning: {name_options(str(note.message))}", err=True)
    screening.save(folder / TABLE)
    with replace_atomically(folder / PICTURE) as temporary:
        plot_screening(screening.table).savefig(temporary, format="png", dpi=150)
    if as_json:
        typer.echo(json.dumps(json.loads((folder / TABLE).read_text("utf-8"))))
        return
    _print(screening)
    typer.echo(f"Table and picture: {folder.resolve()}")


def _check_out(out: Path) -> None:
    """Raise if the folder has an earlier screening."""
    there = [name for name in (TABLE, PICTURE) if (out / name).exists()]
    if there:
        raise RunError(
            f"`out` already contains a screening: {str(out)!r} has {' and '.join(there)}; choose "
            "another folder, or delete this one."
        )


def _print(screening: Screening) -> None:
    """Print the table over all magnitudes, and its summary."""
    from cadda.reporting.records import REWARD_UNIT

    console = Console(highlight=False)
    table = Table(
        title=f"all classes: mean reward ± standard error; {REWARD_UNIT}\n"
        "by class: mean reward in standard errors",
        caption="▲ helps, ▼ hurts",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("operation", no_wrap=True)
    for name in ("all classes", *screening.class_names):
        table.add_column(escape(name), justify="right", no_wrap=True)
    rows: dict[str, list[ScreeningRow]] = {}
    for row in screening.table:
        if row.magnitude is None:
            rows.setdefault(row.operation, []).append(row)
    controls = screening.named("control")
    for name, (whole, *classes) in rows.items():
        if name in controls[:1]:
            table.add_section()
        first = _cell(whole, f"{whole.reward:+.3f} ±{whole.standard_error:.3f}")
        table.add_row(name, first, *(_cell(row, f"{row.in_errors:+.1f}") for row in classes))
    console.print(table)
    learned, tested = screening.independent
    console.print(
        f"{screening.summary()} Trained on {learned}, tested on {tested}; training accuracy "
        f"{screening.accuracy:.2f} at the start.",
        markup=False,
    )
    console.print(screening.explanation(), markup=False)
    for name, reason in screening.left_out.items():
        console.print(f"Not applicable: {name}, {reason}.", markup=False)


def _cell(row: ScreeningRow, text: str) -> str:
    marked = f"{MARKS.get(row.verdict, '')} {text}".strip()
    style = STYLES[row.verdict]
    return f"[{style}]{marked}[/]" if style else marked
