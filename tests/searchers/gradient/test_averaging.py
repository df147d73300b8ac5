"""The policies that a search averages, and how much policies have in common."""

from __future__ import annotations

import math

import pytest
import torch

from cadda import PolicySpec
from cadda.policies.relaxed.values import PolicyValues
from cadda.searchers.gradient.averaging import PolicyTrail, mean_policy, mean_shared, shared_mass


def policy(text: str) -> PolicySpec:
    return PolicySpec.from_text(text)


def moment(share: float) -> PolicyValues:
    return PolicyValues(torch.tensor([share, 1 - share]), torch.ones(2), torch.ones(2))


def test_the_mean_is_over_the_last_third() -> None:
    trail, shares = PolicyTrail(), torch.rand(25, generator=torch.Generator().manual_seed(0))
    assert trail.mean() is None
    for n, share in enumerate(shares.tolist(), start=1):
        trail.add(moment(share))
        length = math.ceil(n / 3)
        mean, earlier = trail.mean(), trail.earlier()
        assert trail.n_averaged == length
        assert mean is not None
        assert float(mean.share[0]) == pytest.approx(float(shares[n - length : n].mean()))
        if n == 1:
            assert earlier is None
        else:
            assert earlier is not None
            assert float(earlier.share[0]) == pytest.approx(float(shares[n - length - 1]))


def test_a_restored_trail_goes_on_as_before() -> None:
    trail, other = PolicyTrail(), PolicyTrail()
    for share in (0.1, 0.7, 0.3, 0.9, 0.2):
        trail.add(moment(share))
    other.load_state_dict(trail.state_dict())
    for each in (trail, other):
        for share in (0.4, 0.6):
            each.add(moment(share))
    first, second = trail.mean(), other.mean()
    assert first is not None
    assert second is not None
    assert torch.equal(first.share, second.share)


def test_shared_mass_of_an_operation_that_goes() -> None:
    """99 % of the windows then, 5 % now: 5 % are changed both times, 1 % never."""
    assert shared_mass(policy("rotation_y p=0.99 m=1"), policy("rotation_y p=0.05 m=1")) == (
        pytest.approx(0.06)
    )
    assert shared_mass(policy("sign_flip p=1"), policy("time_reverse p=1")) == pytest.approx(0)
    same = policy("sign_flip p=0.3 > time_mask p=0.2 m=0.3")
    assert shared_mass(same, same) == 1


def test_shared_mass_is_that_of_the_class_that_differs_most() -> None:
    first = policy("[A]\nsign_flip p=0.5\n[B]\nsign_flip p=0.5")
    second = policy("[A]\nsign_flip p=0.5\n[B]\nsign_flip p=0.1")
    assert shared_mass(first, second) == pytest.approx(0.6)


def test_too_many_sequences_are_unknown() -> None:
    stage = " | ".join(
        f"{name} p=0.5" for name in ("sign_flip", "time_reverse", "channel_symmetry")
    )
    long = policy(" > ".join([stage] * 12))
    assert shared_mass(long, long.model_copy()) is None
    assert mean_shared([(long, long)]) is None


def test_agreement_is_the_mean_over_pairs() -> None:
    low, high = policy("sign_flip p=0.2"), policy("sign_flip p=0.6")
    assert mean_shared([(low, high), (low, low)]) == pytest.approx((0.6 + 1) / 2)
    assert mean_shared([]) is None


def test_the_mean_policy_treats_windows_equally_often_as_each() -> None:
    first = policy("w=3: sign_flip p=0.8\ntime_reverse p=0.4")
    second = policy("sign_flip p=0.2")
    mean = mean_policy([first, second])
    names = dict(zip(mean.operation_names, mean.operation_probabilities()[0], strict=True))
    assert names == pytest.approx({"sign_flip": (0.6 + 0.2) / 2, "time_reverse": 0.1 / 2})
    assert mean_policy([first]) is first
