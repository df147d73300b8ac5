"""Policies that run without cadda: tables and operations as plain torch code."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Generator, Tensor, nn

from cadda._internal.bundle import bundle_source
from cadda._internal.validation import check_labels
from cadda.operations.base import Operation
from cadda.operations.catalogue import CATALOGUE
from cadda.operations.label_maps import plain_operation
from cadda.operations.pool import OperationPool
from cadda.policies.dispatch import transform_groups
from cadda.policies.policy import Policy, draw_decisions
from cadda.policies.spec.model import PolicySpec

__all__ = ["StandalonePolicy", "to_torch"]


class StandalonePolicy(nn.Module):
    """Apply a policy to batches of windows: ``augment(x, y) -> (x, y)``.

    Parameters
    ----------
    operations : sequence of Operation
        Operations by their number in the tables.
    tables : mapping of str to Tensor
        Distribution functions of subpolicies and of operations, probabilities and magnitudes, by
        class, subpolicy, stage and operation.
    label_table : Tensor | None
        Label after each operation by label before it; None if all keep every class.
    """

    def __init__(
        self,
        operations: Sequence[Operation],
        tables: Mapping[str, Tensor],
        label_table: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.operations, self.tables, self.label_table = operations, dict(tables), label_table

    def forward(
        self, x: Tensor, y: Tensor | None = None, *, generator: Generator | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Return augmented windows and their labels.

        Parameters
        ----------
        x : Tensor
            Windows of shape (n_windows, n_channels, n_times).
        y : Tensor | None
            Labels of shape (n_windows,); only needed if classes are treated differently.
        generator : torch.Generator | None
            Source of randomness; None takes torch's global one.

        Returns
        -------
        x : Tensor
            Augmented windows.
        y : Tensor | None
            Their labels.
        """
        tables = {name: table.to(x) for name, table in self.tables.items()}
        n_rows, labels = len(tables["probability"]), self.label_table
        row = torch.zeros(len(x), dtype=torch.long, device=x.device)
        if labels is not None:
            y = check_labels(y, x, labels.shape[1])
            labels = labels.to(x.device)
        elif any(operation.needs_labels for operation in self.operations):
            y = check_labels(y, x)
        if n_rows > 1:
            row = check_labels(y, x, n_rows)
        draw = draw_decisions(self.operations, tables, x, row, y, generator, labels)
        for groups, magnitude in zip(draw.groups, draw.magnitude.T, strict=True):
            x = transform_groups(self.operations, x, groups, magnitude)
        return x, draw.y


def to_torch(spec: PolicySpec, pool: OperationPool) -> str:
    """Return a policy as Python code that needs torch and NumPy, but not cadda.

    With the same generator, the code makes the same random decisions and gives the same windows as
    `Policy` with a pool of the operations of the policy.

    Parameters
    ----------
    spec : PolicySpec
        The policy.
    pool : OperationPool
        The operations, made for the windows that will come, with their classes.

    Returns
    -------
    str
        Code that defines ``augment``: ``x, y = augment(x, y)``.
    """
    own = [name for name in spec.operations_used if name not in CATALOGUE]
    if own:
        raise ValueError(
            f"the policy must have operations of cadda only, whose code is known, got "
            f"{own[0]!r}; run it with `cadda.Policy`."
        )
    policy = Policy(spec, _small_pool(spec, pool))
    operations = [plain_operation(operation) for operation in policy.pool]
    labels = policy.pool.label_table
    lines = [
        "OPERATIONS = [",
        *(f"    {_construction(operation)}," for operation in operations),
        "]",
        "TABLES = {",
        *(f"    {name!r}: {_tensor(table)}," for name, table in policy.tables.items()),
        "}",
        f"CLASS_NAMES = {list(policy.pool.class_names)!r}",
        "",
        "augment = StandalonePolicy(OPERATIONS, TABLES"
        f"{'' if labels is None else f', {_tensor(labels.like(torch.empty(0)))}'})",
    ]
    comment = "\n".join(f"# {line}" for line in policy.spec.to_text().splitlines())
    code = bundle_source([*dict.fromkeys(map(type, operations)), StandalonePolicy])
    title = '"""A cadda policy as plain torch code: x, y = augment(x, y)."""'
    return f"{title}\n\n{comment}\n{code}\n\n" + "\n".join(lines) + "\n"


def _small_pool(spec: PolicySpec, pool: OperationPool) -> OperationPool:
    """Return a pool without operations that a policy does not use, in the order of `Policy`."""
    used = [name for name in pool.names if name in spec.operations_used]
    extra = [item.name for item in pool.extra]
    used += [name for name in spec.operations_used if name in extra]
    return pool.select(used or [pool.names[0]])


def _construction(operation: Operation) -> str:
    """Return code that makes an operation."""
    if not dataclasses.is_dataclass(operation):
        return f"{type(operation).__name__}()"
    names = [item.name for item in dataclasses.fields(operation)]
    arguments = (f"{name}={_literal(getattr(operation, name))}" for name in names)
    return f"{type(operation).__name__}({', '.join(arguments)})"


def _literal(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"np.array({json.dumps(value.tolist()).replace('NaN', 'np.nan')})"
    return repr(value)


def _tensor(table: Tensor) -> str:
    code = f"torch.tensor({table.tolist()!r}, dtype={table.dtype})"
    # Lists do not know the length of an axis after an empty one.
    return code if table.numel() else f"{code}.reshape({tuple(table.shape)})"
