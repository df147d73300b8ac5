"""The `cadda` command."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from cadda._version import __version__
from cadda.cli import demo, doctor, experiment, operations, policy, probe, runs, search, train
from cadda.cli.commands import Group, add_command
from cadda.cli.data import app as data_app
from cadda.compute.allocation import keep_freed_memory

__all__ = ["app", "main"]

app = typer.Typer(
    name="cadda",
    cls=Group,
    help="Find data augmentation for EEG, class by class.",
    epilog="Start with `cadda demo`, or list the operations with `cadda operations`.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,  # `Command` writes its help
    pretty_exceptions_enable=False,
)
add_command(app, demo.demo)
app.add_typer(data_app, name="data")
for command in (
    operations.operations,
    probe.probe,
    search.search,
    train.train,
    experiment.compare,
    runs.evaluate,
    runs.report,
    doctor.doctor,
):
    add_command(app, command)
app.add_typer(policy.app, name="policy")
app.add_typer(experiment.app, name="experiment")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cadda {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, Option("--version", help="Show the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Search for data augmentation policies for EEG."""


def main() -> None:
    """Run the command line.

    Exit codes: 0 for success, 2 for a wrong argument, option or file, 1 for a full or broken disk,
    130 and 143 for a command that was interrupted or terminated.
    """
    keep_freed_memory()
    app()
