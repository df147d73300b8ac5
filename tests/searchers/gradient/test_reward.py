"""Rewards against back-propagation through the explicit unrolled step."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy, one_hot

from cadda.searchers.gradient import reward
from cadda.searchers.gradient.reward import (
    Confidence,
    RewardDirection,
    best_sharpness,
    loss_gradient,
    rewards_and_residuals,
    unrolled,
    weights_of,
    window_rewards,
)

XI = 0.1


def smooth_model(*, dropout: float = 0.0, norm: bool = False) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Conv1d(2, 4, 5),
            nn.BatchNorm1d(4) if norm else nn.Identity(),
            nn.Tanh(),
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(4 * 16, 3),
        ).double()


class Batch:
    """Training and validation windows; the training windows depend on a magnitude."""

    def __init__(self) -> None:
        g = torch.Generator().manual_seed(1)
        self.x, self.other, self.x_valid = torch.randn(
            3, 8, 2, 20, generator=g, dtype=torch.float64
        )
        self.y, self.y_valid = torch.randint(3, (2, 8), generator=g)

    def augmented(self, magnitude: torch.Tensor) -> torch.Tensor:
        return self.x + magnitude.view(-1, 1, 1) * self.other


def window_losses(
    model: nn.Module, weights: reward.Weights, x: torch.Tensor, y: torch.Tensor, *, noise_seed: int
) -> torch.Tensor:
    """Compute the loss of each window; the same seed gives the same dropout masks."""
    state = weights | {name: value.clone() for name, value in model.named_buffers()}
    with torch.random.fork_rng():
        torch.manual_seed(noise_seed)
        logits = functional_call(model, state, (x,))
    return cross_entropy(logits, y, reduction="none")


def reward_and_slope(model: nn.Module, method: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute −ξ · mean reward and its derivative in the magnitudes."""
    batch, weights = Batch(), weights_of(model)
    magnitude = torch.full((8,), 0.3, dtype=torch.float64, requires_grad=True)
    x = batch.augmented(magnitude)
    _, inner = loss_gradient(model, weights, x.detach(), batch.y, noise_seed=0)
    after = unrolled(weights, inner, XI)
    _, direction = loss_gradient(model, after, batch.x_valid, batch.y_valid, noise_seed=7)
    rewards = window_rewards(
        model,
        weights,
        direction,
        x,
        batch.y,
        method=method,
        noise_seed=0,
    )
    effect = -XI * rewards.mean()
    return effect.detach(), torch.autograd.grad(effect, magnitude)[0]


def explicit_slope(model: nn.Module) -> torch.Tensor:
    """Back-propagate the validation loss through the training step itself."""
    batch, weights = Batch(), weights_of(model)
    magnitude = torch.full((8,), 0.3, dtype=torch.float64, requires_grad=True)
    leaves = {name: value.clone().requires_grad_() for name, value in weights.items()}
    losses = window_losses(model, leaves, batch.augmented(magnitude), batch.y, noise_seed=0)
    gradient = torch.autograd.grad(losses.mean(), list(leaves.values()), create_graph=True)
    after = {
        name: value - XI * g for (name, value), g in zip(leaves.items(), gradient, strict=True)
    }
    valid = window_losses(model, after, batch.x_valid, batch.y_valid, noise_seed=7).mean()
    return torch.autograd.grad(valid, magnitude)[0]


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_exact_is_back_propagation_through_the_step(dropout: float) -> None:
    model = smooth_model(dropout=dropout)
    _, slope = reward_and_slope(model, "exact")
    torch.testing.assert_close(slope, explicit_slope(model), rtol=0, atol=1e-8)
    assert slope.abs().min() > 1e-6


def test_finite_difference_converges_to_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    model = smooth_model(dropout=0.5)
    value, slope = reward_and_slope(model, "exact")
    errors = []
    for step in (0.3, 0.03, 0.003):
        monkeypatch.setattr(reward, "RELATIVE_STEP", step)
        near_value, near_slope = reward_and_slope(model, "finite-difference")
        errors.append(float((near_slope - slope).norm() / slope.norm()))
        assert near_value == pytest.approx(float(value), rel=0.05)
    # A central difference: the error falls with the square of the step.
    assert errors[1] < errors[0] / 50
    assert errors[2] < errors[1] / 50


def test_fresh_noise_in_the_two_passes_ruins_it() -> None:
    """Why the passes share their noise: other dropout masks are amplified by 1/ε."""
    model, batch = smooth_model(dropout=0.5), Batch()
    weights = weights_of(model)
    _, direction = loss_gradient(model, weights, batch.x_valid, batch.y_valid, noise_seed=7)
    exact = window_rewards(
        model, weights, direction, batch.x, batch.y, method="exact", noise_seed=0
    )
    length = torch.sqrt(sum(value.square().sum() for value in direction.values()))
    step = 0.01 / length
    ahead, behind = (
        window_losses(
            model,
            {name: value + sign * step * direction[name] for name, value in weights.items()},
            batch.x,
            batch.y,
            noise_seed=seed,
        )
        for sign, seed in ((1, 0), (-1, 1))
    )
    fresh = (ahead - behind) / (2 * step)
    assert (fresh - exact).norm() > 10 * exact.norm()


@pytest.mark.parametrize("method", ["finite-difference", "exact"])
def test_reward_is_the_change_of_the_validation_loss(method: str) -> None:
    """A small step on one window alone changes the validation loss by −ξ times its reward."""
    model, batch = smooth_model(), Batch()
    weights = weights_of(model)
    before, direction = loss_gradient(model, weights, batch.x_valid, batch.y_valid, noise_seed=0)
    rewards = window_rewards(
        model,
        weights,
        direction,
        batch.x,
        batch.y,
        method=method,
        noise_seed=0,
    )
    small = 1e-5
    for i in range(len(batch.x)):
        _, gradient = loss_gradient(
            model, weights, batch.x[i : i + 1], batch.y[i : i + 1], noise_seed=0
        )
        after, _ = loss_gradient(
            model,
            unrolled(weights, gradient, small),
            batch.x_valid,
            batch.y_valid,
            noise_seed=0,
        )
        assert (after - before) / small == pytest.approx(-float(rewards[i]), rel=1e-2, abs=1e-4)


@pytest.mark.parametrize("method", ["finite-difference", "exact"])
def test_the_model_is_left_as_it_is(method: str) -> None:
    """With BatchNorm and dropout, in training mode."""
    model, batch = smooth_model(dropout=0.5, norm=True).train(), Batch()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.random.get_rng_state()
    weights = weights_of(model)
    _, direction = loss_gradient(model, weights, batch.x_valid, batch.y_valid, noise_seed=0)
    x = batch.x.clone().requires_grad_()
    window_rewards(
        model,
        weights,
        direction,
        x,
        batch.y,
        method=method,
        noise_seed=0,
    ).sum().backward()
    assert x.grad is not None
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("method", get_args(reward.Hypergradient))
def test_residuals_are_those_of_the_model(method: reward.Hypergradient) -> None:
    model, batch = smooth_model().eval(), Batch()
    direction = {name: torch.ones_like(value) for name, value in weights_of(model).items()}
    way = RewardDirection(weights_of(model), direction, method)
    _, residuals = rewards_and_residuals(model, way, batch.x, batch.y, noise_seed=0)
    share = model(batch.x).softmax(1).detach()
    expected = torch.stack([(share[i] - one_hot(batch.y, 3)[i]).norm() for i in range(8)])
    # The two passes of the finite difference are 0.01 apart.
    torch.testing.assert_close(
        residuals, expected, rtol=1e-4 if method != "exact" else 1e-9, atol=0
    )


def test_best_sharpness_is_where_the_loss_is_lowest() -> None:
    """Against a fine grid, for logits that are far too sharp and far too blunt."""
    g = torch.Generator().manual_seed(3)
    y = torch.randint(4, (200,), generator=g)
    logits = torch.randn(200, 4, generator=g, dtype=torch.float64)
    logits[torch.arange(200), y] += 1.0
    grid = torch.logspace(-2, 1, 20_001, dtype=torch.float64)
    for factor in (0.2, 1.0, 9.0):
        losses = torch.stack([cross_entropy(factor * logits * beta, y) for beta in grid])
        expected = grid[losses.argmin()]
        sharpness = best_sharpness(factor * logits, y)
        assert float(sharpness) == pytest.approx(float(expected), rel=1e-3)


def test_sharpness_stays_in_range() -> None:
    """Where every answer is right the best sharpness is infinite, where all are wrong it is 0."""
    y = torch.arange(3)
    assert float(best_sharpness(torch.eye(3), y)) == 10
    assert float(best_sharpness(-torch.eye(3), y)) == pytest.approx(0.01)


def test_calibrated_gradient_ignores_confidence() -> None:
    """Along the scale of the last layer, the calibrated loss is at its minimum."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(40, 3, bias=False)).double()
    batch, weights = Batch(), weights_of(model)
    # Mostly right, so that the best sharpness is finite and above 0.
    y = model(batch.x).argmax(1)
    y[:2] = (y[:2] + 1) % 3
    slopes = {}
    for confidence in get_args(Confidence):
        _, gradient = loss_gradient(
            model, weights, batch.x, y, noise_seed=0, confidence=confidence
        )
        slopes[confidence] = float((gradient["1.weight"] * weights["1.weight"]).sum())
    assert abs(slopes["keep"]) > 0.01
    assert abs(slopes["calibrate"]) < 1e-6


def test_without_confidence_the_size_of_logits_stays() -> None:
    model, batch = smooth_model(), Batch()
    weights = weights_of(model)

    def size(moved: dict[str, torch.Tensor]) -> float:
        logits = functional_call(model, moved, (batch.x,))
        return float((logits - logits.mean(1, keepdim=True)).square().sum(1).mean())

    changes, gradients = {}, {}
    kinds: tuple[Confidence, ...] = ("keep", "remove")
    for confidence in kinds:
        _, gradient = loss_gradient(
            model, weights, batch.x, batch.y, noise_seed=0, confidence=confidence
        )
        ahead, behind = (
            size({name: value + step * gradient[name] for name, value in weights.items()})
            for step in (1e-5, -1e-5)
        )
        changes[confidence] = (ahead - behind) / 2e-5
        gradients[confidence] = torch.cat([value.flatten() for value in gradient.values()])
    assert abs(changes["keep"]) > 0.01
    assert abs(changes["remove"]) < 1e-6


def test_without_confidence_nothing_else_is_lost_where_offsets_are_right() -> None:
    """With the best offsets, what is removed is the projection on the size of the logits."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(40, 3)).double()
    batch = Batch()
    bias = model[1].bias
    optimizer = torch.optim.LBFGS(
        [bias], max_iter=500, tolerance_grad=1e-13, tolerance_change=0.0, lr=0.5
    )

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = cross_entropy(model(batch.x), batch.y)
        torch.autograd.backward(loss)
        return loss

    optimizer.step(closure)
    logits = model(batch.x)
    size = (logits - logits.mean(1, keepdim=True)).square().sum(1).mean()
    surer = torch.cat([part.flatten() for part in torch.autograd.grad(size, model.parameters())])
    kept, removed = (
        torch.cat(
            [
                part.flatten()
                for part in loss_gradient(
                    model, weights_of(model), batch.x, batch.y, noise_seed=0, confidence=confidence
                )[1].values()
            ]
        )
        for confidence in ("keep", "remove")
    )
    expected = kept - (kept @ surer) / (surer @ surer) * surer
    torch.testing.assert_close(removed, expected, rtol=0, atol=1e-7)
    assert float((kept - removed).norm()) > 0.01


def test_without_confidence_the_share_of_a_class_counts_for_nothing() -> None:
    """Where all logits are 0, what is left is the covariance of windows and labels."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(40, 3)).double()
    batch = Batch()
    zeros = {name: torch.zeros_like(value) for name, value in weights_of(model).items()}
    y = batch.y.clone()
    y[: len(y) // 2] = 0
    kept, removed = (
        loss_gradient(model, zeros, batch.x, y, noise_seed=0, confidence=confidence)[1]
        for confidence in ("keep", "remove")
    )
    x, label = batch.x.flatten(1), one_hot(y, 3).double()
    covariance = (label - label.mean(0)).T @ (x - x.mean(0)) / len(y)
    torch.testing.assert_close(removed["1.weight"], -covariance)
    assert removed["1.bias"].abs().max() < 1e-12
    assert kept["1.bias"].abs().max() > 0.1
