"""What a report is made from: the results of a run, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.model import PolicySpec

__all__ = [
    "DataFacts",
    "Gallery",
    "Learning",
    "Part",
    "Predictions",
    "RunRecord",
    "SearchCurves",
]

Numbers = NDArray[np.float64]
Texts = NDArray[np.str_]


@dataclass(frozen=True)
class Part:
    """One part of the split.

    Parameters
    ----------
    subjects : tuple of str
        Who is in it.
    windows : tuple of int
        Number of windows of each class.
    digest : str
        SHA-256 of its windows.
    """

    subjects: tuple[str, ...]
    windows: tuple[int, ...]
    digest: str


@dataclass(frozen=True)
class DataFacts:
    """What the windows are.

    Parameters
    ----------
    sfreq : float
        Sampling rate in Hz.
    n_times : int
        Samples per window.
    ch_names : tuple of str
        Names of the channels.
    class_names : tuple of str
        Names of the classes.
    left_out : mapping of str to str
        Operations that can do nothing on this montage, with the reason.
    split : mapping of str to float
        Fractions and seed of the split.
    parts : mapping of str to Part
        ``train``, ``valid`` and ``test``.
    """

    sfreq: float
    n_times: int
    ch_names: tuple[str, ...]
    class_names: tuple[str, ...]
    left_out: Mapping[str, str]
    split: Mapping[str, float]
    parts: Mapping[str, Part]

    @property
    def seconds(self) -> float:
        """Length of a window."""
        return self.n_times / self.sfreq


@dataclass(frozen=True, eq=False)
class Predictions:
    """Truth and predictions of the test windows, one entry each.

    Parameters
    ----------
    subject : array of str
        Who it is of.
    recording : array of str
        Which recording of the subject.
    position : array of int
        Number within the recording, in the order of time.
    truth : array of int
        True labels.
    predicted : array of int
        Labels that the model of the run predicts.
    without_augmentation : array of int | None
        The same of the model trained without augmentation, if there is one.
    """

    subject: Texts
    recording: Texts
    position: NDArray[np.int64]
    truth: NDArray[np.int64]
    predicted: NDArray[np.int64]
    without_augmentation: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class SearchCurves:
    """How a search went.

    Parameters
    ----------
    unit : 'epoch' | 'trial'
        What is counted.
    number : array of shape (n,)
        Number of each epoch or trial.
    valid_loss : array of shape (n,)
        Validation loss; NaN of a trial that failed.
    entropy : array of shape (n,) | None
        How undecided the choices were, from 1 to 0; None of trials.
    tables : mapping of str to array of shape (n, n_rows, n_operations)
        ``applied``, ``share``, ``probability`` and ``magnitude`` of each operation by class; of
        trials, those of the best policy so far.
    retrained : tuple of (int, float)
        After which epochs or trials a model was trained from scratch, with its validation loss.
    """

    unit: Literal["epoch", "trial"]
    number: Numbers
    valid_loss: Numbers
    entropy: Numbers | None
    tables: Mapping[str, Numbers]
    retrained: tuple[tuple[int, float], ...]


@dataclass(frozen=True, eq=False)
class Learning:
    """Losses of one training.

    Parameters
    ----------
    name : str
        What was trained.
    train_loss : array of shape (n_epochs,)
        Loss of the training windows, as augmented.
    valid_loss : array of shape (n_epochs,)
        Loss of the validation windows.
    best_epoch : int
        Epoch whose weights were kept, from 1.
    """

    name: str
    train_loss: Numbers
    valid_loss: Numbers
    best_epoch: int


@dataclass(frozen=True, eq=False)
class Gallery:
    """Windows before and after operations; see `cadda.runs.examples.gallery_of`.

    Parameters
    ----------
    operation : array of str
        Operations.
    class_name : array of str
        Class that each is used most for.
    applied : array of shape (n_operations,)
        How often there.
    magnitude : array of shape (n_operations,)
        How strongly there; NaN for an operation without magnitude.
    window : array of int
        Which window each was applied to.
    before : array of shape (n_windows, n_channels, n_times)
        The windows, in standard deviations.
    after : array of shape (n_operations, n_channels, n_times)
        What became of them.
    ch_names : array of str
        Channels that are shown.
    """

    operation: Texts
    class_name: Texts
    applied: Numbers
    magnitude: Numbers
    window: NDArray[np.int64]
    before: NDArray[np.floating[Any]]
    after: NDArray[np.floating[Any]]
    ch_names: Texts


@dataclass(frozen=True, eq=False)
class RunRecord:
    """All that a run has left behind.

    Parameters
    ----------
    kind : 'search' | 'training'
        What the run was.
    config : mapping of str to object
        What was asked for.
    data : DataFacts
        What the windows are.
    predictions : Predictions
        Truth and predictions of the test windows.
    policy : PolicySpec | None
        What training windows were augmented with, at the end if that changed.
    schedule : PolicySchedule | None
        Which policy was applied in which epoch, if that changed.
    search : SearchCurves | None
        How the search went.
    trainings : tuple of Learning
        How the trainings went.
    seconds : mapping of str to float
        How long what took.
    gallery : Gallery | None
        Examples of the policy.
    sessions : tuple of mapping
        By which commands, when and where the run was computed.
    warnings : tuple of str
        What came up on the way.
    """

    kind: Literal["search", "training"]
    config: Mapping[str, Any]
    data: DataFacts
    predictions: Predictions
    policy: PolicySpec | None
    schedule: PolicySchedule | None
    search: SearchCurves | None
    trainings: tuple[Learning, ...]
    seconds: Mapping[str, float]
    gallery: Gallery | None
    sessions: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...]

    @property
    def search_moved(self) -> bool:
        """Whether a search went on for longer than its warm-up, in which the policy rests."""
        if self.search is None:
            return True
        return bool(self.search.number[-1] > self.config["settings"].get("warmup_epochs", -1))

    @property
    def data_name(self) -> str:
        """Where the windows come from."""
        data = self.config["data"]
        name = data["name"] if isinstance(data, Mapping) else data
        return "windows" if name is None else str(name)
