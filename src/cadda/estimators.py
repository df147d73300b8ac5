"""A classifier for scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from cadda._internal.user_warnings import warn_of_mixed_subjects, warn_without_subjects
from cadda.api.fit import fit
from cadda.api.policies import read_policy
from cadda.api.prepare import Device
from cadda.api.result import SearchResult
from cadda.api.search import search
from cadda.data.io.epochs_format import EpochsFormat
from cadda.data.rounding import to_single
from cadda.data.splits import split_subjects, stratified_split
from cadda.data.standardise import standardise
from cadda.data.windows import Windows
from cadda.models.registry import ModelSource
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.registry import find_method
from cadda.training import TrainingSettings, predict_logits
from cadda.training.optimizers import OptimizerFactory

__all__ = ["AugmentedClassifier"]


# scikit-learn has no types, so that its classes are Any to a strict checker.
class AugmentedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of windows that trains with an augmentation policy.

    Follows scikit-learn's protocol, so that it can be cloned, cross-validated with
    ``groups=subject``, searched over and put at the end of a pipeline. Windows may be arrays of
    shape (n_windows, n_channels, n_times) or MNE epochs; flat windows of shape (n_windows,
    n_times) have one channel.

    Of epochs, the good EEG channels are used. To predict, channels are matched by name, and epochs
    with another sampling rate or length are an error.

    Parameters
    ----------
    model : str | nn.Module | callable
        See `cadda.fit`.
    policy : PolicySpec | PolicySchedule | path | str | None
        Augmentation policy, its file, ``"zoo:NAME"``, or its short form such as ``"sign_flip
        p=0.5"``; text that is the name of a file is that file. None searches for one. Its class
        names are the labels as text, so that ``-> {1: 2, 2: 1}`` exchanges the integer labels 1
        and 2.
    method : str | None
        Method that searches for a policy first, unless ``policy`` is given; see `cadda.search`.
        None trains without augmentation.
    search_budget : int | None
        Number of training runs, epochs or trials of the search; None for the default of the
        method.
    probe : bool | None
        Whether the search first finds out what operations do to classes; None for the default of
        the method.
    sfreq : float | None
        Sampling rate in Hz; ignored for MNE epochs. None excludes operations in hertz or seconds,
        and is an error for a ``policy`` with such.
    ch_names : sequence of str | None
        Channel names; ignored for MNE epochs. None names the channels "0", "1", …, which excludes
        operations that need positions.
    standardise : bool
        Whether to scale each channel of each window to mean 0 and standard deviation 1.
    valid_fraction : float
        Fraction of the groups, or of the windows without groups, used for early stopping.
    max_epochs : int
        Maximum number of epochs.
    patience : int
        Number of epochs without improvement on validation before training stops.
    batch_size : int
        Number of windows per step.
    lr : float
        Learning rate.
    class_weights : bool
        Whether rare classes count more in the loss.
    copies : int | None
        Augmented copies added to each window; 0 replaces it, None is as in `cadda.fit`.
    monitor : 'loss' | 'balanced_accuracy'
        Validation score for early stopping and for the best weights.
    optimizer : str | callable
        Name of an optimizer, or a function that makes one; see `cadda.fit`.
    random_state : int | RandomState | None
        Seed; the same integer gives the same classifier.
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        Where to train.
    progress : bool
        Whether to show the progress of a search or of training that takes longer than a few
        seconds, as `cadda.search` and `cadda.fit` do.

    Attributes
    ----------
    classes_ : array
        Class labels.
    model_ : nn.Module
        The trained network.
    n_times_ : int
        Samples of a window.
    epochs_format_ : EpochsFormat | None
        Channels and sampling rate of the MNE epochs that it was fitted to; None for arrays.
    history_ : list of EpochEnd
        Losses and validation accuracy of each epoch.
    policy_ : PolicySpec | PolicySchedule | None
        The policy used: ``policy``, or the result of the search.
    warnings_ : tuple of str
        What suggests that the network has learned nothing; also issued as a warning.
    search_ : SearchResult | None
        The search, whose ``verdict`` and ``notes`` say why the policy is what it is, such as none;
        None if there was none.

    Examples
    --------
    >>> from sklearn.model_selection import GroupKFold, cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> X, y, subject = rng.normal(size=(40, 2, 300)), np.arange(40) % 2, np.arange(40) // 8
    >>> X[y == 1] *= np.linspace(0.2, 2, 300)
    >>> clf = AugmentedClassifier("shallow", method=None, max_epochs=3, random_state=0)
    >>> params = {"groups": subject}
    >>> scores = cross_val_score(clf, X, y, groups=subject, params=params, cv=GroupKFold(2))
    >>> scores.shape
    (2,)
    """

    def __init__(
        self,
        model: ModelSource = "auto",
        *,
        policy: PolicySpec | PolicySchedule | str | None = None,
        method: str | None = "auto",
        search_budget: int | None = None,
        probe: bool | None = None,
        sfreq: float | None = None,
        ch_names: list[str] | tuple[str, ...] | None = None,
        standardise: bool = True,
        valid_fraction: float = 0.2,
        max_epochs: int = 300,
        patience: int = 30,
        batch_size: int = 16,
        lr: float = 1e-3,
        class_weights: bool = False,
        copies: int | None = None,
        monitor: Literal["loss", "balanced_accuracy"] = "loss",
        optimizer: str | OptimizerFactory = "adam",
        random_state: int | np.random.RandomState | None = None,
        device: Device = "auto",
        progress: bool = False,
    ) -> None:
        self.model = model
        self.policy = policy
        self.method = method
        self.search_budget = search_budget
        self.probe = probe
        self.sfreq = sfreq
        self.ch_names = ch_names
        self.standardise = standardise
        self.valid_fraction = valid_fraction
        self.max_epochs = max_epochs
        self.patience = patience
        self.batch_size = batch_size
        self.lr = lr
        self.class_weights = class_weights
        self.copies = copies
        self.monitor = monitor
        self.optimizer = optimizer
        self.random_state = random_state
        self.device = device
        self.progress = progress

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:  # noqa: N803
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_windows, n_channels, n_times) | mne.Epochs
            Windows.
        y : array-like of shape (n_windows,)
            Labels, of any kind.
        groups : array-like of shape (n_windows,) | None
            Subjects, which are kept apart in training and validation; None treats every window as
            a subject, with a warning if there is a policy, or if one is searched for.

        Returns
        -------
        AugmentedClassifier
            The estimator itself.
        """
        epochs = _epochs_in(X)
        self.epochs_format_ = EpochsFormat.of(epochs) if epochs else None
        array = self._validated(X, reset=True)
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"`y` must have at least two classes, got one class: {labels[0]!r}.")
        windows = Windows(
            self._scaled(array),
            codes,
            subject=np.arange(len(array)) if groups is None else column_or_1d(groups),
            **self._recording_fields(),
            class_names=[str(label) for label in self.classes_],
        )
        seed = int(check_random_state(self.random_state).randint(2**31))
        train, valid = (
            stratified_split(windows, self.valid_fraction, seed=seed)
            if groups is None
            else split_subjects(windows, (self.valid_fraction,), seed=seed)
        )
        if groups is None and self.policy is not None:
            warn_of_mixed_subjects("groups")
        elif groups is None and self.method is not None:
            warn_without_subjects("groups")
        self.search_ = self._search(train, valid, seed)
        self.policy_ = (
            self._policy(windows.class_names)
            if self.search_ is None
            else self.search_.schedule_or_policy
        )
        fitted = fit(
            train,
            valid,
            model=self.model,
            policy=self.policy_,
            device=self.device,
            progress=self.progress,
            **asdict(self._training_settings(seed)),
        )
        self.model_, self.history_ = fitted.model, fitted.history
        self.warnings_ = fitted.warnings
        self.n_iter_ = len(self.history_)
        return self

    def _recording_fields(self) -> dict[str, Any]:
        """Return what windows have besides signals, labels and subjects."""
        known = self.epochs_format_
        if known is None:
            return {"sfreq": self.sfreq, "ch_names": self.ch_names}
        return {"sfreq": known.sfreq, "ch_names": known.ch_names, "positions": known.positions}

    def _policy(self, class_names: Sequence[str]) -> PolicySpec | PolicySchedule | None:
        """Return `policy`, read from its file or taken from the zoo if it is a name."""
        if isinstance(self.policy, str | os.PathLike):
            return read_policy(self.policy, class_names=class_names)
        return self.policy

    def _search(self, train: Windows, valid: Windows, seed: int) -> SearchResult | None:
        if self.method is None or self.policy is not None:
            return None
        own: dict[str, Any] = {}  # each method has its own settings
        if "batch_size" in find_method(self.method).setting_names:
            own["batch_size"] = self.batch_size
        return search(
            train,
            valid,
            method=self.method,
            model=self.model,
            budget=self.search_budget,
            probe=self.probe,
            training=self._training_settings(seed),
            seed=seed,
            device=self.device,
            retrain=False,
            baseline=False,
            progress=self.progress,
            **own,
        )

    def _training_settings(self, seed: int) -> TrainingSettings:
        return TrainingSettings(
            max_epochs=self.max_epochs,
            patience=self.patience,
            batch_size=self.batch_size,
            lr=self.lr,
            class_weights=self.class_weights,
            copies=self.copies,
            monitor=self.monitor,
            optimizer=self.optimizer,
            seed=seed,
        )

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_windows, n_channels, n_times) | mne.Epochs
            Windows.

        Returns
        -------
        array of shape (n_windows, n_classes)
            Probabilities, in the order of `classes_`.
        """
        check_is_fitted(self)
        x = self._scaled(self._validated(X, reset=False))
        logits = predict_logits(self.model_, x, len(self.classes_))
        return np.asarray(logits.double().softmax(1))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Predict the class of each window.

        Parameters
        ----------
        X : array-like of shape (n_windows, n_channels, n_times) | mne.Epochs
            Windows.

        Returns
        -------
        array of shape (n_windows,)
            Labels as in `y` of `fit`.
        """
        check_is_fitted(self)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])

    def _validated(self, X: Any, *, reset: bool) -> NDArray[np.floating]:  # noqa: N803
        epochs = _epochs_in(X)
        data = self._signals(epochs) if epochs else X
        kinds = (np.float64, np.float32)
        array = validate_data(self, data, dtype=kinds, allow_nd=True, reset=reset)
        if reset:
            self.n_times_ = array.shape[-1]
        elif array.shape[-1] != self.n_times_:
            raise ValueError(
                f"`X` must have windows of {self.n_times_} samples, as in `fit`, got "
                f"{array.shape[-1]}."
            )
        return np.asarray(array[:, None] if array.ndim == 2 else array)

    def _signals(self, epochs: list[Any]) -> NDArray[np.floating]:
        """Return the signals of epochs, with the channels that the classifier was fitted to."""
        known = self.epochs_format_
        if known is None and self.ch_names is not None and self.sfreq is not None:
            known = EpochsFormat(tuple(self.ch_names), self.sfreq)
        return (known or EpochsFormat.of(epochs)).read(epochs)

    def _scaled(self, array: NDArray[np.floating]) -> torch.Tensor:
        if not self.standardise:
            return torch.from_numpy(np.ascontiguousarray(to_single(array, "`X`")))
        return standardise(
            torch.from_numpy(np.ascontiguousarray(array)), out=torch.empty(array.shape)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.poor_score = True
        return tags


def _epochs_in(X: Any) -> list[Any]:  # noqa: N803
    """Return MNE epochs as a list, which scikit-learn makes of a part of them; else nothing."""
    parts = X if isinstance(X, list) else [X]
    return parts if parts and all(hasattr(part, "get_data") for part in parts) else []
