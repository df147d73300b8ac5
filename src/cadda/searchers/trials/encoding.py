"""Policies as named values that a sampler can choose."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator

from cadda.operations.pool import OperationPool
from cadda.policies.spec.model import PolicySpec, StageEntry, Subpolicy
from cadda.policies.spec.text import ALL_CLASSES
from cadda.searchers.space import PolicySpace

__all__ = ["Choice", "GridEncoding", "PolicyEncoding"]

N_STEPS = 10
RESAMPLED = 0.2
"""Probability that a perturbed value is drawn anew."""

FARTHEST = 3
"""Most steps that a perturbed value moves."""

Choice = tuple[Any, ...]
"""Values to choose from."""

PROBABILITIES: Choice = tuple(n / N_STEPS for n in range(N_STEPS + 1))
MAGNITUDES: Choice = PROBABILITIES[1:]
"""Without 0, at which no operation does anything."""


@dataclass(frozen=True)
class PolicyEncoding:
    """Policies with one operation per stage, and p and µ in steps.

    Parameters
    ----------
    pool : OperationPool
        Operations to choose from.
    class_names : tuple of str | None
        Classes that get a policy each; None makes one for all.
    n_subpolicies : int
        Number L of subpolicies.
    n_stages : int
        Number K of stages of a subpolicy.
    """

    pool: OperationPool
    class_names: tuple[str, ...] | None
    n_subpolicies: int
    n_stages: int

    @property
    def rows(self) -> tuple[str, ...]:
        """What has a policy of its own."""
        return self.class_names or (ALL_CLASSES,)

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
        """Name everything that is chosen, and what from.

        Returns
        -------
        dict of str to tuple
            Operation, p and µ of every stage.
        """
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

    def decode(self, values: Mapping[str, Any]) -> PolicySpec:
        """Make a policy of values.

        Parameters
        ----------
        values : mapping of str to object
            One of the choices for every name.

        Returns
        -------
        PolicySpec
            The policy.
        """
        return _spec(
            self.pool,
            self.class_names,
            {
                row: tuple(
                    Subpolicy(
                        stages=tuple(
                            (self._entry(values, f"{row}/{i}/{k}"),) for k in range(self.n_stages)
                        )
                    )
                    for i in range(self.n_subpolicies)
                )
                for row in self.rows
            },
        )

    def draw(self, generator: Generator) -> dict[str, Any]:
        """Choose everything by chance.

        Parameters
        ----------
        generator : torch.Generator
            Source of randomness.

        Returns
        -------
        dict of str to object
            Values by name.
        """
        return {name: _pick(choice, generator) for name, choice in self.choices().items()}

    def perturb(self, values: Mapping[str, Any], generator: Generator) -> dict[str, Any]:
        """Change values a little: an operation now and then, p and µ by a few steps.

        Parameters
        ----------
        values : mapping of str to object
            Values by name.
        generator : torch.Generator
            Source of randomness.

        Returns
        -------
        dict of str to object
            New values by name.
        """
        changed = {}
        for name, choice in self.choices().items():
            anew = float(torch.rand((), generator=generator)) < RESAMPLED
            step = int(torch.randint(-FARTHEST, FARTHEST + 1, (), generator=generator))
            drawn = _pick(choice, generator)
            if anew:
                changed[name] = drawn
            elif name.endswith("operation"):
                changed[name] = values[name]
            else:
                place = choice.index(values[name]) + step
                changed[name] = choice[min(max(place, 0), len(choice) - 1)]
        return changed

    def _entry(self, values: Mapping[str, Any], place: str) -> StageEntry:
        operation = self.pool[values[f"{place}/operation"]]
        magnitude = values[f"{place}/magnitude"] if operation.has_magnitude else None
        return StageEntry(
            operation=operation.name,
            probability=values[f"{place}/probability"],
            magnitude=magnitude,
        )


@dataclass(frozen=True)
class GridEncoding:
    """RandAugment's policies: some operations in a row, each any of the pool, all as strong.

    Parameters
    ----------
    pool : OperationPool
        Operations to draw from.
    class_names : tuple of str | None
        Classes that get a number and a magnitude each; None has one for all.
    n_stages : int
        Most operations in a row.
    """

    pool: OperationPool
    class_names: tuple[str, ...] | None
    n_stages: int

    @property
    def rows(self) -> tuple[str, ...]:
        """What has a number and a magnitude of its own."""
        return self.class_names or (ALL_CLASSES,)

    @property
    def n_cells(self) -> int:
        """Cells of the grid of a row."""
        return self.n_stages * len(MAGNITUDES)

    @property
    def log10_size(self) -> float:
        """Number of policies, as a power of ten."""
        return len(self.rows) * math.log10(self.n_cells)

    def choices(self) -> dict[str, Choice]:
        """Name everything that is chosen, and what from.

        Returns
        -------
        dict of str to tuple
            Number of operations and magnitude of every row.
        """
        numbers = tuple(range(1, self.n_stages + 1))
        return {
            f"{row}/{name}": choice
            for row in self.rows
            for name, choice in (("n_operations", numbers), ("magnitude", MAGNITUDES))
        }

    def cell(self, number: int, order: Mapping[str, list[int]]) -> dict[str, Any]:
        """Give one point of the grid.

        Parameters
        ----------
        number : int
            Which one, from 0.
        order : mapping of str to list of int
            Order in which each row goes through its cells.

        Returns
        -------
        dict of str to object
            Values by name.
        """
        values: dict[str, Any] = {}
        for row in self.rows:
            n, m = divmod(order[row][number % self.n_cells], len(MAGNITUDES))
            values |= {f"{row}/n_operations": n + 1, f"{row}/magnitude": MAGNITUDES[m]}
        return values

    def decode(self, values: Mapping[str, Any]) -> PolicySpec:
        """Make a policy of values.

        Parameters
        ----------
        values : mapping of str to object
            One of the choices for every name.

        Returns
        -------
        PolicySpec
            The policy.
        """
        rows: dict[str, tuple[Subpolicy, ...]] = {}
        for row in self.rows:
            level = values[f"{row}/magnitude"]
            stage = tuple(
                StageEntry(
                    operation=one.name,
                    probability=1.0,
                    magnitude=level if one.has_magnitude else None,
                )
                for one in self.pool
            )
            rows[row] = (Subpolicy(stages=(stage,) * values[f"{row}/n_operations"]),)
        return _spec(self.pool, self.class_names, rows)


def _spec(
    pool: OperationPool,
    class_names: tuple[str, ...] | None,
    rows: dict[str, tuple[Subpolicy, ...]],
) -> PolicySpec:
    return PolicySpec(
        policy=rows,
        operations={operation.name: operation.settings for operation in pool},
        class_names=class_names,
        sfreq=pool.sfreq,
        ch_names=pool.ch_names or None,
    )


def _pick(choice: Choice, generator: Generator) -> Any:
    return choice[int(torch.randint(len(choice), (), generator=generator))]
