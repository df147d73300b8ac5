"""What a search reports while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "Retrained",
    "SearchEnd",
    "SearchEpoch",
    "SearchEvent",
    "SearchStart",
    "SearchStep",
    "Table",
    "TrialEnd",
]

Table = tuple[tuple[float, ...], ...]
"""Numbers by class (one row if the policy is for all classes) and operation."""


@dataclass(frozen=True)
class SearchStep:
    """One step of a search is done.

    Parameters
    ----------
    step : int
        Number of the step, from 1.
    train_loss : float
        Loss of the training batch.
    reward : float | None
        Mean reward of the augmented windows beyond that of the same windows unchanged; None
        during warm-up.
    entropy : float
        Mean entropy of the choices, relative to that of a uniform choice.
    """

    step: int
    train_loss: float
    reward: float | None
    entropy: float


@dataclass(frozen=True)
class SearchStart:
    """A search begins, or goes on.

    Parameters
    ----------
    method : str
        Name of the method.
    classwise : bool
        Whether each class gets a policy of its own.
    n_epochs : int
        How many epochs there will be.
    epoch : int
        How many are done already.
    operations : tuple of str
        What can be chosen.
    class_names : tuple of str
        The classes.
    log10_policies : float
        Number of policies to choose from, as a power of ten.
    warnings : tuple of str
        What the user should know.
    unit : 'epoch' | 'trial'
        What is counted.
    """

    method: str
    classwise: bool
    n_epochs: int
    epoch: int
    operations: tuple[str, ...]
    class_names: tuple[str, ...]
    log10_policies: float
    warnings: tuple[str, ...]
    unit: Literal["epoch", "trial"] = "epoch"


@dataclass(frozen=True)
class SearchEpoch:
    """One pass through the training windows is done.

    Parameters
    ----------
    epoch : int
        Number of the epoch, from 1.
    n_epochs : int
        How many there will be.
    train_loss : float
        Mean loss of the training batches, as augmented.
    valid_loss : float
        Loss of the model of the search on the validation windows.
    valid_balanced_accuracy : float
        Its balanced accuracy there.
    reward : float | None
        Mean reward of augmentation over the epoch; None during warm-up.
    entropy : float
        How undecided the choices are: 1 is uniform, 0 is certain.
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
        What the user should know.
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


@dataclass(frozen=True)
class TrialEnd:
    """One policy was tried.

    Parameters
    ----------
    number : int
        Number of the trial, from 1; an Optuna study counts from 0.
    n_trials : int
        How many there will be.
    value : float | None
        Validation loss that the policy was judged by; None if the trial failed.
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
        Time that the trial took, on its worker.
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
class Retrained:
    """A model was trained from scratch with the policy found so far.

    Parameters
    ----------
    epoch : int
        Epoch of the search, or number of trials; 0 is the training without augmentation.
    valid_loss : float
        Loss on the validation windows.
    valid_balanced_accuracy : float
        Balanced accuracy there.
    is_best : bool
        Whether its loss is the lowest of the policies so far.
    search_seconds : float
        Time spent on searching up to here.
    seconds : float
        Time that the training took.
    train_losses : tuple of float
        Loss of each epoch of the training, as augmented.
    valid_losses : tuple of float
        Loss on validation after each epoch.
    """

    epoch: int
    valid_loss: float
    valid_balanced_accuracy: float
    is_best: bool
    search_seconds: float
    seconds: float
    train_losses: tuple[float, ...]
    valid_losses: tuple[float, ...]


@dataclass(frozen=True)
class SearchEnd:
    """The search is over.

    Parameters
    ----------
    epoch : int
        Number of epochs or trials that were done.
    best_epoch : int
        Epoch or trial of the policy that was kept.
    seconds : float
        Time spent on searching.
    """

    epoch: int
    best_epoch: int
    seconds: float


SearchEvent: TypeAlias = SearchStart | SearchEpoch | TrialEnd | Retrained | SearchEnd
