"""Running a policy on batches of windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from cadda._internal.random import uniform
from cadda._internal.scale import describe_odd_scale
from cadda._internal.user_warnings import warn_user
from cadda.operations.base import Constant, Operation
from cadda.operations.label_maps import mapping_of, plain_operation
from cadda.operations.pool import OperationPool
from cadda.operations.time import GaussianNoise
from cadda.policies.dispatch import (
    BatchPolicy,
    Granularity,
    Group,
    check_granularity,
    draw_stages,
    follow_labels,
    transform_groups,
)
from cadda.policies.fitting import fitting_pool, fitting_spec
from cadda.policies.spec.entries import StageEntry
from cadda.policies.spec.model import PolicySpec

__all__ = [
    "Policy",
    "PolicyDraw",
    "draw_decisions",
    "for_classes",
    "stage_entry",
]


@dataclass(frozen=True)
class PolicyDraw:
    """All random decisions for a batch.

    Parameters
    ----------
    groups : tuple of tuple of Group
        For each stage, the windows that each operation transforms.
    magnitude : Tensor
        For each window and stage, the magnitude, shape (n_windows, n_stages).
    y : Tensor | None
        Labels of the windows after their transformation; None if none were given.
    """

    groups: tuple[tuple[Group, ...], ...]
    magnitude: Tensor
    y: Tensor | None


class Policy(BatchPolicy[PolicyDraw]):
    """Apply a policy to batches of windows: ``policy(x, y) -> (x, y)``.

    Works in a training step, on any device, and as the ``transforms`` of braindecode's
    AugmentedDataLoader. Without a generator, random numbers come from torch's global one, which
    DataLoader seeds differently for every worker and epoch.

    Parameters
    ----------
    spec : PolicySpec
        What to apply.
    pool : OperationPool
        The operations, made for the windows that will come.
    granularity : 'window' | 'batch'
        Whether each window draws a subpolicy and operations of its own, or all windows of a batch
        (of one class, if class-wise) share them as in the paper. Whether the operation is applied
        is drawn for each window in both cases.

    Examples
    --------
    >>> import cadda, torch
    >>> pool = cadda.operation_pool(sfreq=100, ch_names=["C3", "C4"])
    >>> spec = cadda.PolicySpec.from_text("channel_symmetry p=1")
    >>> x = torch.randn(16, 2, 3000)
    >>> augmented, _ = cadda.Policy(spec, pool)(x)
    >>> bool((augmented == x.flip(1)).all())
    True
    """

    def __init__(
        self, spec: PolicySpec, pool: OperationPool, *, granularity: Granularity = "window"
    ) -> None:
        super().__init__()
        if not isinstance(spec, PolicySpec):
            raise TypeError(
                f"`spec` must be a PolicySpec, got {type(spec).__name__}; make one of text with "
                "PolicySpec.from_text, or of a file with PolicySpec.load."
            )
        self.spec = fitting_spec(spec, pool)
        self.pool = fitting_pool(self.spec, pool)
        self.granularity = check_granularity(granularity)
        self.tables: dict[str, Tensor] = _tables(self.spec, self.pool)
        self._tables = {name: Constant(table) for name, table in self.tables.items()}
        self._used = tuple(self.pool.plain(name) for name in self.spec.operations_used)
        self._has_seen = False

    @property
    def is_classwise(self) -> bool:
        return self.spec.is_classwise

    @property
    def n_rows(self) -> int:
        return len(self.spec.rows)

    @property
    def _mixes_windows(self) -> bool:
        return any(operation.needs_labels for operation in self._used)

    def draw(
        self,
        x: Tensor,
        y: Tensor | None = None,
        *,
        generator: Generator | None = None,
        decisions: Generator | None = None,
    ) -> PolicyDraw:
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
        decisions : torch.Generator | None
            Source of randomness of the decisions which operation a window gets, if it is another
            one. With a generator on the CPU, and labels on the CPU, nothing waits for a GPU.

        Returns
        -------
        PolicyDraw
            To be passed to `transform`, once or as often as wanted; its ``y`` has the labels of
            the windows after that.
        """
        source = generator if decisions is None else decisions
        is_remote = source is not None and source.device.type != "cpu"
        host = x.new_empty(0, device=x.device if is_remote else "cpu")
        row, y = self._rows(x, y, host.device)
        if self.spec.is_none:
            return PolicyDraw((), x.new_zeros(len(x), 0), y)
        tables = {name: table.like(host) for name, table in self._tables.items()}
        label_table = self.pool.label_table
        return draw_decisions(
            self.pool,
            tables,
            x,
            row,
            y,
            generator,
            None if label_table is None else label_table.like(host),
            granularity=self.granularity,
            decisions=source,
        )

    def forward(
        self, x: Tensor, y: Tensor | None = None, *, generator: Generator | None = None
    ) -> tuple[Tensor, Tensor | None]:
        result = super().forward(x, y, generator=generator)
        self.warn_of_scale(x)
        return result

    def warn_of_scale(self, x: Tensor) -> None:
        """Warn of the first windows if an operation has a scale that is far from theirs.

        Parameters
        ----------
        x : Tensor
            Windows of shape (n_windows, n_channels, n_times).
        """
        # Once only: to read a value waits for a GPU.
        if self._has_seen or not len(x):
            return
        self._has_seen = True
        noise = next((each for each in self._used if isinstance(each, GaussianNoise)), None)
        if noise is not None and (odd_scale := describe_odd_scale(x)) is not None:
            added = f"{noise.name} adds noise of a standard deviation of up to {noise.max_sigma:g}"
            warn_user(f"{added}; {odd_scale}.")

    def _check(self, x: Tensor) -> None:
        # What the policy never applies may be for other windows.
        for operation in self._used:
            operation.check(x)
        if not self._used:
            self.pool.check(x)

    def transform(self, x: Tensor, draw: PolicyDraw) -> Tensor:
        if not draw.groups:
            return x.clone()
        for groups, magnitude in zip(draw.groups, draw.magnitude.T, strict=True):
            x = transform_groups(self.pool, x, groups, magnitude)
        return x

    def operations_of(self, draw: PolicyDraw, window: int) -> list[str]:
        """Return the operations that a draw applies to a window.

        Parameters
        ----------
        draw : PolicyDraw
            Result of `draw`.
        window : int
            Index of the window in its batch.

        Returns
        -------
        list of str
            Names in the order of the stages.
        """
        return [
            self.pool[group.operation].name
            for groups in draw.groups
            for group in groups
            if bool((group.windows == window).any())
        ]

    def extra_repr(self) -> str:
        """Return the policy in its short form."""
        return repr(self.spec)


def draw_decisions(
    operations: Sequence[Operation] | OperationPool,
    tables: Mapping[str, Tensor],
    x: Tensor,
    row: Tensor,
    y: Tensor | None,
    generator: Generator | None,
    label_table: Tensor | None,
    *,
    granularity: Granularity = "window",
    decisions: Generator | None = None,
) -> PolicyDraw:
    """Draw what happens to each window.

    Decisions are made on the device of the tables and rows, which need not be that of ``x``.

    Parameters
    ----------
    operations : sequence of Operation
        Operations by their number in the tables.
    tables : mapping of str to Tensor
        The policy as tensors over (class, subpolicy, stage, operation), with the dtype of ``x``.
    x : Tensor
        Windows of shape (n_windows, n_channels, n_times).
    row : Tensor
        Row of the tables for each window, shape (n_windows,).
    y : Tensor | None
        Labels, shape (n_windows,).
    generator : torch.Generator | None
        Source of randomness.
    label_table : Tensor | None
        Label after each operation by label before it.
    granularity : 'window' | 'batch'
        Whether each window draws its subpolicy and operations, or the batch.
    decisions : torch.Generator | None
        Source of randomness of the decisions; None takes ``generator``.

    Returns
    -------
    PolicyDraw
        The decisions.
    """
    n_rows, _, n_stages, _ = tables["probability"].shape
    source, here = generator if decisions is None else decisions, tables["probability"]
    window = torch.arange(len(x), device=row.device)
    # With one choice per batch, windows of the same row read the same random numbers.
    reader, n_choices = (window, len(x)) if granularity == "window" else (row, n_rows)
    noise = uniform((n_choices, 1 + n_stages), here, source)[reader]
    subpolicy = _pick(tables["subpolicy_cdf"][row], noise[:, 0])
    operation = _pick(tables["operation_cdf"][row, subpolicy], noise[:, 1:])
    stage = torch.arange(n_stages, device=row.device)
    place = (row[:, None], subpolicy[:, None], stage, operation)
    applied = uniform((len(x), n_stages), here, source) < tables["probability"][place]
    labels: Sequence[Tensor | None] = [y] * (n_stages + 1)
    if label_table is not None and y is not None:
        suits, _, labels = follow_labels(label_table, operation, applied, y)
        applied = applied & suits
    choice = torch.where(applied, operation, len(operations))
    groups = draw_stages(operations, x, labels, choice, generator)
    magnitude = tables["magnitude"][place]
    if "min_magnitude" in tables:
        # Drawn last, so that a policy with fixed magnitudes makes the same decisions.
        least = tables["min_magnitude"][place]
        drawn = least + uniform(magnitude.shape, here, source) * (magnitude - least)
        magnitude = torch.minimum(drawn, magnitude)
    after = labels[-1]
    after = after.to(x.device) if isinstance(after, Tensor) else after
    return PolicyDraw(groups, magnitude.to(x.device), after)


def stage_entry(
    operation: Operation, probability: float, magnitude: float, *, weight: float = 1.0
) -> StageEntry:
    """Write an operation of a pool as plain data; one that is never applied has no label map."""
    is_applied = probability > 0 and weight > 0
    return StageEntry(
        operation=plain_operation(operation).name,
        weight=weight,
        probability=probability,
        magnitude=magnitude if operation.has_magnitude else None,
        label_map=mapping_of(operation) if is_applied else None,
    )


def for_classes(policy: Policy, class_names: Sequence[str]) -> Policy:
    """Return a policy for windows with the same classes, whose labels may have another order."""
    names = policy.spec.class_names if policy.is_classwise else policy.pool.mapped_classes
    if names is None or names == tuple(class_names) or set(names) != set(class_names):
        return policy
    pool = policy.pool.for_classes(class_names)
    return Policy(policy.spec, pool, granularity=policy.granularity)


def _tables(spec: PolicySpec, pool: OperationPool) -> dict[str, Tensor]:
    """Lay a spec out as tensors over (class, subpolicy, stage, operation).

    There are smallest magnitudes only if one is smaller than the largest.
    """
    policies = [spec.policy[row] for row in spec.rows]
    n_subpolicies = max(1, *(len(subpolicies) for subpolicies in policies))
    lengths = [len(sub.stages) for subpolicies in policies for sub in subpolicies]
    n_stages = max(lengths, default=0)
    shape = (len(policies), n_subpolicies, n_stages, len(pool))
    subpolicy_weight = torch.zeros(shape[:2], dtype=torch.float64)
    weight, probability, least, most = torch.zeros(4, *shape, dtype=torch.float64)
    # A stage that a shorter subpolicy lacks chooses something and never applies it; so does the
    # subpolicy of a class that has none.
    weight[..., 0] = 1
    for i, subpolicies in enumerate(policies):
        subpolicy_weight[i, 0] = 1
        for j, subpolicy in enumerate(subpolicies):
            subpolicy_weight[i, j] = subpolicy.weight
            for k, stage in enumerate(subpolicy.stages):
                weight[i, j, k] = 0
                for entry in stage:
                    place = (i, j, k, pool.index(entry.choice))
                    weight[place] = entry.weight
                    probability[place] = entry.probability
                    least[place], most[place] = _magnitudes(entry, pool)
    tables = {
        "subpolicy_cdf": _cumulative(subpolicy_weight),
        "operation_cdf": _cumulative(weight),
        "probability": probability,
        "magnitude": most,
    }
    return tables if torch.equal(least, most) else tables | {"min_magnitude": least}


def _magnitudes(entry: StageEntry, pool: OperationPool) -> tuple[float, float]:
    if entry.magnitudes is not None:
        return entry.magnitudes
    if pool.plain(entry.operation).has_magnitude:
        raise ValueError(f"`spec` must have a magnitude for `{entry.operation}`, got None.")
    return 0.0, 0.0


def _cumulative(weight: Tensor) -> Tensor:
    """Compute the distribution function of weights; its end is exactly 1."""
    total = weight.cumsum(-1)
    return total / total[..., -1:]


def _pick(cdf: Tensor, noise: Tensor) -> Tensor:
    """Draw indices from distribution functions along the last axis."""
    return (noise.unsqueeze(-1) >= cdf).sum(-1)
