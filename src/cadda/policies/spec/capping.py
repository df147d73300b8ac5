"""Lowering what operations tell about the class: by using them less, or for other classes too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cadda._internal.text import did_you_mean
from cadda._internal.validation import check_positive
from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec.entries import StageEntry, Subpolicy, make_entry
from cadda.policies.spec.leakage import TraceModel, record_leak
from cadda.policies.spec.walk import Table

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec

__all__ = ["Keeps", "KeepsClasses", "cap_leak"]

MARGIN = 1e-6
"""How much below the limit a lowered leak is, relative to it, so that it need not be exact."""

MAX_ROUNDS = 10
"""How often the leak of an operation is lowered again, because others changed it."""

ALMOST_NEVER = 1e-30
"""Probability of an operation with a label map whose use is lowered to nothing."""

Spec = TypeVar("Spec", bound="PolicySpec")


class KeepsClasses(Protocol):
    """Anything that knows which classes an operation keeps, such as `cadda.ProbeResult`."""

    def kept_up_to(self, operation: str, class_name: str) -> float:
        """Return the largest magnitude up to which an operation keeps a class, 0 for none."""


Keeps: TypeAlias = Mapping[str, Collection[str]] | KeepsClasses
"""Classes that each operation keeps, by name of the operation, or what tells them."""


def cap_leak(spec: Spec, max_leak: float, keeps: Keeps | None) -> Spec:
    """Lower the leak of a policy; see `PolicySpec.capped`."""
    check_positive("max_leak", max_leak)
    model = TraceModel(spec)
    if model.traces().max_leak <= max_leak:
        return spec
    magnitudes = _mean_magnitudes(spec)
    _check_keeps(keeps, spec)
    kept = [
        [_is_kept(keeps, name, magnitudes.get(name), row) for name in model.operations]
        for row in spec.rows
    ]
    cap = _Cap(model, max_leak, np.array(kept))
    cap.lower()
    policy = {
        row: _changed(
            spec.policy[row],
            dict(zip(model.operations, map(float, cap.scale[n]), strict=True)),
            dict(zip(model.operations, map(float, cap.shared[n]), strict=True)),
            magnitudes,
        )
        for n, row in enumerate(spec.rows)
    }
    # Scores were measured with the policy as it was before.
    provenance = spec.provenance.model_copy(update={"scores": {}})
    return record_leak(spec.model_copy(update={"policy": policy, "provenance": provenance}))


def _check_keeps(keeps: Keeps | None, spec: PolicySpec) -> None:
    """Raise `ValueError` for classes that a policy does not have; they may be misspelt."""
    if not isinstance(keeps, Mapping):
        return
    known = spec.class_names or ()
    for operation, classes in keeps.items():
        if operation not in spec.operations_used and operation not in CATALOGUE:
            hint = did_you_mean(operation, (*spec.operations_used, *CATALOGUE))
            raise ValueError(f"`keeps` must name operations, got {operation!r}{hint}.")
        for name in classes:
            if name not in known:
                raise ValueError(
                    f"`keeps` must name classes of the policy, {list(known)}, got "
                    f"{name!r}{did_you_mean(name, known)}."
                )


def _is_kept(
    keeps: Keeps | None,
    operation: str,
    magnitudes: tuple[float, float] | None,
    class_name: str,
) -> bool:
    if keeps is None:
        return False
    if isinstance(keeps, Mapping):
        return class_name in keeps.get(operation, ())
    limit = keeps.kept_up_to(operation, class_name)
    return limit > 0 and (magnitudes is None or magnitudes[1] <= limit)


class _Cap:
    """Lowers the use of operations until none tells more than ``max_leak`` bits.

    ``use`` is how often each row uses each operation; it decides ``scale`` and ``shared``,
    the arguments of `TraceModel.traces`.
    """

    def __init__(self, model: TraceModel, max_leak: float, kept: NDArray[np.bool_]) -> None:
        self.model, self.max_leak, self.kept = model, max_leak, kept
        self.scale, self.shared = np.ones(kept.shape), np.zeros(kept.shape)
        self.before = model.usage()
        self.use = self.before.copy()

    def lower(self) -> None:
        """Lower the largest leak until all are low.

        Once is enough for each operation, unless others change labels and thereby the leak.
        """
        n_rounds = 0
        while (bits := self.model.traces(self.scale, self.shared).bits).max() > self.max_leak:
            # After many rounds nothing is raised again, so that there is an end.
            is_late, n_rounds = n_rounds >= MAX_ROUNDS * bits.size, n_rounds + 1
            self._lower_operation(int(bits.argmax()), is_late=is_late)

    def _lower_operation(self, column: int, *, is_late: bool) -> None:
        """Lower the leak of one operation in the way that loses least of its use."""
        start = (self.use if is_late else self.before)[:, column]
        mean, most = float(start.mean()), float(start.max())
        kept = self.kept[:, column] & (not is_late)
        goal: Table = np.where(kept, mean, np.minimum(start, mean))

        def share(part: float) -> Table:
            return start + part * (goal - start)

        def less(part: float) -> Table:
            return np.minimum(start, (1 - part) * most)

        def loss(use: Table) -> float:
            return float(np.maximum(start - use, 0).sum())

        ways = [self._first_low(column, way) for way in (share, less)]
        self._set_use(column, min((use for use in ways if use is not None), key=loss))

    def _first_low(self, column: int, way: Callable[[float], Table]) -> Table | None:
        """Return the use, on a way from 0 to 1, at which the leak is low; None if it never is."""

        def excess(part: float) -> float:
            self._set_use(column, way(part))
            bits = self.model.traces(self.scale, self.shared, column).bits
            return float(bits[0]) - self.max_leak * (1 - MARGIN)

        if excess(1.0) > 0:
            return None
        return way(_root(excess) if excess(0.0) > 0 else 0.0)

    def _set_use(self, column: int, use: Table) -> None:
        """Set how often each row uses an operation."""
        before = self.before[:, column]
        self.use[:, column] = use
        for row, wanted in enumerate(use.tolist()):
            self.scale[row, column] = self._factor(row, column, wanted)
        self.shared[:, column] = np.divide(
            use - before, 1 - before, out=np.zeros_like(use), where=use > before
        )

    def _factor(self, row: int, column: int, wanted: float) -> float:
        """Return the factor of probabilities by which a row uses an operation so often."""

        def excess(factor: float) -> float:
            return self.model.row_usage(row, column, factor) - wanted

        return 1.0 if excess(1.0) <= 0 else _root(excess)


def _root(function: Callable[[float], float]) -> float:
    """Return where a function of [0, 1] is 0."""
    from scipy.optimize import brentq

    return float(brentq(function, 0.0, 1.0))


def _mean_magnitudes(spec: PolicySpec) -> dict[str, tuple[float, float]]:
    """Compute the smallest and largest magnitude of each operation that has one.

    Both are means over all windows that get the operation.
    """
    totals: dict[str, Table] = defaultdict(lambda: np.zeros(3))
    for row in spec.rows:
        total = sum(subpolicy.weight for subpolicy in spec.policy[row])
        for subpolicy in spec.policy[row]:
            for stage in subpolicy.stages:
                mass = subpolicy.weight / total / sum(entry.weight for entry in stage)
                for entry in stage:
                    if entry.magnitudes is not None:
                        use, (least, most) = (
                            mass * entry.weight * entry.probability,
                            entry.magnitudes,
                        )
                        totals[entry.operation] += use, use * least, use * most
    # Rounded, so that the mean of equal magnitudes is not above them.
    return {
        name: (round(float(least / use), 9), round(float(most / use), 9))
        for name, (use, least, most) in totals.items()
        if use > 0
    }


def _changed(
    subpolicies: tuple[Subpolicy, ...],
    factors: Mapping[str, float],
    shared: Mapping[str, float],
    magnitudes: Mapping[str, tuple[float, float]],
) -> tuple[Subpolicy, ...]:
    """Return the subpolicies of a class with operations that are used less, and shared ones."""
    first = tuple(_shared_stages(shared, magnitudes))
    if first and not subpolicies:
        return (Subpolicy(stages=first),)
    return tuple(
        subpolicy.model_copy(
            update={
                "stages": first
                + tuple(
                    tuple(_scaled(entry, factors[entry.operation]) for entry in stage)
                    for stage in subpolicy.stages
                )
            }
        )
        for subpolicy in subpolicies
    )


def _scaled(entry: StageEntry, factor: float) -> StageEntry:
    if factor == 1:
        return entry
    # An operation that is never applied cannot have a label map.
    least = 0.0 if entry.label_map is None else ALMOST_NEVER
    return entry.model_copy(update={"probability": max(entry.probability * factor, least)})


def _shared_stages(
    shared: Mapping[str, float], magnitudes: Mapping[str, tuple[float, float]]
) -> Iterator[tuple[StageEntry, ...]]:
    """Yield stages, as few as possible, that apply operations with given probabilities.

    They come first, while windows still have the label whose class keeps the operation.
    """
    waiting = sorted((item for item in shared.items() if item[1] > 0), key=lambda item: -item[1])
    while waiting:
        stage: list[tuple[str, float]] = []
        rest: list[tuple[str, float]] = []
        total = 0.0
        for name, probability in waiting:
            fits = total + probability <= 1
            (stage if fits else rest).append((name, probability))
            total += probability if fits else 0.0
        yield tuple(
            make_entry(name, 1.0 if len(stage) == 1 else probability, total, magnitudes.get(name))
            for name, probability in stage
        )
        waiting = rest
