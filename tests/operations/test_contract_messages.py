"""An operation that breaks a rule is told which one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Generator, Tensor

from cadda.operations.base import Operation
from cadda.testing import OperationContract

Draw = dict[str, Tensor]


class Gain(Operation):
    """Keeps every rule; its subclasses break one each."""

    name = "gain"

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {"size": torch.rand(len(x), generator=generator, dtype=x.dtype)}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x * (1 + magnitude * (1 + draw["size"]))[:, None, None]


class BadName(Gain):
    name = "Gain-1"


class NoName(Gain):
    name = None


class OtherShape(Gain):
    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x[:, :, 1:]


class OtherType(Gain):
    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x.half()


class NotFinite(Gain):
    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x / 0


class WritesIntoInput(Gain):
    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x.mul_(2)


class ReturnsAView(Gain):
    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x[:]


class IgnoresTheGenerator(Gain):
    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {"size": torch.rand(len(x), dtype=x.dtype)}


class RandomApply(Gain):
    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x + torch.rand(1)


class OtherCall(Gain):
    def __call__(self, x: Tensor, *_: Any, **__: Any) -> Tensor:
        return 3 * x


class MixesWindows(Gain):
    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x + magnitude[:, None, None] * x[:1]


class NotTheIdentity(Gain):
    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x + 1 + magnitude[:, None, None]


class LooksAtTheMagnitude(Gain):
    has_magnitude = False

    def transform(self, x: Tensor, magnitude: Any = None, draw: Draw | None = None) -> Tensor:
        return x * (1 + torch.as_tensor(magnitude).mean())


class Nothing(Gain):
    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x.clone()


class Detached(Gain):
    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return 2 * x.detach() + 0 * x


class WrongSlope(Gain):
    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x * (1 + magnitude.detach() + 0.1 * magnitude)[:, None, None]


class NoSlope(Gain):
    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x + 0 * magnitude[:, None, None]


Check = Callable[[OperationContract], None]


@pytest.mark.parametrize(
    ("kind", "check", "message"),
    [
        (BadName, lambda c: c.test_has_a_name(), "`name` must be small .* got 'Gain-1'"),
        (NoName, lambda c: c.test_has_a_name(), "`name` must be small letters.* got None"),
        (
            OtherShape,
            lambda c: c.test_keeps_shape_and_dtype(5, 0, torch.float32),
            r"`apply` of gain must keep the shape, \(5, 6, 200\), got \(5, 6, 199\)",
        ),
        (
            OtherType,
            lambda c: c.test_keeps_shape_and_dtype(5, 0, torch.float32),
            "`apply` must keep the dtype, torch.float32, got torch.float16",
        ),
        (
            NotFinite,
            lambda c: c.test_keeps_shape_and_dtype(5, 0, torch.float32),
            "`apply` must map finite to finite values",
        ),
        (
            WritesIntoInput,
            lambda c: c.test_leaves_its_input_alone(),
            "`apply` must not write into its windows",
        ),
        (
            ReturnsAView,
            lambda c: c.test_leaves_its_input_alone(),
            "`apply` must return a new tensor",
        ),
        (
            IgnoresTheGenerator,
            lambda c: c.test_same_generator_same_result(),
            "`sample` must draw from its generator only",
        ),
        (
            RandomApply,
            lambda c: c.test_replays_a_draw(),
            "`apply` must have no randomness and no state",
        ),
        (
            OtherCall,
            lambda c: c.test_replays_a_draw(),
            "calling the operation must be a draw and a transform",
        ),
        (
            MixesWindows,
            lambda c: c.test_each_window_by_itself(),
            "`apply` must treat each window by itself",
        ),
        (
            NotTheIdentity,
            lambda c: c.test_magnitude_zero_is_the_identity(0),
            "`apply` must leave windows as they are at magnitude 0, but changes them by up to 1",
        ),
        (
            LooksAtTheMagnitude,
            lambda c: c.test_magnitude_zero_is_the_identity(0),
            "`apply` must not look at the magnitude where `has_magnitude` is False",
        ),
        (
            Nothing,
            lambda c: c.test_full_magnitude_does_something(),
            "`apply` must change most windows at magnitude 1, but changes 0% of them",
        ),
        (
            Detached,
            lambda c: c.test_derivative_in_the_windows(),
            "the derivative of `apply` in the windows must be that of finite differences",
        ),
        (
            LooksAtTheMagnitude,
            lambda c: c.test_derivative_in_the_magnitude(),
            "`apply` must not use the magnitude where `has_magnitude` is False",
        ),
        (
            Nothing,
            lambda c: c.test_derivative_in_the_magnitude(),
            "`apply` must be differentiable in the magnitude",
        ),
        (
            WrongSlope,
            lambda c: c.test_derivative_in_the_magnitude(),
            "the derivative of `apply` in the magnitude must be that of finite differences",
        ),
        (
            NoSlope,
            lambda c: c.test_derivative_in_the_magnitude(),
            "`apply` must change with the magnitude, but its derivative is 0",
        ),
    ],
)
def test_broken_rule_is_named(kind: type[Operation], check: Check, message: str) -> None:
    class Contract(OperationContract):
        n_channels = 6

        def make_operation(self) -> Operation:
            return kind()

    with pytest.raises((AssertionError, ValueError), match=message):
        check(Contract())


class TestGain(OperationContract):
    def make_operation(self) -> Operation:
        return Gain()
