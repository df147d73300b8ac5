"""`cadda policy`: look at policy files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cadda.cli.commands import add_command
from cadda.cli.options import AsJson

if TYPE_CHECKING:
    from cadda.policies.schedule import PolicySchedule
    from cadda.policies.spec.model import PolicySpec

__all__ = ["app"]

app = typer.Typer(help="Look at policy files.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Look at policy files."""


def show(
    file: Annotated[Path, typer.Argument(help="Policy file, JSON or the short text form.")],
    as_json: AsJson = False,
) -> None:
    """Show a policy in physical units.

    Example: cadda policy show policy.json
    """
    from cadda._internal.text import did_you_mean
    from cadda.operations.catalogue import CATALOGUE
    from cadda.policies.schedule import PolicySchedule, load_policy

    # An operation of the user's own is shown like any other.
    loaded = load_policy(file, known=None)
    if as_json:
        typer.echo(loaded.to_json(), nl=False)
    elif isinstance(loaded, PolicySchedule):
        _print_schedule(loaded)
    else:
        _print_policy(loaded)
    last = loaded.last if isinstance(loaded, PolicySchedule) else loaded
    for name in last.operations_used:
        if name not in CATALOGUE:
            near = did_you_mean(name, CATALOGUE)
            typer.echo(f"`{name}` is not one of cadda's own operations{near}.", err=True)


def _print_schedule(schedule: PolicySchedule) -> None:
    first = 1
    for segment in schedule.segments:
        end = first + segment.n_epochs - 1
        last = segment is schedule.segments[-1]
        typer.echo(f"from epoch {first} on" if last else f"epochs {first} to {end}")
        _print_policy(segment.policy)
        first = end + 1


def _print_policy(spec: PolicySpec) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from cadda.policies.spec.describe import describe_stage

    console = Console()
    found_by = f", found by {spec.provenance.method}" if spec.provenance.method else ""
    kind = "class-wise policy" if spec.is_classwise else "policy for all classes"
    console.print(f"{kind}{found_by}", markup=False)
    for row in spec.rows:
        subpolicies = spec.policy[row]
        n_stages = max(len(one.stages) for one in subpolicies)
        table = Table(title=escape(row) if spec.is_classwise else None, title_justify="left")
        table.add_column("drawn")
        for k in range(n_stages):
            table.add_column(f"stage {k + 1}")
        total = sum(one.weight for one in subpolicies)
        for one in sorted(subpolicies, key=lambda one: -one.weight):
            stages = ["\n".join(describe_stage(stage)) for stage in one.stages]
            table.add_row(f"{one.weight / total:.0%}", *stages)
        console.print(table)


add_command(app, show)
