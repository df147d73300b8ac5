r"""Equation (8), the chain rule through the unrolled step.

.. math:: \nabla_\alpha L(\theta' | D_\text{valid}) = -\xi \,
          \nabla^2_{\alpha,\theta} L(\theta | T_\alpha(D_\text{train})) \,
          \nabla_{\theta'} L(\theta' | D_\text{valid})

The library computes rewards; :math:`-\xi` times their mean has the right side as its derivative.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from cadda.searchers.gradient.reward import window_rewards


def library_slope(bilevel: Any) -> Tensor:
    rewards = window_rewards(
        bilevel.model,
        bilevel.theta,
        bilevel.valid_slope(),
        bilevel.policy.transform(bilevel.x, bilevel.draw),
        bilevel.y,
        method="exact",
        noise_seed=0,
    )
    return bilevel.alpha_slope(-bilevel.xi * rewards.mean())


def flat(parts: dict[str, Tensor]) -> Tensor:
    return torch.cat([part.flatten() for part in parts.values()])


def test_left_side_is_back_propagation_through_the_step(bilevel: Any) -> None:
    after = bilevel.moved(bilevel.slope(bilevel.train_loss, bilevel.theta), -bilevel.xi)
    left = bilevel.alpha_slope(bilevel.valid_loss(after))
    torch.testing.assert_close(library_slope(bilevel), left, rtol=1e-6, atol=1e-12)
    assert left.abs().max() > 1e-5


def test_right_side_is_the_mixed_hessian_times_the_validation_gradient(bilevel: Any) -> None:
    """The Hessian is written out, a row for each weight of the model."""
    inner = flat(bilevel.slope(bilevel.train_loss, bilevel.theta))
    hessian = torch.stack([bilevel.alpha_slope(entry) for entry in inner])
    right = -bilevel.xi * hessian.T @ flat(bilevel.valid_slope())
    torch.testing.assert_close(library_slope(bilevel), right, rtol=1e-6, atol=1e-12)
