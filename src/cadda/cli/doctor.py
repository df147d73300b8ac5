"""`cadda doctor`: what is installed, what works, and why something does not."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cadda._internal.optional import Probe

__all__ = ["doctor"]

CORE = (
    "torch",
    "numpy",
    "mne",
    "sklearn",
    "matplotlib",
    "pydantic",
    "safetensors",
    "typer",
    "rich",
    "optuna",
    "jinja2",
)


@dataclass(frozen=True)
class OptionalPackage:
    """A package that cadda works without.

    Parameters
    ----------
    name : str
        Name that it is imported by.
    purpose : str
        What it is for.
    install : str
        How to get it.
    """

    name: str
    purpose: str
    install: str


OPTIONAL = (
    OptionalPackage(
        "braindecode",
        "its networks as --model braindecode:NAME",
        "pip install 'cadda[braindecode]'",
    ),
    OptionalPackage(
        "edfio",
        "writing EDF files, cadda data simulate --format edf",
        "pip install 'cadda[edf-export]'",
    ),
    OptionalPackage(
        "distributed",
        "trials on a Dask cluster, cadda search --engine dask:ADDRESS",
        "pip install 'cadda[dask]'",
    ),
    OptionalPackage("pandas", "tables as metadata of MNE epochs", "pip install pandas"),
    OptionalPackage(
        "pytest",
        "testing operations of your own with cadda.testing",
        "pip install 'cadda[testing]'",
    ),
)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show versions, devices and optional packages: what for, why one fails, how to get it.

    Example: cadda doctor

    Exit code 1 if a package that cadda needs does not work.
    """
    from cadda._internal.optional import probe
    from cadda._version import __version__

    core = [probe(name) for name in CORE]
    optional = [(one, probe(one.name)) for one in OPTIONAL]
    healthy = all(one.problem is None for one in core)
    devices = _devices() if healthy else []
    if as_json:
        report = {
            "cadda": __version__,
            "python": platform.python_version(),
            "system": platform.platform(),
            "devices": devices,
            "packages": {one.name: one.version or one.problem for one in core},
            "optional": {one.name: asdict(one) | asdict(found) for one, found in optional},
            "healthy": healthy,
        }
        typer.echo(json.dumps(report, indent=1))
    else:
        typer.echo(
            f"cadda {__version__}, Python {platform.python_version()}, {platform.platform()}"
        )
        typer.echo(f"devices: {', '.join(devices) or 'unknown'}")
        typer.echo("needed:")
        for one in core:
            typer.echo(_line(one))
        typer.echo("optional:")
        for package, found in optional:
            typer.echo(f"{_line(found)}; for {package.purpose}")
            if found.problem is not None:
                typer.echo(f"{'':18}{package.install}")
        typer.echo(
            "All that cadda needs works." if healthy else "Something that cadda needs fails."
        )
    if not healthy:
        raise typer.Exit(1)


def _line(found: Probe) -> str:
    mark = "ok " if found.problem is None else "-- "
    return f"  {mark}{found.name:12} {found.version or found.problem}"


def _devices() -> list[str]:
    import torch

    devices = [f"cpu ({torch.get_num_threads()} threads)"]
    devices += [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return devices
