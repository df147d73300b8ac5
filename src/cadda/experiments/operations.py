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
"""What jobs call a training without augmentation."""

Magnitudes: TypeAlias = (
    Literal["sleep", "motor-imagery"] | dict[str, Annotated[float, Field(ge=0, le=1)]]
)
"""A kind of data, whose magnitudes the catalogue has; or magnitudes by operation."""


def chosen_operations(windows: Windows, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """Say which operations to try.

    Parameters
    ----------
    windows : Windows
        What they are for.
    wanted : sequence of str | None
        Names; None takes all that mean something on the montage.

    Returns
    -------
    tuple of str
        The names.
    """
    pool = operation_pool(windows)
    try:
        return pool.names if wanted is None else pool.select(wanted).names
    except KeyError as error:
        raise ValueError(f"`operations`: {error.args[0]}") from error


def magnitude_of(operation: str, magnitudes: Magnitudes) -> float | None:
    """Say how strongly an operation is to be applied.

    Parameters
    ----------
    operation : str
        Name of the operation.
    magnitudes : str | dict of str to float
        Where to look it up.

    Returns
    -------
    float | None
        The magnitude; None for an operation without one.
    """
    row = CATALOGUE[operation]
    if not row.has_magnitude:
        return None
    if isinstance(magnitudes, str):
        value = row.study_magnitudes.get(magnitudes)
    else:
        value = magnitudes.get(operation)
    if value is None:
        raise ValueError(
            f"`magnitudes` must have one for {operation}; give it in a TOML file with --config, "
            f"or with --set 'magnitudes={{\"{operation}\": 0.5}}'."
        )
    return value


def single_policy(operation: str, magnitude: float | None) -> PolicySpec | None:
    """Make a policy that applies one operation to any window, with probability 0.5.

    Parameters
    ----------
    operation : str
        Name of the operation, or ``"none"``.
    magnitude : float | None
        Its magnitude; None for an operation without one.

    Returns
    -------
    PolicySpec | None
        The policy; None if there is no operation.
    """
    if operation == NO_OPERATION:
        return None
    return PolicySpec(policy={ALL_CLASSES: (_subpolicy(operation, magnitude),)})


def classwise_policy(by_class: Mapping[str, tuple[str, float | None]]) -> PolicySpec:
    """Make a policy that applies one operation to each class, with probability 0.5.

    Parameters
    ----------
    by_class : mapping of str to (str, float | None)
        Operation and magnitude by class, in the order of the labels.

    Returns
    -------
    PolicySpec
        The policy.
    """
    return PolicySpec(
        policy={name: (_subpolicy(*one),) for name, one in by_class.items()},
        class_names=tuple(by_class),
    )


def _subpolicy(operation: str, magnitude: float | None) -> Subpolicy:
    entry = StageEntry(operation=operation, probability=PROBABILITY, magnitude=magnitude)
    return Subpolicy(stages=((entry,),))
