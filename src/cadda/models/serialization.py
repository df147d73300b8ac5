"""Trained models on disk: weights as safetensors, with a description of the model inside."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch
from pydantic import TypeAdapter
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from cadda._internal.files import write_bytes_atomically
from cadda._internal.limits import (
    MAX_CHANNELS,
    MAX_CLASSES,
    check_memory,
    check_regular,
    open_regular,
    parse_json,
)
from cadda._internal.text import quote, short_reason
from cadda._version import __version__
from cadda.exceptions import ModelError
from cadda.models.registry import BRAINDECODE, MODELS, ModelFactory, ModelSource, make_model

__all__ = ["ModelDescription", "description_of", "load_model", "save_model", "with_description"]

KEY = "cadda-model"

DESCRIPTION = "_cadda_description"
"""Attribute of a module that cadda has trained or loaded."""

MAX_TIMES = 10_000_000
"""Samples of a window."""


@dataclass(frozen=True)
class ModelDescription:
    """What a trained model needs to be used.

    Parameters
    ----------
    model : str
        Name that `make_model` takes; ``"custom"`` for a user's own module.
    n_channels : int
        Number of channels.
    n_times : int
        Samples per window.
    sfreq : float | None
        Sampling rate in Hz, None if it was not known.
    ch_names : tuple of str
        Names of the channels.
    class_names : tuple of str
        Names of the classes, in the order of the logits.
    filters : mapping of str to float | None
        Filters of the windows that it was trained with, as arguments of `read_windows`; None if
        they are not known.
    """

    model: str
    n_channels: int
    n_times: int
    sfreq: float | None
    ch_names: tuple[str, ...]
    class_names: tuple[str, ...]
    filters: Mapping[str, float | None] | None = None


def with_description(model: nn.Module, description: ModelDescription) -> nn.Module:
    """Return a module that knows what it is for, so that other windows are refused."""
    setattr(model, DESCRIPTION, description)
    return model


def description_of(model: nn.Module) -> ModelDescription | None:
    """Return what a module is for; None for one that cadda has neither trained nor loaded."""
    description = getattr(model, DESCRIPTION, None)
    return description if isinstance(description, ModelDescription) else None


def save_model(
    model: nn.Module, description: ModelDescription, path: str | os.PathLike[str]
) -> None:
    """Write weights and description atomically, as safetensors."""
    # Copies, as safetensors refuses weights that are shared.
    weights = {name: value.clone().contiguous() for name, value in model.state_dict().items()}
    content = {"version": 2, "cadda": __version__, **asdict(description)}
    # A single entry, because safetensors writes several in any order and bytes would differ.
    metadata = {KEY: json.dumps({"digest": _digest(content, weights), **content})}
    # In memory first: safetensors reports a full disk as an error of its own.
    write_bytes_atomically(path, save(weights, metadata))


def load_model(
    path: str | os.PathLike[str], model: nn.Module | ModelFactory | None = None
) -> tuple[nn.Module, ModelDescription]:
    """Read a model; nothing in the file is executed.

    Parameters
    ----------
    path : path-like
        File that `save_model` wrote.
    model : nn.Module | callable | None
        Module to fill with the weights, or a function ``make_model(n_channels, n_times,
        n_classes)`` that makes it; needed for a model that is not known by name.

    Returns
    -------
    model : nn.Module
        The model in evaluation mode; `cadda.evaluate` matches windows with its description.
    description : ModelDescription
        What it is.
    """
    try:
        size = check_regular(path)
        check_memory(path, size, size)
        with open_regular(path) as file:
            content = file.read()
    except FileNotFoundError as error:
        raise ModelError(f"{path} cannot be read: there is no such file.") from error
    except OSError as error:
        own = Path(path) / "model.safetensors"
        hint = f"; the model of this run is {own}" if own.is_file() else ""
        raise ModelError(f"{path} cannot be read: {short_reason(error)}{hint}.") from error
    try:
        weights = load(content)
        metadata = _metadata(content)
    # Types and sizes of tensors that torch does not have raise errors of torch.
    except (SafetensorError, OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
        reason = short_reason(error)
        raise ModelError(f"{path} is not a complete safetensors file: {reason}.") from error
    if KEY not in metadata:
        raise ModelError(f"{path} has weights, but not those of a model that cadda saved.")
    try:
        described = parse_json(metadata[KEY])
        description = TypeAdapter(ModelDescription).validate_python(described)
        is_whole = described.pop("digest", None) == _digest(described, weights)
    except (ValueError, TypeError) as error:
        reason = short_reason(error)
        raise ModelError(f"{path} has a description that cannot be read: {reason}.") from error
    if not is_whole:
        raise ModelError(f"{path} is damaged: it is not what cadda saved; train the model again.")
    filled = (
        _empty_model(description, weights, path) if model is None else _given(model, description)
    )
    _check_finite(weights, filled, path)
    try:
        filled.load_state_dict(weights)
    except RuntimeError as error:
        first_line = str(error).partition("\n")[2].strip().partition("\n")[0]
        raise ModelError(f"{path} does not fit the model: {first_line}") from error
    return with_description(filled.eval(), description), description


def _given(model: nn.Module | ModelFactory, description: ModelDescription) -> nn.Module:
    """Return the module to fill, made by a function if that is what is given."""
    if isinstance(model, nn.Module):
        return model
    if isinstance(model, str) or not callable(model):
        raise TypeError(
            "`model` must be a module or a function of (n_channels, n_times, n_classes), got "
            f"{quote(model)}."
        )
    return _make(model, description)


def _make(source: ModelSource, description: ModelDescription) -> nn.Module:
    """Make a model of the sizes that are described."""
    return make_model(
        source,
        n_channels=description.n_channels,
        n_times=description.n_times,
        n_classes=len(description.class_names),
        sfreq=description.sfreq,
        seed=0,
    )


def _metadata(content: bytes) -> Mapping[str, str]:
    """Return what safetensors keeps beside weights: text by name, in its header of JSON."""
    n_header = int.from_bytes(content[:8], "little")
    header = parse_json(content[8 : 8 + n_header])
    return header.get("__metadata__") or {}


def _digest(content: Mapping[str, object], weights: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 of a description, and of names, types, shapes and values of weights."""
    digest = hashlib.sha256(json.dumps(content).encode())
    for name, value in sorted(weights.items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _check_finite(
    weights: Mapping[str, Tensor], model: nn.Module, path: str | os.PathLike[str]
) -> None:
    """Raise for NaN, and for infinity but in buffers, where it may be a mask."""
    buffers = dict(model.named_buffers())
    for name, value in weights.items():
        try:
            bad = value.isnan() if name in buffers else ~value.isfinite()
            is_bad = bool(bad.any())
        # torch cannot check all types.
        except RuntimeError:
            is_bad = True
        if is_bad:
            raise ModelError(f"{path} has weights that are NaN or infinite, in {name}.")


def _empty_model(
    description: ModelDescription, weights: Mapping[str, Tensor], path: str | os.PathLike[str]
) -> nn.Module:
    known = description.model in MODELS or description.model.startswith(BRAINDECODE)
    if not known:
        raise ModelError(
            f"{path} has a {quote(description.model)} model, which cadda cannot make; "
            "pass an untrained one, or the function that makes it, as `model`."
        )
    _check_sizes(description, path)
    make = partial(_make, description.model, description)
    try:
        if description.model in MODELS:
            # Without memory: a description may be of a larger model than the weights are.
            with torch.device("meta"):
                _check_shapes(make(), weights, path)
        return make()
    # Whatever a network makes of sizes that it was not meant for.
    except (RuntimeError, ValueError, TypeError, ZeroDivisionError) as error:
        reason = short_reason(error)
        raise ModelError(f"{path} describes a model that cannot be made: {reason}.") from error


def _check_sizes(description: ModelDescription, path: str | os.PathLike[str]) -> None:
    limits = {
        "n_channels": (description.n_channels, MAX_CHANNELS),
        "n_times": (description.n_times, MAX_TIMES),
        "classes": (len(description.class_names), MAX_CLASSES),
    }
    for name, (count, most) in limits.items():
        if not 1 <= count <= most:
            raise ModelError(f"{path} must have 1 to {most} {name}, got {count}.")


def _check_shapes(
    model: nn.Module, weights: Mapping[str, Tensor], path: str | os.PathLike[str]
) -> None:
    for name, value in model.state_dict().items():
        if name in weights and weights[name].shape != value.shape:
            raise ModelError(
                f"{path} does not fit the model: {name} has shape {tuple(weights[name].shape)}, "
                f"and {tuple(value.shape)} is expected."
            )
