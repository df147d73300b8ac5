r"""Appendix E, what DADA and ADDA draw (not numbered).

.. math:: T_\text{DADA}(X) = \tau_i(X), \quad
          i \sim \text{Gumbel-softmax}(\{1, \dots, N_O^K\}; w) \\
          T_\text{ADDA}(X) = \tilde\tau_i(X), \quad i \sim U(\{1, \dots, L\})

The second is equation (4) for subpolicies of stages as in equation (6). The paper compares the
numbers of weights: 120 = L K N_O for ADDA and 144 = N_O^K for DADA.
"""

from __future__ import annotations

from itertools import product

import torch
from scipy.stats import chisquare

from cadda import EnumeratedPolicy, OperationPool, StagedPolicy

STEPS = {"add": lambda v: v + 0.5, "double": lambda v: 2 * v, "square": lambda v: v**2}


def test_dada_draws_whole_sequences(arithmetic: OperationPool, generator: torch.Generator) -> None:
    """All 3² ordered sequences, by softmax(w)."""
    policy = EnumeratedPolicy(arithmetic, n_stages=2)
    policy.weight.data.copy_(torch.linspace(-1, 1, 9))
    policy.probability_logit.data.fill_(1e3)
    expected: dict[float, float] = {}
    shares = policy.weight.detach().softmax(-1).flatten().tolist()
    for (first, second), share in zip(product(STEPS, repeat=2), shares, strict=True):
        outcome = STEPS[second](STEPS[first](1.3))
        expected[outcome] = expected.get(outcome, 0) + share
    n_windows = 5000
    start = torch.full((n_windows, 1, 1), 1.3, dtype=torch.float64)
    result = policy(start, generator=generator)[0].flatten()
    outcomes = torch.tensor(list(expected), dtype=torch.float64)
    counts = torch.isclose(result[:, None], outcomes).sum(0)
    assert sum(counts) == n_windows
    assert chisquare(counts, torch.tensor(list(expected.values())) * n_windows).pvalue > 1e-3


def test_numbers_of_weights(pool: OperationPool) -> None:
    twelve = pool.select([name for name in pool.names if name != "bandstop"])
    assert len(twelve) == 12
    assert StagedPolicy(twelve, n_subpolicies=5, n_stages=2).weight.numel() == 120
    assert EnumeratedPolicy(twelve, n_stages=2).weight.numel() == 144
