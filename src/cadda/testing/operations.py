"""What every operation must do, as a test class to inherit from."""

from __future__ import annotations

from abc import ABC, abstractmethod

import pytest
import torch
from torch import Generator, Tensor

from cadda.operations.base import Operation

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
        """Make the operation to check, for windows of `n_channels` channels.

        Returns
        -------
        Operation
            The operation.
        """

    def make_smooth(self) -> Operation:
        """Make a form of the operation whose value, not only its derivative, is smooth in µ.

        Override this for an operation that is hard in the forward pass and soft in the backward
        pass: finite differences cannot see such a derivative.

        Returns
        -------
        Operation
            By default the operation itself.
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
        """The name can stand in a policy file."""
        name = self.make_operation().name
        assert name.isidentifier()
        assert name == name.lower()

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize("odd", [0, 1])
    @pytest.mark.parametrize("n_windows", [0, 1, 5])
    def test_keeps_shape_and_dtype(self, n_windows: int, odd: int, dtype: torch.dtype) -> None:
        """Any number of windows, even and odd lengths, float32 and float64 go through."""
        x = self.windows(n_windows, self._length(odd), dtype)
        result = self.make_operation()(x, 0.7, generator=self._generator())
        assert result.shape == x.shape
        assert result.dtype is dtype
        assert bool(result.isfinite().all())

    def test_leaves_its_input_alone(self) -> None:
        """The windows are not written to, nor is the result a view of them."""
        x = self.windows(4)
        copy = x.clone()
        self.make_operation()(x, 0.7, generator=self._generator()).zero_()
        assert torch.equal(x, copy)

    def test_same_generator_same_result(self) -> None:
        """All randomness comes from the generator."""
        operation, x = self.make_operation(), self.windows(6)
        once = operation(x, 0.7, generator=self._generator())
        torch.rand(1)
        assert torch.equal(once, operation(x, 0.7, generator=self._generator()))

    def test_replays_a_draw(self) -> None:
        """A draw used twice gives the same bits, and a call is a draw and a transform."""
        operation, x = self.make_operation(), self.windows(6)
        draw = operation.draw(x, generator=self._generator())
        once = operation.transform(x, 0.7, draw)
        assert torch.equal(once, operation.transform(x, 0.7, draw))
        assert torch.equal(once, operation(x, 0.7, generator=self._generator()))

    def test_each_window_by_itself(self) -> None:
        """Permuted windows, magnitudes and draws give permuted results."""
        operation, x = self.make_operation(), self.windows(7)
        draw = operation.draw(x, generator=self._generator())
        magnitude = torch.linspace(0, 1, 7)
        order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
        permuted = {name: value[order] for name, value in draw.items()}
        result = operation.transform(x[order], magnitude[order], permuted)
        expected = operation.transform(x, magnitude, draw)[order]
        assert torch.allclose(result, expected, rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize("odd", [0, 1])
    def test_magnitude_zero_is_the_identity(self, odd: int) -> None:
        """Nothing happens at µ = 0; an operation without magnitude does not look at it."""
        operation, x = self.make_operation(), self.windows(16, self._length(odd))
        result = operation(x, 0.0, generator=self._generator())
        expected = x
        if not operation.has_magnitude:
            expected = operation(x, 1.0, generator=self._generator())
        assert (result - expected).abs().max().item() < IDENTITY_TOLERANCE

    def test_full_magnitude_does_something(self) -> None:
        """At µ = 1 something happens to most windows."""
        x = self.windows(16)
        result = self.make_operation()(x, 1.0, generator=self._generator())
        changed = (result - x).flatten(1).abs().amax(1) > 1e-3
        assert changed.float().mean().item() > 0.5

    def test_derivative_in_the_windows(self) -> None:
        """Back-propagation to the windows agrees with finite differences."""
        operation, x = self.make_smooth(), self.windows(2, 21, torch.float64)
        draw = operation.draw(x, generator=self._generator())
        assert torch.autograd.gradcheck(
            lambda windows: operation.transform(windows, 0.6, draw), x.requires_grad_()
        )

    def test_derivative_in_the_magnitude(self) -> None:
        """Back-propagation to the magnitude agrees with finite differences and is not zero."""
        operation, x = self.make_smooth(), self.windows(3, dtype=torch.float64)
        draw = operation.draw(x, generator=self._generator())
        magnitude = torch.tensor([0.3, 0.5, 0.7], dtype=torch.float64, requires_grad=True)
        result = operation.transform(x, magnitude, draw)
        assert result.requires_grad == operation.has_magnitude
        if operation.has_magnitude:
            assert torch.autograd.gradcheck(
                lambda value: operation.transform(x, value, draw), magnitude
            )
            (slope,) = torch.autograd.grad((result - x).square().sum(), magnitude)
            assert bool(slope.abs().max() > 0)

    def _length(self, odd: int) -> int:
        return self.n_times + odd

    def _generator(self) -> Generator:
        return Generator().manual_seed(0)
