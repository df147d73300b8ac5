"""Records that reports and figures are made from. Those in files save and load themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from cadda._internal.files import ArrayRecord, JsonRecord
from cadda.operations.own import OwnOperation
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.model import PolicySpec
from cadda.reporting.probe_records import ProbeFacts
from cadda.reporting.race import RaceFacts
from cadda.training.progress import LeakReading
from cadda.training.settings import TrainingSettings

__all__ = [
    "DataFacts",
    "EventWarning",
    "Examples",
    "LeakReadings",
    "LearningCurve",
    "Machine",
    "Part",
    "Predictions",
    "Reading",
    "RewardCurves",
    "RunRecord",
    "SearchCurves",
    "SearchFacts",
    "Session",
    "SplitSettings",
    "Versions",
]

Numbers = NDArray[np.float64]
Texts = NDArray[np.str_]

CHANGES_SIGNALS = (
    *("highpass", "lowpass", "transition", "notch", "reference", "sfreq"),
    *("window_seconds", "offset", "baseline_seconds", "standardise"),
)
"""Arguments of `cadda.read_windows` that windows of the same recordings can differ in."""


@dataclass(frozen=True)
class Reading:
    """The call that made the windows of a run, such as of `cadda.read_windows`.

    Parameters
    ----------
    function : str
        Name of the function.
    arguments : mapping of str to object
        Its arguments: anything that JSON can hold.
    """

    function: str
    arguments: Mapping[str, JsonValue]

    def with_filters(self, filters: Mapping[str, float | None] | None) -> Reading:
        """Return the call with the filters of its windows in place of defaults, if known."""
        return self if filters is None else replace(self, arguments={**self.arguments, **filters})

    @property
    def preprocessing(self) -> dict[str, JsonValue] | None:
        """Arguments that change signals; None for windows that are not of recordings."""
        if self.function != "cadda.read_windows":
            return None
        return {name: self.arguments[name] for name in CHANGES_SIGNALS if name in self.arguments}


@dataclass(frozen=True)
class Versions:
    """The software that computed a result, and the kind of machine."""

    cadda: str
    python: str
    torch: str
    machine: str


@dataclass(frozen=True)
class Machine:
    """The computer that computed a result."""

    system: str
    processor: str
    cores: int | None
    gpu: str | None


@dataclass(frozen=True)
class Session:
    """One command that worked on a run."""

    command: str
    started: str  # ISO 8601, UTC
    seconds: float
    finished: bool
    versions: Versions
    machine: Machine
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class SplitSettings:
    """How subjects are split: arguments of `Windows.split`, or the folder of an earlier run."""

    valid: float = 0.2
    test: float | None = None
    seed: int = 0
    split_from: str | None = None
    fold: int | None = None  # of a cross-validation, from 1
    n_folds: int | None = None

    def __str__(self) -> str:
        if self.split_from is not None:
            return f"as in {self.split_from}"
        if self.fold is not None:
            fold = f"fold {self.fold} of {self.n_folds}"
            return f"by subject, {fold}, valid {self.valid}, seed {self.seed}"
        test = "by default" if self.test is None else self.test
        return f"by subject, valid {self.valid}, test {test}, seed {self.seed}"


@dataclass(frozen=True)
class Part:
    """One part of the split."""

    subjects: tuple[str, ...]
    windows: tuple[int, ...]  # of each class
    digest: str


@dataclass(frozen=True)
class DataFacts(JsonRecord):
    """What is known about the windows of a run."""

    sfreq: float | None
    n_times: int
    ch_names: tuple[str, ...]
    class_names: tuple[str, ...]
    left_out: Mapping[str, str]  # operations not applicable to the montage, with the reason
    split: SplitSettings
    parts: Mapping[Literal["train", "valid", "test"], Part]

    @property
    def seconds(self) -> float | None:
        """Length of a window, None if the sampling rate is not known."""
        return None if self.sfreq is None else self.n_times / self.sfreq


@dataclass(frozen=True, eq=False)
class Predictions(ArrayRecord):
    """True and predicted labels of the test windows, one entry each."""

    subject: Texts
    recording: Texts
    position: NDArray[np.int64]  # within the recording, in the order of time
    truth: NDArray[np.int64]
    predicted: NDArray[np.int64]
    without_augmentation: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Examples(ArrayRecord):
    """Windows before and after each operation of a policy, the most used operation first."""

    operation: Texts
    class_name: Texts  # the class that it is applied to most, "*" for all
    applied: Numbers  # how often there
    magnitude: Numbers  # how strongly there at most; NaN for an operation without magnitude
    window: NDArray[np.int64]  # index in `before`
    before: NDArray[np.floating[Any]]  # (n_windows, n_channels, n_times), in standard deviations
    after: NDArray[np.floating[Any]]  # (n_operations, n_channels, n_times)
    ch_names: Texts
    class_before: Texts | None = None  # of the window; None if no operation changed it
    class_after: Texts | None = None
    min_magnitude: Numbers | None = None  # how strongly at least; None if always as strongly


@dataclass(frozen=True)
class LeakReadings(JsonRecord):
    """What a model makes of operations that its policy applies to a class more than to others."""

    readings: tuple[LeakReading, ...]


@dataclass(frozen=True, eq=False)
class RewardCurves:
    """Mean rewards by class, (n_epochs, n_classes); NaN where they are unknown.

    See `cadda.searchers.events.ClassRewards`.
    """

    unchanged: Numbers
    policy: Numbers
    control: Numbers
    residual_ratio: Numbers


@dataclass(frozen=True, eq=False)
class SearchCurves:
    """Progress of a search: arrays over its epochs or trials.

    The tables `applied`, `share`, `probability` and `magnitude` are those of the n epochs or
    trials that are `shown`. They have the shape (n, n_rows, n_operations), with a row per class or
    one for all; of trials they are those of the best policy so far.
    """

    unit: Literal["epoch", "trial"]
    number: Numbers
    valid_loss: Numbers  # NaN for a trial that failed
    entropy: Numbers | None  # from 1 (uniform) to 0; None for trials
    shown: NDArray[np.int64]  # places in the other arrays
    applied: Numbers
    share: Numbers
    probability: Numbers
    magnitude: Numbers
    retrained: tuple[tuple[int, float], ...]  # after how many epochs or trials, validation loss
    left_warmup: bool  # whether it lasted longer than its warm-up, which keeps the policy fixed
    shared: Numbers | None = (
        None  # with a third of the search ago, NaN if unknown; see SearchEpoch
    )
    policy_epoch: int = 0  # epoch of the policy that was kept, for methods by gradients
    agreement: float | None = None  # of several seeds, then
    n_averaged: int = 0  # epochs up to then that the policy is the mean of
    rewards: RewardCurves | None = None  # of methods with paired rewards


@dataclass(frozen=True, eq=False)
class SearchFacts:
    """How a policy was searched for."""

    method: str
    classwise: bool
    seed: int
    operations: tuple[str, ...]
    curves: SearchCurves | None
    probe_note: str | None = None  # what a probe changed about the operations


@dataclass(frozen=True)
class EventWarning:
    """A warning of a search, and the epochs or trials that gave it."""

    text: str
    unit: Literal["epoch", "trial"]
    numbers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Losses of a model over the epochs of its training."""

    name: str
    train_loss: Numbers
    valid_loss: Numbers
    best_epoch: int  # whose weights were kept, from 1


@dataclass(frozen=True, eq=False)
class RunRecord:
    """Everything that a report is made from."""

    source: str  # where the windows come from
    reading: Reading | None
    model: str
    training: TrainingSettings
    search: SearchFacts | None  # None for a training run
    data: DataFacts
    predictions: Predictions
    policy: PolicySpec | None  # at the end, if it is a schedule
    schedule: PolicySchedule | None
    learning: tuple[LearningCurve, ...]  # with the policy, then without augmentation
    seconds: Mapping[str, float]
    examples: Examples | None
    versions: Versions
    sessions: tuple[Session, ...]
    event_warnings: tuple[EventWarning, ...]
    config: str  # as JSON
    probe: ProbeFacts | None = None
    leaks: tuple[LeakReading, ...] = ()
    race: RaceFacts | None = None
    policy_text: str | None = None  # the policy that a search found, in few lines
    folder: str = "."  # of the run
    own_operations: tuple[OwnOperation, ...] = ()
    edited: str = ""  # that policy files are not as the run has written them

    @property
    def is_augmented(self) -> bool:
        """Whether there is a policy that changes windows."""
        return self.schedule is not None or not (self.policy is None or self.policy.is_none)

    @property
    def was_searched(self) -> bool:
        """Whether the policy is the result of a search that lasted longer than its warm-up."""
        curves = None if self.search is None else self.search.curves
        return curves is None or curves.left_warmup
