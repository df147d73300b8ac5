"""Policies whose leak is lowered to a promised number of bits."""

from __future__ import annotations

import numpy as np
import pytest
from random_policies import OPERATIONS, enumerate_joint, random_policy

from cadda import PolicySpec
from cadda.policies.spec.leakage import trace_operations

LEAKING = (
    "[a]\ntime_mask p=0.8 m=0.4 > sign_flip p=0.3\n[b]\nsign_flip p=0.4\n[c]\nsign_flip p=0.3"
)


def bits_of(spec: PolicySpec) -> float:
    """Compute the largest leak by enumeration."""
    joint = enumerate_joint(spec)
    label, changed = joint.sum(2)[..., None], joint.sum(1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nansum(joint * np.log2(joint / (label * changed)), (1, 2)).max())


@pytest.mark.parametrize("max_leak", [0.3, 0.1, 0.01, 1e-4])
@pytest.mark.parametrize("keeps", [None, {"time_mask": {"b"}}, {"time_mask": {"b", "c"}}])
def test_the_promised_bits(max_leak: float, keeps: dict[str, set[str]] | None) -> None:
    capped = PolicySpec.from_text(LEAKING).capped(max_leak, keeps=keeps)
    assert max_leak - 1e-6 <= bits_of(capped) <= max_leak
    assert max(capped.leak().values()) == pytest.approx(bits_of(capped), abs=1e-12)


def _check_random(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spec, max_leak = random_policy(rng), float(rng.choice([0.1, 0.02]))
    classes = spec.class_names or ()
    kept = {name: {c for c in classes if rng.random() < 0.5} for name in OPERATIONS}
    capped = spec.capped(max_leak, keeps=kept if rng.random() < 0.7 else None)
    if bits_of(spec) <= max_leak:
        assert capped == spec
        return
    assert max_leak - 1e-6 <= bits_of(capped) <= max_leak
    assert PolicySpec.from_text(capped.to_text()).policy == capped.policy


@pytest.mark.parametrize("seed", range(12))
def test_random_policies_with_label_maps(seed: int) -> None:
    _check_random(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 400))
def test_many_random_policies_with_label_maps(seed: int) -> None:
    _check_random(seed)


def test_without_a_probe_only_less() -> None:
    spec = PolicySpec.from_text(LEAKING)
    before, after = trace_operations(spec).applied, trace_operations(spec.capped(0.1)).applied
    assert (after <= before).all()
    # Only the class that uses it most, and nothing of another operation.
    assert np.argwhere(after < before - 1e-12).tolist() == [[0, 0]]


def test_less_is_a_ceiling_for_all_classes() -> None:
    text = "[a]\ntime_reverse p=0.9\n[b]\ntime_reverse p=0.8\n[c]\nsign_flip p=0.01"
    use = PolicySpec.from_text(text).capped(0.2).operation_probabilities()[:, 0]
    assert use[0] == pytest.approx(use[1])
    assert 0.1 < use[0] < 0.8


def test_shared_among_all_classes() -> None:
    """u becomes (1 - δ) u + δ mean(u), with one δ for all classes."""
    spec = PolicySpec.from_text(LEAKING)
    shared = spec.capped(0.1, keeps={"time_mask": {"a", "b", "c"}})
    before, after = trace_operations(spec).applied[:, 0], trace_operations(shared).applied[:, 0]
    pulled = (after - before) / (before.mean() - before)
    assert pulled == pytest.approx(np.full(3, pulled[0]))
    assert 0 < pulled[0] < 1
    assert after[0] > trace_operations(spec.capped(0.1)).applied[0, 0]
    # What was shared has the magnitude of the class that it comes from.
    entries = [entry for entry in shared.entries if entry.operation == "time_mask"]
    assert {entry.magnitude for entry in entries} == {0.4}
    assert len(shared.policy["b"][0].stages) == 2


def test_nothing_is_shared_with_a_class_that_it_does_not_keep() -> None:
    spec = PolicySpec.from_text(LEAKING + "\n[d]\nsign_flip p=0.3\n[e]\nsign_flip p=0.3")
    for kept in ({"b", "c", "d"}, {"c", "d", "e"}):
        use = trace_operations(spec.capped(0.1, keeps={"time_mask": kept})).applied[:, 0]
        assert {name for name, share in zip("bcde", use[1:], strict=True) if share > 0} == kept
    other = spec.capped(0.1, keeps={"sign_flip": set("abcde")})
    assert other == spec.capped(0.1)


def test_a_probe_limits_the_magnitude() -> None:
    class Probe:
        def __init__(self, limit: float) -> None:
            self.limit = limit

        def kept_up_to(self, operation: str, class_name: str) -> float:
            return self.limit if operation == "time_mask" and class_name != "a" else 0.0

    spec = PolicySpec.from_text(LEAKING)
    assert spec.capped(0.1, keeps=Probe(0.39)) == spec.capped(0.1)
    allowed = spec.capped(0.1, keeps=Probe(0.4))
    assert allowed == spec.capped(0.1, keeps={"time_mask": {"b", "c"}})


def test_of_a_random_magnitude_the_largest_must_keep_the_class() -> None:
    class Probe:
        def __init__(self, limit: float) -> None:
            self.limit = limit

        def kept_up_to(self, operation: str, class_name: str) -> float:
            return self.limit

    spec = PolicySpec.from_text("[a]\ntime_mask p=0.8 m=0.1..0.5\n[b]\nsign_flip p=0")
    assert spec.capped(0.1, keeps=Probe(0.49)) == spec.capped(0.1)
    shared = spec.capped(0.1, keeps=Probe(0.5)).policy["b"][0].stages[0][0]
    assert (shared.operation, shared.magnitudes) == ("time_mask", (0.1, 0.5))


def test_shared_with_a_class_that_an_exchange_of_labels_does_not_concern() -> None:
    swap = "channel_symmetry p=0.9 -> {a: b, b: a}"
    spec = PolicySpec.from_text(f"[a]\n{swap}\n[b]\n{swap}\n[c]\nsign_flip p=0.01")
    shared = spec.capped(0.1, keeps={"channel_symmetry": {"c"}})
    (entry,) = shared.policy["c"][0].stages[0]
    assert (entry.operation, entry.label_map) == ("channel_symmetry", None)
    assert [len(shared.policy[row][0].stages) for row in "abc"] == [1, 1, 2]
    assert 0.1 - 1e-6 < shared.leak()["channel_symmetry"] <= 0.1


def test_shared_with_a_class_without_augmentation() -> None:
    spec = PolicySpec.from_text("[a]\ntime_mask p=0.8 m=0.5\n[b]\nnone")
    shared = spec.capped(0.1, keeps={"time_mask": {"b"}})
    ((entry,),) = shared.policy["b"][0].stages
    assert (entry.operation, entry.magnitude) == ("time_mask", 0.5)
    same = PolicySpec.from_text("[a]\ntime_mask p=0.8 m=0.5\n[b]\nsign_flip p=0")
    table = same.capped(0.1, keeps={"time_mask": {"b"}}).operation_probabilities()
    np.testing.assert_allclose(shared.operation_probabilities()[:, 0], table[:, 0])
    assert spec.capped(0.1).policy["b"] == ()


def test_several_shared_operations_fit_in_one_stage() -> None:
    names = ("sign_flip", "time_reverse", "channel_symmetry")
    rows = " > ".join(f"{name} p=0.7" for name in names)
    spec = PolicySpec.from_text(f"[a]\n{rows}\n[b]\nchannel_dropout p=0 m=1")
    shared = spec.capped(0.05, keeps={name: {"b"} for name in names})
    assert [len(stage) for stage in shared.policy["b"][0].stages] == [3, 1]
    assert 0.05 - 1e-6 < bits_of(shared) <= 0.05


def test_a_policy_within_its_cap_is_left_alone() -> None:
    spec = PolicySpec.from_text(LEAKING)
    assert spec.capped(1.0) is spec
    capped = spec.capped(0.1)
    assert capped.capped(0.1) is capped


def test_scores_of_the_policy_before_are_dropped() -> None:
    spec = PolicySpec.from_text(LEAKING)
    scored = spec.model_copy(
        update={"provenance": spec.provenance.model_copy(update={"scores": {"valid_loss": 1.0}})}
    )
    assert scored.capped(1.0).provenance.scores == {"valid_loss": 1.0}
    assert scored.capped(0.1).provenance.scores == {}


@pytest.mark.parametrize("max_leak", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_limits(max_leak: float) -> None:
    with pytest.raises(ValueError, match="`max_leak` must be a finite number above 0"):
        PolicySpec.from_text(LEAKING).capped(max_leak)
