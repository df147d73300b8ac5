"""From a run folder to its report."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cadda._internal.files import write_text_atomically
from cadda._internal.text import short_reason
from cadda.exceptions import RunError
from cadda.policies.schedule import PolicySchedule, load_policy
from cadda.policies.spec.model import PolicySpec
from cadda.reporting.html import RunRecord, render_report
from cadda.reporting.html.intervals import judge
from cadda.reporting.html.record import (
    DataFacts,
    Gallery,
    Learning,
    Part,
    Predictions,
    SearchCurves,
)
from cadda.reporting.html.verdict import verdict_of
from cadda.runs.folder import RunFolder

__all__ = ["Report", "read_record", "write_report"]

DAMAGE = (OSError, EOFError, KeyError, IndexError, TypeError, ValueError, zipfile.BadZipFile)
"""What reading files raises that are not as they should be."""

TABLES = ("applied", "share", "probability", "magnitude")
Event = dict[str, Any]


@dataclass(frozen=True)
class Report:
    """A report that was written.

    Parameters
    ----------
    path : Path
        Absolute path of the page.
    sentence : str
        What came out, and how sure that is.
    """

    path: Path
    sentence: str


def write_report(folder: Path) -> Report:
    """Write the report of a finished training or search into its folder.

    Parameters
    ----------
    folder : Path
        The run folder.

    Returns
    -------
    Report
        Where it is, and what it begins with.
    """
    record = read_record(folder)
    path = RunFolder(folder, record.kind).report.resolve()
    write_text_atomically(path, render_report(record))
    verdict = verdict_of(record, judge(record.predictions, record.data.class_names))
    return Report(path, verdict.sentence)


def read_record(folder: Path) -> RunRecord:
    """Read what a run has left behind.

    Parameters
    ----------
    folder : Path
        The run folder.

    Returns
    -------
    RunRecord
        All that a report is made from.
    """
    run = RunFolder(folder, "training or search")
    if not run.config.exists() and (folder / "plan.json").exists():
        raise RunError(
            f"{folder} holds a study, not a training or search; `cadda experiment figure NAME "
            f"--out {folder}` draws it."
        )
    config = run.read_config()
    _check_complete(run, config)
    try:
        return _record(run, config)
    except DAMAGE as error:
        raise RunError(
            f"the files in {folder} are damaged or of another version of cadda "
            f"({type(error).__name__}: {short_reason(error)}), so that no report can be made."
        ) from error


def _check_complete(run: RunFolder, config: Mapping[str, Any]) -> None:
    kind = config.get("kind")
    if kind not in ("training", "search"):
        raise RunError(f"{run.folder} must hold a training or a search, but holds {kind!r}.")
    command = "`cadda train`" if kind == "training" else "`cadda search … --resume`"
    if not run.scores.exists():
        raise RunError(
            f"the {kind} in {run.folder} has no scores on test subjects, because it has not come "
            f"to its end or was called from Python; the same {command} as before goes on with it."
        )
    missing = [one.name for one in (run.data, run.predictions) if not one.exists()]
    if missing:
        version = config.get("versions", {}).get("cadda", "another version")
        raise RunError(
            f"{run.folder} was made by cadda {version}, which left no {' and no '.join(missing)}; "
            f"the same {command} as before adds them without computing anything anew."
        )


def _record(run: RunFolder, config: Mapping[str, Any]) -> RunRecord:
    kind: Literal["search", "training"] = config["kind"]
    events = [json.loads(line) for line in run.events.read_text("utf-8").splitlines()]
    policy, schedule = _policies(run)
    sessions = json.loads(run.sessions.read_text("utf-8")) if run.sessions.exists() else []
    return RunRecord(
        kind=kind,
        config=config,
        data=_facts(json.loads(run.data.read_text("utf-8"))),
        predictions=Predictions(**_arrays(run.predictions)),
        policy=policy,
        schedule=schedule,
        search=_curves(events) if kind == "search" else None,
        trainings=_trainings(events, has_policy=policy is not None),
        seconds=_seconds(events),
        gallery=Gallery(**_arrays(run.gallery)) if run.gallery.exists() else None,
        sessions=tuple(sessions),
        warnings=(*_session_warnings(sessions), *_hints(events)),
    )


def _policies(run: RunFolder) -> tuple[PolicySpec | None, PolicySchedule | None]:
    """Read the policy, and the schedule that it is the end of."""
    if not run.policy.exists():
        return None, None
    found = [load_policy(one, known=None) for one in (run.policy, run.schedule) if one.exists()]
    if isinstance(found[-1], PolicySchedule):
        return found[-1].last, found[-1]
    return found[-1], None


def _facts(data: dict[str, Any]) -> DataFacts:
    parts = {
        name: Part(tuple(part["subjects"]), tuple(part["windows"]), part["digest"])
        for name, part in data["parts"].items()
    }
    names = {key: tuple(data[key]) for key in ("ch_names", "class_names")}
    return DataFacts(**data | names | {"parts": parts})


def _arrays(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def _curves(events: list[Event]) -> SearchCurves | None:
    epochs = [one for one in events if one["event"] in ("SearchEpoch", "TrialEnd")]
    if not epochs:
        return None
    trials = epochs[0]["event"] == "TrialEnd"
    losses = [one["value" if trials else "valid_loss"] for one in epochs]
    return SearchCurves(
        unit="trial" if trials else "epoch",
        number=np.array([one["number" if trials else "epoch"] for one in epochs], dtype=float),
        valid_loss=np.array(losses, dtype=float),
        entropy=None if trials else np.array([one["entropy"] for one in epochs]),
        tables={name: np.array([one[name] for one in epochs], dtype=float) for name in TABLES},
        retrained=tuple(
            (one["epoch"], one["valid_loss"])
            for one in events
            if one["event"] == "Retrained" and one["epoch"]
        ),
    )


def _trainings(events: list[Event], *, has_policy: bool) -> tuple[Learning, ...]:
    """Give the losses of the training with the policy, then of that without augmentation."""
    # A training that was killed may have told of an epoch twice.
    epochs = {one["epoch"]: one for one in events if one["event"] == "EpochEnd"}
    if epochs:
        best = max(number for number, one in epochs.items() if one["is_best"])
        losses = [[one[key] for one in epochs.values()] for key in ("train_loss", "valid_loss")]
        name = "with the policy" if has_policy else "without augmentation"
        return (Learning(name, np.array(losses[0]), np.array(losses[1]), best),)
    retrained = [one for one in events if one["event"] == "Retrained"]
    best_ones = [one for one in retrained if one["is_best"]][-1:]
    named = {"with the policy": best_ones, "without augmentation": retrained}
    return tuple(
        Learning(
            name,
            np.array(one["train_losses"]),
            np.array(one["valid_losses"]),
            int(np.argmin(one["valid_losses"])) + 1,
        )
        for name, ones in named.items()
        for one in ones
        if bool(one["epoch"]) == (name == "with the policy")
    )


def _seconds(events: list[Event]) -> dict[str, float]:
    found = {}
    for one in events:
        if one["event"] == "SearchEnd":
            found["searching"] = one["seconds"]
    trainings = [one["seconds"] for one in events if one["event"] == "Retrained"]
    return found | ({"training from scratch": sum(trainings)} if trainings else {})


def _session_warnings(sessions: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(text for one in sessions for text in one["warnings"]))


def _hints(events: list[Event]) -> list[str]:
    """Say what epochs warned of and why trials failed, and which of them."""
    found: dict[str, list[int]] = {}
    for one in events:
        for text in one.get("warnings", ()):
            found.setdefault(f"{text} (epoch", []).append(one["epoch"])
        if one.get("failure"):
            found.setdefault(f"failed: {one['failure']} (trial", []).append(one["number"])
    return [f"{text} {_in_words(numbers)})" for text, numbers in found.items()]


def _in_words(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return str(numbers[0])
    return f"{numbers[0]} to {numbers[-1]}, {len(numbers)} times"
