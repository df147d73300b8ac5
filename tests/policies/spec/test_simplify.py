"""Soft policies become short, and lose no more than they may."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict

import numpy as np
import pytest
import torch
from random_policies import random_policy

from cadda import EnumeratedPolicy, OperationPool, PolicySpec, StagedPolicy
from cadda.policies.spec.entries import StageEntry, Subpolicy
from cadda.policies.spec.simplify import crisp_policy, describe_loss, largest_distance


def outcomes(subpolicies: tuple[Subpolicy, ...], label: str) -> dict[tuple[str, ...], float]:
    """Follow every path through a policy: what is chosen and whether it is applied."""
    if not subpolicies:
        return {(): 1.0}
    result: dict[tuple[str, ...], float] = defaultdict(float)
    total = sum(subpolicy.weight for subpolicy in subpolicies)
    for subpolicy in subpolicies:
        coins = [itertools.product(stage, (True, False)) for stage in subpolicy.stages]
        for path in itertools.product(*coins):
            chance, current, applied = subpolicy.weight / total, label, list[str]()
            for stage, (entry, heads) in zip(subpolicy.stages, path, strict=True):
                chance *= entry.weight / sum(other.weight for other in stage)
                chance *= entry.probability if heads else 1 - entry.probability
                suits = entry.label_map is None or current in entry.label_map
                if heads and suits:
                    applied.append(f"{entry.operation} {sorted((entry.label_map or {}).items())}")
                    current = current if entry.label_map is None else entry.label_map[current]
            result[tuple(applied)] += chance
    return result


def distance_by_paths(first: PolicySpec, second: PolicySpec, classes: tuple[str, ...]) -> float:
    distances = []
    for name in classes:
        row = name if first.is_classwise else "*"
        before, after = (outcomes(spec.policy[row], name) for spec in (first, second))
        keys = {*before, *after}
        distances.append(0.5 * sum(abs(before.get(k, 0) - after.get(k, 0)) for k in keys))
    return max(distances)


def check(spec: PolicySpec, max_loss: float, classes: tuple[str, ...]) -> PolicySpec:
    simple = spec.simplified(max_loss)
    loss = distance_by_paths(spec, simple, classes)
    assert loss <= max_loss + 1e-9
    assert loss == pytest.approx(simple.provenance.simplified or 0.0, abs=1e-9)
    assert loss == pytest.approx(largest_distance(spec, simple), abs=1e-9)
    assert len(simple.entries) <= len(spec.entries)
    assert simple.simplified(max_loss) is simple
    assert PolicySpec.from_dict(json.loads(simple.to_json())) == simple
    assert PolicySpec.from_text(simple.to_text()).policy == simple.policy
    return simple


@pytest.mark.parametrize("max_loss", [0.0, 0.03, 0.1, 0.3])
@pytest.mark.parametrize("seed", [*range(8), 100])
def test_class_wise_policies_with_label_maps(seed: int, max_loss: float) -> None:
    spec = random_policy(np.random.default_rng(seed))
    check(spec, max_loss, spec.class_names or ())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 200))
def test_many_class_wise_policies_with_label_maps(seed: int) -> None:
    spec = random_policy(np.random.default_rng(seed))
    for max_loss in (0.0, 0.03, 0.1, 0.3, 1.0):
        check(spec, max_loss, spec.class_names or ())


def soft_policy(kind: type, pool: OperationPool, scale: float, **arguments: object) -> PolicySpec:
    policy, generator = kind(pool, **arguments), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(scale * torch.randn(parameter.shape, generator=generator))
    return policy.to_spec()


@pytest.mark.parametrize("kind", [StagedPolicy, EnumeratedPolicy])
@pytest.mark.parametrize("scale", [0, 1, 4])
def test_policies_of_gradient_methods(kind: type, scale: float, pool: OperationPool) -> None:
    spec = soft_policy(kind, pool, scale, class_names=["a", "b"])
    simple = check(spec, 0.1, ("a", "b"))
    assert len(simple.entries) < len(spec.entries) / 4
    assert len(simple.to_text()) < len(spec.to_json()) / 8
    longest = max(len(word) for word in simple.to_text().split())
    assert longest < 25


def test_a_crisp_policy_is_found_below_noise(pool: OperationPool) -> None:
    """Three subpolicies, split into nine, each stage with 1 % of anything else."""
    planted = PolicySpec.from_text(
        "w=5: sign_flip p=0.9 > time_mask p=0.5 m=0.5\n"
        "w=3: bandstop p=0.8 m=0.2\n"
        "w=2: time_reverse p=0.7 w=2 | channel_symmetry p=0.7 w=1 > gaussian_noise p=1 m=0.1"
    )
    noise = tuple(
        StageEntry(
            operation=operation.name,
            weight=0.01 / len(pool),
            probability=1.0,
            magnitude=1.0 if operation.has_magnitude else None,
        )
        for operation in pool
    )

    def blurred(stage: tuple[StageEntry, ...]) -> tuple[StageEntry, ...]:
        names = {entry.operation for entry in stage}
        return (*stage, *(entry for entry in noise if entry.operation not in names))

    subpolicies = tuple(
        Subpolicy(weight=part * subpolicy.weight, stages=tuple(map(blurred, subpolicy.stages)))
        for subpolicy in planted.policy["*"]
        for part in (0.2, 0.3, 0.5)
    )
    spec = PolicySpec(policy={"*": subpolicies})
    simple = check(spec, 0.03, ("a",))
    places = [
        [{entry.choice for entry in stage} for stage in subpolicy.stages]
        for subpolicy in simple.policy["*"]
    ]
    assert places == [
        [{"sign_flip"}, {"time_mask"}],
        [{"bandstop"}],
        [{"time_reverse", "channel_symmetry"}, {"gaussian_noise"}],
    ]
    strengths = {entry.operation: entry.magnitude for entry in simple.entries}
    assert strengths["time_mask"] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Equal but for one stage: drawing among them is drawing in the stage.
        (
            "w=3: sign_flip p=0.5 > time_reverse p=0.4\nw=1: sign_flip p=0.5 > time_reverse p=0.8",
            "time_reverse p=0.5",
        ),
        ("sign_flip p=1 w=0 | time_reverse p=1", "time_reverse p=1\n"),
        ("sign_flip p=0 > time_reverse p=1", "time_reverse p=1\n"),
        ("sign_flip p=0\nsign_flip p=0 > time_reverse p=0", "none\n"),
        ("w=0: sign_flip p=1\nsign_flip p=0.5", "sign_flip p=0.5\n"),
        ("sign_flip p=1\ntime_reverse p=0", "sign_flip p=0.5\n"),
        ("time_mask p=0.3 m=0.2\ntime_mask p=0.1 m=0.6..1", "time_mask p=0.2 m=0.3..0.4\n"),
        # A window of another class is left as it is, whatever its map says.
        ("[a]\nsign_flip p=1 -> {b: c, c: b}\n[b]\nnone\n[c]\nnone", "[a]\nnone\n[b]\n"),
    ],
)
def test_without_loss(text: str, expected: str) -> None:
    spec = PolicySpec.from_text(text)
    simple = spec.simplified(0)
    assert expected in simple.to_text()
    assert len(simple.entries) < len(spec.entries)
    assert simple.provenance.simplified == 0


@pytest.mark.parametrize(
    "text",
    [
        "sign_flip p=0.5",
        "none",
        "sign_flip p=0.5 > time_mask p=0.5 m=0..0.25",
        "[a]\nnone\n[b]\nsign_flip p=1",
    ],
)
def test_what_is_short_stays(text: str) -> None:
    spec = PolicySpec.from_text(text)
    assert spec.simplified(0.05) is spec


def test_all_classes_that_a_label_map_concerns_count() -> None:
    """For other windows than those of a and b, dropping the map loses nothing."""
    spec = PolicySpec.from_text("sign_flip p=0.2 -> {a: b, b: a} > time_reverse p=0.5")
    assert spec.simplified(0.15) is spec
    simple = check(spec, 0.25, ("a", "b", "other"))
    assert simple.to_text() == "time_reverse p=0.5\n"
    assert simple.provenance.simplified == pytest.approx(0.2)
    named = spec.model_copy(update={"class_names": ("a", "b", "c")})
    assert named.simplified(0.25).policy == simple.policy


def test_everything_may_be_lost() -> None:
    assert PolicySpec.from_text("sign_flip p=0.09").simplified().is_none


def test_too_many_sequences_are_left_alone(pool: OperationPool) -> None:
    stage = " | ".join(f"{op.name} p=1" + " m=0.5" * op.has_magnitude for op in pool)
    spec = PolicySpec.from_text(" > ".join([stage] * 6))
    assert spec.simplified() is spec


def test_provenance(pool: OperationPool) -> None:
    spec = soft_policy(StagedPolicy, pool, 1, class_names=["a", "b"])
    found = spec.provenance.model_copy(
        update={"method": "cadda", "seed": 3, "scores": {"valid_loss": 0.5}, "leak": 0.0}
    )
    simple = spec.model_copy(update={"provenance": found}).simplified()
    assert (simple.provenance.method, simple.provenance.seed) == ("cadda", 3)
    assert simple.provenance.scores == {}
    assert simple.provenance.leak == pytest.approx(max(simple.leak().values()))
    assert (simple.operations, simple.sfreq) == (spec.operations, spec.sfreq)
    # What was lost before counts.
    more = simple.simplified(0.2)
    assert more.provenance.simplified == pytest.approx(
        simple.provenance.simplified + largest_distance(simple, more)
    )
    assert largest_distance(spec, more) <= more.provenance.simplified <= 0.2
    assert simple.simplified(0.05) is simple


def test_the_short_form_tells_what_was_lost(pool: OperationPool) -> None:
    simple = soft_policy(StagedPolicy, pool, 1).simplified()
    loss = simple.provenance.simplified
    assert loss is not None
    again = PolicySpec.from_text(f"# policy.json {describe_loss(loss)}\n{simple.to_text()}")
    assert again.provenance.simplified == pytest.approx(loss, abs=0.001)
    assert again.provenance.simplified >= loss
    assert again.simplified() is again
    # A comment about something else is no distance.
    other = PolicySpec.from_text("# not simplified, at a distance of 0.100\nsign_flip p=0.5")
    assert other.provenance.simplified is None


def test_crisp_only_if_needed(pool: OperationPool) -> None:
    stage = " | ".join(f"{op.name} p=1" + " m=0..0.5" * op.has_magnitude for op in pool)
    trivial = PolicySpec.from_text(stage)
    assert crisp_policy(trivial) is trivial
    soft = soft_policy(StagedPolicy, pool, 1)
    assert crisp_policy(soft) == soft.simplified()


@pytest.mark.parametrize("max_loss", [-0.1, 1.1, float("nan")])
def test_bad_limits(max_loss: float) -> None:
    with pytest.raises(ValueError, match=r"`max_loss` must be in \[0, 1\], got"):
        PolicySpec.none().simplified(max_loss)
