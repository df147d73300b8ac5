r"""Equation (7), one training step in place of the lower level.

.. math:: \nabla_\alpha L(\theta^* | D_\text{valid}) \simeq
          \nabla_\alpha L(\theta' | D_\text{valid}), \qquad
          \theta' = \theta - \xi \nabla_\theta L(\theta | T_\alpha(D_\text{train}))
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from cadda import OperationPool, StagedPolicy
from cadda.searchers.gradient.reward import (
    loss_gradient,
    unrolled,
    weights_of,
    window_rewards,
)


def test_the_step_is_one_of_gradient_descent(bilevel: Any) -> None:
    """Against torch's SGD on a copy of the model."""
    augmented = bilevel.policy.transform(bilevel.x, bilevel.draw).detach()
    weights = weights_of(bilevel.model)
    _, gradient = loss_gradient(bilevel.model, weights, augmented, bilevel.y, noise_seed=0)
    after = unrolled(weights, gradient, bilevel.xi)
    model = copy.deepcopy(bilevel.model)
    optimizer = torch.optim.SGD(model.parameters(), lr=bilevel.xi)
    cross_entropy(model(augmented), bilevel.y).backward()
    optimizer.step()
    for name, value in model.named_parameters():
        torch.testing.assert_close(after[name], value.detach(), rtol=0, atol=1e-12)
        assert (value - weights[name]).abs().max() > 1e-4


@pytest.mark.parametrize("magnitude", [0.1, 0.3, 0.5, 0.9])
def test_one_step_points_the_way_of_the_solved_problem(
    magnitude: float, arithmetic: OperationPool, generator: torch.Generator
) -> None:
    """The operation adds µ, and validation windows are training windows plus 0.4.

    The lower level, solved by scipy, undoes any shift: θ*(µ) = θ*(0.4) + (0, w (0.4 − µ)). So the
    validation loss falls with µ below 0.4 and rises above.
    """
    x = torch.randn(200, 1, 1, generator=generator, dtype=torch.float64)
    y = (x.flatten() + torch.randn(200, generator=generator) > 0).long()
    policy = StagedPolicy(arithmetic.select(["add"]), n_subpolicies=1, n_stages=1).double()
    policy.probability_logit.data.fill_(1e3)
    policy.magnitude_logit.data.fill_(torch.logit(torch.tensor(magnitude)))

    def solved() -> nn.Module:
        shifted = (x + magnitude).flatten()

        def loss(theta: Any) -> Tensor:
            logit = torch.tensor(theta[0]) * shifted + theta[1]
            return nn.functional.binary_cross_entropy_with_logits(logit, y.double())

        slope, offset = minimize(loss, [0.0, 0.0]).x
        linear = nn.Linear(1, 2).double()
        linear.weight.data.copy_(torch.tensor([[0.0], [slope]]))
        linear.bias.data.copy_(torch.tensor([0.0, offset]))
        return nn.Sequential(nn.Flatten(), linear)

    model, xi = solved(), 1e-3
    weights = weights_of(model)
    augmented, _ = policy(x, generator=generator)
    _, inner = loss_gradient(model, weights, augmented.detach(), y, noise_seed=0)
    _, direction = loss_gradient(model, unrolled(weights, inner, xi), x + 0.4, y, noise_seed=0)
    rewards = window_rewards(model, weights, direction, augmented, y, method="exact", noise_seed=0)
    (slope,) = torch.autograd.grad(-xi * rewards.mean(), policy.magnitude_logit)
    assert float(slope) * (magnitude - 0.4) > 0
