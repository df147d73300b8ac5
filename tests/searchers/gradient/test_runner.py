"""What a search by gradients returns, and when it stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import cadda
from cadda.api.prepare import make_problem
from cadda.exceptions import TrainingError
from cadda.policies.relaxed.values import mean_values
from cadda.policies.spec.compare import compare_policies
from cadda.searchers.events import SearchEpoch
from cadda.searchers.gradient.bilevel import BilevelSearcher
from cadda.searchers.gradient.settings import BilevelSettings
from cadda.testing.planted import planted_windows

OPERATIONS = ("sign_flip", "time_reverse", "gaussian_noise")
SETTINGS: dict[str, Any] = {"warmup_epochs": 1, "batch_size": 24, "max_leak": None}


def network(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(n_channels, 6, 25, stride=4),
        nn.ReLU(),
        nn.AdaptiveMaxPool1d(4),
        nn.Flatten(),
        nn.Linear(24, n_classes),
    )


def parts() -> tuple[cadda.Windows, cadda.Windows]:
    return planted_windows(48, varied=False), planted_windows(48, varied=True, seed=1)


def search(method: str, *windows: cadda.Windows, budget: int = 7, **changes: Any) -> Any:
    return cadda.search(
        *(windows or parts()),
        method=method,
        model=network,
        operations=OPERATIONS,
        budget=budget,
        device="cpu",
        **SETTINGS | changes,
    )


def epochs(result: cadda.SearchResult) -> list[SearchEpoch]:
    return [event for event in result.history if isinstance(event, SearchEpoch)]


def test_the_policy_is_the_mean_over_the_last_third() -> None:
    """Against a search that is run by hand: six epochs after the warm-up, the last two count."""
    problem = make_problem(*parts(), model=network, operations=OPERATIONS, device="cpu")
    searcher = BilevelSearcher(problem, BilevelSettings(**SETTINGS), classwise=True)
    values = []
    for _ in range(7):
        searcher.run(searcher.steps_per_epoch)
        values.append(searcher.policy.values)
    expected = searcher.policy.to_spec(values=mean_values(values[-2:]))
    result = search("cadda")
    assert result.policy.policy == expected.policy
    last = epochs(result)[-1]
    assert last.n_averaged == 2
    before = searcher.policy.to_spec(values=values[-3])
    distance = compare_policies(before, searcher.to_spec()).distance.values()
    assert last.shared == pytest.approx(1 - max(d for d in distance if d is not None))
    assert "epochs 6 to 7" in result.notes[0]


def test_several_seeds_give_their_mean() -> None:
    result = search("adda", n_seeds=3)
    assert len(result.policy.policy["*"]) == 3 * 5
    last = epochs(result)[-1]
    assert last.agreement is not None
    assert 0 < last.agreement < 1
    assert epochs(result)[0].agreement is None
    one = search("adda")
    # The first seed is that of a search with one seed.
    first = result.policy.policy["*"][:5]
    assert [part.stages for part in first] == [part.stages for part in one.policy.policy["*"]]
    use = result.policy.operation_probabilities()
    thirds = [
        one.policy.model_copy(update={"policy": {"*": result.policy.policy["*"][i : i + 5]}})
        for i in (0, 5, 10)
    ]
    np.testing.assert_allclose(use, sum(part.operation_probabilities() for part in thirds) / 3)


def noise() -> tuple[cadda.Windows, cadda.Windows]:
    """Return windows whose labels have nothing to do with them."""
    generator = torch.Generator().manual_seed(0)
    windows = parts()
    for part in windows:
        part.x = torch.randn(part.x.shape, generator=generator)
    return windows


def test_a_search_whose_model_is_worse_than_chance_stops() -> None:
    with pytest.raises(TrainingError, match=r"stopped after epoch \d+: its model is worse than"):
        search("adda", *noise(), budget=60, model_lr=0.02, warmup_epochs=10)


def test_a_critic_goes_on_whatever_it_does_on_validation_windows() -> None:
    result = search("faster_autoaugment", *noise(), budget=30, critic_lr=0.02)
    assert len(epochs(result)) == 30
