"""`cadda demo`: search, training and comparison on simulated recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cadda.cli.commands import command_line, name_options

if TYPE_CHECKING:
    from pydantic import JsonValue

__all__ = ["demo"]

N_WINDOWS = 60
PATIENCE = 30


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("demo"),
    n_subjects: Annotated[
        int, typer.Option("--subjects", help="Number of simulated subjects.", min=5)
    ] = 14,
    epochs: Annotated[int, typer.Option(help="Epochs of the search.", min=1)] = 20,
    training_epochs: Annotated[
        int, typer.Option(help="Maximum number of epochs of each training run.", min=1)
    ] = 200,
) -> None:
    """Find augmentation for simulated sleep: search, train with and without it, compare.

    Takes two to four minutes on two cores.

    Example: cadda demo --out demo
    """
    from cadda.api.search_run import run_search
    from cadda.cli.display import save_operations_picture
    from cadda.cli.search import print_outcome
    from cadda.data.simulation.nights import simulate_sleep
    from cadda.reporting.records import Reading
    from cadda.runs.report import write_report
    from cadda.runs.sessions import recorded_session
    from cadda.tracking import SearchDisplay, tee
    from cadda.training import TrainingSettings

    typer.echo(
        f"Simulating the sleep of {n_subjects} subjects: two channels, five stages, individual "
        "rhythms and noise …"
    )
    arguments: dict[str, JsonValue] = {"n_subjects": n_subjects, "n_windows": N_WINDOWS, "seed": 0}
    windows = simulate_sleep(n_subjects, N_WINDOWS, seed=0)
    typer.echo(
        "Searching with CADDA for the augmentation of each sleep stage with which a small network "
        "generalises best to other subjects …"
    )
    run = out / "run"
    with (
        recorded_session(run, command_line()) as session,
        SearchDisplay(repr(windows), format_warning=name_options) as display,
    ):
        outcome = run_search(
            windows,
            run,
            test=0.3,
            method="cadda",
            budget=epochs,
            training=TrainingSettings(max_epochs=training_epochs, patience=PATIENCE),
            resume=True,
            data="simulated sleep",
            reading=Reading("cadda.simulate_sleep", arguments),
            on_event=tee(session, display),
        )
    report = write_report(run)
    print_outcome(outcome, run)
    typer.echo(f"{report.sentence} This is one split of simulated data, not a benchmark.")
    picture = save_operations_picture(out / "operations.png")
    typer.echo(f"Picture of all operations: {picture}")
    typer.echo("Your own recordings: `cadda search night-epo.fif.gz --method cadda --out run`")
    typer.echo(f"Open the report in a browser: {report.path}")
