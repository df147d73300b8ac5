"""Checks of arguments and settings, made once at the public border, phrased in one way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from numbers import Real
from operator import index
from typing import Annotated, TypeAlias, TypeVar, cast, dataclass_transform, get_args

import numpy as np
import pydantic.dataclasses
import torch
from pydantic import AfterValidator, ConfigDict, Field, ValidationError, WrapValidator
from torch import Tensor

from cadda._internal.limits import (
    MAX_COUNT,
    MAX_SEED,
    MAX_SFREQ,
    MAX_STAGES,
    MAX_SUBPOLICIES,
    MIN_SFREQ,
)
from cadda._internal.text import describe_error, is_unknown_name, quote

__all__ = [
    "ALL_CLASSES",
    "NONE_WORD",
    "Betas",
    "Count",
    "NonNegative",
    "Pair",
    "Positive",
    "SamplingRate",
    "Seed",
    "StageCount",
    "SubpolicyCount",
    "check_class_name",
    "check_labels",
    "check_magnitude",
    "check_positive",
    "check_rate",
    "check_seed",
    "check_sfreq",
    "check_whole",
    "check_windows",
    "read_none",
    "split_commas",
    "validated_dataclass",
]

ALL_CLASSES = "*"
"""Stands for every class in a policy that treats all alike."""

NONE_WORD = "none"
"""None in files and on the command line, which have no value for it."""

Kind = TypeVar("Kind")


@dataclass_transform(frozen_default=True)
def validated_dataclass(kind: type[Kind]) -> type[Kind]:
    """Make a class of settings: a frozen dataclass whose fields are validated by their types.

    Numbers, booleans and None may also be text. A wrong value raises `ValueError` with one
    sentence; an unknown name raises `TypeError`.
    """
    made = pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))(kind)
    fields = {field.name: field for field in dataclasses.fields(made)}
    init = made.__init__

    @wraps(init)
    def validated(self: Kind, *args: object, **values: object) -> None:
        values |= _by_name(kind.__name__, list(fields), args, values)
        types = {name: field.annotation for name, field in made.__pydantic_fields__.items()}
        try:
            init(self, **read_none(values, types))
        except ValidationError as error:
            is_unknown = any(map(is_unknown_name, error.errors(include_url=False)))
            kind_of_error = TypeError if is_unknown else ValueError
            raise kind_of_error(f"{describe_error(error, known=fields)}.") from error
        for name, value in values.items():
            # To Python, true is the number 1.
            if isinstance(value, bool) and not isinstance(getattr(self, name), bool):
                raise ValueError(f"`{name}` must be a number, got {value}.")

    setattr(made, "__init__", validated)  # noqa: B010 (mypy refuses to assign to a method)
    return cast("type[Kind]", made)


def _by_name(
    kind: str, names: Sequence[str], args: Sequence[object], values: Collection[str]
) -> dict[str, object]:
    """Return positional arguments by name; raise `TypeError` as Python does."""
    if len(args) > len(names):
        raise TypeError(f"{kind} takes at most {len(names)} arguments, got {len(args)}.")
    positional = dict(zip(names, args, strict=False))
    for name in positional.keys() & set(values):
        raise TypeError(f"{kind} got two values for `{name}`.")
    return positional


def read_none(values: Mapping[str, object], types: Mapping[str, object]) -> dict[str, object]:
    """Replace the word for None by None in the fields whose types allow None."""
    return {
        name: None if _is_none(value) and type(None) in get_args(types.get(name)) else value
        for name, value in values.items()
    }


def _is_none(value: object) -> bool:
    return isinstance(value, str) and value == NONE_WORD


def split_commas(value: object) -> object:
    """Read text with commas as a list, and one number as a list of one."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return [value] if isinstance(value, int | float) else value


def _read_pair(value: object, read: Callable[[object], Kind]) -> Kind:
    """Read two numbers, also as text with a comma."""
    try:
        return read(split_commas(value))
    except ValidationError:
        raise ValueError("must be two numbers with a comma between") from None


def _check_rate(sfreq: float) -> float:
    if not MIN_SFREQ <= sfreq <= MAX_SFREQ:
        raise ValueError(f"must be from {MIN_SFREQ:g} to {MAX_SFREQ:g} Hz")
    return sfreq


def _check_betas(betas: tuple[float, float]) -> tuple[float, float]:
    if not all(0 <= beta < 1 for beta in betas):
        raise ValueError("must be two numbers in [0, 1)")
    return betas


Count: TypeAlias = Annotated[int, Field(ge=1, le=MAX_COUNT)]
"""A whole number from 1."""

StageCount: TypeAlias = Annotated[int, Field(ge=1, le=MAX_STAGES)]
"""Stages of a subpolicy."""

SubpolicyCount: TypeAlias = Annotated[int, Field(ge=1, le=MAX_SUBPOLICIES)]
"""Subpolicies of a policy."""

Seed: TypeAlias = Annotated[int, Field(ge=-MAX_SEED, le=MAX_SEED)]
"""A seed of random numbers."""

Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A finite number above 0."""

SamplingRate: TypeAlias = Annotated[Positive, AfterValidator(_check_rate)]
"""A sampling rate in Hz."""

NonNegative: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A finite number from 0."""

Pair: TypeAlias = Annotated[tuple[float, float], WrapValidator(_read_pair)]
"""Two numbers, as a list or as text with a comma."""

Betas: TypeAlias = Annotated[Pair, AfterValidator(_check_betas)]
"""Decay rates of Adam."""


def check_positive(name: str, value: float) -> float:
    """Raise `ValueError` unless an argument is a finite number above 0, and return it."""
    # To Python, true is the number 1.
    is_number = isinstance(value, Real | np.ndarray | Tensor) and not isinstance(value, bool)
    if not is_number or not 0 < value < float("inf"):
        raise ValueError(f"`{name}` must be a finite number above 0, got {quote(value)}.")
    return value


def check_class_name(name: str) -> str:
    """Raise `ValueError` for a name that a policy could not have; return it."""
    if name != name.strip() or not name.isprintable() or not name or name == ALL_CLASSES:
        raise ValueError(
            "a class name is printable text without spaces around it, and not empty or '*'"
        )
    return name


def check_rate(sfreq: float) -> float:
    """Raise `ValueError` unless a number can be a sampling rate in Hz, and return it."""
    if not MIN_SFREQ <= check_positive("sfreq", sfreq) <= MAX_SFREQ:
        raise ValueError(
            f"`sfreq` must be from {MIN_SFREQ:g} to {MAX_SFREQ:g} Hz, got {quote(sfreq)}."
        )
    return sfreq


def check_sfreq(sfreq: float | None, what: str) -> float:
    """Raise `ValueError` if ``what`` needs a sampling rate that is not known, and return it."""
    if sfreq is None:
        raise ValueError(
            f"{what} needs the sampling rate, which is not known; pass it in Hz as `sfreq`."
        )
    return sfreq


def check_whole(name: str, value: int, minimum: int, maximum: int = MAX_COUNT) -> int:
    """Raise `ValueError` unless an argument is a whole number from a minimum on; return it."""
    try:
        number = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = -1
    if number < minimum:
        raise ValueError(f"`{name}` must be a whole number of at least {minimum}, got {value!r}.")
    if number > maximum:
        raise ValueError(f"`{name}` must be at most {maximum}, got {quote(value)}.")
    return number


def check_seed(seed: int) -> int:
    """Raise `ValueError` unless a seed is a whole number of 64 bits, and return it."""
    is_whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not is_whole or abs(int(seed)) > MAX_SEED:
        raise ValueError(
            f"`seed` must be a whole number from {-MAX_SEED} to {MAX_SEED}, got {quote(seed)}."
        )
    return int(seed)


def check_tensor(x: object) -> None:
    """Raise `TypeError` for windows that are no tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(
            f"`x` must be a torch.Tensor, got {type(x).__name__}; use torch.as_tensor(x)."
        )


def check_windows(x: Tensor, *, images: bool = False) -> Tensor:
    """Check the shape and type of a batch of windows, and return it.

    Images may have further axes before height and width.
    """
    check_tensor(x)
    if x.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"`x` must be float32 or float64, got {x.dtype}; use x.float().")
    if x.ndim < 3 or (x.ndim > 3 and not images):
        raise ValueError(
            "`x` must have shape (n_windows, n_channels, n_times), "
            f"got {tuple(x.shape)}; one window is x[None]."
        )
    return x


def check_magnitude(magnitude: float | Tensor | None, x: Tensor) -> Tensor:
    """Check one magnitude, or one per window; return shape (n_windows,) with the type of ``x``."""
    if magnitude is None:
        raise ValueError("`magnitude` is missing: this operation needs a number in [0, 1].")
    value = torch.as_tensor(magnitude, dtype=x.dtype, device=x.device)
    if value.ndim > 1 or (value.ndim == 1 and len(value) != len(x)):
        raise ValueError(
            f"`magnitude` must be one number or one per window, shape ({len(x)},), "
            f"got shape {tuple(value.shape)}."
        )
    outside = ~((value >= 0) & (value <= 1))
    if bool(outside.any()):
        raise ValueError(f"`magnitude` must be in [0, 1], got {value[outside][0].item():g}.")
    return value.expand(len(x))


def check_not_text(y: object) -> None:
    """Raise `TypeError` for labels that are text."""
    first = y[0] if isinstance(y, Sequence | np.ndarray) and len(y) else None
    if isinstance(y, str) or isinstance(first, str):
        raise TypeError(
            f"`y` must be integers, got text such as {quote(str(first))}; pass the number of the "
            "class of each window, by torch.as_tensor."
        )


def check_labels(
    y: Tensor | None,
    x: Tensor,
    n_classes: int | None = None,
    *,
    device: torch.device | None = None,
) -> Tensor:
    """Check for one label in 0 … ``n_classes - 1`` per window; return int64, (n_windows,).

    Without ``n_classes``, any integers are labels. They are checked where they are, and returned
    on a ``device``, by default that of the windows.
    """
    if y is None:
        raise ValueError(
            "`y` is missing: a policy that is class-wise or has label maps, or an operation that "
            "mixes windows of a class, needs the labels."
        )
    labels = torch.as_tensor(y)
    device = x.device if device is None else device
    if labels.shape != (len(x),):
        raise ValueError(
            f"`y` must have one label per window, shape ({len(x)},), got {tuple(labels.shape)}."
        )
    if labels.is_floating_point() or labels.is_complex() or labels.dtype is torch.bool:
        raise TypeError(f"`y` must be integers, got {labels.dtype}; use y.long().")
    if n_classes is None:
        return labels.long().to(device)
    unknown = (labels < 0) | (labels >= n_classes)
    if bool(unknown.any()):
        raise ValueError(
            f"`y` must be in 0 … {n_classes - 1}, the classes of this policy, "
            f"got {labels[unknown][0].item()}."
        )
    return labels.long().to(device)
