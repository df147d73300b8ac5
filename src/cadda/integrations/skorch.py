"""A callback that trains a net of skorch with a policy."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from torch import Tensor, nn

from cadda._internal.random import Seeds, Streams
from cadda._internal.user_warnings import warn_without_subjects
from cadda.api.policies import classes_of, read_policy
from cadda.api.prepare import operation_pool
from cadda.api.search import search
from cadda.data.splits import split_subjects
from cadda.data.windows import Windows
from cadda.models.registry import ModelSource
from cadda.policies.policy import Policy
from cadda.policies.schedule import PolicySchedule, build_policy, policies_of
from cadda.policies.spec.model import PolicySpec
from cadda.training import TrainingSettings
from cadda.training.augmenter import Augmenter

__all__ = ["AugmentationCallback"]


# scikit-learn has no types, so that its classes are Any to a strict checker.
class AugmentationCallback(BaseEstimator):  # type: ignore[misc]
    """Augments the training batches of a skorch net, such as braindecode's ``EEGClassifier``.

    Windows are tensors of shape (n_windows, n_channels, n_times), labels integers from 0.
    Validation batches stay as they are.

    Parameters
    ----------
    policy : PolicySpec | PolicySchedule | Policy | str | None
        Augmentation: a spec, a schedule, a policy with its pool, a file with a spec or schedule,
        or ``"zoo:NAME"``. None searches for one when training begins; then the module must return
        logits, with ``criterion=nn.CrossEntropyLoss``.
    sfreq : float | None
        Sampling rate in Hz. None excludes operations in hertz or seconds, and is an error for a
        ``policy`` with such.
    ch_names : sequence of str | None
        Channel names. None names the channels "0", "1", …, which excludes operations that need
        positions.
    class_names : sequence of str | None
        Names of the classes in the order of the labels; None for the labels as text. A policy
        with a part or a label map for named classes needs them.
    copies : int | None
        Augmented copies that are added to each window; see `cadda.fit`.
    method : str
        Method of the search; see `cadda.search`.
    search_budget : int | None
        Number of training runs, epochs or trials of the search; None for the default of the
        method.
    subjects : array-like of shape (n_windows,) | None
        Subject of each window that the net is fitted to, which the search keeps apart in training
        and validation; None treats every window as a subject.
    valid_fraction : float
        Fraction of the subjects that the search validates on.
    random_state : int | RandomState | None
        Seed of augmentation and search.
    progress : bool
        Whether to show the progress of a search that takes longer than a few seconds, as
        `cadda.search` does; training is shown by the net.

    Attributes
    ----------
    policy_ : PolicySpec | PolicySchedule | Policy
        The policy used: ``policy``, the content of its file, or the result of the search.

    Examples
    --------
    >>> import cadda
    >>> spec = cadda.PolicySpec.from_text("time_mask p=0.5 m=0.4")
    >>> augment = cadda.AugmentationCallback(spec, sfreq=100, ch_names=["C3", "C4"])
    >>> # net = skorch.NeuralNetClassifier(module, callbacks=[augment]).fit(X, y)
    """

    def __init__(
        self,
        policy: PolicySpec | PolicySchedule | Policy | str | None = None,
        *,
        sfreq: float | None = None,
        ch_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        copies: int | None = None,
        method: str = "auto",
        search_budget: int | None = None,
        subjects: ArrayLike | None = None,
        valid_fraction: float = 0.2,
        random_state: int | np.random.RandomState | None = None,
        progress: bool = False,
    ) -> None:
        self.policy = policy
        self.sfreq = sfreq
        self.ch_names = ch_names
        self.class_names = class_names
        self.copies = copies
        self.method = method
        self.search_budget = search_budget
        self.subjects = subjects
        self.valid_fraction = valid_fraction
        self.random_state = random_state
        self.progress = progress

    def initialize(self) -> Self:
        """Return the callback, as skorch wants it."""
        return self

    def on_train_begin(self, net: Any, X: Any = None, y: Any = None, **kwargs: Any) -> None:  # noqa: N803
        """Find the policy, by a search if there is none.

        Parameters
        ----------
        net : skorch.NeuralNet
            The net.
        X : array-like of shape (n_windows, n_channels, n_times) | Dataset
            What the net is fitted to.
        y : array-like of shape (n_windows,) | None
            Labels; None if the data set has them.
        **kwargs : object
            Not used.
        """
        seed = int(check_random_state(self.random_state).randint(2**31))
        self.policy_ = self._find_policy(net, X, y, seed)
        self._augment: Augmenter | None = None
        self._draws = Streams.of(Seeds(seed), "augmentation", torch.device("cpu"))
        self._epoch = 0

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Count epochs, for a policy that changes between them.

        Parameters
        ----------
        net : skorch.NeuralNet
            The net.
        **kwargs : object
            Not used.
        """
        del net
        self._epoch += 1
        if self._augment is not None:
            self._augment.start_epoch(self._epoch)

    def on_batch_begin(
        self, net: Any, batch: Any = None, training: Any = None, **kwargs: Any
    ) -> None:
        """Augment a training batch.

        Parameters
        ----------
        net : skorch.NeuralNet
            The net.
        batch : list or tuple of Tensor
            Windows and labels, which are changed.
        training : bool
            Whether it is a training batch; others stay as they are.
        **kwargs : object
            Not used.
        """
        del net
        if not training:
            return
        if not isinstance(batch, list | tuple) or not all(map(torch.is_tensor, batch[:2])):
            kinds = type(batch).__name__
            if isinstance(batch, list | tuple):
                kinds = f"({', '.join(type(part).__name__ for part in batch[:2])})"
            raise TypeError(
                f"the batches of the net must be tensors (x, y), got {kinds}; use labels that are "
                "integers, not text, and a loader with torch's `default_collate`."
            )
        x, y = batch[:2]
        if self._augment is None:
            self._augment = self._make_augmenter(x)
            self._augment.start_epoch(self._epoch)
        # Some loaders make tuples. The tensors get other memory, so that no data set is changed.
        for tensor, augmented in zip((x, y), self._augment(x, y, self._draws), strict=True):
            tensor.set_(augmented)

    def _ignore(self, net: Any, **kwargs: Any) -> None:
        """Do nothing.

        Parameters
        ----------
        net : skorch.NeuralNet
            The net.
        **kwargs : object
            Not used.
        """

    on_train_end = on_epoch_end = on_batch_end = on_grad_computed = _ignore

    def _find_policy(
        self,
        net: Any,
        X: Any,  # noqa: N803
        y: Any,
        seed: int,
    ) -> PolicySpec | PolicySchedule | Policy:
        """Return the policy that was given, read from its file, or found by a search."""
        if self.policy is None:
            return self._search(net, X, y, seed)
        if isinstance(self.policy, str):
            return read_policy(self.policy, class_names=self.class_names)
        return self.policy

    def _make_augmenter(self, x: Tensor) -> Augmenter:
        """Return what augments batches such as this first one."""
        policy: Any = self.policy_
        if not isinstance(policy, Policy):
            # Unlike the argument `sfreq`, that of an object may be None.
            montage = SimpleNamespace(sfreq=self.sfreq, ch_names=self._channel_names(x.shape[1]))
            class_names = self.class_names or _labels_as_text(policy)
            policy = build_policy(policy, operation_pool(montage, class_names=class_names))
        if isinstance(policy, Policy):
            policy.warn_of_scale(x)
        return Augmenter(policy, self.copies)

    def _channel_names(self, n_channels: int) -> list[str]:
        if self.ch_names is None:
            return [str(i) for i in range(n_channels)]
        return list(self.ch_names)

    def _search(self, net: Any, X: Any, y: Any, seed: int) -> PolicySpec | PolicySchedule:  # noqa: N803
        if self.subjects is None:
            warn_without_subjects("subjects")
        x, labels = _arrays(X, y)
        n_classes = len(self.class_names) if self.class_names else int(labels.max()) + 1
        windows = Windows(
            x,
            labels,
            subject=np.arange(len(x)) if self.subjects is None else self.subjects,
            sfreq=self.sfreq,
            ch_names=self._channel_names(x.shape[1]),
            class_names=self.class_names or [str(label) for label in range(n_classes)],
        )
        train, valid = split_subjects(windows, (self.valid_fraction,), seed=seed)
        result = search(
            train,
            valid,
            method=self.method,
            model=_model_of(net),
            budget=self.search_budget,
            training=TrainingSettings(max_epochs=net.max_epochs, seed=seed),
            seed=seed,
            retrain=False,
            baseline=False,
            progress=self.progress,
        )
        return result.schedule_or_policy


def _labels_as_text(policy: PolicySpec | PolicySchedule) -> tuple[str, ...]:
    """Return the labels as names of classes; raise if a policy is for classes with other names."""
    found: tuple[str, ...] = ()
    for names in classes_of(policy):
        found = tuple(map(str, range(len(names))))
        if set(names) != set(found):
            raise ValueError(
                f"`class_names` must be given for a policy of the classes {list(names)}, as the "
                "labels of a net are numbers, got None; pass the names in the order of the labels."
            )
    if not found and any(spec.label_maps for spec in policies_of(policy)):
        raise ValueError(
            "`class_names` must be given for a policy with a label map, got None; pass the names "
            "in the order of the labels, or the labels as text."
        )
    return found


def _arrays(X: Any, y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:  # noqa: N803
    """Return windows and labels of arrays, tensors, or a data set with both."""
    if y is None:
        x, y = zip(*((item[0], item[1]) for item in (X[i] for i in range(len(X)))), strict=True)
        X = np.stack([np.asarray(window) for window in x])  # noqa: N806
    return np.asarray(X), np.asarray(y)


def _model_of(net: Any) -> ModelSource:
    """Return the untrained module of a net, which must return logits."""
    criterion = net.criterion
    kind = criterion if isinstance(criterion, type) else type(criterion)
    if not issubclass(kind, nn.CrossEntropyLoss):
        raise ValueError(
            "`criterion` of the net must be nn.CrossEntropyLoss, with a module that returns "
            f"logits, for a search, got {kind.__name__}; or pass `policy`."
        )
    module: nn.Module | type[nn.Module] = net.module
    if isinstance(module, nn.Module):
        return module
    # Sizes are those that the user has given to the net.
    return lambda *_: module(**net.get_params_for("module"))
