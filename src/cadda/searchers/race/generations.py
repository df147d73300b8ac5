"""Which policies race: first what a probe lets pass, then what may improve on the best."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Generator, Tensor

from cadda.operations.base import Operation
from cadda.operations.label_maps import mapping_of, plain_name
from cadda.operations.pool import OperationPool
from cadda.policies.spec.entries import ALL_CLASSES, StageEntry, Subpolicy
from cadda.policies.spec.model import PolicySpec
from cadda.policies.zoo import ZOO
from cadda.probing.passing import Passing
from cadda.searchers.race.candidates import DUPLICATES, NONE, Candidate, Level, level_of

__all__ = [
    "chains",
    "class_by_class",
    "first_generation",
    "guided_policy",
    "trivial_policy",
    "unprobed",
]

N_CHAINED = 3
"""Operations that are combined with each other."""

GUIDED, UNGUIDED = "guided", "any operations"
"""Beginning of the names of policies that draw from what a probe lets pass, or from all."""

UNPROBED_MAGNITUDE = 0.5
"""Largest magnitude of operations that no probe has let pass."""

Stages = tuple[tuple[StageEntry, ...], ...]


def guided_policy(passing: Sequence[Passing], n_stages: int) -> PolicySpec:
    """Return the policy of operations in a row, each one of those that pass, at random."""
    if not passing:
        return PolicySpec.none()
    stage = tuple(item.entry(1.0) for item in passing)
    return _policy((stage,) * n_stages)


def trivial_policy(pool: OperationPool) -> PolicySpec:
    """Return TrivialAugment's policy: one operation of all, with a random magnitude.

    Operations with label maps and limits of magnitudes are those of the pool.
    """
    stage = [
        Passing(
            plain_name(item.name), limit if item.has_magnitude else None, mapping_of(item), 0.0
        )
        for item, limit in zip(pool, pool.max_magnitudes, strict=True)
    ]
    return guided_policy(stage, 1)


def unprobed(pool: OperationPool) -> tuple[Passing, ...]:
    """Return all operations that keep the class, as if a probe had let them pass."""
    return tuple(
        Passing(item.name, UNPROBED_MAGNITUDE if item.has_magnitude else None, None, 0.0)
        for item in pool
        if mapping_of(item) is None
    )


def first_generation(
    passing: Sequence[Passing],
    lenient: Sequence[Passing],
    pool: OperationPool,
    x: Tensor,
    y: Tensor,
    generator: Generator,
) -> list[Candidate]:
    """Return none and what should improve on it, the most promising of each kind first.

    With a small budget, only the first ones race. Operations are those that a probe lets pass,
    with a strict and with a lenient rule. Of single operations, those with a label map come first,
    then those that change the windows ``x``, of the classes ``y``, most: what keeps the class and
    changes little teaches little. Policies of the zoo race where they are made for the operations
    and classes of the pool. If nothing passes, all operations race.
    """
    mixed = f"{GUIDED}, lenient"
    if not lenient:
        mixed, lenient = UNGUIDED, unprobed(pool)
    change = {
        item.operation: _change(pool.plain(item.operation), item, x, y, generator)
        for item in lenient
    }
    singles = sorted(lenient, key=lambda item: (item.label_map is None, -change[item.operation]))
    strong = [_single(item, strong=True) for item in singles]
    known = [candidate.policy.policy for candidate in strong]
    guided = _guided(GUIDED, passing, (2, 3, 1))
    tolerant = _guided(mixed, lenient, (2, 3)) if lenient != passing else []
    return [
        NONE,
        *guided[:1],
        *tolerant[:1],
        *(item for item in _zoo(pool, general=False) if item.policy.policy not in known),
        *strong[:1],
        *guided[1:],
        *tolerant[1:],
        *strong[1:],
        DUPLICATES,
        Candidate("one of all operations", trivial_policy(pool), Level.CHAIN),
        *_zoo(pool, general=True),
        *(_single(item, strong=False) for item in singles),
    ]


def _zoo(pool: OperationPool, *, general: bool) -> list[Candidate]:
    """Return the policies of the zoo for any task, or those for the task of a pool."""
    found = (item for item in ZOO.values() if item.is_general == general and item.suits(pool))
    policies = {item.full_name: item.spec(pool.class_names) for item in found}
    return [Candidate(name, policy, level_of(policy)) for name, policy in policies.items()]


def _change(
    operation: Operation, item: Passing, x: Tensor, y: Tensor, generator: Generator
) -> float:
    """Compute how much an operation changes windows, relative to their power."""
    magnitude = torch.full((len(x),), item.magnitude or 0.0, dtype=x.dtype)
    changed = operation.transform(x, magnitude, operation.draw(x, y=y, generator=generator))
    return float((changed - x).square().mean() / x.square().mean())


def _guided(name: str, passing: Sequence[Passing], lengths: Sequence[int]) -> list[Candidate]:
    if not passing:
        return []
    return [
        Candidate(f"{name}, {n} in a row", guided_policy(passing, n), Level.CHAIN) for n in lengths
    ]


def _single(item: Passing, *, strong: bool) -> Candidate:
    """Return an operation alone: its largest magnitude, or weaker."""
    if item.magnitude is None:
        often, seldom = (0.5, 0.25) if item.label_map else (1.0, 0.5)
        entry = item.entry(often if strong else seldom)
    else:
        entry = item.entry(0.5, fixed=strong)
    return Candidate(_name(entry), _policy(((entry,),)), Level.SINGLE)


def _name(entry: StageEntry) -> str:
    arrow = " ->" if entry.label_map else ""
    if entry.magnitude is None:
        return f"{entry.operation}{arrow} p={entry.probability:g}"
    low = "" if entry.min_magnitude is None else f"{entry.min_magnitude:g}.."
    return f"{entry.operation}{arrow} m={low}{entry.magnitude:g}"


def chains(ranked: Sequence[Candidate], passing: Sequence[Passing]) -> list[Candidate]:
    """Return combinations of the best candidates; ``ranked`` has the best first.

    Single operations are chained with each other and with the best guided policy, and those that
    have not been dropped make a guided policy of their own.
    """
    singles: dict[str, Candidate] = {}
    for candidate in ranked:
        if candidate.level == Level.SINGLE:
            singles.setdefault(candidate.policy.entries[0].choice, candidate)
    best = list(singles.values())[:N_CHAINED]
    found = [
        _chain(row)
        for n in range(2, len(best) + 1)
        for row in combinations(best, n)
        # All pairs, but of longer chains only those of the very best.
        if n == 2 or row == tuple(best[:n])
    ]
    guided = [item for item in ranked if item.name.startswith((GUIDED, UNGUIDED))][:1]
    found += [_chain((single, mixed)) for mixed in guided for single in best[:2]]
    kept = [item for item in passing if item.entry(1.0).choice in singles]
    if 1 < len(kept) < len(passing):
        found += _guided(f"{GUIDED}, survivors", kept, (2, 3))
    return found


def _chain(row: Sequence[Candidate]) -> Candidate:
    """Return candidates one after the other."""
    stages = tuple(stage for item in row for stage in item.policy.policy[ALL_CLASSES][0].stages)
    return Candidate(" > ".join(item.name for item in row), _policy(stages), Level.CHAIN)


def class_by_class(
    best: Candidate, passing: Sequence[Passing], class_names: tuple[str, ...], max_leak: float
) -> list[Candidate]:
    """Return the best policy without an operation in the class that the operation destroys."""
    lost = {item.entry(1.0).choice: item.lost for item in passing}
    found = []
    for choice in dict.fromkeys(entry.choice for entry in best.policy.entries):
        for class_name in lost.get(choice, ()):
            policy = _without(best.policy, choice, class_name, class_names)
            if policy is not None:
                name = f"{best.name}, {class_name} without {choice}"
                found.append(Candidate(name, policy.capped(max_leak), Level.CLASSWISE))
    return found


def _without(
    policy: PolicySpec, choice: str, class_name: str, class_names: tuple[str, ...]
) -> PolicySpec | None:
    """Return a class-wise policy; None for one with label maps or where nothing would be left."""
    if policy.is_classwise or policy.label_maps:
        return None
    everywhere = policy.policy[ALL_CLASSES]
    rest = tuple(
        tuple(entry for entry in stage if entry.choice != choice) for stage in everywhere[0].stages
    )
    stages = tuple(stage for stage in rest if stage)
    here = (Subpolicy(stages=stages),) if stages else ()
    rows = {name: here if name == class_name else everywhere for name in class_names}
    return PolicySpec(policy=rows, class_names=class_names)


def _policy(stages: Stages) -> PolicySpec:
    return PolicySpec(policy={ALL_CLASSES: (Subpolicy(stages=stages),)})
