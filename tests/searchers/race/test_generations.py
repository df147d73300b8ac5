"""Which policies race."""

from __future__ import annotations

import pytest
import torch

from cadda import LabelMap, OperationPool, PolicySpec
from cadda.probing.passing import Passing
from cadda.searchers.race.candidates import Candidate, Level
from cadda.searchers.race.generations import (
    chains,
    class_by_class,
    first_generation,
    guided_policy,
    trivial_policy,
    unprobed,
)

SWAP = {"left": "right", "right": "left"}
FLIP = Passing("sign_flip", None, None, 0.9)
MIRROR = Passing("channel_symmetry", None, SWAP, 0.8)
MASK = Passing("time_mask", 0.5, None, 0.8, lost=("right",))
NOISE = Passing("gaussian_noise", 1.0, None, 1.0)
LENIENT = (NOISE, MASK, FLIP, MIRROR)


def first(pool: OperationPool, generator: torch.Generator) -> list[Candidate]:
    x = torch.randn(16, 6, 300, generator=generator)
    y = torch.arange(16) % 2
    return first_generation((MASK, MIRROR), LENIENT, pool, x, y, generator)


def test_guided_draws_from_what_passes_with_maps_and_random_magnitudes() -> None:
    policy = guided_policy((MASK, MIRROR), 2)
    stage = "time_mask p=1 m=0..0.5 | channel_symmetry p=1 -> {left: right, right: left}"
    assert policy.policy == PolicySpec.from_text(f"{stage} > {stage}").policy
    assert guided_policy((), 2).is_none


def test_all_operations_race_if_nothing_passes(
    pool: OperationPool, generator: torch.Generator
) -> None:
    x, y = torch.randn(16, 6, 300, generator=generator), torch.arange(16) % 2
    found = first_generation((), (), pool, x, y, generator)
    names = [item.name for item in found]
    assert names[:2] == ["none", "any operations, 2 in a row"]
    assert found[2].level == Level.SINGLE
    assert names[3] == "any operations, 3 in a row"
    alone = {item.policy.entries[0].operation for item in found if item.level == Level.SINGLE}
    assert alone >= set(pool.names)
    chained = [item.name for item in chains(found[1:], unprobed(pool))]
    assert any(name.endswith("any operations, 2 in a row") for name in chained)


def test_trivial_takes_each_operation_once(pool: OperationPool) -> None:
    policy = trivial_policy(pool)
    (subpolicy,) = policy.policy["*"]
    assert len(subpolicy.stages) == 1
    assert [entry.operation for entry in policy.entries] == list(pool.names)
    shares = policy.operation_probabilities()
    assert shares.tolist() == [pytest.approx([1 / 13] * 13)]
    for entry in policy.entries:
        low, high = (0.0, 1.0) if pool[entry.operation].has_magnitude else (None, None)
        assert (entry.min_magnitude, entry.magnitude) == (low, high)


def test_trivial_takes_label_maps_and_limits_of_a_pool(pool: OperationPool) -> None:
    small = pool.select(["time_mask", "channel_symmetry"]).for_classes(["left", "right"])
    mapped = small.with_label_maps([LabelMap("channel_symmetry", SWAP)])
    policy = trivial_policy(mapped.with_limits({"time_mask": 0.25}))
    text = "time_mask p=1 m=0..0.25 | channel_symmetry p=1"
    expected = f"{text} | channel_symmetry p=1 -> {{left: right, right: left}}"
    assert policy.policy == PolicySpec.from_text(expected).policy


def test_the_most_promising_come_first(pool: OperationPool, generator: torch.Generator) -> None:
    names = [candidate.name for candidate in first(pool, generator)]
    # One of each kind, so that all kinds race in a small budget.
    assert names[:3] == ["none", "guided, 2 in a row", "guided, lenient, 2 in a row"]
    assert names[3] == "channel_symmetry -> p=0.5"
    assert names[4:6] == [f"guided, {n} in a row" for n in (3, 1)]
    assert names[6] == "guided, lenient, 3 in a row"
    # A flipped sign changes a window by four times its power, noise by 4 %.
    assert names[7:10] == [
        "sign_flip p=1",
        "time_mask m=0.5",
        "gaussian_noise m=1",
    ]
    assert names[10:13] == ["every window twice", "one of all operations", "zoo:gentle"]
    assert names[13:] == [
        "channel_symmetry -> p=0.25",
        "sign_flip p=0.5",
        "time_mask m=0..0.5",
        "gaussian_noise m=0..1",
    ]


def test_policies_of_the_zoo_race_where_they_are_made_for_the_classes(
    pool: OperationPool, generator: torch.Generator
) -> None:
    def zoo(classes: tuple[str, ...], names: tuple[str, ...] = pool.names) -> dict[str, Level]:
        candidates = first(pool.select(names).for_classes(classes), generator)
        return {item.name: item.level for item in candidates if item.name.startswith("zoo:")}

    # Left and right exchanged alone is a candidate already.
    assert zoo(("left", "right")) == {
        "zoo:left-right-strong": Level.CHAIN,
        "zoo:gentle": Level.CHAIN,
    }
    fists = {"zoo:left-right": Level.SINGLE, "zoo:left-right-strong": Level.CHAIN}
    assert zoo(("left_fist", "right_fist", "left", "right")) == fists | {"zoo:gentle": Level.CHAIN}
    assert list(zoo(("W", "N2", "left", "right"))) == [
        "zoo:left-right",
        "zoo:left-right-strong",
        "zoo:sleep",
        "zoo:gentle",
    ]
    few = ("gaussian_noise", "time_mask", "sign_flip", "channel_symmetry")
    assert zoo(("left", "right"), few) == {}


def test_names_are_different(pool: OperationPool, generator: torch.Generator) -> None:
    candidates = first(pool, generator)
    found = [*candidates, *chains(candidates, LENIENT)]
    assert len({candidate.name for candidate in found}) == len(found)


def test_the_best_single_operations_are_chained_and_mixed(
    pool: OperationPool, generator: torch.Generator
) -> None:
    candidates = first(pool, generator)
    strong, mixed = [candidates[3], *candidates[7:9]], candidates[1]
    found = {candidate.name: candidate for candidate in chains([*strong, mixed], LENIENT)}
    longer = found.pop("channel_symmetry -> p=0.5 > guided, 2 in a row").policy
    assert [len(stage) for stage in longer.policy["*"][0].stages] == [1, 2, 2]
    assert found.pop("sign_flip p=1 > guided, 2 in a row")
    pairs = [name for name in found if name.count(">") - name.count("->") == 1]
    triples = [name for name in found if name.count(">") - name.count("->") == 2]
    assert len(pairs) == 3
    assert triples == ["channel_symmetry -> p=0.5 > sign_flip p=1 > time_mask m=0.5"]
    chained = found[triples[0]].policy
    assert [len(stage) for stage in chained.policy["*"][0].stages] == [1, 1, 1]
    survivors = found["guided, survivors, 2 in a row"].policy
    assert set(survivors.operations_used) == {"channel_symmetry", "sign_flip", "time_mask"}
    assert all(candidate.level == Level.CHAIN for candidate in found.values())


def test_class_by_class_leaves_out_what_a_class_loses() -> None:
    policy = PolicySpec.from_text("time_mask p=0.2 m=0.5 > sign_flip p=0.2")
    best = Candidate("best", policy, Level.CHAIN)
    (found,) = class_by_class(best, LENIENT, ("left", "right"), max_leak=0.5)
    assert found.name == "best, right without time_mask"
    assert found.level == Level.CLASSWISE
    uses = found.policy.operation_probabilities()
    assert uses.ravel().tolist() == pytest.approx([0.2, 0.2, 0.0, 0.2])
    (capped,) = class_by_class(best, LENIENT, ("left", "right"), max_leak=0.01)
    assert max(capped.policy.leak().values()) == pytest.approx(0.01)


def test_without_a_probe_all_operations_race_at_half_strength(pool: OperationPool) -> None:
    everything = unprobed(pool)
    assert [item.operation for item in everything] == list(pool.names)
    assert {item.magnitude for item in everything} == {None, 0.5}
