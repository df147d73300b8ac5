"""`cadda doctor`: versions, devices, and why a package does not work."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import typer

from cadda.cli.options import AsJson

if TYPE_CHECKING:
    from cadda._internal.optional import Probe

__all__ = ["doctor"]

REQUIRED = (
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
    """A package that cadda works without: its import name, purpose and installation."""

    name: str
    purpose: str
    install: str


OPTIONAL = tuple(
    OptionalPackage(name, purpose, f"pip install {requirement}")
    for name, purpose, requirement in (
        ("braindecode", "its networks as --model braindecode:NAME", "'cadda[braindecode]'"),
        (
            "edfio",
            "writing EDF files, cadda data simulate sleep --format edf",
            "'cadda[edf-export]'",
        ),
        ("mne_bids", "reading BIDS data sets", "'cadda[bids]'"),
        ("mffpy", "reading EGI recordings (.mff)", "'cadda[egi]'"),
        ("distributed", "trials on Dask, cadda search --engine dask:ADDRESS", "'cadda[dask]'"),
        ("pandas", "to_frame, tables as metadata of MNE epochs", "'cadda[pandas]'"),
        *(
            (name, f"cadda search --log-to {name}", f"'cadda[{name}]'")
            for name in ("tensorboard", "mlflow", "wandb")
        ),
        ("pytest", "testing operations of your own with cadda.testing", "'cadda[testing]'"),
    )
)


def doctor(as_json: AsJson = False) -> None:
    """Show versions, devices and optional packages, with the reason if one does not work.

    Example: cadda doctor

    Exit code 1 if a required package does not work.
    """
    from cadda._internal.optional import probe
    from cadda._version import __version__

    required = [probe(name) for name in REQUIRED]
    optional = [(package, probe(package.name)) for package in OPTIONAL]
    healthy = all(package.problem is None for package in required)
    devices = _devices() if healthy else []
    if as_json:
        report = {
            "cadda": __version__,
            "python": platform.python_version(),
            "system": platform.platform(),
            "devices": devices,
            "packages": {package.name: package.version or package.problem for package in required},
            "optional": {
                package.name: asdict(package) | asdict(probed) for package, probed in optional
            },
            "healthy": healthy,
        }
        typer.echo(json.dumps(report, indent=1))
    else:
        typer.echo(
            f"cadda {__version__}, Python {platform.python_version()}, {platform.platform()}"
        )
        typer.echo(f"devices: {', '.join(devices) or 'unknown'}")
        typer.echo("required:")
        for probed in required:
            typer.echo(_line(probed))
        typer.echo("optional:")
        for package, probed in optional:
            typer.echo(f"{_line(probed)}; for {package.purpose}")
            if probed.problem is not None:
                typer.echo(f"{'':18}{package.install}")
        typer.echo(
            "All required packages work." if healthy else "A required package does not work."
        )
    if not healthy:
        raise typer.Exit(1)


def _line(probed: Probe) -> str:
    mark = "ok " if probed.problem is None else "-- "
    return f"  {mark}{probed.name:12} {probed.version or probed.problem}"


def _devices() -> list[str]:
    import torch

    devices = [f"cpu ({torch.get_num_threads()} threads)"]
    devices += [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return devices
