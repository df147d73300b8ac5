"""Python that uses the policy of a run, ready to be copied."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cadda.reporting.html.record import RunRecord
from cadda.training.settings import TrainingSettings

__all__ = ["policy_file", "snippet_of"]


def snippet_of(record: RunRecord) -> str:
    """Write a program that trains and tests as the run did, then augments a batch.

    Parameters
    ----------
    record : RunRecord
        A run with a policy.

    Returns
    -------
    str
        Python, to be run in the folder of the run.
    """
    file = policy_file(record)
    reading = record.config.get("reading")
    windows = "...  # your cadda.Windows" if reading is None else _call(**reading)
    lines = [
        "import cadda",
        "",
        f"windows = {windows}",
        f"train, valid, test = windows.split({_keywords(record.data.split)})",
        "",
        f"# {file} is in the folder of this report.",
        "fitted = cadda.fit(",
        f'    train, valid, policy="{file}", {_keywords(_training(record))}',
        ")",
        "print(cadda.evaluate(fitted, test).balanced_accuracy)",
    ]
    if record.kind == "search" or record.schedule is None:
        lines += [
            "",
            "# In a training step of your own:",
            'spec = cadda.PolicySpec.load("policy.json")',
            "policy = cadda.Policy(spec, cadda.operation_pool(windows))",
            "x, y = policy(train.x[:16], train.y[:16])",
        ]
    return "\n".join(lines) + "\n"


def policy_file(record: RunRecord) -> str:
    """Say which file of a run holds what it trained with.

    Parameters
    ----------
    record : RunRecord
        A run with a policy.

    Returns
    -------
    str
        Name of the file.
    """
    is_found = record.kind == "search" and record.schedule is not None
    return "schedule.json" if is_found else "policy.json"


def _training(record: RunRecord) -> dict[str, Any]:
    """Give the arguments of `cadda.fit` that are not its defaults."""
    config = record.config
    settings = dict(
        {"model": config["model"]} | config["plan"]["training"]
        if record.kind == "search"
        else config["settings"]
    )
    usual = json.loads(json.dumps(asdict(TrainingSettings())))
    kept = {key: value for key, value in settings.items() if usual.get(key, ...) != value}
    return kept | {"seed": settings["seed"]}


def _call(function: str, arguments: Mapping[str, Any]) -> str:
    given = dict(arguments)
    source = [_literal(given.pop("source"))] if "source" in given else []
    return f"{function}({', '.join([*source, _keywords(given)])})"


def _keywords(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_literal(value)}" for name, value in arguments.items())


def _literal(value: Any) -> str:
    """Write a value of JSON as Python, texts in double quotes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value)
