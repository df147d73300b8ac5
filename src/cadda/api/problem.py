"""From windows to what a search works on."""

from __future__ import annotations

from collections.abc import Sequence

from cadda.api.pool import operation_pool
from cadda.api.prepare import Device, check_pair, check_scale, model_for, pick_device
from cadda.data.windows import Windows
from cadda.models.critic import make_critic
from cadda.models.registry import ModelSource
from cadda.operations.catalogue import CATALOGUE, paper_operations
from cadda.operations.pool import OperationPool
from cadda.searchers.problem import SearchTask

__all__ = ["make_task"]


def make_task(
    train: Windows,
    valid: Windows,
    *,
    model: ModelSource,
    operations: Sequence[str] | OperationPool | None,
    device: Device,
) -> SearchTask:
    """Turn windows of two groups of subjects into what a search works on.

    Parameters
    ----------
    train : Windows
        What models learn from.
    valid : Windows
        What augmentation is judged by.
    model : str | nn.Module | callable
        See `cadda.fit`.
    operations : sequence of str | OperationPool | None
        See `search`.
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        Where to compute.

    Returns
    -------
    SearchTask
        Tensors, names and ways to make models.
    """
    check_pair(train, valid)
    pool = _pool(train, operations)
    domains = {CATALOGUE[name].domain for name in pool.names if name in CATALOGUE}
    images = domains == {"image"}
    if not images:
        check_scale(train)
    return SearchTask(
        x_train=train.x,
        y_train=train.y,
        x_valid=valid.x,
        y_valid=valid.y,
        class_names=train.class_names,
        pool=pool,
        make_model=lambda seed: model_for(model, train, seed=seed),
        make_critic=lambda seed: make_critic(
            tuple(train.x.shape[1:]), train.n_classes, seed, images=images
        ),
        device=pick_device(device),
        subject=tuple(train.subject),
    )


def _pool(windows: Windows, operations: Sequence[str] | OperationPool | None) -> OperationPool:
    if isinstance(operations, OperationPool):
        return operations
    if isinstance(operations, str):
        raise TypeError(f"`operations` must be a list of names, got the text {operations!r}.")
    pool = operation_pool(windows)
    if operations is None:
        return pool
    if list(operations) == ["paper"]:
        return pool.select(paper_operations(pool.names))
    try:
        return pool.select(operations)
    except KeyError as error:
        raise ValueError(f"`operations`: {error.args[0]}") from error
