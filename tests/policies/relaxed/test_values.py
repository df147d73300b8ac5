"""The mean of a policy over several moments."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from cadda import EnumeratedPolicy, MixturePolicy, OperationPool, StagedPolicy
from cadda.operations.space import SignFlip
from cadda.operations.time import GaussianNoise, TimeMask
from cadda.policies.relaxed.values import PolicyValues, mean_values

POOL = OperationPool([SignFlip(), GaussianNoise(), TimeMask(sfreq=10.0)])
KINDS: list[Any] = [StagedPolicy, MixturePolicy, EnumeratedPolicy]


def moments(kind: Any, n_stages: int, n: int = 4) -> tuple[Any, list[PolicyValues]]:
    """Return a policy, and what it was at several random moments."""
    policy, g = kind(POOL, class_names=("a", "b"), n_stages=n_stages), torch.Generator()
    found = []
    for seed in range(n):
        g.manual_seed(seed)
        for parameter in policy.parameters():
            parameter.data = 3 * torch.randn(parameter.shape, generator=g)
        found.append(policy.values)
    return policy, found


@pytest.mark.parametrize("kind", KINDS)
def test_operations_are_applied_as_often_as_in_the_mean(kind: Any) -> None:
    policy, found = moments(kind, n_stages=1)
    specs = [policy.to_spec(values=values) for values in found]
    mean = policy.to_spec(values=mean_values(found))
    expected = sum(spec.operation_probabilities() for spec in specs) / len(specs)
    assert mean.operation_probabilities() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_magnitudes_are_means_over_the_windows_they_are_applied_to(kind: Any) -> None:
    """Against a count of windows: noise is applied to each share with that moment's magnitude."""
    policy, found = moments(kind, n_stages=1)
    mean = policy.to_spec(values=mean_values(found))
    for row in ("a", "b"):
        parts = [
            (subpolicy.weight * entry.weight * entry.probability, entry.magnitude or 0.0)
            for values in found
            for subpolicy in policy.to_spec(values=values).policy[row]
            for entry in subpolicy.stages[0]
            if entry.operation == "gaussian_noise"
        ]
        expected = sum(mass * size for mass, size in parts) / sum(mass for mass, _ in parts)
        merged = [
            (subpolicy.weight * entry.weight * entry.probability, entry.magnitude or 0.0)
            for subpolicy in mean.policy[row]
            for entry in subpolicy.stages[0]
            if entry.operation == "gaussian_noise"
        ]
        got = sum(mass * size for mass, size in merged) / sum(mass for mass, _ in merged)
        assert got == pytest.approx(expected, abs=1e-6)


def test_an_operation_that_comes_and_goes_has_half_of_the_windows() -> None:
    """The mean of logits would be certain to apply neither."""
    values = [
        PolicyValues(torch.tensor([[share]]), torch.ones(1, 1, 2), torch.tensor([[size]]))
        for share, size in (([0.99, 0.01], [0.2, 1.0]), ([0.01, 0.99], [1.0, 0.4]))
    ]
    mean = mean_values(values)
    assert mean.share.flatten().tolist() == pytest.approx([0.5, 0.5])
    assert mean.magnitude.flatten().tolist() == pytest.approx([0.208, 0.406])


def test_an_operation_that_is_never_chosen_keeps_its_mean() -> None:
    values = [
        PolicyValues(torch.tensor([1.0, 0.0]), torch.tensor([0.5, p]), torch.tensor([0.1, 0.3]))
        for p in (0.2, 0.4)
    ]
    assert mean_values(values).probability.tolist() == pytest.approx([0.5, 0.3])
    assert mean_values(values[:1]) is values[0]


def test_values_do_not_follow_the_policy() -> None:
    policy, (first, *_) = moments(StagedPolicy, n_stages=2)
    before = first.share.clone()
    policy.weight.data.zero_()
    assert torch.equal(first.share, before)
    assert not torch.equal(policy.values.share, before)
