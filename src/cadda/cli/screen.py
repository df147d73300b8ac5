"""`cadda screen`: which operations help, hurt, or cannot be told, before any search."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cadda.cli.reading import (
    Channels,
    Classes,
    Data,
    DropBad,
    MinWindows,
    Standardise,
    Subject,
    names_in,
    read,
    reading_of,
)
from cadda.exceptions import RunError

if TYPE_CHECKING:
    from cadda.screening.result import Screening
    from cadda.screening.verdicts import ScreeningRow

__all__ = ["screen"]

STYLES = {"helps": "bold blue", "hurts": "bold red", "undecided": "", "control": "dim"}
MARKS = {"helps": "▲", "hurts": "▼"}
TABLE, PICTURE = "screening.json", "screening.png"


def screen(
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for screening.json and screening.png.")],
    model: Annotated[
        str, typer.Option(help="chambon2018, shallow, lenet1 or braindecode:NAME.")
    ] = "chambon2018",
    operations: Annotated[
        str | None,
        typer.Option(help="Operations to try, separated by commas, or `paper`; none: all."),
    ] = None,
    subject: Subject = None,
    channels: Channels = None,
    classes: Classes = None,
    min_windows: MinWindows = None,
    standardise: Standardise = "auto",
    drop_bad: DropBad = False,
    valid: Annotated[float, typer.Option(help="Fraction of subjects for validation.")] = 0.2,
    test: Annotated[
        float, typer.Option(help="Fraction of subjects to leave for testing, not looked at.")
    ] = 0.2,
    rounds: Annotated[int, typer.Option(help="How often rewards are computed.", min=2)] = 80,
    epochs: Annotated[
        int, typer.Option(help="Epochs that the rounds are spread over.", min=1)
    ] = 30,
    max_warmup: Annotated[
        int, typer.Option(help="Most epochs before the first round.", min=0)
    ] = 60,
    batch_size: Annotated[int, typer.Option(help="Windows per step.", min=1)] = 16,
    lr: Annotated[float, typer.Option(help="Learning rate of Adam.")] = 1e-3,
    level: Annotated[
        float, typer.Option(help="Probability of any wrong verdict over all operations.")
    ] = 0.05,
    by: Annotated[
        Literal["auto", "subject", "window"],
        typer.Option(help="What counts as independent; auto: subjects where at least eight."),
    ] = "auto",
    seed: Annotated[int, typer.Option(help="Same seed, same result.")] = 0,
    device: Annotated[
        Literal["auto", "cpu", "cuda", "mps"], typer.Option(help="Where to compute.")
    ] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Say which operations help, hurt, or cannot be told, class by class, from one training.

    Subjects are split as by `cadda train` and `cadda search` with the same seed; the test subjects
    are not looked at.

    Example: cadda screen night-epo.fif.gz --out screening
    """
    from cadda._internal.files import make_folder, replace_atomically
    from cadda.api.screen import screen as run
    from cadda.reporting.figures.screening import plot_screening
    from cadda.tracking import ScreeningDisplay

    _refuse_earlier(out)
    reading = reading_of(
        data,
        subject,
        channels,
        classes,
        drop_bad=drop_bad,
        min_windows=min_windows,
        standardise=standardise,
    )
    windows = read(reading)
    train_part, valid_part, _ = windows.split(valid=valid, test=test, seed=seed)
    folder = make_folder(out)
    if not as_json:
        typer.echo(f"Train: {train_part}\nValidate: {valid_part}")
    with (
        warnings.catch_warnings(record=True, action="always", category=UserWarning) as notes,
        ScreeningDisplay() as display,
    ):
        found = run(
            train_part,
            valid_part,
            model=model,
            operations=names_in(operations),
            level=level,
            by=by,
            seed=seed,
            device=device,
            on_event=display,
            n_rounds=rounds,
            n_epochs=epochs,
            max_warmup=max_warmup,
            batch_size=batch_size,
            lr=lr,
        )
    for note in notes:
        typer.echo(f"Note: {note.message}", err=True)
    found.save(folder / TABLE)
    with replace_atomically(folder / PICTURE) as temporary:
        plot_screening(found.table).savefig(temporary, format="png", dpi=150)
    if as_json:
        typer.echo(json.dumps(json.loads((folder / TABLE).read_text("utf-8"))))
        return
    _print(found)
    typer.echo(f"Table and picture: {folder.resolve()}")


def _refuse_earlier(out: Path) -> None:
    """Keep what an earlier screening left in the folder."""
    there = [name for name in (TABLE, PICTURE) if (out / name).exists()]
    if there:
        raise RunError(
            f"--out must not hold an earlier screening, but {str(out)!r} has "
            f"{' and '.join(there)}; choose another folder with --out, or delete this one."
        )


def _print(found: Screening) -> None:
    """Print the table over all magnitudes, and the result in words."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from cadda.screening.verdicts import UNIT

    console = Console(highlight=False)
    table = Table(
        title=f"all classes: mean reward ± standard error; {UNIT}\n"
        "by class: mean reward in standard errors",
        caption="▲ helps, ▼ hurts",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("operation", no_wrap=True)
    for name in ("all classes", *found.class_names):
        table.add_column(escape(name), justify="right", no_wrap=True)
    rows: dict[str, list[ScreeningRow]] = {}
    for row in found.table:
        if row.magnitude is None:
            rows.setdefault(row.operation, []).append(row)
    controls = found.named("control")
    for name, (whole, *classes) in rows.items():
        if name in controls[:1]:
            table.add_section()
        first = _cell(whole, f"{whole.reward:+.3f} ±{whole.standard_error:.3f}")
        table.add_row(name, first, *(_cell(row, f"{row.in_errors:+.1f}") for row in classes))
    console.print(table)
    learned, judging = found.independent
    console.print(
        f"{found.summary()} Learned from {learned}, judged by {judging}; training accuracy "
        f"{found.accuracy:.2f} at first.",
        markup=False,
    )
    console.print(found.explanation(), markup=False)
    for name, reason in found.left_out.items():
        console.print(f"Not tried: {name}, {reason}.", markup=False)


def _cell(row: ScreeningRow, text: str) -> str:
    marked = f"{MARKS.get(row.verdict, '')} {text}".strip()
    style = STYLES[row.verdict]
    return f"[{style}]{marked}[/]" if style else marked
