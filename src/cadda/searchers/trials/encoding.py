"""Policies as named values that a sampler can choose."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Generator

from cadda.operations.pool import OperationPool
from cadda.policies.policy import stage_entry
from cadda.policies.spec.entries import ALL_CLASSES, StageEntry, Subpolicy
from cadda.policies.spec.model import PolicySpec

__all__ = ["Choice", "GridEncoding", "PolicyEncoding", "PolicySpace", "Values"]

N_STEPS = 10
RESAMPLE_PROBABILITY = 0.2
"""Probability that perturbing draws a new value."""

MAX_STEPS = 3
"""Largest number of steps by which perturbing moves a value."""

# A name, a number of operations or a level: which one it is, only the name of the choice tells.
Value: TypeAlias = Any
Choice: TypeAlias = tuple[Value, ...]
"""Values to choose from."""

Values: TypeAlias = dict[str, Value]
"""What was chosen, by name."""

PROBABILITIES: Choice = tuple(n / N_STEPS for n in range(N_STEPS + 1))
MAGNITUDES: Choice = PROBABILITIES[1:]
"""Without 0, at which no operation does anything."""


@dataclass(frozen=True)
class PolicySpace:
    """The policies that a search chooses from, with p and µ in steps."""

    n_operations: int  # N_O
    n_subpolicies: int = 5  # L
    n_stages: int = 2  # K
    n_classes: int = 1  # that have a policy of their own
    n_probabilities: int = 10  # N_p
    n_magnitudes: int = 10  # N_µ

    def size(self) -> int:
        """Count the policies: (N_p · N_µ · N_O)^(L · K · classes), exactly."""
        per_stage = self.n_probabilities * self.n_magnitudes * self.n_operations
        return int(per_stage ** (self.n_subpolicies * self.n_stages * self.n_classes))

    @property
    def log10_size(self) -> float:
        """The same as a power of ten."""
        return math.log10(self.size())


@dataclass(frozen=True)
class _Encoding:
    """What encodings share: the operations, and the classes with values of their own."""

    pool: OperationPool
    class_names: tuple[str, ...] | None

    @property
    def rows(self) -> tuple[str, ...]:
        """Classes with values of their own, or ``"*"``."""
        return self.class_names or (ALL_CLASSES,)

    def _spec(self, rows: dict[str, tuple[Subpolicy, ...]]) -> PolicySpec:
        return PolicySpec(
            policy=rows,
            operations=self.pool.settings,
            class_names=self.class_names or self.pool.mapped_classes,
            sfreq=self.pool.sfreq,
            ch_names=self.pool.ch_names or None,
        )


@dataclass(frozen=True)
class PolicyEncoding(_Encoding):
    """Policies with one operation per stage, and p and µ in steps."""

    n_subpolicies: int
    n_stages: int

    @property
    def log10_size(self) -> float:
        """Number of policies, as a power of ten."""
        return PolicySpace(
            len(self.pool),
            self.n_subpolicies,
            self.n_stages,
            len(self.rows),
            len(PROBABILITIES),
            len(MAGNITUDES),
        ).log10_size

    def choices(self) -> dict[str, Choice]:
        """Return what is chosen by name, with its possible values."""
        values = {
            "operation": self.pool.names,
            "probability": PROBABILITIES,
            "magnitude": MAGNITUDES,
        }
        return {
            f"{row}/{i}/{k}/{name}": choice
            for row in self.rows
            for i in range(self.n_subpolicies)
            for k in range(self.n_stages)
            for name, choice in values.items()
        }

    def decode(self, values: Mapping[str, Value]) -> PolicySpec:
        """Return the policy that values describe."""
        rows = {}
        for row in self.rows:
            entries = [
                [self._entry(values, f"{row}/{i}/{k}") for k in range(self.n_stages)]
                for i in range(self.n_subpolicies)
            ]
            rows[row] = tuple(
                Subpolicy(stages=tuple((entry,) for entry in stages)) for stages in entries
            )
        return self._spec(rows)

    def draw(self, generator: Generator) -> Values:
        """Return random values."""
        return {name: _pick(choice, generator) for name, choice in self.choices().items()}

    def perturb(self, values: Mapping[str, Value], generator: Generator) -> Values:
        """Return perturbed values: some resampled, p and µ moved by a few steps."""
        changed = {}
        for name, choice in self.choices().items():
            resample = float(torch.rand((), generator=generator)) < RESAMPLE_PROBABILITY
            step = int(torch.randint(-MAX_STEPS, MAX_STEPS + 1, (), generator=generator))
            drawn = _pick(choice, generator)
            if resample:
                changed[name] = drawn
            elif name.endswith("operation"):
                changed[name] = values[name]
            else:
                place = choice.index(values[name]) + step
                changed[name] = choice[min(max(place, 0), len(choice) - 1)]
        return changed

    def _entry(self, values: Mapping[str, Value], place: str) -> StageEntry:
        name, probability, level = (
            values[f"{place}/{part}"] for part in ("operation", "probability", "magnitude")
        )
        return stage_entry(self.pool[name], probability, level * self.pool.limits.get(name, 1.0))


@dataclass(frozen=True)
class GridEncoding(_Encoding):
    """RandAugment's policies: some operations in a row, each any of the pool, all as strong."""

    n_stages: int

    @property
    def n_cells(self) -> int:
        """Cells of the grid of a row."""
        return self.n_stages * len(MAGNITUDES)

    @property
    def log10_size(self) -> float:
        """Number of policies, as a power of ten."""
        return len(self.rows) * math.log10(self.n_cells)

    def choices(self) -> dict[str, Choice]:
        """Return what is chosen by name, with its possible values."""
        numbers = tuple(range(1, self.n_stages + 1))
        return {
            f"{row}/{name}": choice
            for row in self.rows
            for name, choice in (("n_operations", numbers), ("magnitude", MAGNITUDES))
        }

    def cell(self, number: int, order: Mapping[str, list[int]]) -> Values:
        """Return the values of a cell, each row in the order of its own."""
        values: Values = {}
        for row in self.rows:
            n, m = divmod(order[row][number % self.n_cells], len(MAGNITUDES))
            values |= {f"{row}/n_operations": n + 1, f"{row}/magnitude": MAGNITUDES[m]}
        return values

    def decode(self, values: Mapping[str, Value]) -> PolicySpec:
        """Return the policy that values describe."""
        rows: dict[str, tuple[Subpolicy, ...]] = {}
        for row in self.rows:
            level = values[f"{row}/magnitude"]
            stage = tuple(
                stage_entry(operation, 1.0, level * limit)
                for operation, limit in zip(self.pool, self.pool.max_magnitudes, strict=True)
            )
            rows[row] = (Subpolicy(stages=(stage,) * values[f"{row}/n_operations"]),)
        return self._spec(rows)


def _pick(choice: Choice, generator: Generator) -> Value:
    return choice[int(torch.randint(len(choice), (), generator=generator))]
