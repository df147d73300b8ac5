"""Training runs and searches in a folder, and scores of their models on other subjects."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cadda._internal.text import storable
from cadda._internal.user_warnings import warn_user
from cadda.api.agreement import matched
from cadda.api.fit import diagnose, logged_settings, score_model
from cadda.api.prepare import (
    Device,
    Operations,
    make_problem,
    operation_pool,
    prepare_training,
)
from cadda.api.search import ProbeLike, SearchResult, probe_source
from cadda.api.search_problem import search_problem
from cadda.data.windows import Windows
from cadda.exceptions import LeakError, RunError
from cadda.models.registry import ModelSource
from cadda.models.serialization import load_model
from cadda.operations.base import Settings
from cadda.operations.own import OwnOperation, locate_operations
from cadda.operations.pool import OperationPool
from cadda.policies.fitting import record_windows
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.model import PolicySpec
from cadda.reporting.records import Reading, SplitSettings
from cadda.runs.events import EventLog, RunEvent
from cadda.runs.folder import DataSource, RunFolder, TrainingConfig
from cadda.runs.policy_files import describe_edited, write_policy_file
from cadda.runs.records import RunScores, save_fitted, write_run_records
from cadda.runs.splits import WindowSplit
from cadda.tracking import LogTo, open_trackers, tee
from cadda.tracking.trackers import find_trackers
from cadda.training import Fitted, Problem, Scores, Trainer, TrainingEvent, TrainingSettings

__all__ = [
    "SearchRun",
    "TrainingRun",
    "evaluate_run",
    "run_search",
    "run_training",
    "train_split",
]


_logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """A finished training run."""

    fitted: Fitted
    scores: RunScores


def run_training(
    windows: Windows,
    folder: Path,
    *,
    settings: TrainingSettings,
    model: str = "auto",
    policy: PolicySpec | PolicySchedule | None = None,
    pool: OperationPool | None = None,
    valid: float = 0.2,
    test: float | None = None,
    split_from: str | os.PathLike[str] | None = None,
    device: Device = "auto",
    data: str | None = None,
    reading: Reading | None = None,
    own_operations: tuple[OwnOperation, ...] = (),
    on_event: Callable[[TrainingEvent], None] | None = None,
    log_to: LogTo = None,
) -> TrainingRun:
    """Split windows by subject, train, test and write all results to a folder.

    A run that was interrupted is resumed. `split_from` is the folder of a run whose groups of
    subjects are used; `pool` has operations of the user's own. `data`, `reading` and
    `own_operations` are for the record only.
    """
    split = WindowSplit.make(windows, _split_settings(valid, test, settings.seed, split_from))
    return train_split(
        split,
        folder,
        settings=settings,
        model=model,
        policy=policy,
        pool=pool,
        device=device,
        data=data,
        reading=reading,
        own_operations=own_operations,
        on_event=on_event,
        log_to=log_to,
    )


def train_split(
    split: WindowSplit,
    folder: Path,
    *,
    settings: TrainingSettings,
    model: str,
    policy: PolicySpec | PolicySchedule | None,
    pool: OperationPool | None,
    device: Device,
    data: str | None,
    reading: Reading | None,
    own_operations: tuple[OwnOperation, ...],
    on_event: Callable[[TrainingEvent], None] | None,
    log_to: LogTo,
) -> TrainingRun:
    """Train on windows that are split, test, and write all results to a folder."""
    # Wrong arguments raise here, before there is a folder.
    find_trackers(log_to)
    last = policy.last if isinstance(policy, PolicySchedule) else policy
    reading = reading and reading.with_filters(split.train.filters)
    before = None if last is None else last.provenance.preprocessing
    _warn_of_other_preprocessing(before, reading, "The policy was found on", "search again")
    trainer = prepare_training(
        split.train, split.valid, settings, model=model, policy=policy, pool=pool, device=device
    )
    run = RunFolder(folder)
    problem = trainer.problem
    with run.in_use("training"):
        run.begin(
            TrainingConfig(
                data=DataSource(
                    None if data is None else storable(data),
                    problem.train.digest,
                    problem.valid.digest,
                    split.test_digest,
                ),
                reading=reading,
                model=problem.description.model,
                training=settings,
                policy=None if policy is None else json.loads(policy.to_json()),
                split=split.subjects,
                own_operations=own_operations,
            )
        )
        if policy is not None:
            write_policy_file(run, run.policy, _with_windows(policy, problem).to_json())
        fitted = _train(trainer, run, log_to, on_event)
        # The pool of a problem checks the unit of the windows, which only a policy depends on.
        needs_no_unit = last is None or last.is_none
        pool = operation_pool(split.train) if needs_no_unit else problem.pool
        scores = write_run_records(run, split, problem, pool, last, fitted.model)
    return TrainingRun(fitted, scores)


def _warn_of_other_preprocessing(
    before: Mapping[str, Any] | None, reading: Reading | None, what: str, way_out: str
) -> None:
    """Warn if a policy or a model is of windows that were preprocessed in another way."""
    now = None if reading is None else reading.preprocessing
    if before is None or now is None:
        return
    # Length and rate of windows are compared where they matter.
    names = (before.keys() | now.keys()) - {"window_seconds", "sfreq"}
    differ = sorted(name for name in names if before.get(name) != now.get(name))
    if not differ:
        return
    found, used = (
        " and ".join(f"{name}={_setting(each.get(name, 'auto'))}" for name in differ)
        for each in (before, now)
    )
    _logger.warning(
        "%s windows read with %s, but these were read with %s. Use the same preprocessing, or %s.",
        what,
        found,
        used,
        way_out,
    )


def _setting(value: object) -> str:
    """Return the value of a reading option, such as ``4`` or ``[-0.2, 0]``."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _with_windows(
    policy: PolicySpec | PolicySchedule, problem: Problem
) -> PolicySpec | PolicySchedule:
    """Return a policy with what is known of the windows that it is used for."""
    record = partial(record_windows, pool=problem.pool)
    return policy.map(record) if isinstance(policy, PolicySchedule) else record(policy)


def _train(
    trainer: Trainer,
    run: RunFolder,
    log_to: LogTo,
    on_event: Callable[[TrainingEvent], None] | None,
) -> Fitted:
    """Train and write events and model; after a kill, events are those of the checkpoint."""
    events = EventLog(run.events)
    trainer.resume(run.checkpoint)
    events.rewrite(trainer.progress.history)
    with open_trackers(log_to, logged_settings(trainer)) as trackers:
        receivers = (events, trackers) if on_event is None else (events, trackers, on_event)
        fitted = trainer.run(on_event=tee(*receivers), checkpoint=run.checkpoint)
    fitted = diagnose(fitted, trainer)
    save_fitted(run, fitted)
    return fitted


def _split_settings(
    valid: float, test: float | None, seed: int, split_from: str | os.PathLike[str] | None
) -> SplitSettings:
    return SplitSettings(valid, test, seed, None if split_from is None else os.fspath(split_from))


@dataclass(frozen=True, eq=False)
class SearchRun:
    """A finished search, with scores of the models trained with and without the policy."""

    result: SearchResult
    scores: RunScores


def run_search(
    windows: Windows,
    folder: Path,
    *,
    valid: float = 0.2,
    test: float | None = None,
    split_from: str | os.PathLike[str] | None = None,
    seed: int = 0,
    method: str = "auto",
    budget: int | None = None,
    retrain_every: int | None = None,
    baseline: bool = True,
    model: ModelSource = "auto",
    operations: Operations = None,
    operation_settings: Mapping[str, Settings] | None = None,
    probe: ProbeLike = None,
    training: TrainingSettings | None = None,
    device: Device = "auto",
    reading: Reading | None = None,
    on_event: Callable[[RunEvent], None] | None = None,
    **arguments: Any,  # further arguments of `cadda.search`
) -> SearchRun:
    """Split windows by subject, search, train with and without the policy, and test both.

    Neither probe, search nor training uses the test subjects. `split_from` is the folder of a run
    whose groups of subjects are used. All results are written to a folder.
    """
    split = WindowSplit.make(windows, _split_settings(valid, test, seed, split_from))
    problem = make_problem(
        split.train,
        split.valid,
        model=model,
        operations=operations,
        operation_settings=operation_settings,
        device=device,
    )
    source = probe_source(
        probe,
        split.train,
        split.valid,
        method=method,
        model=model,
        operations=operations,
        operation_settings=operation_settings,
        training=training,
        seed=seed,
        device=device,
        on_event=on_event,
    )
    with ExitStack() as held:
        result = search_problem(
            problem,
            probe=source,
            method=method,
            training=training,
            run_dir=folder,
            test_subjects=split.subjects.test,
            own_operations=locate_operations(operations),
            seed=seed,
            budget=budget,
            retrain_every=retrain_every,
            baseline=baseline,
            reading=reading and reading.with_filters(windows.filters),
            on_event=on_event,
            held=held,
            **arguments,
        )
        if result.fitted is None:
            raise RunError(
                f"{folder} contains an unfinished search; continue it by the same call."
            )
        scores = write_run_records(
            RunFolder(folder),
            split,
            problem,
            problem.pool,
            result.policy,
            result.fitted.model,
            None if result.baseline is None else result.baseline.model,
        )
    return SearchRun(result, scores)


def evaluate_run(
    folder: Path,
    windows: Windows,
    *,
    skip_seen: bool = False,
    different_subjects: bool = False,
    reading: Reading | None = None,
) -> tuple[Scores, int]:
    """Return the scores of the model of a run, and the number of subjects.

    A warning says if `reading`, the call that made the windows, is another than that of the run.
    Subjects with the names of those of training or validation raise an error; `skip_seen` leaves
    them out, `different_subjects` declares them to be other people, as in another data set.
    """
    run = RunFolder(folder)
    config = run.read_config()
    split, before = config.split, config.reading
    preprocessing = None if before is None else before.preprocessing
    reading = reading and reading.with_filters(windows.filters)
    _warn_of_other_preprocessing(preprocessing, reading, "The model was trained on", "train again")
    if edited := describe_edited(run):
        warn_user(f"{folder}: {edited}.")
    model, description = load_model(run.model)
    windows = matched(description, windows)
    used = set() if different_subjects else {*split.train, *split.valid}
    seen = used & set(windows.subjects)
    if seen and not skip_seen:
        raise LeakError(
            f"{len(seen)} subjects have the names of subjects that were used to train this model, "
            f"such as {min(seen)!r}; skip them with `skip_seen=True`, or pass "
            "`different_subjects=True` if they are other people of another data set."
        )
    unseen = [subject for subject in windows.subjects if subject not in seen]
    if not unseen:
        raise LeakError("no unseen subjects to test on: all were used to train this model.")
    return score_model(model, windows.of_subjects(unseen)), len(unseen)
