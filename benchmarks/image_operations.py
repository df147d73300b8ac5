"""Operations on grey images that AutoAugment and its successors choose from, for benchmarks."""

from __future__ import annotations

import math
from abc import abstractmethod

import torch
from torch import Generator, Tensor
from torch.nn.functional import affine_grid, grid_sample

import cadda
from cadda._internal.random import uniform
from cadda._internal.validation import check_windows
from cadda.operations.base import Draw, Operation
from cadda.operations.pool import OperationPool

__all__ = ["GEOMETRIC", "WRONG", "digit_pool"]


class _ImageOperation(Operation):
    def check(self, x: Tensor) -> None:
        check_windows(x, images=True)


class _Affine(_ImageOperation):
    """A linear map of pixel positions, in one direction or the other."""

    largest: float

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {"sign": torch.where(uniform((len(x),), x, generator) < 0.5, -1.0, 1.0)}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        amount = self.largest * magnitude * draw["sign"]
        grid = affine_grid(self.matrix(amount), list(x[:, None].shape), align_corners=False)
        return grid_sample(x[:, None], grid, align_corners=False)[:, 0]

    @abstractmethod
    def matrix(self, amount: Tensor) -> Tensor:
        """Return the maps (n_images, 2, 3) from pixels after to pixels before the operation.

        Positions are in [-1, 1].
        """


def _rows(*rows: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    return torch.stack([torch.stack(row, -1) for row in rows], -2)


class ShearX(_Affine):
    """Move rows sideways in proportion to their height, by up to 0.3."""

    name, largest = "shear_x", 0.3

    def matrix(self, amount: Tensor) -> Tensor:
        zero, one = torch.zeros_like(amount), torch.ones_like(amount)
        return _rows((one, amount, zero), (zero, one, zero))


class ShearY(_Affine):
    """Move columns up or down in proportion to their place, by up to 0.3."""

    name, largest = "shear_y", 0.3

    def matrix(self, amount: Tensor) -> Tensor:
        zero, one = torch.zeros_like(amount), torch.ones_like(amount)
        return _rows((one, zero, zero), (amount, one, zero))


class TranslateX(_Affine):
    """Move the image sideways by up to 0.45 of its width."""

    name, largest = "translate_x", 0.9

    def matrix(self, amount: Tensor) -> Tensor:
        zero, one = torch.zeros_like(amount), torch.ones_like(amount)
        return _rows((one, zero, amount), (zero, one, zero))


class TranslateY(_Affine):
    """Move the image up or down by up to 0.45 of its height."""

    name, largest = "translate_y", 0.9

    def matrix(self, amount: Tensor) -> Tensor:
        zero, one = torch.zeros_like(amount), torch.ones_like(amount)
        return _rows((one, zero, zero), (zero, one, amount))


class Rotate(_Affine):
    """Turn the image by up to 30 degrees."""

    name, largest = "rotate", math.pi / 6

    def matrix(self, amount: Tensor) -> Tensor:
        zero, cos, sin = torch.zeros_like(amount), amount.cos(), amount.sin()
        return _rows((cos, -sin, zero), (sin, cos, zero))


class Invert(_ImageOperation):
    """Exchange black and white."""

    name, has_magnitude = "invert", False

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return 1 - x


GEOMETRIC = (ShearX.name, ShearY.name, TranslateX.name, TranslateY.name, Rotate.name)
"""Operations that keep a digit what it is, unless they are large."""

WRONG = (Invert.name, *cadda.image_pool().names)
"""Operations that make of digits what is no digit, or another one."""


def digit_pool() -> OperationPool:
    """Make the pool of all of them."""
    geometric = (ShearX(), ShearY(), TranslateX(), TranslateY(), Rotate())
    return OperationPool([*geometric, Invert(), *cadda.image_pool()])
