"""Models by name, from a module, or from a function that makes one."""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import torch
from torch import nn

from cadda._internal.optional import import_optional
from cadda._internal.text import did_you_mean
from cadda.exceptions import ModelError
from cadda.models.networks import Chambon2018, LeNet1, Shallow

__all__ = ["MODELS", "ModelSource", "make_model"]

ModelFactory: TypeAlias = Callable[[int, int, int], nn.Module]
ModelSource: TypeAlias = str | nn.Module | ModelFactory
"""A name, a module, or ``make_model(n_channels, n_times, n_classes)``."""

MODELS: dict[str, ModelFactory] = {
    "chambon2018": Chambon2018,
    "shallow": Shallow,
    "lenet1": LeNet1,
}
"""cadda's own models by name."""


def make_model(
    source: ModelSource, *, n_channels: int, n_times: int, n_classes: int, sfreq: float, seed: int
) -> nn.Module:
    """Make a model for given windows, with weights that only depend on the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if isinstance(source, nn.Module):
            model = copy.deepcopy(source)
        elif callable(source):
            model = source(n_channels, n_times, n_classes)
        elif source.startswith("braindecode:"):
            model = _braindecode_model(
                source.removeprefix("braindecode:"), n_channels, n_times, n_classes, sfreq
            )
        elif source in MODELS:
            model = MODELS[source](n_channels, n_times, n_classes)
        else:
            raise ValueError(
                f"`model` must be one of {', '.join(MODELS)}, braindecode:NAME, a module or a "
                f"function, got {source!r}{did_you_mean(source, MODELS)}."
            )
    if not isinstance(model, nn.Module):
        raise TypeError(f"`model` must make a torch module, got {type(model).__name__}.")
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ModelError(
            "the model has no parameters that require gradients; it cannot be trained."
        )
    return model


def _braindecode_model(
    name: str, n_channels: int, n_times: int, n_classes: int, sfreq: float
) -> nn.Module:
    """Make one of braindecode's models; their arguments differ between versions."""
    import_optional("braindecode", f"`model` 'braindecode:{name}'", "braindecode")
    models = importlib.import_module("braindecode.models")
    kind: Any = getattr(models, name, None)
    if not inspect.isclass(kind):
        known = [key for key in vars(models) if key[0].isupper()]
        raise ValueError(
            f"`model` must name one of braindecode's models, got {name!r}"
            f"{did_you_mean(name, known)}."
        )
    given = {
        "n_chans": n_channels,
        "n_times": n_times,
        "n_outputs": n_classes,
        "sfreq": sfreq,
        "input_window_seconds": n_times / sfreq,
        "add_log_softmax": False,
        # For one answer per window however long it is, instead of one for every crop.
        "final_conv_length": "auto",
    }
    accepted = inspect.signature(kind).parameters
    model = kind(**{key: value for key, value in given.items() if key in accepted})
    return cast(nn.Module, model)
