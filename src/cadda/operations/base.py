"""What an operation is: randomness in one method, arithmetic in the other."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, TypeAlias

import torch
from torch import Generator, Tensor

from cadda._internal.validation import check_labels, check_magnitude, check_windows

__all__ = [
    "Batch",
    "Constant",
    "Draw",
    "Magnitude",
    "Operation",
    "Setting",
    "Settings",
    "checked_settings",
]

Setting: TypeAlias = float | bool | str
Settings: TypeAlias = Mapping[str, Setting]
"""What beside the magnitude decides what an operation does, by name."""

Draw: TypeAlias = dict[str, Tensor]
"""All random numbers of one call of an operation; every tensor has one row per window."""

Magnitude: TypeAlias = float | Tensor
"""Strength in [0, 1]: one number for all windows, or one per window of shape (n_windows,)."""


@dataclass(frozen=True)
class Batch:
    """A batch of windows in which operations look for others of the same class.

    Parameters
    ----------
    x : Tensor
        Windows before any operation, shape (n_windows, n_channels, n_times).
    y : Tensor | None
        Their labels, shape (n_windows,); None where nothing needs them.
    label : Tensor | None
        Labels when the operation is applied: others than ``y`` after one with a label map.
    """

    x: Tensor
    y: Tensor | None
    label: Tensor | None


class Operation(ABC):
    """A transformation of windows, x → O(x; µ), with its random numbers kept apart.

    A subclass sets `name`, writes `apply` and, if it is random, `sample`; see
    `cadda.operations.time` for short examples. Users call `draw` and `transform`, or the
    operation itself, which check their arguments first.

    Every operation works on a batch with one draw and one magnitude per window, keeps dtype and
    device, never writes into its input, and is differentiable in the windows and, if it has one,
    in the magnitude.
    """

    name: str
    """Name of the operation in pools and policy files."""

    has_magnitude: bool = True
    """Whether `apply` looks at the magnitude."""

    needs_labels: bool = False
    """Whether `sample_group` looks at the labels of the windows."""

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        """Draw all random numbers for a batch; they must not depend on the magnitude.

        Parameters
        ----------
        x : Tensor
            Windows; only shape, dtype and device matter.
        generator : torch.Generator | None
            Source of randomness; None takes torch's global one.

        Returns
        -------
        dict of str to Tensor
            Any tensors with one row per window. The default is an operation without randomness.
        """
        return {}

    def sample_group(self, batch: Batch, windows: Tensor, generator: Generator | None) -> Draw:
        """Draw all random numbers for some windows of a batch; by default, `sample` does.

        Override this in place of `sample`, and set `needs_labels`, for an operation that takes
        something from other windows of the same class: that is then part of the draw.

        Parameters
        ----------
        batch : Batch
            The batch.
        windows : Tensor
            Indices of the windows to draw for.
        generator : torch.Generator | None
            Source of randomness; None takes torch's global one.

        Returns
        -------
        dict of str to Tensor
            Any tensors with one row for each of ``windows``.
        """
        return self.sample(batch.x[: len(windows)], generator)

    @abstractmethod
    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        """Transform a batch, without any randomness.

        Parameters
        ----------
        x : Tensor
            At least one window, shape (n_windows, n_channels, n_times).
        magnitude : Tensor
            Shape (n_windows,), in [0, 1].
        draw : dict of str to Tensor
            What `sample` returned for these windows.

        Returns
        -------
        Tensor
            A new tensor like ``x``.
        """

    @property
    def settings(self) -> dict[str, float | bool | str]:
        """What beside the magnitude decides the result: dataclass fields that have a default."""
        if not dataclasses.is_dataclass(self):
            return {}
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.default is not dataclasses.MISSING
        }

    def with_settings(self, settings: Settings) -> Self:
        """Make the same operation with other settings.

        Parameters
        ----------
        settings : mapping of str to (float | bool | str)
            New values by name; others stay as they are.

        Returns
        -------
        Operation
            The new operation.
        """
        values = checked_settings(self.name, settings, self.settings)
        return dataclasses.replace(self, **values) if values else self  # type: ignore[type-var]

    def check(self, x: Tensor) -> None:
        """Raise `ValueError` or `TypeError` for windows that cannot be transformed.

        Parameters
        ----------
        x : Tensor
            The windows.
        """
        check_windows(x)

    def apply_checked(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        """Call `apply`, and raise if the windows have another shape then.

        Parameters
        ----------
        x : Tensor
            Windows of shape (n_windows, n_channels, n_times).
        magnitude : Tensor
            Magnitudes in [0, 1], of shape (n_windows,).
        draw : dict of str to Tensor
            Result of `draw` for these windows.

        Returns
        -------
        Tensor
            Transformed windows, of the same shape.
        """
        changed = self.apply(x, magnitude, draw)
        if changed.shape != x.shape:
            raise ValueError(
                f"`apply` of {self.name} must keep the shape, {tuple(x.shape)}, got "
                f"{tuple(changed.shape)}."
            )
        return changed

    def draw(
        self, x: Tensor, *, y: Tensor | None = None, generator: Generator | None = None
    ) -> Draw:
        """Draw all random numbers for a batch, one draw per window.

        Parameters
        ----------
        x : Tensor
            Windows of shape (n_windows, n_channels, n_times), float32 or float64.
        y : Tensor | None
            Labels of shape (n_windows,); only an operation with `needs_labels` needs them.
        generator : torch.Generator | None
            Source of randomness; None takes torch's global one.

        Returns
        -------
        dict of str to Tensor
            To be passed to `transform`, once or as often as wanted.
        """
        self.check(x)
        label = check_labels(y, x) if self.needs_labels else None
        windows = torch.arange(len(x), device=x.device)
        return self.sample_group(Batch(x, label, label), windows, generator)

    def transform(
        self, x: Tensor, magnitude: Magnitude | None = None, draw: Draw | None = None
    ) -> Tensor:
        """Transform a batch with given random numbers.

        Parameters
        ----------
        x : Tensor
            Windows of shape (n_windows, n_channels, n_times), float32 or float64.
        magnitude : float | Tensor | None
            In [0, 1]: a number, a 0-d tensor or one value per window. None only for an operation
            without magnitude.
        draw : dict of str to Tensor | None
            What `draw` returned. None only for an operation without randomness.

        Returns
        -------
        Tensor
            A new tensor like ``x``.
        """
        self.check(x)
        strength = check_magnitude(magnitude if self.has_magnitude else 1.0, x)
        given = {} if draw is None else draw
        for key, value in given.items():
            if len(value) != len(x):
                raise ValueError(
                    f"`draw` must have one row per window, got {len(value)} rows of {key!r} "
                    f"for {len(x)} windows."
                )
        if not len(x):
            return x.clone()
        try:
            return self.apply_checked(x, strength, given)
        except KeyError as error:
            if error.args[0] in given:
                raise
            raise ValueError(
                f"`draw` must be what `draw(x)` of {self.name} returned, but {error} is missing."
            ) from error

    def __call__(
        self,
        x: Tensor,
        magnitude: Magnitude | None = None,
        *,
        y: Tensor | None = None,
        generator: Generator | None = None,
    ) -> Tensor:
        """Draw and transform; see `draw` and `transform` for the arguments."""
        return self.transform(x, magnitude, self.draw(x, y=y, generator=generator))


def checked_settings(operation: str, settings: Settings, known: Settings) -> dict[str, Setting]:
    """Return settings of an operation with the types of those that it has; raise if wrong."""
    values = {}
    for name, value in settings.items():
        if name not in known:
            raise ValueError(
                f"operation `{operation}` has no setting {name!r}; it has "
                f"{', '.join(known) or 'none'}."
            )
        values[name] = _checked_setting(f"{operation}.{name}", value, known[name])
    return values


def _checked_setting(name: str, value: Setting, known: Setting) -> Setting:
    """Return a value of the type of one that is known to be right, or raise."""
    if isinstance(known, bool | str) or isinstance(value, bool | str):
        if type(value) is type(known):
            return value
        kinds = {bool: "true or false", str: "text"}
        kind = kinds.get(type(known), "a number")
        raise ValueError(f"setting {name} must be {kind}, got {value!r}.")
    try:
        is_finite = math.isfinite(value)
    except (TypeError, OverflowError) as error:
        raise ValueError(
            f"setting {name} must be a number, such as {known!r}, got {value!r}."
        ) from error
    if not is_finite or (known > 0 and value <= 0):
        raise ValueError(f"setting {name} must be a finite number above 0, got {value!r}.")
    if isinstance(known, int) and value != int(value):
        raise ValueError(f"setting {name} must be a whole number, got {value!r}.")
    return type(known)(value)


class Constant:
    """A constant tensor that follows whatever it is used with; float64 if it is floating-point."""

    def __init__(self, value: Tensor) -> None:
        self._value = value
        self._copies: dict[tuple[torch.dtype, torch.device], Tensor] = {}

    def like(self, x: Tensor) -> Tensor:
        """Return the constant on the device of ``x`` and, if it is not integer, in its dtype.

        Parameters
        ----------
        x : Tensor
            The tensor to follow.

        Returns
        -------
        Tensor
            A copy that is made only once.
        """
        dtype = x.dtype if self._value.is_floating_point() else self._value.dtype
        key = (dtype, x.device)
        if key not in self._copies:
            self._copies[key] = self._value.to(dtype=dtype, device=x.device)
        return self._copies[key]
