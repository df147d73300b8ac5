"""Optimizers by name, or from a function that makes one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Annotated, Any, TypeAlias

import torch
from pydantic import AfterValidator, BeforeValidator, PlainSerializer
from torch import Tensor
from torch.optim import Optimizer

from cadda._internal.text import did_you_mean

__all__ = [
    "OPTIMIZERS",
    "OptimizerFactory",
    "OptimizerSource",
    "construct_optimizer",
    "default_weight_decay",
    "name_of",
]

OptimizerFactory: TypeAlias = Callable[[Iterable[Tensor]], Optimizer]

OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "sgd": partial(torch.optim.SGD, momentum=0.9),
}
"""Optimizers of torch by name, with its defaults; sgd has a momentum of 0.9."""

CUSTOM = "custom:"
"""What the name of a user's own function begins with in files."""


def name_of(source: str | OptimizerFactory) -> str:
    """Return the name of an optimizer; that of a function is its qualified name."""
    if isinstance(source, str):
        return source
    function: Any = source.func if isinstance(source, partial) else source
    named = function if hasattr(function, "__qualname__") else type(function)
    arguments = {**source.keywords} if isinstance(source, partial) else {}
    settings = ", ".join(f"{name}={value}" for name, value in sorted(arguments.items()))
    return f"{CUSTOM}{named.__module__}.{named.__qualname__}" + (f"({settings})" * bool(settings))


def _check_kind(source: object) -> object:
    """Raise for what is neither a name nor a function, before a union hides the reason."""
    if isinstance(source, Optimizer):
        raise ValueError(
            "must be a name or a function of the parameters, such as `lambda parameters: "
            "torch.optim.SGD(parameters, lr=0.1)`, as each model has parameters of its own"
        )
    if not isinstance(source, str) and not callable(source):
        raise ValueError(
            f"must be one of {', '.join(OPTIMIZERS)} or a function of the parameters that returns "
            "a torch optimizer"
        )
    return source


def _check(source: str | OptimizerFactory) -> str | OptimizerFactory:
    if isinstance(source, str) and source not in OPTIMIZERS and not source.startswith(CUSTOM):
        raise ValueError(
            f"must be one of {', '.join(OPTIMIZERS)} or a function of the parameters"
            f"{did_you_mean(source, OPTIMIZERS)}"
        )
    return source


OptimizerSource: TypeAlias = Annotated[
    str | OptimizerFactory,
    BeforeValidator(_check_kind),
    AfterValidator(_check),
    PlainSerializer(name_of, when_used="json"),
]
"""A name, or a function that gets the parameters of a model and returns a torch optimizer."""


def default_weight_decay(source: str | OptimizerFactory) -> float:
    """Return the weight decay of an optimizer by name; 0 for a function."""
    make = OPTIMIZERS.get(source) if isinstance(source, str) else None
    return (
        0.0 if make is None else float(inspect.signature(make).parameters["weight_decay"].default)
    )


def construct_optimizer(
    source: str | OptimizerFactory, parameters: Iterable[Tensor], settings: Mapping[str, object]
) -> Optimizer:
    """Make an optimizer; one by name gets those of the settings that it has."""
    if isinstance(source, str):
        if source not in OPTIMIZERS:
            raise ValueError(f"`optimizer` {source!r} is a function; pass the function itself.")
        make = OPTIMIZERS[source]
        accepted = inspect.signature(make).parameters
        given = {key: settings[key] for key in settings.keys() & accepted.keys()}
        return make(parameters, **given)
    made: object = source(parameters)
    if not isinstance(made, Optimizer):
        raise TypeError(f"`optimizer` must make a torch optimizer, got {type(made).__name__}.")
    return made
