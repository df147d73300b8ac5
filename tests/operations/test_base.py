"""What operations say to wrong arguments, and where they run."""

from __future__ import annotations

import pytest
import torch

from cadda import Operation, OperationPool


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(4, 6, 100)


@pytest.mark.parametrize("magnitude", [-0.1, 1.3, float("nan")])
def test_magnitude_outside(pool: OperationPool, x: torch.Tensor, magnitude: float) -> None:
    with pytest.raises(ValueError, match=r"`magnitude` must be in \[0, 1\], got"):
        pool["time_mask"](x, magnitude)


def test_magnitude_missing(pool: OperationPool, x: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="`magnitude` is missing"):
        pool["time_mask"](x)


def test_magnitude_of_wrong_shape(pool: OperationPool, x: torch.Tensor) -> None:
    with pytest.raises(ValueError, match=r"one per window, shape \(4,\), got shape \(3,\)"):
        pool["time_mask"](x, torch.rand(3))


def test_magnitude_per_window(pool: OperationPool, x: torch.Tensor) -> None:
    magnitude = torch.tensor([0.0, 0.5, 0.0, 1.0])
    changed = (pool["gaussian_noise"](x, magnitude) != x).flatten(1).any(1)
    assert changed.tolist() == [False, True, False, True]


@pytest.mark.parametrize(
    ("windows", "error", "match"),
    [
        ([[1.0]], TypeError, r"torch.Tensor, got list; use torch.as_tensor\(x\)"),
        (
            torch.zeros(2, 6, 10, dtype=torch.long),
            TypeError,
            "float32 or float64, got torch.int64",
        ),
        (torch.zeros(6, 10), ValueError, r"\(n_windows, n_channels, n_times\), got \(6, 10\)"),
        (torch.zeros(1, 1, 6, 10), ValueError, r"got \(1, 1, 6, 10\)"),
    ],
)
def test_wrong_windows(
    pool: OperationPool, windows: object, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        pool["sign_flip"](windows)


def test_draw_of_other_windows(pool: OperationPool, x: torch.Tensor) -> None:
    draw = pool["time_mask"].draw(x[:3])
    with pytest.raises(ValueError, match="one row per window, got 3 rows of 'middle' for 4"):
        pool["time_mask"].transform(x, 0.5, draw)


def test_draw_of_another_operation(pool: OperationPool, x: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="what `draw\\(x\\)` of time_mask returned, but 'middle'"):
        pool["time_mask"].transform(x, 0.5, pool["frequency_shift"].draw(x))


def test_runs_on_the_device_of_the_windows(pool: OperationPool) -> None:
    """The meta device has no numbers, so anything left on the CPU raises."""
    x = torch.zeros(4, 6, 100, device="meta")
    for operation in pool:
        draw = operation.sample(x, None)
        result = operation.apply(x, torch.full((4,), 0.5, device="meta"), draw)
        assert result.device.type == "meta"


def test_settings_are_what_is_not_data(pool: OperationPool) -> None:
    assert pool["frequency_shift"].settings == {"max_shift": 5.0, "symmetric": False}
    assert pool["time_reverse"].settings == {}
    assert pool["rotation_x"].settings == {"max_angle": 30.0}


def test_own_operation_needs_only_a_name_and_apply() -> None:
    class Half(Operation):
        name = "half"

        def apply(self, x, magnitude, draw):
            return x * (1 - magnitude[:, None, None] / 2)

    assert torch.equal(Half()(torch.ones(1, 1, 1), 1.0), torch.full((1, 1, 1), 0.5))
    assert Half().settings == {}
