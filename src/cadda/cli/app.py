"""The `cadda` command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cadda._version import __version__
from cadda.cli import (
    cache,
    compare,
    demo,
    doctor,
    evaluate,
    experiment,
    operations,
    policy,
    report,
    screen,
    search,
    simulate,
    train,
)
from cadda.cli.data import data_app
from cadda.exceptions import CaddaError

__all__ = ["app", "main"]

app = typer.Typer(
    name="cadda",
    help="Find the right data augmentation for EEG, class by class.",
    epilog="Start with `cadda demo`, or see what can be applied with `cadda operations`.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
data_app.command("simulate")(simulate.simulate)
data_app.command("cache")(cache.cache)
app.add_typer(data_app, name="data")
app.command("operations")(operations.operations)
app.command("screen")(screen.screen)
app.command("search")(search.search)
app.command("train")(train.train)
app.command("compare")(compare.compare)
app.command("evaluate")(evaluate.evaluate)
app.command("report")(report.report)
app.command("doctor")(doctor.doctor)
app.add_typer(policy.app, name="policy")
app.add_typer(experiment.app, name="experiment")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cadda {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Find the right data augmentation for EEG, class by class."""


def main() -> None:
    """Run the command line: exit code 0 if all went well, 2 for a mistake of the user."""
    try:
        app()
    except (CaddaError, ValueError, TypeError, OSError) as error:
        typer.echo(f"cadda: {_in_words(error)}", err=True)
        sys.exit(2)


def _in_words(error: Exception) -> str:
    """Give the text of an error; those of the system without their numbers."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename} cannot be used: {error.strerror}."
    return str(error)
