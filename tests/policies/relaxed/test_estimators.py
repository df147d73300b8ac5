"""Gradient estimators against the exact gradient of a problem that can be enumerated."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from cadda.policies.relaxed.estimators import ControlVariate, reinforce_gradient, relax_gradient
from cadda.signal.relaxation import gumbel

N_OPTIONS, N_CHOICES = 3, 2
N_DRAWS = 40_000
TABLE = torch.tensor([[1.0, -0.5, 2.0], [0.3, 1.5, -1.0], [-0.7, 0.2, 0.9]], dtype=torch.float64)


def exact_gradient(weight: torch.Tensor, shift: float = 0.0) -> torch.Tensor:
    """Differentiate the mean reward over all pairs of options."""
    leaf = weight.clone().requires_grad_()
    p = leaf.softmax(-1)
    mean = sum(
        p[0, i] * p[1, j] * (TABLE[i, j] + shift)
        for i, j in product(range(N_OPTIONS), range(N_OPTIONS))
    )
    (gradient,) = torch.autograd.grad(mean, leaf)
    return gradient


class Problem:
    """Draws of two choices of three options each, with a noisy reward."""

    def __init__(self, n: int = N_DRAWS, seed: int = 0, contexts: int = 1) -> None:
        g = torch.Generator().manual_seed(seed)
        base = torch.randn(contexts, N_CHOICES, N_OPTIONS, generator=g, dtype=torch.float64)
        self.weights = base
        self.context = torch.arange(n) % contexts
        self.weight = base[self.context]
        u, self.uniform = torch.rand(
            2, n, N_CHOICES, N_OPTIONS, generator=g, dtype=torch.float64
        ).clamp(1e-12, 1 - 1e-12)
        self.gumbel = gumbel(u)
        self.choice = (self.weight.log_softmax(-1) + self.gumbel).argmax(-1)
        noise = torch.randn(n, generator=g, dtype=torch.float64)
        self.window = 5 * noise
        self.reward = TABLE[self.choice[:, 0], self.choice[:, 1]]

    def relax(self, control: ControlVariate, reward: torch.Tensor) -> torch.Tensor:
        return relax_gradient(
            self.weight,
            self.choice,
            self.gumbel,
            self.uniform,
            reward,
            control,
            self.context,
        )


def trained(problem: Problem, reward: torch.Tensor, n_steps: int = 120) -> ControlVariate:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        control = ControlVariate(N_CHOICES, N_OPTIONS, len(problem.weights)).double()
    optimizer = torch.optim.Adam(control.parameters(), lr=0.02)
    for _ in range(n_steps):
        optimizer.zero_grad()
        problem.relax(control, reward).square().mean().backward()
        optimizer.step()
    return control


def assert_unbiased(estimates: torch.Tensor, exact: torch.Tensor) -> None:
    mean, error = estimates.mean(0), estimates.std(0) / len(estimates) ** 0.5
    assert ((mean - exact).abs() < 4 * error + 1e-9).all()


def test_reinforce_is_unbiased() -> None:
    problem = Problem()
    estimates = reinforce_gradient(problem.weight, problem.choice, problem.reward)
    assert_unbiased(estimates, exact_gradient(problem.weights[0]))


@pytest.mark.parametrize("contexts", [1, 3])
def test_relax_is_unbiased_trained_or_not(contexts: int) -> None:
    """Also class by class, with one control variate for all classes."""
    problem = Problem(contexts=contexts)
    fresh = ControlVariate(N_CHOICES, N_OPTIONS, contexts).double()
    with torch.no_grad():
        fresh.scale.fill_(1.0)
    few = Problem(900, seed=1, contexts=contexts)
    for control in (fresh, trained(few, few.reward, 60)):
        estimates = problem.relax(control, problem.reward).detach()
        for row in range(contexts):
            exact = exact_gradient(problem.weights[row])
            assert_unbiased(estimates[problem.context == row], exact)


def test_an_untrained_control_variate_is_reinforce() -> None:
    problem = Problem(100)
    control = ControlVariate(N_CHOICES, N_OPTIONS).double()
    expected = reinforce_gradient(problem.weight, problem.choice, problem.reward)
    assert torch.equal(problem.relax(control, problem.reward).detach(), expected)


def variance(estimates: torch.Tensor) -> float:
    return float(estimates.detach().var(0).sum())


def test_variance_falls_with_relax_and_with_pairing() -> None:
    """A part of the reward that belongs to the window and not to the choice is only noise."""
    few, many = Problem(800, seed=1), Problem()
    noisy = variance(reinforce_gradient(many.weight, many.choice, many.reward + many.window))
    paired = variance(reinforce_gradient(many.weight, many.choice, many.reward))
    relaxed = variance(many.relax(trained(few, few.reward), many.reward))
    relaxed_noisy = variance(
        many.relax(trained(few, few.reward + few.window), many.reward + many.window)
    )
    assert paired < 0.2 * noisy
    assert relaxed < 0.8 * paired
    assert relaxed < 0.2 * relaxed_noisy


def test_straight_through_is_biased() -> None:
    """The relaxed share of the drawn option, times its reward, is not the gradient."""
    problem = Problem()
    leaf = problem.weight.clone().requires_grad_()
    relaxed = ((leaf.log_softmax(-1) + problem.gumbel) / 0.5).softmax(-1)
    share = relaxed.gather(-1, problem.choice[..., None]).squeeze(-1)
    (estimates,) = torch.autograd.grad((problem.reward[:, None] * share).sum(), leaf)
    exact = exact_gradient(problem.weights[0])
    error = estimates.std(0) / N_DRAWS**0.5
    assert ((estimates.mean(0) - exact).abs() > 6 * error).any()


def test_only_the_control_variate_gets_gradients() -> None:
    problem = Problem(50)
    weight = problem.weight.clone().requires_grad_()
    control = ControlVariate(N_CHOICES, N_OPTIONS).double()
    with torch.no_grad():
        control.scale.fill_(0.5)
    problem.weight = weight
    problem.relax(control, problem.reward).square().mean().backward()
    assert weight.grad is None
    for name, parameter in control.named_parameters():
        assert parameter.grad is not None, name
        # The bias of the last layer shifts c(z) and c(z̃) alike, but not the factor of the score.
        assert parameter.grad.abs().max() > 0, name
