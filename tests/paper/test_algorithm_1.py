r"""Algorithm 1, (C)ADDA: one pass through the loop.

1. :math:`\theta' = \theta - \xi \nabla_\theta L(\theta | T_\alpha(D_\text{train}))`
2. :math:`g'_\theta = \nabla L(\theta' | D_\text{valid})`
3. :math:`g^\pm_\alpha = \nabla_\alpha L(\theta \pm \epsilon g'_\theta | T_\alpha(D_\text{train}))`
4. :math:`g_\alpha = (g^+_\alpha - g^-_\alpha) / 2\epsilon`, then an update of α
5. update of θ by :math:`\nabla_\theta L(\theta | T_\alpha(D_\text{train}))`

**The printed sign is wrong.** The algorithm has α ← α − ξ g, which ascends the validation loss;
equation (9) has −ξ in front of the same difference. We follow equation (9).
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from problems import tensor_problem
from torch import Tensor

from cadda.searchers.gradient.bilevel import BilevelSearcher
from cadda.searchers.gradient.settings import PAPER, BilevelSettings

CLASSES = ("a", "b", "c")
POLICY_LR = 0.01
PATHWISE = ("probability_logit", "magnitude_logit")
"""Parameters that plain Adam updates; weights of choices have an optimizer of their own."""


@pytest.fixture(params=["ADDA", "CADDA"])
def searcher(request: pytest.FixtureRequest, bilevel: Any) -> BilevelSearcher:
    """A search with the settings of the paper; every batch is the whole data."""
    settings = PAPER | {
        "batch_size": len(bilevel.y),
        "policy_lr": POLICY_LR,
        "unroll_lr": bilevel.xi,
        "estimator": "straight-through",
    }
    problem = tensor_problem(
        (bilevel.x, bilevel.y),
        (bilevel.x_valid, bilevel.y_valid),
        CLASSES,
        lambda seed: copy.deepcopy(bilevel.model),
        pool=bilevel.policy.pool,
    )
    classwise = request.param == "CADDA"
    searcher = BilevelSearcher(problem, BilevelSettings(**settings), classwise=classwise)
    searcher.policy.double()
    return searcher


@pytest.fixture
def step(searcher: BilevelSearcher, bilevel: Any) -> Any:
    """Let the search run one step; return α, θ, windows and draw as they were before it."""
    before = copy.deepcopy(searcher.policy)
    batches: list[tuple[Tensor, Tensor, Any]] = []
    draw = searcher.policy.draw

    def recorded(x: Tensor, y: Tensor, *, generator: torch.Generator) -> Any:
        batches.append((x, y, draw(x, y, generator=generator)))
        return batches[-1][-1]

    searcher.policy.draw = recorded
    searcher.step()
    ((x, y, drawn),) = batches
    return replace(bilevel, policy=before, draw=drawn, x=x, y=y)


def test_alpha(searcher: BilevelSearcher, step: Any) -> None:
    """Lines 1 to 4, by torch: Adam's first step is its rate, against the sign of the slope."""
    v = step.valid_slope()
    epsilon = 0.01 / torch.cat([value.flatten() for value in v.values()]).norm().item()
    plus = step.alpha_slope(step.train_loss(step.moved(v, epsilon)))
    minus = step.alpha_slope(step.train_loss(step.moved(v, -epsilon)))
    slope = -step.xi * (plus - minus) / (2 * epsilon)
    start = 0
    for name, before in step.policy.named_parameters():
        part = slope[start : start + before.numel()].view_as(before)
        start += before.numel()
        move = searcher.policy.get_parameter(name) - before
        assert (move * part).sum() < 0
        if name in PATHWISE:
            felt = part.abs() > 1e-6
            expected = -POLICY_LR * part[felt].sign()
            torch.testing.assert_close(move[felt], expected, rtol=1e-3, atol=0)


def test_theta(searcher: BilevelSearcher, step: Any) -> None:
    """Line 5, by torch."""
    slope = step.slope(step.train_loss, step.theta)
    for name, before in step.theta.items():
        felt = slope[name].abs() > 1e-4
        expected = -searcher.settings.model_lr * slope[name][felt].sign()
        move = searcher.model.get_parameter(name) - before
        torch.testing.assert_close(move[felt], expected, rtol=1e-3, atol=0)


def test_the_validation_loss_falls_and_would_rise_with_the_printed_sign(
    searcher: BilevelSearcher, step: Any
) -> None:
    """Computed for µ, of which windows are a smooth function once the draw is made."""

    def loss(sign: float) -> float:
        policy = copy.deepcopy(step.policy)
        policy.magnitude_logit.data.lerp_(searcher.policy.magnitude_logit.data, sign)
        moved = replace(step, policy=policy)
        inner = moved.slope(moved.train_loss, moved.theta)
        return moved.valid_loss(moved.moved(inner, -moved.xi)).item()

    assert loss(1) < loss(0) < loss(-1)
