r"""Section 5 and Appendix C, the number of policies and random search among them (not numbered).

.. math:: (N_p \times N_\mu \times N_O)^{L \times K \times |Y|}
"""

from __future__ import annotations

from itertools import product

import pytest
import torch

from cadda import image_pool
from cadda.searchers.trials.encoding import PolicyEncoding, PolicySpace


def test_formula_by_enumeration() -> None:
    """Write out all policies of a small space."""
    space = PolicySpace(
        n_operations=2, n_subpolicies=2, n_stages=1, n_classes=2, n_probabilities=3, n_magnitudes=2
    )
    stage = list(product(range(3), range(2), range(2)))
    policies = set(product(stage, repeat=2 * 1 * 2))
    assert space.size() == len(policies)


def test_numbers_of_the_digits_experiment() -> None:
    """L = 5, K = 1, four operations without magnitude, four probabilities."""
    shape = {"n_subpolicies": 5, "n_stages": 1, "n_probabilities": 4, "n_magnitudes": 1}
    assert PolicySpace(4, **shape).size() == pytest.approx(1e6, rel=0.05)
    assert PolicySpace(4, n_classes=4, **shape).size() == pytest.approx(1.2e24, rel=0.01)


def test_random_search_draws_every_value_equally_often() -> None:
    """The algorithm of Appendix C: each candidate is drawn from the grid."""
    encoding = PolicyEncoding(image_pool(), ("4", "6", "8", "9"), 5, 1)
    generator = torch.Generator().manual_seed(0)
    drawn = [encoding.draw(generator) for _ in range(300)]
    for name, values in encoding.choices().items():
        if name.endswith("operation"):
            counts = [sum(one[name] == value for one in drawn) for value in values]
            assert len(counts) == 4
            assert min(counts) > 300 / 4 - 35
