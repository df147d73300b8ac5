"""From a run folder to its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

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
from cadda.runs.events import EventLog, RunEvent, search_curves
from cadda.runs.folder import HOW_TO_RESUME, RunConfig, RunFolder, SearchConfig
from cadda.runs.sessions import load_sessions
from cadda.searchers.events import Retrained, SearchEnd, SearchEpoch, TrialEnd
from cadda.training.progress import EpochEnd

__all__ = ["Report", "read_record", "write_report"]

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
    path = RunFolder(folder).report.resolve()
    page = render_report(read_record(folder))
    write_text_atomically(path, page.html)
    return Report(path, page.sentence)


def read_record(folder: Path) -> RunRecord:
    """Read everything that the report of a run is made from."""
    run = RunFolder(folder)
    config = run.read_config()
    _check_complete(run, config)
    try:
        return _record(run, config)
    except READ_ERRORS as error:
        raise RunError(
            f"cannot make a report of {folder}: its files are damaged or of another version of "
            f"cadda ({type(error).__name__}: {short_reason(error)})."
        ) from error


def _check_complete(run: RunFolder, config: RunConfig) -> None:
    if not run.scores.exists():
        raise RunError(
            f"the {config.kind} in {run.folder} has no scores on test subjects: it is unfinished, "
            f"or `cadda.search` was called without test subjects; {HOW_TO_RESUME}."
        )
    missing = [path.name for path in (run.data, run.predictions) if not path.exists()]
    if missing:
        raise RunError(
            f"{run.folder} has no {' and no '.join(missing)}; {HOW_TO_RESUME} to add what is "
            "missing without training again."
        )


def _record(run: RunFolder, config: RunConfig) -> RunRecord:
    events = EventLog(run.events).read()
    policy, schedule = _policies(run)
    is_augmented = not (policy is None or policy.is_none)
    predictions = Predictions.load(run.predictions)
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
            curves=search_curves(events),
            probe_note=None if config.probe is None else config.probe.note,
        )
        if isinstance(config, SearchConfig)
        else None,
        data=DataFacts.load(run.data),
        # Without augmentation there is nothing to compare with.
        predictions=predictions
        if is_augmented
        else replace(predictions, without_augmentation=None),
        policy=policy,
        policy_text=read_text(run.policy_text) if run.policy_text.exists() else None,
        schedule=schedule,
        learning=_learning_curves(events, has_policy=is_augmented),
        seconds=_seconds(events),
        examples=Examples.load(run.examples) if run.examples.exists() else None,
        versions=config.versions,
        sessions=load_sessions(run),
        event_warnings=tuple(_event_warnings(events)),
        config=config.to_json(),
        leaks=LeakReadings.load(run.leaks).readings if run.leaks.exists() else (),
        probe=ProbeResult.load(run.probe).facts if run.probe.exists() else None,
        race=RaceFacts.load(run.race) if run.race.exists() else None,
        folder=str(run.folder.resolve()),
    )


def _policies(run: RunFolder) -> tuple[PolicySpec | None, PolicySchedule | None]:
    """Read the policy, and the schedule that it is the end of."""
    if not run.policy.exists():
        return None, None
    policy = load_policy(run.schedule if run.schedule.exists() else run.policy, known=None)
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
