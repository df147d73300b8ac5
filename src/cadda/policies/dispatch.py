"""What all policies share: windows are sent to the operations that they drew.

Each operation is called once per batch and stage, with all windows that drew it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

import torch
from torch import Generator, Tensor, nn

from cadda._internal.devices import is_asynchronous
from cadda._internal.validation import check_labels, check_not_text, check_tensor
from cadda.operations.base import Batch, Draw, Operation
from cadda.operations.label_maps import NOT_MAPPED
from cadda.operations.pool import OperationPool

__all__ = [
    "BatchPolicy",
    "Granularity",
    "Group",
    "check_granularity",
    "draw_groups",
    "draw_stages",
    "follow_labels",
    "per_window",
    "transform_groups",
]

Granularity = Literal["window", "batch"]


class HasLabels(Protocol):
    """Anything that knows the labels of windows after their transformation."""

    @property
    def y(self) -> Tensor | None:
        """Labels, None if unknown."""


Decisions = TypeVar("Decisions", bound=HasLabels)
"""What a policy draws for a batch, such as `PolicyDraw`."""


@dataclass(frozen=True)
class Group:
    """The windows of a batch that drew the same operation.

    Parameters
    ----------
    operation : int
        Number of the operation in the pool.
    windows : Tensor
        Indices of the windows.
    draw : dict of str to Tensor
        Random numbers of the operation for these windows.
    chosen : Tensor | None
        Which of the windows drew the operation, bool, shape (n_windows,), if they are all windows
        of the batch; None if every one of them did.
    """

    operation: int
    windows: Tensor
    draw: Draw
    chosen: Tensor | None = None


def check_granularity(granularity: Granularity) -> Granularity:
    """Raise `ValueError` for an unknown granularity."""
    if granularity not in ("window", "batch"):
        raise ValueError(f"`granularity` must be 'window' or 'batch', got {granularity!r}.")
    return granularity


def draw_groups(
    pool: Sequence[Operation] | OperationPool,
    batch: Batch,
    choice: Tensor,
    generator: Generator | None,
) -> tuple[Group, ...]:
    """Group windows by operation and draw the random numbers of each operation.

    ``choice`` has the index of the operation of each window, shape (n_windows,), on any device;
    ``len(pool)`` leaves a window unchanged. The groups are not empty, and in the order of the
    pool.
    """
    sizes = torch.bincount(choice, minlength=len(pool) + 1).tolist()
    members = torch.split(choice.argsort(stable=True).to(batch.x.device), sizes)
    return tuple(
        Group(i, members[i], pool[i].sample_group(batch, members[i], generator))
        for i in range(len(pool))
        if sizes[i]
    )


def draw_whole_batch(
    pool: Sequence[Operation] | OperationPool,
    batch: Batch,
    choice: Tensor,
    generator: Generator | None,
) -> tuple[Group, ...]:
    """Draw the random numbers of every operation for all windows; arguments as of `draw_groups`.

    Without the numbers of windows of each operation, which would have to be read from a GPU. For a
    small batch, a GPU takes as long for all windows as for some.
    """
    everything = torch.arange(len(batch.x), device=batch.x.device)
    return tuple(
        Group(i, everything, pool[i].sample_group(batch, everything, generator), choice == i)
        for i in range(len(pool))
    )


def draw_stages(
    pool: Sequence[Operation] | OperationPool,
    x: Tensor,
    labels: Sequence[Tensor | None],
    choice: Tensor,
    generator: Generator | None,
    *,
    whole_batch: bool = False,
) -> tuple[tuple[Group, ...], ...]:
    """Draw the groups of each stage; ``choice`` is as for `draw_groups`, a column each."""
    draw = draw_whole_batch if whole_batch else draw_groups
    # Labels that no operation needs are as given, even if they are no tensors.
    known = [label.to(x.device) if isinstance(label, Tensor) else label for label in labels]
    return tuple(
        draw(pool, Batch(x, known[0], label), column, generator)
        for column, label in zip(choice.T, known, strict=False)
    )


def transform_groups(
    pool: Sequence[Operation] | OperationPool,
    x: Tensor,
    groups: tuple[Group, ...],
    magnitude: Tensor,
) -> Tensor:
    """Apply to each window the operation of its group; windows in no group are copied.

    ``magnitude`` has shape (n_windows,).
    """
    if not groups:
        return x.clone()
    if groups[0].chosen is not None:
        return _transform_whole_batch(pool, x, groups, magnitude)
    needs_gradient = torch.is_grad_enabled() and (x.requires_grad or magnitude.requires_grad)
    if needs_gradient or is_asynchronous(x.device):
        return _transform_sorted(pool, x, groups, magnitude)
    n_changed = sum(len(group.windows) for group in groups)
    result = torch.empty_like(x) if n_changed == len(x) else x.clone()
    for group in groups:
        windows, strength = (each.index_select(0, group.windows) for each in (x, magnitude))
        changed = pool[group.operation].apply_checked(windows, strength, group.draw)
        result.index_copy_(0, group.windows, changed)
    return result


def _transform_sorted(
    pool: Sequence[Operation] | OperationPool,
    x: Tensor,
    groups: tuple[Group, ...],
    magnitude: Tensor,
) -> Tensor:
    """Sort windows by operation once, and put them back once.

    A backward pass, and a GPU, would take longer for a copy per operation. A CPU takes longer for
    copies of all windows, which do not stay in its cache.
    """
    order, sizes = torch.cat([group.windows for group in groups]), [len(g.windows) for g in groups]
    parts = zip(
        groups,
        torch.split(x.index_select(0, order), sizes),
        torch.split(magnitude.index_select(0, order), sizes),
        strict=True,
    )
    changed = [
        pool[group.operation].apply_checked(windows, strength, group.draw)
        for group, windows, strength in parts
    ]
    result = torch.empty_like(x) if len(order) == len(x) else x.clone()
    return result.index_copy_(0, order, torch.cat(changed))


def _transform_whole_batch(
    pool: Sequence[Operation] | OperationPool,
    x: Tensor,
    groups: tuple[Group, ...],
    magnitude: Tensor,
) -> Tensor:
    """Apply each operation to all windows, and keep it where it was drawn."""
    result = x
    for group in groups:
        assert group.chosen is not None  # noqa: S101
        changed = pool[group.operation].apply_checked(x, magnitude, group.draw)
        result = torch.where(per_window(group.chosen, x), changed, result)
    return result


def follow_labels(
    table: Tensor, operation: Tensor, applied: Tensor, y: Tensor
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Compute which operations suit or change the class that a window has by then.

    Parameters
    ----------
    table : Tensor
        The pool's `label_table`.
    operation : Tensor
        Operation of each window and stage, shape (n_windows, n_stages).
    applied : Tensor
        Whether it is applied, if it is for the class of the window; of the same shape.
    y : Tensor
        Labels before the first stage, shape (n_windows,).

    Returns
    -------
    suits : Tensor
        False where the label map of the operation does not name the class of the window: there it
        must not be applied. Of the shape of ``operation``.
    relabels : Tensor
        True where applying the operation gives the window another label. Of the same shape.
    labels : list of Tensor
        Labels before each stage, and after the last one.
    """
    suits, relabels = torch.empty_like(applied), torch.empty_like(applied)
    labels = [y]
    for k, (chosen, is_applied) in enumerate(zip(operation.T, applied.T, strict=True)):
        target = table[chosen, y]
        suits[:, k] = target != NOT_MAPPED
        relabels[:, k] = suits[:, k] & (target != y)
        y = torch.where(is_applied & suits[:, k], target, y)
        labels.append(y)
    return suits, relabels, labels


def per_window(values: Tensor, x: Tensor) -> Tensor:
    """Reshape values, (n_windows,), to (n_windows, 1, …) with as many axes as ``x``."""
    return values.view(-1, *(1,) * (x.ndim - 1))


class BatchPolicy(nn.Module, ABC, Generic[Decisions]):
    """Transforms batches of windows in two steps: first draw all decisions, then apply them."""

    pool: OperationPool

    @property
    @abstractmethod
    def is_classwise(self) -> bool:
        """Whether each class has a policy of its own."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of policies: one per class, or one for all."""

    @abstractmethod
    def draw(
        self, x: Tensor, y: Tensor | None = None, *, generator: Generator | None = None
    ) -> Decisions:
        """Draw what happens to each window.

        Parameters
        ----------
        x : Tensor
            Windows of shape (n_windows, n_channels, n_times).
        y : Tensor | None
            Labels of shape (n_windows,); only a policy that is class-wise, has label maps or mixes
            windows of a class needs them.
        generator : torch.Generator | None
            Source of randomness; None takes torch's global one.

        Returns
        -------
        PolicyDraw | RelaxedDraw
            To be passed to `transform`, once or as often as wanted; its ``y`` has the labels of
            the windows after that.
        """

    @abstractmethod
    def transform(self, x: Tensor, draw: Decisions) -> Tensor:
        """Transform windows by a draw.

        Parameters
        ----------
        x : Tensor
            The windows that the draw was made for.
        draw : PolicyDraw | RelaxedDraw
            Result of `draw`.

        Returns
        -------
        Tensor
            A new tensor, differentiable in ``x`` and in parameters of the policy, if it has any.
        """

    def forward(
        self, x: Tensor, y: Tensor | None = None, *, generator: Generator | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Draw and transform.

        Parameters
        ----------
        x, y, generator
            As for `draw`.

        Returns
        -------
        x : Tensor
            Augmented windows.
        y : Tensor | None
            Their labels: other than before where an operation with a label map was applied.
        """
        check_tensor(x)
        check_not_text(y)
        draw = self.draw(x, y, generator=generator)
        return self.transform(x, draw), draw.y

    @property
    def _mixes_windows(self) -> bool:
        """Whether an operation takes something from other windows of the same class."""
        return any(operation.needs_labels for operation in self.pool)

    def _check(self, x: Tensor) -> None:
        """Raise if some operation cannot transform the windows."""
        self.pool.check(x)

    def _rows(
        self, x: Tensor, y: Tensor | None, device: torch.device | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Check a batch; return the row of the policy of each window, and the labels.

        Both are on a ``device``, by default that of ``x``; labels that no operation needs are as
        given.
        """
        device, given = x.device if device is None else device, y
        self._check(x)
        if self.pool.label_table is not None:
            y = check_labels(y, x, len(self.pool.class_names), device=device)
        elif self._mixes_windows:
            y = check_labels(y, x, device=device)
        if not self.is_classwise:
            return torch.zeros(len(x), dtype=torch.long, device=device), y
        return check_labels(given, x, self.n_rows, device=device), y

    def _follow_labels(
        self, operation: Tensor, applied: Tensor, y: Tensor | None
    ) -> tuple[Tensor, Tensor | None, Sequence[Tensor | None]]:
        """Replace operations by ``len(pool)`` where they are not for the class of the window.

        Arguments are those of `follow_labels`; returns the operations, where they relabel (None if
        no operation does), and the labels before each stage and after the last one.
        """
        if self.pool.label_table is None or y is None:
            return operation, None, [y] * (operation.shape[1] + 1)
        table = self.pool.label_table.like(y)
        suits, relabels, labels = follow_labels(table, operation, applied, y)
        return torch.where(suits, operation, len(self.pool)), relabels, labels
