"""Image operations against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cadda import image_pool


@pytest.mark.parametrize("shape", [(3, 28, 28), (3, 1, 28, 28)])
def test_image_operations_agree_with_numpy(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    expected = {
        "horizontal_flip": np.flip(x.numpy(), -1),
        "vertical_flip": np.flip(x.numpy(), -2),
        "rotation_90": np.rot90(x.numpy(), 1, (-2, -1)),
        "rotation_180": np.rot90(x.numpy(), 2, (-2, -1)),
    }
    pool = image_pool()
    assert pool.names == tuple(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(pool[name](x).numpy(), value)


def test_quarter_turn_needs_square_images() -> None:
    with pytest.raises(ValueError, match="square images for a quarter turn, got height 28 and"):
        image_pool()["rotation_90"](torch.zeros(1, 28, 20))
