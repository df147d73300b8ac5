"""Policies for windows that lack some of their operations."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from cadda import OperationPool, Policy, PolicySpec, operation_pool

REASON = "it needs the positions of at least 3 sensors, and 2 are known"


@pytest.fixture(scope="module")
def two_channels() -> OperationPool:
    return operation_pool(sfreq=100, ch_names=["Fpz-Cz", "Pz-Oz"], class_names=("a", "b"))


def probabilities(spec: PolicySpec) -> dict[str, np.ndarray]:
    return dict(zip(spec.operation_names, spec.operation_probabilities().T, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        # An alternative with little weight, and one with much weight that is hardly applied.
        "sign_flip p=0.5 w=99.5 | rotation_z p=0.9 m=0.5 w=0.5 > time_reverse p=0.4",
        "sign_flip p=0.5 | rotation_z p=0.01 m=0.5 > time_reverse p=0.4",
        # A stage, a subpolicy, and all of a class.
        "rotation_x p=0.005 m=1 > sign_flip p=0.3",
        "w=0.01: rotation_y p=0.5 m=1 > rotation_x p=0.1 m=1\nw=0.99: sign_flip p=0.3",
        "[a]\nsign_flip p=0.5\n[b]\nrotation_z p=0.001 m=1",
    ],
)
def test_what_hardly_has_weight_is_dropped(text: str, two_channels: OperationPool) -> None:
    """All other operations are applied exactly as often as before."""
    spec = PolicySpec.from_text(text)
    with pytest.warns(UserWarning, match=f"rotation_.* left out .*: {REASON}"):
        policy = Policy(spec, two_channels)
    before, after = probabilities(spec), probabilities(policy.spec)
    assert not any(name.startswith("rotation") for name in after)
    for name in before:
        if not name.startswith("rotation"):
            np.testing.assert_allclose(after[name], before[name], rtol=1e-12)
    x, y = torch.randn(20, 2, 50), torch.arange(20) % 2
    result, _ = policy(x, y)
    assert result.shape == x.shape


def test_what_matters_is_an_error_with_its_cause(two_channels: OperationPool) -> None:
    spec = PolicySpec.from_text("sign_flip p=0.5 w=98 | rotation_z p=0.9 m=0.5 w=2")
    with pytest.raises(ValueError, match=f"`rotation_z` is not applicable: {REASON}"):
        Policy(spec, two_channels)


def test_the_largest_share_of_a_class_counts(two_channels: OperationPool) -> None:
    spec = PolicySpec.from_text("[a]\nsign_flip p=1\n[b]\nrotation_z p=0.02 m=1")
    with pytest.raises(ValueError, match="`rotation_z` is not applicable"):
        Policy(spec, two_channels)


def test_nothing_is_dropped_where_all_apply(pool: OperationPool) -> None:
    spec = PolicySpec.from_text("sign_flip p=0.5 | rotation_z p=0.001 m=0.5")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Policy(spec, pool).spec == spec


@pytest.mark.parametrize("name", ["channel_symmetry", "rotation_x"])
def test_channels_without_names(name: str) -> None:
    """The cause is that nobody named the channels, not that the head has one side only."""
    pool = operation_pool(sfreq=100, ch_names=["0", "1", "2", "3"])
    spec = PolicySpec.from_text(f"{name} p=0.5 m=0.5")
    with pytest.raises(ValueError, match="such as '0'; pass names such as C3 as `ch_names`"):
        Policy(spec, pool)
    measured = np.eye(4, 3) * 0.1
    known = operation_pool(sfreq=100, ch_names=["0", "1", "2", "3"], positions=measured)
    assert "ch_names" not in known.left_out.get(name, "")
