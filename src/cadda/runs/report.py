"""From a run folder to its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from cadda._internal.files import write_text_atomically
from cadda._internal.limits import read_text
from cadda._internal.text import short_reason, warning_key
from cadda.exceptions import CaddaError, RunError
from cadda.policies.schedule import PolicySchedule, load_policy
from cadda.policies.spec.model import PolicySpec
from cadda.probing.probe_result import ProbeResult
from cadda.reporting.html import render_report
from cadda.reporting.race import RaceFacts
from cadda.reporting.records import (
    DataFacts,
    EventWarning,
    Examples,
    LeakReadings,
    LearningCurve,
    Predictions,
    RunRecord,
    SearchFacts,
)
from cadda.runs.consistency import find_problems
from cadda.runs.events import EventLog, RunEvent, check_finished, search_curves
from cadda.runs.folder import HOW_TO_RESUME, RunConfig, RunFolder, SearchConfig
from cadda.runs.policy_files import describe_edited
from cadda.runs.records import check_scores
from cadda.runs.sessions import load_sessions
from cadda.searchers.events import Retrained, SearchEnd, SearchEpoch, TrialEnd
from cadda.training.progress import EpochEnd

__all__ = ["Report", "read_record", "write_report"]

Loaded = TypeVar("Loaded")

READ_ERRORS = (
    OSError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
    CaddaError,
)
"""Raised by reading files that are damaged or of another version."""


@dataclass(frozen=True)
class Report:
    """A report that was written, and the sentence that it starts with."""

    path: Path
    sentence: str
    edited: str = ""  # that policy files are not as the run has written them


def write_report(folder: Path) -> Report:
    """Write the report of a finished training run or search into its folder.

    Parameters
    ----------
    folder : Path
        The run folder.

    Returns
    -------
    Report
        Path of the page, and the result in one sentence.
    """
    run = RunFolder(folder)
    path = run.report.resolve()
    record = read_record(folder)
    try:
        page = render_report(record)
    # Values that are valid alone may not fit each other, in ways that only a chart finds.
    except Exception as error:
        name = _find_culprit(run, record)
        raise _damaged(folder, name, error) from error
    write_text_atomically(path, page.html)
    return Report(path, page.sentence, record.edited)


def read_record(folder: Path) -> RunRecord:
    """Read everything that the report of a run is made from."""
    run = RunFolder(folder)
    config = run.read_config()
    _check_complete(run, config)
    record = _record(run, config)
    for path, problem in find_problems(run, record):
        raise _damaged(folder, path.name, ValueError(problem))
    return record


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Name the file that cannot be read."""
    try:
        yield
    except READ_ERRORS as error:
        raise _damaged(path.parent, path.name, error) from error


def _damaged(folder: Path, name: str, error: Exception) -> RunError:
    return RunError(
        f"cannot make a report of {folder}: {name} is damaged or of another version of cadda "
        f"({short_reason(error)})."
    )


def _find_culprit(run: RunFolder, record: RunRecord) -> str:
    """Return the name of the file without which there could be a report."""
    without: dict[Path, dict[str, Any]] = {
        run.examples: {"examples": None},
        run.race: {"race": None},
        run.probe: {"probe": None},
        run.leaks: {"leaks": ()},
        run.sessions: {"sessions": ()},
        run.events: {"learning": (), "seconds": {}, "event_warnings": (), "search": None},
        run.policy_text: {"policy_text": None},
        run.policy: {"policy": None, "schedule": None},
    }
    for path, changes in without.items():
        with suppress(Exception):
            render_report(replace(record, **changes))
            return path.name
    return f"{run.config.name}, {run.data.name} or {run.predictions.name}"


def _check_complete(run: RunFolder, config: RunConfig) -> None:
    if not run.scores.exists():
        raise RunError(
            f"the {config.kind} in {run.folder} has no scores on test subjects, "
            f"{run.scores.name}: it is unfinished, or `cadda.search` was called without test "
            f"subjects; {HOW_TO_RESUME}."
        )
    missing = [path.name for path in (run.data, run.predictions) if not path.exists()]
    if missing:
        raise RunError(
            f"{run.folder} has no {' and no '.join(missing)}; {HOW_TO_RESUME} to add what is "
            "missing without training again."
        )


def _record(run: RunFolder, config: RunConfig) -> RunRecord:
    policy, schedule = _policies(run)
    is_augmented = not (policy is None or policy.is_none)
    predictions = _load(run.predictions, Predictions.load)
    examples, race = _load_any(run.examples, Examples.load), _load_any(run.race, RaceFacts.load)
    leaks = _load_any(run.leaks, LeakReadings.load)
    probe = _load_any(run.probe, ProbeResult.load)
    with _reading(run.scores):
        check_scores(run.scores)
    with _reading(run.sessions):
        sessions = load_sessions(run)
    with _reading(run.events):
        events = EventLog(run.events).read()
        check_finished(events)
        curves, learning = search_curves(events), _learning_curves(events, has_policy=is_augmented)
    return RunRecord(
        source=config.data.name or "windows",
        reading=config.reading,
        model=config.model,
        training=config.training,
        search=SearchFacts(
            method=config.method,
            classwise=config.classwise,
            seed=config.seed,
            operations=config.operations,
            curves=curves,
            probe_note=None if config.probe is None else config.probe.note,
        )
        if isinstance(config, SearchConfig)
        else None,
        data=_load(run.data, DataFacts.load),
        # Without augmentation there is nothing to compare with.
        predictions=predictions
        if is_augmented
        else replace(predictions, without_augmentation=None),
        policy=policy,
        policy_text=_load_any(run.policy_text, read_text),
        schedule=schedule,
        learning=learning,
        seconds=_seconds(events),
        examples=examples,
        versions=config.versions,
        sessions=sessions,
        event_warnings=tuple(_event_warnings(events)),
        config=config.to_json(),
        leaks=() if leaks is None else leaks.readings,
        probe=None if probe is None else probe.facts,
        race=race,
        own_operations=config.own_operations,
        folder=str(run.folder.resolve()),
        edited=describe_edited(run),
    )


def _load(path: Path, load: Callable[[Path], Loaded]) -> Loaded:
    """Read a file of the run; an error names it."""
    with _reading(path):
        return load(path)


def _load_any(path: Path, load: Callable[[Path], Loaded]) -> Loaded | None:
    """Read a file of the run, if there is one."""
    return _load(path, load) if _exists(path) else None


def _exists(path: Path) -> bool:
    """Check for a file; a link to nowhere is one that cannot be read."""
    return path.exists() or path.is_symlink()


def _policies(run: RunFolder) -> tuple[PolicySpec | None, PolicySchedule | None]:
    """Read the policy, and the schedule that it is the end of."""
    if not _exists(run.policy):
        return None, None
    path = run.schedule if _exists(run.schedule) else run.policy
    with _reading(path):
        policy = load_policy(path, known=None)
    return (policy.last, policy) if isinstance(policy, PolicySchedule) else (policy, None)


def _learning_curves(events: Sequence[RunEvent], *, has_policy: bool) -> tuple[LearningCurve, ...]:
    """Return the losses with the policy, then those without augmentation."""
    epochs = [event for event in events if isinstance(event, EpochEnd)]
    if epochs:
        best = max(event.epoch for event in epochs if event.is_best)
        return (
            LearningCurve(
                "with the policy" if has_policy else "without augmentation",
                np.array([event.train_loss for event in epochs]),
                np.array([event.valid_loss for event in epochs]),
                best,
            ),
        )
    retrained = [event for event in events if isinstance(event, Retrained)]
    with_policy = [event for event in retrained if event.epoch and event.is_best][-1:]
    plain = [event for event in retrained if not event.epoch]
    shown = (*with_policy, *plain) if has_policy else (*plain, *with_policy)[:1]
    return tuple(
        LearningCurve(
            "with the policy" if has_policy and event.epoch else "without augmentation",
            np.array(event.train_losses),
            np.array(event.valid_losses),
            int(np.argmin(event.valid_losses)) + 1,
        )
        for event in shown
    )


def _seconds(events: Sequence[RunEvent]) -> Mapping[str, float]:
    search = [event.seconds for event in events if isinstance(event, SearchEnd)]
    retraining = [event.seconds for event in events if isinstance(event, Retrained)]
    seconds = {"search": search[-1:], "training from scratch": retraining}
    return {name: sum(values) for name, values in seconds.items() if values}


def _event_warnings(events: Sequence[RunEvent]) -> Iterator[EventWarning]:
    """Yield warnings of epochs and failures of trials; other percentages are no new warning."""
    numbers: dict[tuple[Literal["epoch", "trial"], str], list[int]] = {}
    texts: dict[str, str] = {}
    for event in events:
        if isinstance(event, SearchEpoch):
            for text in event.warnings:
                key = warning_key(text)
                texts[key] = text
                numbers.setdefault(("epoch", key), []).append(event.epoch)
        elif isinstance(event, TrialEnd) and event.failure:
            texts[event.failure] = f"failed: {event.failure}"
            numbers.setdefault(("trial", event.failure), []).append(event.number)
    for (unit, key), found in numbers.items():
        yield EventWarning(texts[key], unit, tuple(found))
