"""How much an operation tells about the class, by having been applied to a window or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from cadda.policies.spec.adapting import in_class_order
from cadda.policies.spec.entries import ALL_CLASSES
from cadda.policies.spec.walk import Table, Walk

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec

__all__ = [
    "MAX_LEAK",
    "HasClasses",
    "TraceModel",
    "Traces",
    "record_leak",
    "trace_operations",
    "with_classes",
]

Spec = TypeVar("Spec", bound="PolicySpec")

MAX_LEAK = 0.1
"""Bits above which an operation is said to reveal the class."""

ROUNDING_ERROR = 1e-12
"""Bits below which a leak is 0."""


class HasClasses(Protocol):
    """What is asked of windows: their classes, and how frequent each is."""

    @property
    def class_names(self) -> Sequence[str]:
        """Names of the classes, in the order of the labels."""

    def class_counts(self) -> NDArray[np.int64]:
        """Count the windows of each class."""


@dataclass(frozen=True, eq=False)
class Traces:
    """Which labels go with which operations, in windows that a policy has augmented.

    Parameters
    ----------
    class_names : tuple of str
        Classes, in the order of the labels.
    operations : tuple of str
        Operations of the policy; one with a label map leaves the same trace as without.
    joint : array of shape (n_operations, n_classes, 2)
        Probability that a window has a label after the policy, and that the operation was not, or
        was, applied to it.
    """

    class_names: tuple[str, ...]
    operations: tuple[str, ...]
    joint: Table

    @property
    def applied(self) -> Table:
        """Share of the windows of a label that an operation changed, (n_classes, n_operations)."""
        total, changed = self.joint.sum(-1), self.joint[..., 1]
        share: Table = np.divide(changed, total, out=np.zeros_like(total), where=total > 0)
        return share.T

    @property
    def label_frequency(self) -> Table:
        """Share of windows that have each label after the policy, (n_classes,)."""
        frequency: Table = self.joint[0].sum(-1)
        return frequency

    def share_of(self, operation: str) -> Table:
        """Return the column of an operation of `applied`."""
        return self.applied[:, self.operations.index(operation)]

    @property
    def bits(self) -> Table:
        """Mutual information of label and operation in bits, (n_operations,)."""
        label, changed = self.joint.sum(2), self.joint.sum(1)
        together = _entropy(self.joint.reshape(len(self.joint), 2 * len(self.class_names)))
        bits = _entropy(label) + _entropy(changed) - together
        return np.where(bits > ROUNDING_ERROR, bits, 0.0)

    @property
    def leak(self) -> dict[str, float]:
        """Bits by operation, the largest first."""
        ranked = np.argsort(-self.bits, kind="stable").tolist()
        return {self.operations[n]: float(self.bits[n]) for n in ranked}

    @property
    def max_leak(self) -> float:
        """Largest leak of an operation in bits; 0 for a policy that does nothing."""
        return float(self.bits.max(initial=0.0))


def trace_operations(spec: PolicySpec, windows: HasClasses | None = None) -> Traces:
    """Compute which labels go with which operations; see `PolicySpec.leak`."""
    return TraceModel(spec, windows).traces()


def with_classes(spec: Spec, class_names: Sequence[str] | None) -> Spec:
    """Name the classes of the windows in a policy for all classes that does not."""
    if spec.class_names is not None or class_names is None:
        return spec
    return spec.model_copy(update={"class_names": tuple(class_names)})


def record_leak(spec: Spec) -> Spec:
    """Write the largest leak into the provenance of a policy, if it treats classes differently."""
    if not spec.is_classwise and not spec.label_maps:
        return spec
    leak = trace_operations(spec).max_leak
    return spec.model_copy(
        update={"provenance": spec.provenance.model_copy(update={"leak": leak})}
    )


def _entropy(probability: Table) -> Table:
    """Compute the entropy in bits along the last axis."""
    log = np.log2(probability, out=np.zeros_like(probability), where=probability > 0)
    # Adding 0 turns the negative zero of certainty into a positive one.
    entropy: Table = -(probability * log).sum(-1) + 0.0
    return entropy


class TraceModel:
    """Follows label and operations of a window through a policy, with exact probabilities.

    Rows of the policy may use an operation less often, or get it from another class: both are
    arguments of `traces`, so that they can be varied without making another policy.
    """

    def __init__(self, spec: PolicySpec, windows: HasClasses | None = None) -> None:
        if windows is not None:
            spec = in_class_order(spec, windows.class_names)
        self.class_names, self._frequency = _classes(spec, windows)
        self.operations = spec.operations_used
        self._rows = [
            Walk.of(spec.policy[row], self.operations, attrgetter("operation"))
            for row in spec.rows
        ]
        labels = range(len(self.class_names))
        self._row_of = labels if len(self._rows) > 1 else [0 for _ in labels]
        self._paths = [
            self._rows[row].paths(label, self.class_names)
            for label, row in zip(labels, self._row_of, strict=True)
        ]

    def usage(self) -> Table:
        """Compute how often each row uses each operation, if it is for every class.

        The result has the shape (n_rows, n_operations).
        """
        return np.stack([row.usage(1.0, slice(None)) for row in self._rows])

    def row_usage(self, row: int, column: int, scale: float) -> float:
        """Compute how often a row uses an operation whose probabilities are scaled."""
        return float(self._rows[row].usage(scale, slice(column, column + 1))[0])

    def traces(
        self, scale: Table | None = None, shared: Table | None = None, column: int | None = None
    ) -> Traces:
        """Compute the traces of all operations, or of one.

        Parameters
        ----------
        scale : array of shape (n_rows, n_operations) | None
            Factors of the probabilities of operations; None for 1.
        shared : array of shape (n_rows, n_operations) | None
            Probability that a window gets an operation before the first stage, keeping its label;
            None for 0.
        column : int | None
            Number of the only operation of the result.

        Returns
        -------
        Traces
            The traces.
        """
        shape = len(self._rows), len(self.operations)
        scale = np.ones(shape) if scale is None else scale
        shared = np.zeros(shape) if shared is None else shared
        columns = slice(None) if column is None else slice(column, column + 1)
        operations = self.operations[columns]
        joint = np.zeros((len(operations), len(self.class_names), 2))
        for frequency, n, (labels, targets) in zip(
            self._frequency, self._row_of, self._paths, strict=True
        ):
            passed = self._rows[n].follow(scale[n], shared[n, columns], columns, targets)
            joint[:, labels] += frequency * passed
        return Traces(self.class_names, operations, joint)


def _classes(spec: PolicySpec, windows: HasClasses | None) -> tuple[tuple[str, ...], Table]:
    """Return the classes before a policy, and how frequent each is."""
    if windows is None:
        mapped = dict.fromkeys(name for item in spec.label_maps for name in item.mapping)
        names = spec.class_names or tuple(mapped) or (ALL_CLASSES,)
        return names, np.full(len(names), 1 / len(names))
    names, counts = tuple(windows.class_names), windows.class_counts()
    if spec.class_names is not None and names != spec.class_names:
        raise ValueError(
            f"`windows` must have the classes of the policy, {list(spec.class_names)}, got "
            f"{list(names)}."
        )
    return names, counts / counts.sum()
