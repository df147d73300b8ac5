"""What a training needs of given windows: device, model, augmentation, and that they fit."""

from __future__ import annotations

import os
import warnings
from typing import Literal

import torch
from torch import nn

from cadda.api.pool import pool_for_policy
from cadda.data.channels import same_channels
from cadda.data.splits import check_no_leak
from cadda.data.windows import Windows
from cadda.exceptions import ModelError
from cadda.models.registry import ModelSource, make_model
from cadda.models.serialization import ModelDescription
from cadda.operations.pool import OperationPool
from cadda.policies.policy import Policy
from cadda.policies.schedule import PolicySchedule, build_policy, load_policy
from cadda.policies.spec.model import PolicySpec
from cadda.training.augmenter import Augmentation

__all__ = [
    "Device",
    "augmentation_for",
    "check_fits",
    "check_pair",
    "check_scale",
    "description_of",
    "model_for",
    "pick_device",
]

Device = Literal["auto", "cpu", "cuda", "mps"]


def pick_device(device: Device) -> torch.device:
    """Choose where to compute.

    Parameters
    ----------
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        What is wanted; auto takes a GPU if there is one.

    Returns
    -------
    torch.device
        The device.
    """
    if device not in ("auto", "cpu", "cuda", "mps"):
        raise ValueError(f"`device` must be 'auto', 'cpu', 'cuda' or 'mps', got {device!r}.")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("`device` 'cuda' is not available here; use 'auto' or 'cpu'.")
    if device == "mps" and not torch.backends.mps.is_available():
        raise ValueError("`device` 'mps' is not available here; use 'auto' or 'cpu'.")
    if device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def model_for(source: ModelSource, windows: Windows, *, seed: int) -> nn.Module:
    """Make an untrained model for given windows.

    Parameters
    ----------
    source : str | nn.Module | callable
        See `fit`.
    windows : Windows
        What it will classify.
    seed : int
        Seed of its weights.

    Returns
    -------
    nn.Module
        A new model.
    """
    return make_model(
        source,
        n_channels=windows.n_channels,
        n_times=windows.n_times,
        n_classes=windows.n_classes,
        sfreq=windows.sfreq,
        seed=seed,
    )


def augmentation_for(
    policy: PolicySpec | PolicySchedule | Augmentation | str | os.PathLike[str] | None,
    windows: Windows,
    pool: OperationPool | None = None,
) -> Augmentation | None:
    """Turn what a user gave as a policy into something that augments batches.

    Parameters
    ----------
    policy : PolicySpec | PolicySchedule | Policy | path-like | callable | None
        See `fit`.
    windows : Windows
        What it will augment.
    pool : OperationPool | None
        See `fit`.

    Returns
    -------
    Policy | callable | None
        What `train` takes.
    """
    known = () if pool is None else pool.names
    spec = load_policy(policy, known=known) if isinstance(policy, str | os.PathLike) else policy
    if pool is not None and not isinstance(spec, PolicySpec | PolicySchedule):
        raise TypeError(
            "`pool` must come with a `policy` that is a PolicySpec, a PolicySchedule or a file, "
            f"got {type(policy).__name__}."
        )
    if isinstance(spec, Policy):
        _check_classes(spec.spec, windows)
    if not isinstance(spec, PolicySpec | PolicySchedule):
        return spec
    last = spec.last if isinstance(spec, PolicySchedule) else spec
    _check_classes(last, windows)
    check_scale(windows)
    return build_policy(spec, pool or pool_for_policy(last, windows))


def _check_classes(spec: PolicySpec, windows: Windows) -> None:
    """Refuse a class-wise policy for other classes, or for the same in another order."""
    if spec.is_classwise and spec.class_names != windows.class_names:
        raise ValueError(
            f"`policy` must be for the classes of the windows, {list(windows.class_names)}, "
            f"got one for {list(spec.class_names or ())}."
        )


def check_scale(windows: Windows) -> None:
    """Warn of windows whose unit makes noise of 0.2 standard deviations mean something else.

    Parameters
    ----------
    windows : Windows
        What will be augmented.
    """
    scale = float(windows.x[: len(windows) : max(1, len(windows) // 64)].std())
    if not 0.05 < scale < 20:
        warnings.warn(
            f"the windows have a standard deviation of {scale:.2g}, but operations are meant for "
            "about 1; use windows.standardised().",
            stacklevel=3,
        )


def check_pair(train: Windows, valid: Windows) -> None:
    """Refuse training and validation windows that share subjects or are not of one kind.

    Parameters
    ----------
    train : Windows
        What to learn from.
    valid : Windows
        What to judge by.
    """
    for name, part in (("train", train), ("valid", valid)):
        if not isinstance(part, Windows):
            raise TypeError(f"`{name}` must be cadda.Windows, got {type(part).__name__}.")
    check_no_leak(train=train, valid=valid)
    for name in ("ch_names", "class_names", "sfreq", "n_times"):
        a, b = getattr(train, name), getattr(valid, name)
        if a != b:
            raise ValueError(f"`train` and `valid` must have the same `{name}`, got {a} and {b}.")


def description_of(model: ModelSource, windows: Windows) -> ModelDescription:
    """Say what a model trained on given windows is for.

    Parameters
    ----------
    model : str | nn.Module | callable
        See `fit`.
    windows : Windows
        What it was trained on.

    Returns
    -------
    ModelDescription
        What a model file says.
    """
    return ModelDescription(
        model=model if isinstance(model, str) else "custom",
        n_channels=windows.n_channels,
        n_times=windows.n_times,
        sfreq=windows.sfreq,
        ch_names=windows.ch_names,
        class_names=windows.class_names,
    )


def check_fits(description: ModelDescription, windows: Windows) -> None:
    """Refuse windows that a model was not made for; channels are compared as people write them.

    Parameters
    ----------
    description : ModelDescription
        What the model is for.
    windows : Windows
        What it shall classify.
    """
    for name, way_out in (
        ("ch_names", "choose with --channels"),
        ("class_names", "choose with --classes"),
        ("sfreq", "resample them"),
        ("n_times", "read windows of that length"),
    ):
        wanted, got = getattr(description, name), getattr(windows, name)
        same = same_channels(wanted, got) if name == "ch_names" else wanted == got
        if not same:
            raise ModelError(
                f"the model is for the `{name}` {wanted}, but the data have {got}; {way_out}."
            )
