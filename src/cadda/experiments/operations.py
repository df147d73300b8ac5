"""Which operations a study tries, how strongly, and the policies that apply them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from cadda.api.pool import operation_pool
from cadda.data.windows import Windows
from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec.model import PolicySpec, StageEntry, Subpolicy
from cadda.policies.spec.text import ALL_CLASSES

__all__ = [
    "NO_OPERATION",
    "PROBABILITY",
    "Magnitudes",
    "chosen_operations",
    "classwise_policy",
    "magnitude_of",
    "single_policy",
]

PROBABILITY = 0.5
"""The paper's, where operations are tried one by one."""

NO_OPERATION = "none"
"""The operation of jobs that train without augmentation."""

Magnitudes: TypeAlias = (
    Literal["sleep", "motor-imagery"] | dict[str, Annotated[float, Field(ge=0, le=1)]]
)
"""A kind of data, whose magnitudes the catalogue has; or magnitudes by operation."""


def chosen_operations(windows: Windows, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the operations to try; None means all that apply to the montage."""
    pool = operation_pool(windows)
    try:
        return pool.names if wanted is None else pool.select(wanted).names
    except KeyError as error:
        raise ValueError(f"`operations`: {error.args[0]}") from error


def magnitude_of(operation: str, magnitudes: Magnitudes) -> float | None:
    """Return the magnitude of an operation; None if it has none."""
    row = CATALOGUE[operation]
    if not row.has_magnitude:
        return None
    if isinstance(magnitudes, str):
        value = row.study_magnitudes.get(magnitudes)
    else:
        value = magnitudes.get(operation)
    if value is None:
        raise ValueError(
            f'`magnitudes` must have one for {operation}, such as {{"{operation}": 0.5}}, got '
            f"{magnitudes!r}."
        )
    return value


def single_policy(operation: str, magnitude: float | None) -> PolicySpec | None:
    """Make a policy that applies one operation to any window, with probability 0.5."""
    if operation == NO_OPERATION:
        return None
    return PolicySpec(policy={ALL_CLASSES: (_subpolicy(operation, magnitude),)})


def classwise_policy(by_class: Mapping[str, tuple[str, float | None]]) -> PolicySpec:
    """Make a policy that applies one operation to each class, with probability 0.5."""
    return PolicySpec(
        policy={name: (_subpolicy(*choice),) for name, choice in by_class.items()},
        class_names=tuple(by_class),
    )


def _subpolicy(operation: str, magnitude: float | None) -> Subpolicy:
    entry = StageEntry(operation=operation, probability=PROBABILITY, magnitude=magnitude)
    return Subpolicy(stages=((entry,),))
