"""What operations tell about the class, against closed forms, enumeration and counting."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from random_policies import enumerate_joint, random_policy

import cadda
from cadda import Policy, PolicySpec
from cadda.policies.spec.leakage import trace_operations

SWAP = "-> {a: b, b: a}"


def binary_entropy(p: float) -> float:
    return 0.0 if p in (0, 1) else -p * math.log2(p) - (1 - p) * math.log2(1 - p)


@pytest.mark.parametrize(
    "use", [(0.5, 0.0), (0.9, 0.1, 0.2), (0.3, 0.3, 0.3), (1.0, 0.0, 0.0, 0.0), (0.82, 0.1)]
)
def test_closed_form(use: tuple[float, ...]) -> None:
    """Entropy of the mean use minus mean entropy of the use."""
    text = "\n".join(f"[{n}]\ntime_reverse p={p}" for n, p in enumerate(use))
    expected = binary_entropy(sum(use) / len(use)) - sum(map(binary_entropy, use)) / len(use)
    assert PolicySpec.from_text(text).leak() == {"time_reverse": pytest.approx(expected)}


def test_half_of_one_of_two_classes() -> None:
    leak = PolicySpec.from_text("[a]\ntime_reverse p=0.5\n[b]\ntime_reverse p=0").leak()
    assert round(leak["time_reverse"], 2) == 0.31


def test_equal_use_by_unequal_means_is_no_leak() -> None:
    text = (
        "[a]\ntime_reverse p=0.5 > time_reverse p=0.5\n[b]\nw=3: time_reverse p=1\nsign_flip p=0"
    )
    assert PolicySpec.from_text(text).leak() == {"time_reverse": 0.0, "sign_flip": 0.0}


def test_one_policy_for_all_tells_nothing() -> None:
    spec = PolicySpec.from_text("w=3: time_reverse p=0.5 > time_mask p=0.2 m=1\nsign_flip p=1")
    assert set(spec.leak().values()) == {0.0}


@pytest.mark.parametrize("probability", [0.1, 0.5, 1.0])
def test_an_exchange_of_labels_costs_nothing(probability: float) -> None:
    spec = PolicySpec.from_text(f"channel_symmetry p={probability} {SWAP}")
    assert spec.leak() == {"channel_symmetry": 0.0}


def test_a_map_for_some_classes_costs_what_the_others_lack() -> None:
    text = f"[a]\nchannel_symmetry p=0.5 {SWAP}\n[b]\nchannel_symmetry p=0.5 {SWAP}\n"
    spec = PolicySpec.from_text(text + "[c]\nchannel_symmetry p=0")
    expected = binary_entropy(1 / 3) - 2 / 3
    assert spec.leak() == {"channel_symmetry": pytest.approx(expected)}
    for_all = PolicySpec.from_text(f"channel_symmetry p=0.5 {SWAP}")
    named = for_all.model_copy(update={"class_names": ("a", "b", "c")})
    assert named.leak() == spec.leak()
    kept = PolicySpec.from_text("channel_symmetry p=0.5 -> {a: b, b: a, c: c}")
    assert kept.leak() == {"channel_symmetry": 0.0}


def test_the_same_trace_with_and_without_a_map() -> None:
    """Half of each class is mirrored, in one class by exchanging its label."""
    text = "[a]\nchannel_symmetry p=0.5\n[b]\nchannel_symmetry p=0.5\n[c]\nchannel_symmetry p=0.5"
    assert PolicySpec.from_text(text).leak() == {"channel_symmetry": 0.0}
    mapped = PolicySpec.from_text(
        f"[a]\nchannel_symmetry p=0.5 {SWAP}\n[b]\nchannel_symmetry p=0.5 {SWAP}\n"
        "[c]\nchannel_symmetry p=0.5"
    )
    assert mapped.leak() == {"channel_symmetry": 0.0}


@pytest.mark.parametrize("seed", range(30))
def test_enumeration(seed: int) -> None:
    spec = random_policy(np.random.default_rng(seed))
    traces = trace_operations(spec)
    expected = enumerate_joint(spec)
    np.testing.assert_allclose(traces.joint, expected, atol=1e-14)
    label, changed = expected.sum(2)[..., None], expected.sum(1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        information = expected * np.log2(expected / (label * changed))
    np.testing.assert_allclose(traces.bits, np.nansum(information, (1, 2)), atol=1e-12)


def test_counts_of_augmented_windows() -> None:
    """Windows that a policy has changed, by the label that it returns."""
    pool = cadda.operation_pool(sfreq=100, ch_names=["C3", "C4"], class_names="abc")
    spec = PolicySpec.from_text(
        f"[a]\nw=2: channel_symmetry p=0.8 {SWAP}\nsign_flip p=0.9\n"
        f"[b]\nchannel_symmetry p=0.2 {SWAP} | sign_flip p=0.5 > sign_flip p=0.4\n"
        "[c]\nsign_flip p=0.1"
    )
    n_windows = 60_000
    x = torch.tensor([[[1.0], [2.0]]]).expand(n_windows, 2, 1)
    policy = Policy(spec, pool)
    draw = policy.draw(x, torch.arange(n_windows) % 3, generator=torch.Generator().manual_seed(0))
    counts = np.zeros((2, 3, 2))
    for n, name in enumerate(spec.operations_used):
        changed = torch.zeros(n_windows, dtype=torch.long)
        for group in (group for groups in draw.groups for group in groups):
            if policy.pool[group.operation].name.startswith(name):
                changed[group.windows] = 1
        np.add.at(counts[n], (draw.y.numpy(), changed.numpy()), 1 / n_windows)
    np.testing.assert_allclose(trace_operations(spec).joint, counts, atol=0.01)


def test_frequencies_of_windows() -> None:
    windows = cadda.Windows(
        torch.randn(100, 1, 10, generator=torch.Generator().manual_seed(0)),
        [0] * 90 + [1] * 10,
        subject=["s"] * 100,
        sfreq=100,
        ch_names=["Cz"],
        class_names=["a", "b"],
    )
    spec = PolicySpec.from_text("[a]\ntime_reverse p=1\n[b]\nsign_flip p=0.5")
    assert spec.leak(windows)["time_reverse"] == pytest.approx(binary_entropy(0.1))
    expected = binary_entropy(0.05) - 0.1
    assert spec.leak(windows)["sign_flip"] == pytest.approx(expected)
    swapped = PolicySpec.from_text("[b]\nsign_flip p=0.5\n[a]\ntime_reverse p=1")
    assert swapped.leak(windows) == spec.leak(windows)
    with pytest.raises(ValueError, match=r"`windows` must have the classes of the policy"):
        PolicySpec.from_text("[b]\nsign_flip p=1\n[c]\nsign_flip p=1").leak(windows)
