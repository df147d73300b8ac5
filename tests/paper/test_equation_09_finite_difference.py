r"""Equation (9), a finite difference in place of the mixed Hessian.

.. math:: \nabla_\alpha L(\theta' | D_\text{valid}) \simeq -\xi \,
          \frac{\nabla_\alpha L(\theta^+ | T_\alpha(D_\text{train}))
              - \nabla_\alpha L(\theta^- | T_\alpha(D_\text{train}))}{2\epsilon}, \qquad
          \theta^\pm = \theta \pm \epsilon \nabla_{\theta'} L(\theta' | D_\text{valid})
"""

from __future__ import annotations

from typing import Any

import torch

from cadda.searchers.gradient.reward import window_rewards


def test_both_gradients_and_their_difference(bilevel: Any) -> None:
    """With ε = 0.01 / ‖∇L‖, each line by torch; and close to the exact derivative."""
    v = bilevel.valid_slope()
    epsilon = 0.01 / torch.cat([value.flatten() for value in v.values()]).norm().item()
    plus = bilevel.alpha_slope(bilevel.train_loss(bilevel.moved(v, epsilon)))
    minus = bilevel.alpha_slope(bilevel.train_loss(bilevel.moved(v, -epsilon)))
    expected = -bilevel.xi * (plus - minus) / (2 * epsilon)

    def library(method: str) -> torch.Tensor:
        augmented = bilevel.policy.transform(bilevel.x, bilevel.draw)
        rewards = window_rewards(
            bilevel.model, bilevel.theta, v, augmented, bilevel.y, method=method, noise_seed=0
        )
        return bilevel.alpha_slope(-bilevel.xi * rewards.mean())

    torch.testing.assert_close(library("finite-difference"), expected, rtol=1e-6, atol=1e-12)
    torch.testing.assert_close(library("exact"), expected, rtol=1e-2, atol=1e-7)
    assert expected.abs().max() > 1e-5
