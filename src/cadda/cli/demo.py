"""`cadda demo`: the main job on built-in simulated recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cadda.cli.command_line import command_line

__all__ = ["demo"]

N_WINDOWS = 60
PATIENCE = 30


def demo(
    out: Annotated[Path, typer.Option(help="Folder for what comes out.")] = Path("demo"),
    people: Annotated[int, typer.Option(help="Number of simulated people.", min=5)] = 14,
    epochs: Annotated[int, typer.Option(help="Epochs of the search.", min=1)] = 20,
    training_epochs: Annotated[int, typer.Option(help="Most epochs of a training.", min=1)] = 200,
) -> None:
    """Find augmentation for simulated sleep: search, train with and without, compare.

    Takes two to four minutes on two cores.

    Example: cadda demo --out demo
    """
    from cadda.api.run import search_in_folder
    from cadda.cli.pictures import save_operations_picture
    from cadda.cli.search import print_outcome
    from cadda.data.simulation.nights import simulate_sleep
    from cadda.runs.report import write_report
    from cadda.runs.sessions import recorded_session
    from cadda.tracking import SearchDisplay, both
    from cadda.training import TrainingSettings

    typer.echo(
        f"Simulating the sleep of {people} people: two channels, five stages, each person "
        "with rhythms and noise of their own …"
    )
    arguments: dict[str, Any] = {"n_subjects": people, "n_windows": N_WINDOWS, "seed": 0}
    windows = simulate_sleep(**arguments)
    typer.echo(
        "CADDA now looks for augmentation, stage by stage of sleep, that makes a small network "
        "read other people's sleep better …"
    )
    run = out / "run"
    with (
        recorded_session(run, "search", command_line()) as session,
        SearchDisplay(repr(windows)) as display,
    ):
        outcome = search_in_folder(
            windows,
            run,
            valid=0.2,
            test=0.3,
            retrain_every=None,
            baseline=True,
            arguments={
                "method": "cadda",
                "budget": epochs,
                "training": TrainingSettings(max_epochs=training_epochs, patience=PATIENCE),
                "seed": 0,
                "resume": True,
                "data": "simulated sleep",
                "reading": {"function": "cadda.simulate_sleep", "arguments": arguments},
                "on_event": both(session, display),
            },
        )
    report = write_report(run)
    print_outcome(outcome, run)
    typer.echo(f"{report.sentence} It is one split of simulated data; judge by several.")
    picture = save_operations_picture(out / "operations.png")
    typer.echo(f"What every operation does: {picture}")
    typer.echo("Your own recordings: `cadda search night-epo.fif.gz --out run`")
    typer.echo(f"Open this next, in any browser: {report.path}")
