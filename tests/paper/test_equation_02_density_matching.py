r"""Equation (2), density matching.

.. math:: \min_T L(\theta^* | T(D_\text{valid}))
          \quad\text{s.t.}\quad \theta^* \in \arg\min_\theta L(\theta | D_\text{train})

Fast AutoAugment solves it. As in its own paper, the windows that are augmented are training
windows that a model has not seen, fold by fold; validation windows are kept for early stopping.
"""

from __future__ import annotations

from typing import Any

import pytest

import cadda
from cadda.training import TrainingSettings


def density_loss(convex: Any, **policy: float) -> float:
    """Solve the lower level by scipy for both folds, and augment the windows held out."""
    folds = [convex.train.of_subjects([subject]) for subject in convex.train.subjects]
    losses = [
        convex.loss(convex.solve(kept), held_out, **policy).item()
        for kept, held_out in (folds, folds[::-1])
    ]
    return sum(losses) / len(losses)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_loss_is_that_of_augmented_windows_under_a_plain_model(seed: int, convex: Any) -> None:
    result = cadda.search(
        convex.train,
        convex.valid,
        method="fast_autoaugment",
        operations=["sign_flip", "time_reverse"],
        model=convex.model,
        budget=1,
        training=TrainingSettings(**convex.training),
        seed=seed,
        n_folds=2,
        n_subpolicies=1,
        n_stages=1,
        retrain=False,
        baseline=False,
    )
    policy = convex.probabilities(result.policy)
    assert result.history[0].value == pytest.approx(density_loss(convex, **policy), abs=0.03)
