"""A search on windows whose truth is planted: short here, at length under ``benchmarks``."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import cadda
from cadda import operation_pool
from cadda.testing.planted import CLASS_NAMES, DESTROYS, HELPS, planted_network, planted_windows

OPERATIONS = ("sign_flip", "time_reverse", "gaussian_noise", "time_mask")
START = 1 - (1 - 0.5 / len(OPERATIONS)) ** 2


def found(method: str, **changes: object) -> NDArray[np.float64]:
    result = cadda.search(
        planted_windows(200, varied=False),
        planted_windows(200, varied=True),
        method=method,
        model=planted_network,
        operations=OPERATIONS,
        policy_lr=0.05,
        **changes,
        retrain=False,
        baseline=False,
    )
    return result.policy.operation_probabilities()


def test_what_is_planted_is_there() -> None:
    """Patterns without noise: the operations do to them what the tables say."""
    plain, varied = (planted_windows(400, varied=v, noise=0.0) for v in (False, True))
    pool = operation_pool(plain)

    def distance(x: torch.Tensor, class_name: str) -> torch.Tensor:
        """Give the distance of each window to the nearest one of a class."""
        others = varied.x[varied.y == CLASS_NAMES.index(class_name)]
        return torch.cdist(x.flatten(1), others.flatten(1)).min(1).values

    def stays(x: torch.Tensor, class_name: str) -> float:
        """Give the share of windows that are nearer to their own class than to any other."""
        others = [distance(x, other) for other in CLASS_NAMES if other != class_name]
        nearer = distance(x, class_name) < torch.stack(others).min(0).values
        return float(nearer.float().mean())

    for class_name, operation in HELPS.items():
        windows = plain.x[plain.y == CLASS_NAMES.index(class_name)]
        assert stays(pool[operation](windows), class_name) > 0.9
    for class_name, operations in DESTROYS.items():
        windows = plain.x[plain.y == CLASS_NAMES.index(class_name)]
        for operation in operations:
            changed = pool[operation](windows)
            assert stays(changed, class_name) < 0.1


@pytest.mark.slow
def test_class_wise_search_finds_what_was_planted() -> None:
    applied = found("cadda", budget=40)
    column = {name: i for i, name in enumerate(OPERATIONS)}
    row = {name: i for i, name in enumerate(CLASS_NAMES)}
    for class_name, operation in HELPS.items():
        of_class = applied[row[class_name], column[operation]]
        others = np.delete(applied[:, column[operation]], row[class_name])
        assert of_class > START
        assert of_class > others.max()
    for class_name, operations in DESTROYS.items():
        for operation in operations:
            assert applied[row[class_name], column[operation]] < START


@pytest.mark.slow
def test_search_for_all_classes_avoids_what_destroys_any() -> None:
    applied = found("adda", budget=40)[0]
    assert applied[OPERATIONS.index("time_reverse")] < START
    assert applied[OPERATIONS.index("sign_flip")] < START
