"""`cadda policy`: show, compare, cap, simplify and export policy files; list the zoo."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer import Argument, Option

from cadda.cli.commands import command_group
from cadda.cli.options import AsJson
from cadda.cli.parsing import parse_names, parse_operations
from cadda.cli.simplify import simplify
from cadda.cli.zoo import zoo

if TYPE_CHECKING:
    from cadda.policies.schedule import PolicySchedule
    from cadda.policies.spec.compare import PolicyDifference
    from cadda.policies.spec.model import PolicySpec
    from cadda.probing.probe_result import ProbeResult

__all__ = ["app"]

File = Annotated[
    Path, Argument(help="Policy file: JSON, YAML or the short text form (.txt); or zoo:NAME.")
]
FileOrText = Annotated[
    str,
    Argument(
        help="Policy file: JSON, YAML or the short text form (.txt); or zoo:NAME; or a policy in "
        "the short text form, such as 'sign_flip p=0.5'."
    ),
]


def show(
    file: FileOrText,
    show_all: Annotated[
        bool, Option("--all", help="All operations of each stage, not only the likeliest.")
    ] = False,
    operations: Annotated[
        str | None, Option(help="Your own operations as module:Class, separated by commas.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a policy in physical units.

    Examples: cadda policy show policy.json · cadda policy show 'sign_flip p=0.5'
    """
    from cadda._internal.text import did_you_mean
    from cadda.api.policies import is_short_form
    from cadda.operations.catalogue import CATALOGUE
    from cadda.policies.schedule import PolicySchedule, load_policy
    from cadda.policies.spec.leakage import record_leak
    from cadda.policies.spec.model import PolicySpec

    given = parse_operations(operations) or ()
    own = [item if isinstance(item, str) else item.name for item in given]
    # An operation of the user's own is shown like any other.
    is_text = is_short_form(file)
    loaded = PolicySpec.from_text(file, known=None) if is_text else load_policy(file, known=None)
    if as_json:
        typer.echo(_map(loaded, record_leak).to_json(), nl=False)
    elif isinstance(loaded, PolicySchedule):
        _print_schedule(loaded, show_all=show_all)
    else:
        _print_policy(loaded, show_all=show_all)
    last = loaded.last if isinstance(loaded, PolicySchedule) else loaded
    for name in last.operations_used:
        if name not in CATALOGUE and name not in own:
            near = did_you_mean(name, (*CATALOGUE, *own))
            hint = near or "; if it is yours, name it with --operations module:Class"
            typer.echo(f"note: `{name}` is not an operation of cadda{hint}.", err=True)


def _print_schedule(schedule: PolicySchedule, *, show_all: bool) -> None:
    first = 1
    for segment in schedule.segments:
        end = first + segment.n_epochs - 1
        last = segment is schedule.segments[-1]
        typer.echo(f"from epoch {first} on" if last else f"epochs {first} to {end}")
        _print_policy(segment.policy, show_all=show_all)
        first = end + 1


def _print_policy(spec: PolicySpec, *, show_all: bool) -> None:
    from cadda.policies.spec.label_flow import label_map_notes
    from cadda.policies.spec.summary import MAX_LISTED, describe_subpolicy, leak_notes

    console = Console()
    found_by = f", found by {spec.provenance.method}" if spec.provenance.method else ""
    kind = "class-wise policy" if spec.is_classwise else "policy for all classes"
    console.print(f"{'no augmentation' if spec.is_none else kind}{found_by}", markup=False)
    for row in () if spec.is_none else spec.rows:
        subpolicies = spec.policy[row]
        if not subpolicies:
            console.print(f"{row}: no augmentation", markup=False)
            continue
        n_stages = max(len(subpolicy.stages) for subpolicy in subpolicies)
        table = Table(title=escape(row) if spec.is_classwise else None, title_justify="left")
        table.add_column("drawn")
        for k in range(n_stages):
            table.add_column(f"stage {k + 1}")
        total = sum(subpolicy.weight for subpolicy in subpolicies)
        limit = None if show_all or len(subpolicies) == 1 else MAX_LISTED
        for subpolicy in sorted(subpolicies, key=lambda subpolicy: -subpolicy.weight):
            described = describe_subpolicy(subpolicy, row, spec.operations, max_listed=limit)
            stages = ["\n".join(lines) for lines in described]
            table.add_row(f"{subpolicy.weight / total:.0%}", *map(escape, stages))
        console.print(table)
    for note in (*label_map_notes(spec), *leak_notes(spec)):
        console.print(f"{note}.", markup=False, highlight=False, soft_wrap=True)


def diff(first: File, second: File, as_json: AsJson = False) -> None:
    """Show what changed from one policy to another, per class and operation.

    For each operation: probability that it transforms a window, and its mean magnitude in physical
    units. For each class: total variation distance between the distributions of the applied
    operations (0: the same, 1: nothing in common). Of a schedule, the last policy counts.

    Example: cadda policy diff old.json new.json
    """
    from cadda.policies.spec.compare import compare_policies

    difference = compare_policies(_last(first), _last(second))
    if as_json:
        rows = [asdict(c) | {"in_units": c.in_units} for c in difference.changes if c.is_change]
        report = {"changes": rows, "total_variation": difference.distance}
        typer.echo(json.dumps(report, indent=1, ensure_ascii=False))
    else:
        _print_difference(difference)


def cap(
    file: File,
    *,
    max_leak: Annotated[
        float, Option(help="Largest number of bits that an operation may tell about the class.")
    ] = 0.1,
    probe: Annotated[
        Path | None,
        Option(
            help="Result of `cadda probe` (JSON); operations may then be used for other classes "
            "that keep them."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="Policy file to write; by default it is printed as JSON."),
    ] = None,
) -> None:
    """Lower what the operations of a policy tell about the class, by as little as needed.

    An operation that is applied to one class more than to others tells the class, and a model can
    learn to recognise the operation instead. It is used less, or, if a probe says that other
    classes keep it, shared with them. A policy below the limit is not changed.

    Example: cadda policy cap policy.json --max-leak 0.1 -o capped.json
    """
    from cadda.policies.schedule import PolicySchedule, load_policy
    from cadda.policies.spec.compare import compare_policies
    from cadda.policies.spec.leakage import record_leak
    from cadda.policies.spec.summary import leak_notes

    if out is not None and out.suffix == ".txt":
        raise ValueError(f"`out` must be a JSON file, got {out}.")
    loaded = load_policy(file, known=None)
    keeps = None if probe is None else _load_probe(probe, loaded)
    capped = _map(loaded, lambda spec: record_leak(spec.capped(max_leak, keeps=keeps)))
    if out is None:
        typer.echo(capped.to_json(), nl=False)
        return
    capped.save(out)
    before, after = (
        policy.last if isinstance(policy, PolicySchedule) else policy
        for policy in (loaded, capped)
    )
    if before.policy == after.policy:
        typer.echo(f"No operation tells more than {max_leak:g} bits: the policy is unchanged.")
    else:
        _print_difference(compare_policies(before, after))
    for note in leak_notes(after):
        typer.echo(f"{note}.")


def export(
    file: File,
    *,
    file_format: Annotated[
        Literal["json", "text", "yaml", "braindecode", "torch"],
        Option(
            "--format",
            help="JSON, the short text form, YAML, or code: for braindecode, or for torch only.",
        ),
    ] = "braindecode",
    sfreq: Annotated[
        float | None, Option(help="Sampling rate in Hz, if the policy file does not have it.")
    ] = None,
    ch_names: Annotated[
        str | None,
        Option(
            "--channels",
            help="Channel names, separated by commas, if the policy file does not have them.",
        ),
    ] = None,
    class_names: Annotated[
        str | None,
        Option(
            "--classes",
            help="Classes in the order of their labels, if the policy file does not have them.",
        ),
    ] = None,
) -> None:
    """Print a policy in another form. Of a schedule, the last policy is exported.

    The code for braindecode defines a Compose of transforms, with a comment and a note where
    braindecode has no exact counterpart. That for torch needs no cadda and does exactly the same:
    x, y = augment(x, y).

    Examples: cadda policy export policy.json --format braindecode > transforms.py · cadda policy
    export policy.json --format torch > augment.py
    """
    from cadda.operations.catalogue import CATALOGUE
    from cadda.policies.spec.export import braindecode_differences, to_braindecode
    from cadda.policies.spec.yaml import to_yaml

    channels, classes = parse_names(ch_names), parse_names(class_names)
    given = {"sfreq": sfreq, "ch_names": channels, "class_names": classes}
    spec = _with_windows(_last(file), given)
    match file_format:
        case "braindecode":
            text = to_braindecode(spec, sfreq=sfreq, ch_names=channels)
            differences = braindecode_differences(spec)
            for difference in differences:
                typer.echo(f"note: not as in the policy: {difference}", err=True)
            if differences and CATALOGUE.keys() >= set(spec.operations_used):
                typer.echo("note: --format torch does exactly the same as the policy", err=True)
        case "torch":
            text = _torch_code(spec, sfreq, channels, classes)
        case "yaml":
            text = to_yaml(spec)
        case "json":
            text = spec.to_json()
        case "text":
            text = spec.to_text()
    typer.echo(text, nl=False)


def _with_windows(spec: PolicySpec, given: Mapping[str, Any]) -> PolicySpec:
    """Return a policy with what is given of the windows that it is for."""
    known = {name: value for name, value in given.items() if value is not None}
    return type(spec).from_dict(spec.to_dict() | known, known=None) if known else spec


def _torch_code(
    spec: PolicySpec,
    sfreq: float | None,
    ch_names: list[str] | None,
    class_names: list[str] | None,
) -> str:
    """Return the code for torch, with what the policy does not know of the windows."""
    from types import SimpleNamespace

    from cadda.api.prepare import operation_pool
    from cadda.operations import image_pool
    from cadda.policies.spec.summary import operation_info
    from cadda.policies.standalone import to_torch

    used = map(operation_info, spec.operations_used)
    if any(info is not None and info.domain == "image" for info in used):
        return to_torch(spec, image_pool().for_classes(class_names or spec.class_names or ()))
    windows = SimpleNamespace(
        sfreq=spec.sfreq if sfreq is None else sfreq,
        # Two channels without names: for operations that do not need to know them.
        ch_names=ch_names or spec.ch_names or ["0", "1"],
        class_names=class_names or spec.class_names or (),
    )
    return to_torch(spec, operation_pool(windows))


def _load_probe(file: Path, policy: PolicySpec | PolicySchedule) -> ProbeResult:
    """Read what a probe found, which must be for the classes of the policy."""
    from cadda.policies.schedule import PolicySchedule
    from cadda.probing.probe_result import ProbeResult

    probe = ProbeResult.load(file)
    spec = policy.last if isinstance(policy, PolicySchedule) else policy
    unknown = sorted(set(spec.class_names or ()) - set(probe.class_names))
    if unknown:
        raise ValueError(
            f"`probe` must be of windows with the classes of the policy, but {file} has "
            f"{', '.join(probe.class_names)}, and not {unknown[0]!r}."
        )
    return probe


def _map(
    policy: PolicySpec | PolicySchedule, change: Callable[[PolicySpec], PolicySpec]
) -> PolicySpec | PolicySchedule:
    """Change a policy, or all those of a schedule."""
    from cadda.policies.schedule import PolicySchedule

    return policy.map(change) if isinstance(policy, PolicySchedule) else change(policy)


def _last(file: Path) -> PolicySpec:
    from cadda.policies.schedule import PolicySchedule, load_policy

    loaded = load_policy(file, known=None)
    return loaded.last if isinstance(loaded, PolicySchedule) else loaded


def _print_difference(difference: PolicyDifference) -> None:

    from cadda.policies.spec.summary import row_label

    console = Console(highlight=False)
    for row, distance in difference.distance.items():
        shown = "too many sequences to compute" if distance is None else f"{distance:.3f}"
        console.print(f"{row_label(row)}: total variation distance {shown}", markup=False)
        changes = [c for c in difference.changes if c.row == row and c.is_change]
        if not changes:
            console.print("  no change")
            continue
        table = Table("operation", "applied", "change", "magnitude")
        for change in changes:
            before, after = change.probability
            units = " → ".join(text or "–" for text in change.in_units)
            table.add_row(
                escape(change.operation),
                f"{before:.1%} → {after:.1%}",
                f"{100 * (after - before):+.1f} points",
                "" if change.in_units == ("", "") else units,
            )
        console.print(table)


app = command_group(
    "Show, compare, cap, simplify and export policy files; list those of the zoo.",
    "cadda policy zoo · cadda policy show policy.json · cadda policy diff old.json new.json · "
    "cadda policy cap policy.json -o capped.json · "
    "cadda policy simplify policy.json -o policy.txt · "
    "cadda policy export policy.json --format braindecode",
    *(show, diff, cap, simplify, export, zoo),
)
