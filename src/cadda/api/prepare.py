"""From windows to pools, problems and training runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from cadda._internal.rows import join
from cadda._internal.scale import describe_odd_scale
from cadda._internal.user_warnings import warn_user
from cadda.api.agreement import check_pair
from cadda.api.policies import PolicyLike, check_classes, check_policy, read_policy
from cadda.data.channels import measured_positions, resolve_montage
from cadda.data.windows import Windows
from cadda.models.critic import make_critic
from cadda.models.registry import ModelSource, choose_model, make_model
from cadda.models.serialization import ModelDescription
from cadda.operations.base import Settings
from cadda.operations.catalogue import Sensors
from cadda.operations.own import OwnOperations, find_operations
from cadda.operations.pool import OperationPool
from cadda.operations.pools import choose_operations, eeg_pool, image_pool
from cadda.policies.policy import Policy, for_classes
from cadda.policies.schedule import PolicySchedule, build_policy
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.summary import operation_info
from cadda.training import Problem, Samples, Trainer, TrainingSettings
from cadda.training.augmenter import Augmentation
from cadda.training.step import check_model

__all__ = [
    "Device",
    "Operations",
    "join_windows",
    "make_problem",
    "model_for",
    "operation_pool",
    "pick_device",
    "policy_pool",
    "prepare_training",
]

Device = Literal["auto", "cpu", "cuda", "mps"]

Operations: TypeAlias = OwnOperations | OperationPool | None
"""Operations to choose from; None for all that are applicable."""


def pick_device(device: Device) -> torch.device:
    """Return the device to compute on; ``"auto"`` takes a GPU if there is one."""
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if device == "auto":
        return torch.device(next(name for name, is_there in available.items() if is_there))
    if device not in available:
        raise ValueError(f"`device` must be 'auto', 'cpu', 'cuda' or 'mps', got {device!r}.")
    if not available[device]:
        raise ValueError(f"`device` {device!r} is not available here; use 'auto' or 'cpu'.")
    return torch.device(device)


def operation_pool(
    windows: Any = None,
    *,
    sfreq: float | None = None,
    ch_names: Sequence[str] | None = None,
    positions: ArrayLike | None = None,
    operations: OwnOperations | None = None,
    operation_settings: Mapping[str, Settings] | None = None,
    class_names: Sequence[str] = (),
) -> OperationPool:
    """Make the pool of the EEG operations that are applicable to a montage.

    Parameters
    ----------
    windows : object | None
        Anything with ``sfreq`` and ``ch_names``, and with ``positions`` if it knows them; or an
        MNE object with ``info``, such as Raw or Epochs. None if the following are given. If its
        ``sfreq`` is None, operations in hertz or seconds are left out.
    sfreq : float | None
        Sampling rate in Hz.
    ch_names : sequence of str | None
        Names of the channels as people write them, such as ``C3``, ``EEG Fpz-Cz`` or ``fc5.``.
    positions : array-like of shape (n_channels, 3) | None
        Sensors in MNE's head frame in metres, NaN where unknown. Without any, positions are those
        of the standard 10-20 montage.
    operations : sequence of str or Operation | None
        Operations wanted: names, operations of your own, also as ``"module:Class"``, ``"paper"``
        for those of the paper, ``"default"``, or ``"all"``; None takes those of a default search.
        The others of cadda are then its ``extra``, which policies find by name.
    operation_settings : mapping of str to mapping | None
        Settings that are not the default, by name of the operation, such as
        ``{"frequency_shift": {"symmetric": True, "max_shift": 10.0}}``.
    class_names : sequence of str
        Classes in the order of their labels, for policies with label maps; taken from ``windows``
        if these know them.

    Returns
    -------
    OperationPool
        The operations; `left_out` has those that are not applicable, with the reason.

    Examples
    --------
    >>> pool = operation_pool(sfreq=100, ch_names=["EEG Fpz-Cz", "EEG Pz-Oz"])
    >>> pool.left_out["channel_symmetry"]
    'no channel has a partner on the other side of the head'
    """
    if windows is None:
        if sfreq is None or ch_names is None:
            missing = "ch_names" if ch_names is None else "sfreq"
            neither = sfreq is None and ch_names is None
            raise ValueError(
                "give `windows`, or both `sfreq` and `ch_names`."
                if neither
                else f"`{missing}` is missing: give both `sfreq` and `ch_names`, or `windows`."
            )
    else:
        if sfreq is not None or ch_names is not None:
            raise ValueError("give `windows`, or `sfreq` and `ch_names`, not both.")
        info = getattr(windows, "info", None)
        if info is not None:
            sfreq, ch_names = float(info["sfreq"]), list(info["ch_names"])
            positions = measured_positions(info) if positions is None else positions
        elif hasattr(windows, "sfreq") and hasattr(windows, "ch_names"):
            sfreq, ch_names = windows.sfreq, windows.ch_names
            class_names = class_names or getattr(windows, "class_names", ())
            positions = getattr(windows, "positions", None) if positions is None else positions
        else:
            raise TypeError(
                "`windows` must have `sfreq` and `ch_names`, or an MNE `info`, "
                f"got {type(windows).__name__}."
            )
    if isinstance(ch_names, str) or not len(ch_names):
        raise ValueError(f"`ch_names` must be a list of channel names, got {ch_names!r}.")
    pool = _pool_of_montage(sfreq, ch_names, positions).for_classes(class_names)
    chosen = pool if operations is None else choose_operations(pool, operations)
    return _with_settings(chosen, operation_settings)


def policy_pool(
    windows: Windows,
    operations: OwnOperations | None,
    operation_settings: Mapping[str, Settings] | None = None,
) -> OperationPool | None:
    """Return the pool of a policy that may have further operations; None for the default one."""
    if not operations and not operation_settings:
        return None
    wanted = ["all", *(operations or ())]
    return operation_pool(windows, operations=wanted, operation_settings=operation_settings)


def _with_settings(pool: OperationPool, settings: Mapping[str, Settings] | None) -> OperationPool:
    """Make a pool with other settings of some operations."""
    try:
        return pool.with_settings(settings) if settings else pool
    except (KeyError, ValueError) as error:
        raise ValueError(f"`operation_settings`: {error.args[0]}") from error


def _pool_of_montage(
    sfreq: float | None, ch_names: Sequence[str], positions: ArrayLike | None
) -> OperationPool:
    measured = None if positions is None else np.asarray(positions, dtype=float)
    montage = resolve_montage(ch_names, measured)
    return eeg_pool(Sensors(sfreq, ch_names, montage.positions, montage.partner))


def make_problem(
    train: Windows,
    valid: Windows,
    *,
    model: ModelSource,
    operations: Operations = None,
    operation_settings: Mapping[str, Settings] | None = None,
    device: Device = "auto",
) -> Problem:
    """Make what training, searches and probes work on, from windows of two sets of subjects.

    `operations` are names, operations of the user's own, ``"paper"`` for those of the paper,
    ``"default"``, ``"all"``, or a pool; None takes the default pool. All are only those that are
    applicable to the montage. Those of `operation_settings` have other settings than the default.
    """
    check_pair(train, valid)
    if not isinstance(operations, OperationPool):
        operations = find_operations(operations)
    model = choose_model(model, train.n_times, train.sfreq)
    is_image = isinstance(operations, OperationPool) and _are_image_operations(operations.names)
    description = ModelDescription(
        model=model if isinstance(model, str) else "custom",
        n_channels=train.n_channels,
        n_times=train.n_times,
        sfreq=train.sfreq,
        ch_names=train.ch_names,
        class_names=train.class_names,
        filters=train.filters,
    )
    shape, n_classes = (train.n_channels, train.n_times), train.n_classes
    return Problem(
        train=Samples.of(train.signals, train.y, train.subject),
        valid=Samples.of(valid.signals, valid.y, valid.subject),
        description=description,
        make_pool=partial(
            _make_pool,
            operations,
            operation_settings,
            train.sfreq,
            train.ch_names,
            train.positions,
            train.class_names,
            # Images have no unit.
            odd_scale=None if is_image else describe_odd_scale(train.signals),
        ),
        make_model=lambda seed: model_for(model, description, seed=seed),
        make_critic=lambda seed: make_critic(shape, n_classes, seed, images=is_image),
        device=pick_device(device),
    )


def model_for(source: ModelSource, windows: Windows | ModelDescription, *, seed: int) -> nn.Module:
    """Make an untrained model for windows."""
    return make_model(
        source,
        n_channels=windows.n_channels,
        n_times=windows.n_times,
        n_classes=len(windows.class_names),
        sfreq=windows.sfreq,
        seed=seed,
    )


def _make_pool(
    operations: Operations,
    operation_settings: Mapping[str, Settings] | None,
    sfreq: float | None,
    ch_names: tuple[str, ...],
    positions: NDArray[np.float64] | None,
    class_names: tuple[str, ...],
    odd_scale: str | None,
) -> OperationPool:
    """Make the pool of a problem; warn if its windows have an odd scale."""
    if odd_scale is not None:
        warn_user(f"{odd_scale}.")
    if isinstance(operations, OperationPool):
        return _with_settings(operations.for_classes(class_names), operation_settings)
    pool = _pool_of_montage(sfreq, ch_names, positions).for_classes(class_names)
    try:
        chosen = pool if operations is None else choose_operations(pool, operations)
    except KeyError as error:
        raise ValueError(f"`operations`: {error.args[0]}") from error
    return _with_settings(chosen, operation_settings)


def _are_image_operations(names: Iterable[str]) -> bool:
    known = map(operation_info, names)
    return {info.domain for info in known if info is not None} == {"image"}


def prepare_training(
    train: Windows,
    valid: Windows,
    settings: TrainingSettings,
    *,
    model: ModelSource,
    policy: PolicyLike = None,
    pool: OperationPool | None = None,
    device: Device = "auto",
) -> Trainer:
    """Make a training run, ready to start; whatever is wrong with the arguments raises here."""
    spec = (
        read_policy(policy, () if pool is None else pool.names, train.class_names)
        if isinstance(policy, str | os.PathLike)
        else policy
    )
    check_policy(spec)
    last = spec.last if isinstance(spec, PolicySchedule) else spec
    if (
        pool is None
        and isinstance(last, PolicySpec)
        and _are_image_operations(last.operations_used)
    ):
        pool = image_pool()
    problem = make_problem(train, valid, model=model, operations=pool, device=device)
    check_classes(spec, train)
    if isinstance(spec, Policy):
        spec = for_classes(spec, train.class_names)
    augmentation: Augmentation | None
    if isinstance(spec, PolicySpec) and spec.is_none:
        augmentation = None
    elif isinstance(spec, PolicySpec | PolicySchedule):
        augmentation = build_policy(spec, problem.pool)
    else:
        augmentation = spec
    trainer = Trainer(problem, settings, augmentation)
    check_model(trainer.model, problem)
    return trainer


def join_windows(train: Windows, valid: Windows) -> Windows:
    """Return the windows of both parts together."""
    parts = train, valid
    return Windows(
        join([part.signals for part in parts]),
        torch.cat([part.y for part in parts]),
        subject=np.concatenate([part.subject for part in parts]),
        sfreq=train.sfreq,
        ch_names=train.ch_names,
        class_names=train.class_names,
        positions=train.positions,
        recording=np.concatenate([part.recording for part in parts]),
    )
