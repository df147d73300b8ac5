"""Where a result comes from: commands, times, seeds, versions, machine and data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cadda.reporting.html.record import RunRecord
from cadda.reporting.html.words import count, duration

__all__ = ["provenance_of"]


def provenance_of(record: RunRecord) -> Iterator[tuple[str, str]]:
    """Say where a result comes from.

    Parameters
    ----------
    record : RunRecord
        The run.

    Yields
    ------
    name : str
        What is said.
    text : str
        What there is to say.
    """
    config, sessions = record.config, record.sessions
    for one in sessions:
        end = "" if one["finished"] else ", interrupted"
        started = one["started"].replace("T", " ").removesuffix("+00:00")
        yield (
            "Command",
            f"{one['command']} (begun {started} UTC, {duration(one['seconds'])}{end})",
        )
    for name, seconds in record.seconds.items():
        yield f"Time for {name}", duration(seconds)
    if record.kind == "search":
        way = "class by class" if config["classwise"] else "for all classes together"
        yield "Method", f"{config['method']}, {way}, with the model {config['model']}"
        yield "Seeds", f"search {config['settings']['seed']}, training {_seed(record)}"
    else:
        settings = config["settings"].items()
        yield "Training", ", ".join(f"{name} {value}" for name, value in settings)
    newest: Mapping[str, Any] = sessions[-1] if sessions else config
    versions = {k: v for k, v in newest["versions"].items() if k != "machine"}
    yield "Versions", ", ".join(f"{name} {value}" for name, value in versions.items())
    yield "Machine", _machine(newest)
    for name, part in record.data.parts.items():
        yield f"SHA-256 of {name}", part.digest


def _seed(record: RunRecord) -> int:
    seed: int = record.config["plan"]["training"]["seed"]
    return seed


def _machine(session: Mapping[str, Any]) -> str:
    machine = session.get("machine")
    if machine is None:
        return str(session["versions"]["machine"])
    gpu = f", {machine['gpu']}" if machine["gpu"] else ", no GPU"
    return (
        f"{machine['system']}, {machine['processor']}, {count(machine['cores'] or 1, 'core')}{gpu}"
    )
