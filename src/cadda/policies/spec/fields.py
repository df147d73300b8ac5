"""Types and checks of the fields of a policy file."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from cadda.policies.spec.text import ALL_CLASSES

__all__ = [
    "MAX_CLASSES",
    "MAX_ENTRIES",
    "MAX_STAGES",
    "MAX_SUBPOLICIES",
    "ClassName",
    "Fraction",
    "OperationName",
    "Weight",
    "at_most",
    "check_classes",
    "check_not_empty",
    "check_operations",
    "check_stage",
    "check_subpolicies",
]

MAX_SUBPOLICIES = 10_000
MAX_STAGES = 100
MAX_ENTRIES = 1_000
MAX_CLASSES = 1_000


def _check_class_name(name: str) -> str:
    if name != name.strip() or not name.isprintable() or not name or name == ALL_CLASSES:
        raise ValueError(
            "a class name is printable text without spaces around it, and not empty or '*'"
        )
    return name


Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
OperationName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=100)]
ClassName = Annotated[str, AfterValidator(_check_class_name)]


def at_most(count: int) -> Any:
    """Return the limit of a list; that it must not be empty is in the schema only.

    pydantic's own minimum would count a broken item as missing, and complain twice.
    """
    return Field(max_length=count, json_schema_extra={"minItems": 1})


def check_not_empty(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Raise `ValueError` for an empty list."""
    if not items:
        raise ValueError("must have at least one item")
    return items


def check_subpolicies(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Raise `ValueError` for weights that cannot be normalised to probabilities."""
    check_not_empty(items)
    if not 0 < sum(item.weight for item in items) < float("inf"):
        raise ValueError("the weights must have a positive, finite sum")
    return items


def check_stage(stage: tuple[Any, ...]) -> tuple[Any, ...]:
    """Raise `ValueError` for weights that cannot be normalised, or an operation named twice."""
    check_subpolicies(stage)
    names = [entry.operation for entry in stage]
    if len(set(names)) < len(names):
        raise ValueError("a stage must name each operation only once")
    return stage


def check_classes(rows: Collection[str], class_names: tuple[str, ...] | None) -> None:
    """Check that a policy has a row for all classes or one for each of ``class_names``."""
    if class_names is not None and len(set(class_names)) < len(class_names):
        raise ValueError("`class_names` must be different from each other")
    if ALL_CLASSES in rows:
        if len(rows) > 1:
            raise ValueError(
                f"`policy` must have either {ALL_CLASSES!r} or one entry per class, not both"
            )
    elif class_names is None or set(rows) != set(class_names):
        raise ValueError(
            "`class_names` must list the classes of `policy`, "
            f"{sorted(rows)}, in the order of their labels"
        )


def check_operations(declared: Collection[str], used: Collection[str]) -> None:
    """Check that a policy declares the operations that it uses, if it declares any."""
    undeclared = sorted(set(used) - set(declared))
    if declared and undeclared:
        raise ValueError(f"`operations` must list all that `policy` uses, but lacks {undeclared}")
