"""What every operation must do, as a test class to inherit from."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable

import pytest
import torch
from torch import Generator, Tensor

from cadda.operations.base import Draw, Operation

__all__ = ["OperationContract"]

IDENTITY_TOLERANCE = 1e-5


class OperationContract(ABC):
    """The checks that every operation passes; inherit, name the operation, and run pytest.

    Examples
    --------
    ::

        class TestMyOperation(OperationContract):
            def make_operation(self):
                return MyOperation()
    """

    n_channels: int = 6
    """Channels of the windows that the operation is tried on."""

    n_times: int = 200
    """Samples of the windows that the operation is tried on."""

    @abstractmethod
    def make_operation(self) -> Operation:
        """Make the operation to check, for windows of `n_channels` channels."""

    def make_smooth(self) -> Operation:
        """Make a form of the operation whose value, not only its derivative, is smooth in µ.

        Override this for an operation that is hard in the forward pass and soft in the backward
        pass: finite differences cannot see such a derivative.
        """
        return self.make_operation()

    def windows(
        self, n_windows: int, n_times: int = 0, dtype: torch.dtype = torch.float32
    ) -> Tensor:
        """Make windows to try the operation on.

        Parameters
        ----------
        n_windows : int
            How many.
        n_times : int
            Samples per window; 0 takes `n_times` of the class.
        dtype : torch.dtype
            Their dtype.

        Returns
        -------
        Tensor
            Noise of shape (n_windows, n_channels, n_times).
        """
        shape = (n_windows, self.n_channels, n_times or self.n_times)
        return torch.randn(shape, generator=self._generator(), dtype=torch.float64).to(dtype)

    def test_has_a_name(self) -> None:
        """The name is valid in a policy file."""
        name = getattr(self.make_operation(), "name", None)
        assert re.fullmatch("[a-z][a-z0-9_]*", str(name)), (
            "`name` must be small letters, digits and underscores, a letter first, as in a "
            f"policy file, got {name!r}."
        )

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize("odd", [0, 1])
    @pytest.mark.parametrize("n_windows", [0, 1, 5])
    def test_keeps_shape_and_dtype(self, n_windows: int, odd: int, dtype: torch.dtype) -> None:
        """Any number of windows, even and odd lengths, float32 and float64 go through."""
        operation, x = self.make_operation(), self.windows(n_windows, self._length(odd), dtype)
        result = self._transformed(operation, x, 0.7)
        assert result.dtype is dtype, f"`apply` must keep the dtype, {dtype}, got {result.dtype}."
        assert bool(result.isfinite().all()), (
            "`apply` must map finite to finite values, got NaN or infinity."
        )

    def test_leaves_its_input_alone(self) -> None:
        """The windows are not written to, nor is the result a view of them."""
        operation, x = self.make_operation(), self.windows(4)
        copy = x.clone()
        result = self._transformed(operation, x, 0.7)
        assert torch.equal(x, copy), (
            "`apply` must not write into its windows, but they have changed; work on x.clone()."
        )
        result.zero_()
        assert torch.equal(x, copy), (
            "`apply` must return a new tensor, got one that shares the memory of its windows; "
            "return x.clone()."
        )

    def test_same_generator_same_result(self) -> None:
        """All randomness comes from the generator."""
        operation, x = self.make_operation(), self.windows(6)
        once = self._transformed(operation, x, 0.7)
        # Moves torch's own source of randomness on.
        torch.rand(1)
        again = self._transformed(operation, x, 0.7)
        assert torch.equal(once, again), (
            "`sample` must draw from its generator only, but generators in the same state give "
            f"results that differ by up to {_distance(once, again):.2g}."
        )

    def test_replays_a_draw(self) -> None:
        """A draw used twice gives the same bits, and a call is a draw and a transform."""
        operation, x = self.make_operation(), self.windows(6)
        draw = self._draw(operation, x)
        once = operation.transform(x, 0.7, draw)
        again = operation.transform(x, 0.7, draw)
        assert torch.equal(once, again), (
            "`apply` must have no randomness and no state, but the same draw gives results that "
            f"differ by up to {_distance(once, again):.2g}; draw in `sample`."
        )
        called = self._transformed(operation, x, 0.7)
        assert torch.equal(once, called), (
            "calling the operation must be a draw and a transform, but the result differs by up "
            f"to {_distance(once, called):.2g}; leave `__call__` and `transform` as they are."
        )

    def test_each_window_by_itself(self) -> None:
        """Permuted windows, magnitudes and draws give permuted results."""
        operation, x = self.make_operation(), self.windows(7)
        draw = self._draw(operation, x)
        magnitude = torch.linspace(0, 1, 7)
        order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
        permuted = {name: value[order] for name, value in draw.items()}
        result = operation.transform(x[order], magnitude[order], permuted)
        expected = operation.transform(x, magnitude, draw)[order]
        assert torch.allclose(result, expected, rtol=1e-5, atol=1e-6), (
            "`apply` must treat each window by itself, with its own row of the draw and of the "
            "magnitude, but windows in another order give results that differ by up to "
            f"{_distance(result, expected):.2g}."
        )

    @pytest.mark.parametrize("odd", [0, 1])
    def test_magnitude_zero_is_the_identity(self, odd: int) -> None:
        """Nothing happens at µ = 0; an operation without magnitude does not look at it."""
        operation, x = self.make_operation(), self.windows(16, self._length(odd))
        result = self._transformed(operation, x, 0.0)
        if operation.has_magnitude:
            assert _distance(result, x) < IDENTITY_TOLERANCE, (
                "`apply` must leave windows as they are at magnitude 0, but changes them by up "
                f"to {_distance(result, x):.2g}; set `has_magnitude` to False if it has none."
            )
        else:
            full = self._transformed(operation, x, 1.0)
            assert _distance(result, full) < IDENTITY_TOLERANCE, (
                "`apply` must not look at the magnitude where `has_magnitude` is False, but 0 "
                f"and 1 give results that differ by up to {_distance(result, full):.2g}."
            )

    def test_full_magnitude_does_something(self) -> None:
        """At µ = 1 something happens to most windows."""
        x = self.windows(16)
        result = self._transformed(self.make_operation(), x, 1.0)
        changed = ((result - x).flatten(1).abs().amax(1) > 1e-3).float().mean().item()
        assert changed > 0.5, (
            f"`apply` must change most windows at magnitude 1, but changes {changed:.0%} of them."
        )

    def test_derivative_in_the_windows(self) -> None:
        """Back-propagation to the windows agrees with finite differences."""
        operation, x = self.make_smooth(), self.windows(2, 21, torch.float64)
        draw = self._draw(operation, x)
        _check_derivative(
            "the windows",
            lambda windows: operation.transform(windows, 0.6, draw),
            x.requires_grad_(),
        )

    def test_derivative_in_the_magnitude(self) -> None:
        """Back-propagation to the magnitude agrees with finite differences and is not zero."""
        operation, x = self.make_smooth(), self.windows(3, dtype=torch.float64)
        draw = self._draw(operation, x)
        magnitude = torch.tensor([0.3, 0.5, 0.7], dtype=torch.float64, requires_grad=True)
        result = operation.transform(x, magnitude, draw)
        if not operation.has_magnitude:
            assert not result.requires_grad, (
                "`apply` must not use the magnitude where `has_magnitude` is False, but the "
                "result depends on it."
            )
            return
        assert result.requires_grad, (
            "`apply` must be differentiable in the magnitude, but the result does not depend on "
            "it; use torch operations on `magnitude` itself, or set `has_magnitude` to False."
        )
        _check_derivative(
            "the magnitude", lambda value: operation.transform(x, value, draw), magnitude
        )
        (slope,) = torch.autograd.grad((result - x).square().sum(), magnitude)
        assert bool(slope.abs().max() > 0), (
            "`apply` must change with the magnitude, but its derivative is 0 at 0.3, 0.5 and 0.7."
        )

    def _length(self, odd: int) -> int:
        return self.n_times + odd

    def _draw(self, operation: Operation, x: Tensor) -> Draw:
        return operation.draw(x, **self._labels(operation, x), generator=self._generator())

    def _transformed(self, operation: Operation, x: Tensor, magnitude: float) -> Tensor:
        labels = self._labels(operation, x)
        return operation(x, magnitude, **labels, generator=self._generator())

    def _labels(self, operation: Operation, x: Tensor) -> dict[str, Tensor]:
        """Return the same label for all windows, if the operation looks at labels."""
        return {"y": torch.zeros(len(x), dtype=torch.long)} if operation.needs_labels else {}

    def _generator(self) -> Generator:
        return Generator().manual_seed(0)


def _distance(first: Tensor, second: Tensor) -> float:
    return (first - second).abs().max().item()


def _check_derivative(name: str, function: Callable[[Tensor], Tensor], argument: Tensor) -> None:
    """Compare the derivative by back-propagation with finite differences."""
    try:
        # A random projection of the Jacobian: all of it takes a backward pass per sample.
        torch.autograd.gradcheck(function, argument, fast_mode=True)
    # Which of them is raised depends on what is wrong.
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise AssertionError(
            f"the derivative of `apply` in {name} must be that of finite differences: {reason} "
            "An operation that is hard in the forward pass needs `make_smooth`."
        ) from error
