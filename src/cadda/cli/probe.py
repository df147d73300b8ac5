"""`cadda probe`: what each operation does to each class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer import Option

from cadda._internal.text import plural
from cadda.cli import options
from cadda.cli.commands import hint_on_interrupt
from cadda.cli.parsing import parse_operation_settings, parse_operations
from cadda.cli.reading import ReadingOptions
from cadda.exceptions import RunError

if TYPE_CHECKING:
    from cadda.probing.probe_result import ProbeResult
    from cadda.reporting.probe_records import ProbeRow

__all__ = ["probe"]

STYLES = {"keeps": "green", "becomes": "bold blue", "destroys": "red", "undecided": "dim"}
TABLE, PICTURE, CHECKPOINT = "probe.json", "probe.png", "checkpoint.pt"


def probe(
    data: options.Data,
    read_options: ReadingOptions,
    split: options.SplitOptions,
    *,
    out: Annotated[Path, Option(help="Folder for probe.json and probe.png.")],
    model: options.Model = "shallow",
    operations: options.Operations = None,
    operation_settings: options.OperationSettings = None,
    n_folds: Annotated[
        int, Option("--folds", help="Models to train, each for other subjects.", min=2)
    ] = 12,
    n_epochs: Annotated[int, Option("--epochs", help="Epochs per model.", min=1)] = 30,
    n_draws: Annotated[
        int, Option("--draws", help="Draws of a random operation per window.", min=1)
    ] = 2,
    batch_size: options.BatchSize = 64,
    lr: options.LearningRate = 3e-3,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    engine: options.SearchEngine = "auto",
    as_json: options.AsJson = False,
) -> None:
    """Find out which operations keep a class, turn it into another, or destroy it.

    Subjects are split as by `cadda train` and `cadda search` with the same options; the test
    subjects are not used. The same command with the same folder resumes an interrupted probe.

    Example: cadda probe motor-imagery-epo.fif.gz --subject subject --out probe
    """
    from cadda._internal.folder_lock import locked
    from cadda.api.probe import probe as run
    from cadda.reporting.figures.saving import save_figure
    from cadda.runs.splits import assign_subjects
    from cadda.tracking import ProbeDisplay

    _check_out(out)
    windows = read_options.read(data)
    parts = assign_subjects(windows, split.settings(seed))
    probed = windows.of_subjects([*parts.train, *parts.valid])
    if not as_json:
        n_test = len(parts.test)
        aside = f"; {plural(n_test, 'test subject')} set aside" if n_test else ""
        typer.echo(f"Probe: {probed}{aside}")
    hint = "Every finished fold is saved: resume with the same command."
    with hint_on_interrupt(hint), locked(out, "probe"):
        with ProbeDisplay() as display:
            result = run(
                probed,
                model=model,
                operations=parse_operations(operations),
                operation_settings=parse_operation_settings(operation_settings),
                seed=seed,
                device=device,
                engine=engine,
                checkpoint=out / CHECKPOINT,
                progress=False,
                on_event=display,
                n_folds=n_folds,
                n_epochs=n_epochs,
                n_draws=n_draws,
                batch_size=batch_size,
                lr=lr,
            )
        save_figure(result.plot(), out / PICTURE)
        result.save(out / TABLE)
    if as_json:
        typer.echo(json.dumps(json.loads((out / TABLE).read_text("utf-8"))))
        return
    _print(result)
    typer.echo(f"Table and picture: {out.resolve()}")


def _check_out(out: Path) -> None:
    """Raise if the folder has a probe that may be another one, or is a file."""
    if (out / TABLE).exists() and not (out / CHECKPOINT).exists():
        raise RunError(
            f"`out` already contains a probe: {str(out)!r} has {TABLE}; choose another folder, or "
            "delete this one."
        )
    if out.exists() and not out.is_dir():
        raise RunError(f"`out` must be a folder, got the file {str(out)!r}.")


def _print(result: ProbeResult) -> None:
    """Print the shares that are kept with the verdicts, and the findings as sentences."""
    table = Table(
        title="share of windows that are still taken for their class, or for the one that they "
        "become",
        caption="without an operation first; destroys: the class can no longer be recognised, "
        "as where all windows are taken for it; ? undecided",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("operation", no_wrap=True)
    table.add_column("magnitude", justify="right")
    for name in result.class_names:
        table.add_column(escape(name), justify="right", no_wrap=True)
    plain = [row.plain for row in result.table[: len(result.class_names)]]
    table.add_row("none", "", *(f"{share:.2f}" for share in plain), end_section=True)
    n_classes = len(result.class_names)
    for start in range(0, len(result.table), n_classes):
        rows = result.table[start : start + n_classes]
        first = rows[0]
        magnitude = "" if first.magnitude is None else f"{first.magnitude:g}"
        table.add_row(first.operation, magnitude, *map(_cell, rows))
    console = Console(highlight=False)
    console.print(table)
    for sentence in result.sentences:
        console.print(sentence, markup=False)
    for name, reason in result.left_out.items():
        console.print(f"Not applicable: {name}, {reason}.", markup=False)


def _cell(row: ProbeRow) -> str:
    share = row.other_share if row.verdict == "becomes" else row.kept
    word = {"undecided": "?", "becomes": f"→ {escape(row.other)}"}.get(row.verdict, row.verdict)
    return f"[{STYLES[row.verdict]}]{word} {share:.2f}[/]"
