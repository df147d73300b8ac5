"""A training run in a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cadda._internal.jsonlines import JsonObject
from cadda.api.pool import operation_pool
from cadda.api.prepare import Device, prepare_training
from cadda.data.windows import Windows
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.model import PolicySpec
from cadda.reporting.records import Reading
from cadda.runs.config import DataSource, Split, TrainingConfig
from cadda.runs.events import EventLog
from cadda.runs.folder import RunFolder
from cadda.runs.records import RunScores, WindowSplit, write_run_records
from cadda.tracking import tee
from cadda.training import Fitted, Trainer, TrainingEnd, TrainingEvent, TrainingSettings

__all__ = ["TrainingRun", "run_training"]


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
    model: str = "chambon2018",
    policy: PolicySpec | PolicySchedule | None = None,
    valid: float = 0.2,
    test: float = 0.2,
    device: Device = "auto",
    data: str | None = None,
    reading: Reading | None = None,
    on_event: Callable[[TrainingEvent], None] | None = None,
) -> TrainingRun:
    """Split windows by subject, train, test and write all results to a folder.

    A run that was interrupted is resumed. `data` and `reading` are for the record only.
    """
    split = WindowSplit.make(windows, valid=valid, test=test, seed=settings.seed)
    # Wrong arguments raise here, before there is a folder.
    trainer = prepare_training(
        split.train, split.valid, settings, model=model, policy=policy, device=device
    )
    run = RunFolder(folder)
    run.begin(_config(split, trainer, data, reading, policy))
    if policy is not None:
        policy.save(run.policy)
    events = EventLog(run.events)
    fitted = trainer.run(
        on_event=events if on_event is None else tee(events, on_event), checkpoint=run.checkpoint
    )
    # After a kill, the file may lack an epoch that the checkpoint has, or have only half of it.
    end = TrainingEnd(len(fitted.history), fitted.best_epoch, fitted.stopped_early)
    events.rewrite([*fitted.history, end])
    fitted.save(run.model)
    last = policy.last if isinstance(policy, PolicySchedule) else policy
    # The pool of a problem checks the unit of the windows, which only a policy depends on.
    pool = operation_pool(split.train) if last is None else trainer.problem.pool
    scores = write_run_records(run, split, trainer.problem, pool, last, fitted.model)
    return TrainingRun(fitted, scores)


def _config(
    split: WindowSplit,
    trainer: Trainer,
    data: str | None,
    reading: Reading | None,
    policy: PolicySpec | PolicySchedule | None,
) -> TrainingConfig:
    problem = trainer.problem
    return TrainingConfig(
        data=DataSource(data, problem.train.digest, problem.valid.digest, split.test_digest),
        reading=reading,
        model=problem.description.model,
        training=trainer.settings,
        policy=_policy_json(policy),
        split=Split(
            tuple(split.train.subjects), tuple(split.valid.subjects), tuple(split.test.subjects)
        ),
    )


def _policy_json(policy: PolicySpec | PolicySchedule | None) -> JsonObject | None:
    if isinstance(policy, PolicySchedule):
        return policy.to_dict()
    return None if policy is None else policy.model_dump(mode="json")
