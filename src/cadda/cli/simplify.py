"""`cadda policy simplify`: a policy in a few lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from cadda.cli.options import AsJson

if TYPE_CHECKING:
    from cadda.policies.schedule import PolicySchedule
    from cadda.policies.spec.model import PolicySpec

__all__ = ["simplify"]


def simplify(
    file: Annotated[
        Path, Argument(help="Policy file: JSON, YAML or the short text form (.txt); or zoo:NAME.")
    ],
    *,
    max_loss: Annotated[
        float,
        Option(help="Largest total variation distance: share of windows treated differently."),
    ] = 0.1,
    out: Annotated[
        Path | None, Option("--out", "-o", help="Policy file to write: .json or .txt.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Turn a policy of many subpolicies and entries into a few lines that do nearly the same.

    Similar subpolicies are merged and rare operations dropped. Prints the short text form, and the
    total variation distance between what happens to windows before and after (0: the same). Of a
    schedule, every policy is simplified.

    Example: cadda policy simplify run/policy.json --max-loss 0.05 -o policy.txt
    """
    from cadda.policies.schedule import PolicySchedule, load_policy, policies_of
    from cadda.policies.spec.summary import leak_notes

    loaded = load_policy(file, known=None)
    if isinstance(loaded, PolicySchedule):
        simple: PolicySpec | PolicySchedule = loaded.map(lambda spec: spec.simplified(max_loss))
    else:
        simple = loaded.simplified(max_loss)
    if out is not None:
        _save(simple, out)
    if as_json:
        typer.echo(simple.to_json(), nl=False)
        return
    for before, after in zip(policies_of(loaded), policies_of(simple), strict=True):
        typer.echo(after.to_text(), nl=False)
        typer.echo(_describe(before, after, max_loss))
        for note in leak_notes(after):
            typer.echo(f"{note}.")


def _save(policy: PolicySpec | PolicySchedule, out: Path) -> None:
    from cadda._internal.files import write_text_atomically
    from cadda.policies.schedule import PolicySchedule
    from cadda.policies.spec.simplify import describe_loss

    if out.suffix != ".txt":
        policy.save(out)
    elif isinstance(policy, PolicySchedule):
        raise ValueError(f"`out` must be a JSON file for a schedule, got {out}.")
    else:
        loss = policy.provenance.simplified
        comment = f"# {describe_loss(loss)}\n" if loss else ""
        write_text_atomically(out, f"{comment}{policy.to_text()}")


def _describe(before: PolicySpec, after: PolicySpec, max_loss: float) -> str:
    from cadda.policies.spec.simplify import largest_distance

    if before is after:
        return f"No simpler policy within a distance of {max_loss:g}: it is unchanged."
    return (
        f"{len(before.entries)} entries became {len(after.entries)}, at a total variation "
        f"distance of {largest_distance(before, after):.3f}."
    )
