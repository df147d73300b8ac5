"""What the tests of the paper share.

Arithmetic operations, whose results can be worked out by hand; a convex problem, whose lower level
scipy solves; and one step of the bilevel search, for which torch differentiates explicitly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from cadda import Operation, OperationPool, PolicySpec, RelaxedPolicy, StagedPolicy, Windows
from cadda.policies.relaxed.base import RelaxedDraw

N_TIMES = 4


class Add(Operation):
    """Add the magnitude: O(x; µ) = x + µ."""

    name = "add"

    def apply(self, x, magnitude, draw):
        return x + magnitude[:, None, None]


class Double(Operation):
    """Multiply by two; does not commute with `Add`."""

    name = "double"
    has_magnitude = False

    def apply(self, x, magnitude, draw):
        return 2 * x


class Square(Operation):
    """Square every value."""

    name = "square"
    has_magnitude = False

    def apply(self, x, magnitude, draw):
        return x.square()


@pytest.fixture
def arithmetic() -> OperationPool:
    """The operations x + µ, 2x and x²."""
    return OperationPool([Add(), Double(), Square()])


@dataclass(frozen=True)
class ConvexProblem:
    """Two classes told apart by the sign of a signal, and logistic regression, which is convex.

    Validation windows are easier than training windows, so that the validation loss falls all the
    way to the minimum of the training loss, and early stopping changes nothing.
    """

    train: Windows
    valid: Windows

    @staticmethod
    def model(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
        linear = nn.Linear(n_channels * n_times, n_classes)
        nn.init.zeros_(linear.weight)
        nn.init.zeros_(linear.bias)
        return nn.Sequential(nn.Flatten(), linear)

    @property
    def training(self) -> dict[str, Any]:
        """How to train: whole batches and no momentum, so that nothing overshoots the minimum."""
        n_epochs, betas = 100, (0.0, 0.999)
        return {
            "max_epochs": n_epochs,
            "patience": n_epochs,
            "batch_size": len(self.train),
            "lr": 0.03,
            "betas": betas,
        }

    @staticmethod
    def loss(
        theta: Tensor, windows: Windows, *, sign_flip: float = 0.0, time_reverse: float = 0.0
    ) -> Tensor:
        """Compute the expected cross entropy of windows changed with these probabilities."""
        weight, bias = theta[:-2].view(2, -1), theta[-2:]
        x = windows.x.double()

        def loss_of(changed: Tensor) -> Tensor:
            return cross_entropy(changed.flatten(1) @ weight.T + bias, windows.y)

        unchanged = 1 - sign_flip - time_reverse
        return (
            unchanged * loss_of(x) + sign_flip * loss_of(-x) + time_reverse * loss_of(x.flip(-1))
        )

    def solve(self, windows: Windows, **policy: float) -> Tensor:
        """Minimise that loss by scipy."""

        def value_and_slope(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            point = torch.tensor(theta, requires_grad=True)
            value = self.loss(point, windows, **policy)
            return value.item(), torch.autograd.grad(value, point)[0].numpy()

        return torch.from_numpy(minimize(value_and_slope, np.zeros(2 * N_TIMES + 2), jac=True).x)

    def bilevel_loss(self, **policy: float) -> float:
        """Compute L(θ* | D_valid), θ* the minimum of L(θ | T(D_train))."""
        return self.loss(self.solve(self.train, **policy), self.valid).item()

    @staticmethod
    def probabilities(policy: PolicySpec) -> dict[str, float]:
        """Return the probability of applying each operation of a policy of a single stage."""
        ((entry,),) = policy.policy["*"][0].stages
        return {entry.operation: entry.probability}


def _signals(n_windows: int, size: float, name: str, seed: int) -> Windows:
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(n_windows) % 2
    noise = torch.randn(n_windows, 1, N_TIMES, generator=generator)
    x = noise + size * (1.0 - 2 * y)[:, None, None]
    subject = [f"{name}{i // 2 % 2}" for i in range(n_windows)]
    return Windows(x, y, subject=subject, sfreq=100, ch_names=["Cz"], class_names=["up", "down"])


@pytest.fixture(scope="session")
def convex() -> ConvexProblem:
    return ConvexProblem(_signals(1000, 0.4, "t", 0), _signals(1000, 0.8, "v", 1))


@dataclass(frozen=True)
class BilevelStep:
    """Windows, model and policy of one step: L(θ | T_α(D_train)) and L(θ | D_valid) by torch."""

    model: nn.Module
    policy: RelaxedPolicy
    draw: RelaxedDraw
    x: Tensor
    y: Tensor
    x_valid: Tensor
    y_valid: Tensor
    xi: float = 0.1

    @property
    def theta(self) -> dict[str, Tensor]:
        return {name: value.detach() for name, value in self.model.named_parameters()}

    @property
    def alpha(self) -> list[Tensor]:
        return list(self.policy.parameters())

    def train_loss(self, theta: dict[str, Tensor]) -> Tensor:
        augmented = self.policy.transform(self.x, self.draw)
        return cross_entropy(functional_call(self.model, theta, (augmented,)), self.y)

    def valid_loss(self, theta: dict[str, Tensor]) -> Tensor:
        return cross_entropy(functional_call(self.model, theta, (self.x_valid,)), self.y_valid)

    def slope(self, loss: Callable[[dict[str, Tensor]], Tensor], theta: dict[str, Tensor]) -> Any:
        """Differentiate a loss in θ; keeps the graph, for derivatives in α."""
        leaves = {name: value.detach().requires_grad_() for name, value in theta.items()}
        parts = torch.autograd.grad(loss(leaves), list(leaves.values()), create_graph=True)
        return dict(zip(leaves, parts, strict=True))

    def moved(self, direction: dict[str, Tensor], size: float) -> dict[str, Tensor]:
        """Return θ + size · direction."""
        return {name: value + size * direction[name] for name, value in self.theta.items()}

    def valid_slope(self) -> dict[str, Tensor]:
        """Differentiate the validation loss in θ' = θ − ξ ∇L(θ | T_α(D_train))."""
        after = self.moved(self.slope(self.train_loss, self.theta), -self.xi)
        return {name: value.detach() for name, value in self.slope(self.valid_loss, after).items()}

    def alpha_slope(self, value: Tensor) -> Tensor:
        """Differentiate in α, as one vector."""
        parts = torch.autograd.grad(
            value, self.alpha, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        return torch.cat([part.flatten() for part in parts])


@pytest.fixture
def bilevel(pool: OperationPool, generator: torch.Generator) -> BilevelStep:
    """A step in double precision; its policy draws among three operations in two stages."""
    n_windows, n_channels, n_times = 12, len(pool.ch_names), 24

    def windows() -> Tensor:
        shape = (n_windows, n_channels, n_times)
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    operations = pool.select(["gaussian_noise", "frequency_shift", "time_mask"])
    policy = StagedPolicy(operations, n_subpolicies=2).double()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv1d(n_channels, 2, 9), nn.Tanh(), nn.Flatten(), nn.Linear(2 * 16, 3)
        ).double()
    x, x_valid = windows(), windows()
    y, y_valid = torch.randint(3, (2, n_windows), generator=generator)
    return BilevelStep(model, policy, policy.draw(x, generator=generator), x, y, x_valid, y_valid)
