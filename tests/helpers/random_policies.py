"""Policies of all kinds, and what they do by following every path through them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cadda import PolicySpec
from cadda.policies.spec.entries import StageEntry, Subpolicy

OPERATIONS = ("sign_flip", "time_reverse", "channel_symmetry", "channel_dropout")


def random_policy(rng: np.random.Generator) -> PolicySpec:
    """Make a policy, often class-wise, often with partial label maps, for two to four classes."""
    classes = tuple("abcd"[: rng.integers(2, 5)])
    maps = [None, None, _random_map(rng, classes), _random_map(rng, classes)]

    def subpolicy() -> Subpolicy:
        stages = [rng.permutation(OPERATIONS)[: rng.integers(1, 3)] for _ in range(2)]
        return Subpolicy(
            weight=rng.uniform(0.2, 1),
            stages=tuple(
                tuple(
                    StageEntry(
                        operation=str(name),
                        weight=rng.uniform(0.2, 1),
                        probability=rng.uniform(0.05, 1),
                        magnitude=0.5,
                        label_map=maps[rng.integers(4)],
                    )
                    for name in stage
                )
                for stage in stages
            ),
        )

    rows = classes if rng.random() < 0.7 else ("*",)
    policy = {row: tuple(subpolicy() for _ in range(rng.integers(1, 3))) for row in rows}
    return PolicySpec(policy=policy, class_names=classes)


def _random_map(rng: np.random.Generator, classes: tuple[str, ...]) -> dict[str, str]:
    names = rng.permutation(classes)[: rng.integers(2, len(classes) + 1)].tolist()
    return dict(zip(names, np.roll(names, 1).tolist(), strict=True))


def enumerate_joint(spec: PolicySpec) -> NDArray[np.float64]:
    """Follow all paths: probability of (operation, last label, was applied)."""
    names = spec.class_names or ()
    joint = np.zeros((len(spec.operations_used), len(names), 2))
    for first in names:
        subpolicies = spec.policy[first if spec.is_classwise else "*"]
        total = sum(subpolicy.weight for subpolicy in subpolicies)
        for subpolicy in subpolicies:
            paths = [(subpolicy.weight / total / len(names), first, frozenset[str]())]
            for stage in subpolicy.stages:
                paths = [longer for path in paths for longer in _pass(stage, *path)]
            for probability, label, applied in paths:
                for n, name in enumerate(spec.operations_used):
                    joint[n, names.index(label), int(name in applied)] += probability
    return joint


def _pass(
    stage: tuple[StageEntry, ...], probability: float, label: str, applied: frozenset[str]
) -> list[tuple[float, str, frozenset[str]]]:
    total, paths = sum(entry.weight for entry in stage), []
    for entry in stage:
        drawn = probability * entry.weight / total
        if entry.label_map is not None and label not in entry.label_map:
            paths.append((drawn, label, applied))
            continue
        after = label if entry.label_map is None else entry.label_map[label]
        paths.append((drawn * (1 - entry.probability), label, applied))
        paths.append((drawn * entry.probability, after, applied | {entry.operation}))
    return paths
