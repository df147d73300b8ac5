"""`cadda doctor`: what is installed, what works, and why something does not."""

from __future__ import annotations

import json
import platform
from typing import Annotated

import typer

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
)
OPTIONAL = ("braindecode", "edfio", "pytest")


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show versions, devices and optional packages, and why one fails.

    Example: cadda doctor

    Exit code 1 if a package that cadda needs does not work.
    """
    from cadda._optional import probe
    from cadda._version import __version__

    core = [probe(name) for name in CORE]
    optional = [probe(name) for name in OPTIONAL]
    healthy = all(one.problem is None for one in core)
    devices = _devices() if healthy else []
    if as_json:
        report = {
            "cadda": __version__,
            "python": platform.python_version(),
            "system": platform.platform(),
            "devices": devices,
            "packages": {one.name: one.version or one.problem for one in core},
            "optional": {one.name: one.version or one.problem for one in optional},
            "healthy": healthy,
        }
        typer.echo(json.dumps(report, indent=1))
    else:
        typer.echo(
            f"cadda {__version__}, Python {platform.python_version()}, {platform.platform()}"
        )
        typer.echo(f"devices: {', '.join(devices) or 'unknown'}")
        for title, probes in (("needed", core), ("optional", optional)):
            typer.echo(f"{title}:")
            for one in probes:
                mark = "ok " if one.problem is None else "-- "
                typer.echo(f"  {mark}{one.name:12} {one.version or one.problem}")
        typer.echo(
            "All that cadda needs works." if healthy else "Something that cadda needs fails."
        )
    if not healthy:
        raise typer.Exit(1)


def _devices() -> list[str]:
    import torch

    devices = [f"cpu ({torch.get_num_threads()} threads)"]
    devices += [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return devices
