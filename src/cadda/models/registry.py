"""Models by name, from a module, or from a function that makes one."""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import nn
from torch.nn.parameter import UninitializedBuffer, is_lazy

from cadda._internal.optional import import_optional, probe
from cadda._internal.random import GLOBAL_GENERATORS
from cadda._internal.text import did_you_mean, short_reason
from cadda._internal.validation import check_sfreq
from cadda.exceptions import ModelError
from cadda.models.networks import Chambon2018, LeNet1, Shallow

__all__ = [
    "MODELS",
    "ModelFactory",
    "ModelSource",
    "choose_model",
    "describe_choice",
    "make_model",
]

ModelFactory: TypeAlias = Callable[[int, int, int], nn.Module]
ModelSource: TypeAlias = str | nn.Module | ModelFactory
"""A name, a module, or ``make_model(n_channels, n_times, n_classes)``."""

MODELS: dict[str, ModelFactory] = {
    "chambon2018": Chambon2018,
    "shallow": Shallow,
    "lenet1": LeNet1,
}
"""cadda's own models by name."""

SLEEP_SECONDS = 15
"""Length of windows from which on ``"auto"`` is a network for sleep."""

BRAINDECODE = "braindecode:"
"""What the names of braindecode's models begin with."""

SIMILAR = 0.75
"""Similarity of names from which on a model is suggested; `EEGNet` and `lenet1` have 0.67."""


MAX_LISTED = 6
"""Number of arguments that are named of a model that cannot be made."""

RENAMED = (("EEGNetv4", "EEGNet"), ("SleepStagerEldele2021", "AttnSleep"))
"""Models of braindecode 0.8 that 1.x has under another name."""


def choose_model(source: ModelSource, n_times: int, sfreq: float | None) -> ModelSource:
    """Replace ``"auto"`` by the name of the model for windows of this length.

    Without a rate, it is the network for sleep unless windows are too short for it.
    """
    if source != "auto":
        return source
    shortest = Chambon2018.MIN_TIMES if sfreq is None else SLEEP_SECONDS * sfreq
    return "shallow" if n_times < shortest else "chambon2018"


def describe_choice(source: ModelSource, n_times: int, sfreq: float | None) -> str | None:
    """Return which model ``"auto"`` is for windows whose length in seconds is not known."""
    if source != "auto" or sfreq is not None:
        return None
    chosen = choose_model(source, n_times, sfreq)
    reach = "too short" if chosen == "shallow" else "long enough"
    return (
        f"without a sampling rate, `model` auto is {chosen}, as windows of {n_times} samples are "
        f"{reach} for chambon2018"
    )


def make_model(
    source: ModelSource,
    *,
    n_channels: int,
    n_times: int,
    n_classes: int,
    sfreq: float | None,
    seed: int,
) -> nn.Module:
    """Make a model for given windows, with weights that only depend on the seed."""
    source = choose_model(source, n_times, sfreq)
    with GLOBAL_GENERATORS, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if isinstance(source, nn.Module):
            model = _copy(source)
        elif callable(source):
            model = _call(source, n_channels, n_times, n_classes)
            if isinstance(model, nn.Module):
                # A function may return the same module again, which was trained in between.
                model = _copy(model)
        elif source.startswith(BRAINDECODE):
            model = _braindecode_model(
                source.removeprefix(BRAINDECODE), n_channels, n_times, n_classes, sfreq
            )
        elif source in MODELS:
            _check_length(source, n_times, sfreq)
            model = MODELS[source](n_channels, n_times, n_classes)
        else:
            raise ValueError(
                f"`model` must be one of auto, {', '.join(MODELS)}, braindecode:NAME, or in "
                f"Python a module or a function, got {source!r}{_suggest(source)}."
            )
        if not isinstance(model, nn.Module):
            raise TypeError(f"`model` must make a torch module, got {type(model).__name__}.")
        _initialise_lazy(model, n_channels, n_times)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ModelError(
            "the model has no parameters that require gradients; it cannot be trained."
        )
    return model


def _check_length(name: str, n_times: int, sfreq: float | None) -> None:
    """Raise `ValueError` for windows that are too short for a model of cadda."""
    shortest = getattr(MODELS[name], "MIN_TIMES", 0)
    if n_times >= shortest:
        return
    needed, got = (
        f"{n} samples" if sfreq is None else f"{n} samples ({n / sfreq:.3g} s at {sfreq:g} Hz)"
        for n in (shortest, n_times)
    )
    other = ", or shallow as `model`" if n_times >= Shallow.MIN_TIMES else ", or another `model`"
    raise ValueError(
        f"`model` {name} needs windows of at least {needed}, got {got}; use longer windows{other}."
    )


def _call(source: Callable[..., nn.Module], *sizes: int) -> nn.Module:
    """Call a function of the user's that makes a model."""
    try:
        inspect.signature(source).bind(*sizes)
    except TypeError as error:
        raise TypeError(
            "`model` must be a function of (n_channels, n_times, n_classes), got one with other "
            f"arguments: {error}."
        ) from error
    # Some that are written in C have no signature.
    except ValueError:
        pass
    return source(*sizes)


def _suggest(name: str) -> str:
    """Return a model of cadda or of braindecode with a similar name."""
    own = did_you_mean(name, MODELS, cutoff=SIMILAR)
    if own or probe("braindecode").problem is not None:
        return own
    return did_you_mean(name, _braindecode_names(), cutoff=SIMILAR).replace(
        "you mean `", f"you mean `{BRAINDECODE}"
    )


def _braindecode_names() -> list[str]:
    models = importlib.import_module("braindecode.models")
    return [name for name, kind in vars(models).items() if inspect.isclass(kind)]


def _copy(model: nn.Module) -> nn.Module:
    """Copy a module; torch cannot copy buffers of lazy modules, which are still empty."""
    empty = {id(value): UninitializedBuffer() for value in model.buffers() if is_lazy(value)}
    return copy.deepcopy(model, empty)


def _initialise_lazy(model: nn.Module, n_channels: int, n_times: int) -> None:
    """Initialise lazy modules, which get their sizes from the first window that they see."""
    if not any(map(is_lazy, (*model.parameters(), *model.buffers()))):
        return
    was_training = model.training
    with torch.no_grad():
        model.eval()(torch.zeros(1, n_channels, n_times))
    model.train(was_training)


def _braindecode_model(
    name: str, n_channels: int, n_times: int, n_classes: int, sfreq: float | None
) -> nn.Module:
    """Make one of braindecode's models; their arguments differ between versions."""
    import_optional("braindecode", f"`model` 'braindecode:{name}'", "braindecode")
    models = importlib.import_module("braindecode.models")
    same = next((names for names in RENAMED if name in names), (name,))
    kind: Any = next((vars(models)[n] for n in (name, *same) if n in vars(models)), None)
    if not (inspect.isclass(kind) and issubclass(kind, nn.Module)):
        raise ValueError(
            f"`model` must name one of braindecode's models, got {name!r}"
            f"{did_you_mean(name, _braindecode_names())}."
        )
    given: dict[str, Any] = {
        "n_chans": n_channels,
        "n_times": n_times,
        "n_outputs": n_classes,
        "add_log_softmax": False,
        # For one answer per window however long it is, instead of one for every crop.
        "final_conv_length": "auto",
    }
    if sfreq is not None:
        given |= {"sfreq": sfreq, "input_window_seconds": n_times / sfreq}
    accepted = inspect.signature(kind).parameters
    passed = {key: value for key, value in given.items() if key in accepted}
    try:
        model: nn.Module = kind(**passed)
    # A network that was not meant for these windows can raise anything.
    except Exception as error:
        # Models that do not depend on the rate do not complain if it is missing.
        check_sfreq(sfreq, f"`model` 'braindecode:{name}'")
        others = [key for key in accepted if key not in passed][:MAX_LISTED]
        reason = short_reason(error).replace(" (see above in the stacktrace)", "")
        raise ValueError(
            f"`model` 'braindecode:{name}' cannot be made with "
            f"{', '.join(f'{key}={value!r}' for key, value in passed.items())}: {reason}. Take "
            "another model or other windows, or pass a function of (n_channels, n_times, "
            f"n_classes) that makes it with further arguments, such as {', '.join(others)}."
        ) from error
    return model
