"""Events of a search, plain records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cadda.operations.base import Settings

__all__ = [
    "HISTORY_EVENTS",
    "ClassRewards",
    "HistoryEvent",
    "PolicyProposed",
    "RaceProgress",
    "RaceRound",
    "Retrained",
    "SearchEnd",
    "SearchEpoch",
    "SearchEvent",
    "SearchStart",
    "SearchStep",
    "Table",
    "TrialEnd",
    "Unit",
]

Unit: TypeAlias = Literal["epoch", "trial", "training run"]
"""What the budget of a search counts."""

Table = tuple[tuple[float, ...], ...]
"""Numbers by class (one row if the policy is for all classes) and operation."""


@dataclass(frozen=True)
class ClassRewards:
    """Mean rewards of an epoch by class: why a search prefers what it prefers.

    Parameters
    ----------
    unchanged : tuple of float
        Of windows left as they are. Where it is negative, whatever silences the class wins.
    error : tuple of float
        Standard error of these means.
    policy : tuple of float
        Of windows as augmented, beyond those of the same windows unchanged.
    control : tuple of float
        Of white noise of equal power in place of the windows, beyond those of the windows
        unchanged; what does not earn more has earned nothing.
    residual_ratio : tuple of float
        Residuals ‖p − y‖ of the augmented windows relative to those of the same windows unchanged.
    """

    unchanged: tuple[float, ...]
    error: tuple[float, ...]
    policy: tuple[float, ...]
    control: tuple[float, ...]
    residual_ratio: tuple[float, ...]


@dataclass(frozen=True)
class SearchStep:
    """A step of a search has ended."""

    step: int  # from 1
    train_loss: float
    reward: float | None  # mean over windows, beyond that of the same windows unchanged
    entropy: float  # mean over choices, relative to that of a uniform choice


@dataclass(frozen=True)
class SearchStart:
    """A search starts or resumes."""

    method: str
    classwise: bool
    n_epochs: int
    epoch: int  # done already
    operations: tuple[str, ...]
    class_names: tuple[str, ...]
    log10_policies: float | None  # number of policies to choose from; None if unknown
    warnings: tuple[str, ...]
    unit: Unit = "epoch"
    notes: tuple[str, ...] = ()  # what was done to the operations, a sentence each
    max_seconds: float | None = None  # time for the search after its probe, if there is a limit
    settings: Mapping[str, Settings] = field(default_factory=dict)  # by name of the operation


@dataclass(frozen=True)
class SearchEpoch:
    """An epoch of a search has ended.

    Parameters
    ----------
    epoch : int
        Number of the epoch, from 1.
    n_epochs : int
        Number of epochs of the whole search.
    train_loss : float
        Mean loss of the training batches, as augmented.
    valid_loss : float
        Loss of the model of the search on the validation windows.
    valid_balanced_accuracy : float
        Its balanced accuracy there.
    reward : float | None
        Mean reward of augmentation over the epoch; None during warm-up.
    entropy : float
        Mean entropy of the choices relative to uniform: 1 is uniform, 0 is certain.
    applied : tuple of tuple of float
        Probability that an operation changes a window at all, by class and operation.
    share : tuple of tuple of float
        How often an operation is chosen.
    probability : tuple of tuple of float
        Probability of applying it once it is chosen.
    magnitude : tuple of tuple of float
        Magnitude in [0, 1].
    seconds : float
        Time spent on searching so far.
    warnings : tuple of str
        Sentences for the user.
    shared : float | None
        Share of windows that the policy treats as the policy of a third of the search ago did, the
        smallest over classes; the search counts from the end of the warm-up. None before there is
        one to compare with.
    agreement : float | None
        The same for the mean policies of two seeds, the mean over all pairs; None for one seed.
    n_averaged : int
        Number of epochs, up to this one, that the policy so far is the mean of; 0 in the warm-up.
    rewards : ClassRewards | None
        Mean rewards by class; None during warm-up, and for methods without paired rewards.
    """

    epoch: int
    n_epochs: int
    train_loss: float
    valid_loss: float
    valid_balanced_accuracy: float
    reward: float | None
    entropy: float
    applied: Table
    share: Table
    probability: Table
    magnitude: Table
    seconds: float
    warnings: tuple[str, ...]
    shared: float | None = None
    agreement: float | None = None
    n_averaged: int = 0
    rewards: ClassRewards | None = None


@dataclass(frozen=True)
class TrialEnd:
    """A trial has ended.

    Parameters
    ----------
    number : int
        Number of the trial, from 1; an Optuna study counts from 0.
    n_trials : int
        Number of trials of the whole search.
    value : float | None
        Validation loss of the policy; None if the trial failed.
    is_best : bool
        Whether it is the lowest so far.
    failure : str | None
        Why the trial failed; None if it did not.
    applied : tuple of tuple of float
        Of the best policy so far: probability that an operation changes a window at all, by class
        and operation.
    share : tuple of tuple of float
        How often an operation is chosen.
    probability : tuple of tuple of float
        Probability of applying it once it is chosen.
    magnitude : tuple of tuple of float
        Magnitude in [0, 1].
    trial_seconds : float
        Duration of the trial on its worker.
    seconds : float
        Time spent on searching so far.
    """

    number: int
    n_trials: int
    value: float | None
    is_best: bool
    failure: str | None
    applied: Table
    share: Table
    probability: Table
    magnitude: Table
    trial_seconds: float
    seconds: float


@dataclass(frozen=True)
class PolicyProposed:
    """A method without a search has proposed its policy.

    Parameters
    ----------
    policy : str
        The policy in its short form.
    """

    policy: str


@dataclass(frozen=True)
class RaceProgress:
    """A training run of a race has ended."""

    n_runs: int
    max_runs: int


@dataclass(frozen=True)
class RaceRound:
    """Candidates of a race were trained in a block.

    Parameters
    ----------
    n_runs : int
        Training runs so far.
    max_runs : int
        Most training runs of the whole race.
    phase : str
        What the race is about: ``"candidates"``, ``"combinations"``, ``"classes"``,
        ``"finalists"`` or ``"decision"``.
    names : tuple of str
        Candidates, those in the race first, the best first. The fields below are in this order.
    n_blocks : tuple of int
        Number of blocks of each.
    gains : tuple of float
        Mean gain of each over no augmentation: by how much the logarithm of the loss is lower.
    errors : tuple of float | None
        Standard errors; None for a single block.
    accuracy_gains : tuple of float
        Mean gain of each in balanced accuracy.
    statuses : tuple of str
        ``"racing"``, ``"dropped"`` or ``"measured"``.
    reasons : tuple of str
        Why each was dropped; empty otherwise.
    seconds : float
        Time spent on the race so far.
    """

    n_runs: int
    max_runs: int
    phase: str
    names: tuple[str, ...]
    n_blocks: tuple[int, ...]
    gains: tuple[float, ...]
    errors: tuple[float | None, ...]
    accuracy_gains: tuple[float, ...]
    statuses: tuple[str, ...]
    reasons: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Retrained:
    """A model was trained from scratch with the policy found so far.

    Parameters
    ----------
    epoch : int
        Epoch of the search, or number of trials; 0 is without augmentation.
    valid_loss : float
        Loss on the validation windows.
    valid_balanced_accuracy : float
        Balanced accuracy there.
    is_best : bool
        Whether its loss is the lowest of the policies so far.
    search_seconds : float
        Time spent on searching up to here.
    seconds : float
        Duration of the training run.
    train_losses : tuple of float
        Loss of each epoch, as augmented.
    valid_losses : tuple of float
        Loss on validation after each epoch.
    missing_classes : tuple of str
        Classes that training has and validation lacks.
    """

    epoch: int
    valid_loss: float
    valid_balanced_accuracy: float
    is_best: bool
    search_seconds: float
    seconds: float
    train_losses: tuple[float, ...]
    valid_losses: tuple[float, ...]
    missing_classes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SearchEnd:
    """The search has ended."""

    epoch: int  # epochs or trials done
    best_epoch: int  # epoch or trial of the policy that was kept
    seconds: float


HistoryEvent: TypeAlias = SearchEpoch | TrialEnd | PolicyProposed | RaceRound | Retrained
"""Events that a result keeps."""

HISTORY_EVENTS: dict[str, type[HistoryEvent]] = {
    kind.__name__: kind for kind in (SearchEpoch, TrialEnd, PolicyProposed, RaceRound, Retrained)
}

SearchEvent: TypeAlias = SearchStart | RaceProgress | HistoryEvent | SearchEnd
