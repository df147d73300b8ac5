r"""Equation (1), the bilevel problem.

.. math:: \min_T L(\theta^* | D_\text{valid})
          \quad\text{s.t.}\quad \theta^* \in \arg\min_\theta L(\theta | T(D_\text{train}))

The model is logistic regression, and a policy flips or reverses windows with some probability, so
that scipy can solve the lower level for every policy.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

import cadda
from cadda.training import TrainingSettings

TOLERANCE = 0.03


@pytest.mark.parametrize("p", [0.0, 0.1, 0.2])
def test_lower_level_minimises_the_loss_of_augmented_training_windows(
    p: float, convex: Any
) -> None:
    policy = cadda.PolicySpec.from_text(f"sign_flip p={p}")
    fitted = cadda.fit(
        convex.train, convex.valid, policy=policy, model=convex.model, **convex.training
    )
    loss = fitted.history[fitted.best_epoch - 1].valid_loss
    assert loss == pytest.approx(convex.bilevel_loss(sign_flip=p), abs=TOLERANCE)
    assert convex.bilevel_loss(sign_flip=p + 0.1) > loss + 2 * TOLERANCE


def test_upper_level_takes_the_policy_with_the_lowest_validation_loss(convex: Any) -> None:
    """Flips with p ≥ 1/2 swap the classes, and some are among the trials."""
    result = cadda.search(
        convex.train,
        convex.valid,
        method="random",
        operations=["sign_flip", "time_reverse"],
        model=convex.model,
        budget=4,
        training=TrainingSettings(**convex.training),
        n_subpolicies=1,
        n_stages=1,
        retrain=False,
        baseline=False,
    )
    losses = [trial.value for trial in result.history]
    expected = convex.bilevel_loss(**convex.probabilities(result.policy))
    assert min(losses) == pytest.approx(expected, abs=TOLERANCE)
    assert max(losses) > math.log(2)
