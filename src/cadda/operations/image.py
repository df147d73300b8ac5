"""Operations on images, whose height and width are the last two axes."""

from __future__ import annotations

from torch import Tensor

from cadda._internal.validation import check_windows
from cadda.operations.base import Draw, Operation

__all__ = ["HorizontalFlip", "Rotation90", "Rotation180", "VerticalFlip"]


class _ImageOperation(Operation):
    """An operation on images of shape (n_images, …, height, width)."""

    has_magnitude = False

    def check(self, x: Tensor) -> None:
        check_windows(x, images=True)


class HorizontalFlip(_ImageOperation):
    """Swap left and right."""

    name = "horizontal_flip"

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x.flip(-1)


class VerticalFlip(_ImageOperation):
    """Swap top and bottom."""

    name = "vertical_flip"

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x.flip(-2)


class Rotation90(_ImageOperation):
    """Turn square images a quarter to the left."""

    name = "rotation_90"

    def check(self, x: Tensor) -> None:
        super().check(x)
        if x.shape[-1] != x.shape[-2]:
            raise ValueError(
                "`x` must be square images for a quarter turn, "
                f"got height {x.shape[-2]} and width {x.shape[-1]}."
            )

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x.rot90(1, (-2, -1))


class Rotation180(_ImageOperation):
    """Turn images upside down."""

    name = "rotation_180"

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x.rot90(2, (-2, -1))
