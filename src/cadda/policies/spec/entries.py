"""What policies are made of: entries, stages and subpolicies, as plain data."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    model_validator,
)

from cadda._internal.limits import MAX_ENTRIES, MAX_STAGES, MAX_SUBPOLICIES
from cadda._internal.validation import ALL_CLASSES, check_class_name
from cadda.operations.catalogue import CATALOGUE
from cadda.operations.label_maps import LabelMap, check_mapping

__all__ = [
    "ALL_CLASSES",
    "ClassName",
    "OperationName",
    "PlainData",
    "Stage",
    "StageEntry",
    "Subpolicies",
    "Subpolicy",
    "check_not_empty",
    "file_content",
    "make_entry",
]


Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
OperationName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=100)]
ClassName = Annotated[str, AfterValidator(check_class_name)]


def _one_to(count: int) -> Any:
    """Return the limit of a list; that it must not be empty is in the schema only.

    pydantic's own minimum would count a broken item as missing, and complain twice.
    """
    return Field(max_length=count, json_schema_extra={"minItems": 1})


def check_not_empty(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Raise `ValueError` for an empty list."""
    if not items:
        raise ValueError("must have at least one item")
    return items


def _check_weights(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Raise `ValueError` for weights that cannot be normalised to probabilities."""
    if items and not 0 < sum(item.weight for item in items) < float("inf"):
        raise ValueError("the weights must have a positive, finite sum")
    return items


def _check_stage(stage: tuple[Any, ...]) -> tuple[Any, ...]:
    """Raise `ValueError` for weights that cannot be normalised, or an operation named twice."""
    _check_weights(check_not_empty(stage))
    if len({entry.choice for entry in stage}) < len(stage):
        raise ValueError(
            "a stage must name each operation only once, or each time with another label map"
        )
    return stage


class PlainData(BaseModel):
    """Frozen, strictly validated data without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


RARE_FIELDS = frozenset({"min_magnitude", "label_map", "simplified", "preprocessing"})
"""Fields that files leave out where they are None."""


def file_content(model: BaseModel) -> dict[str, JsonValue]:
    """Return the plain data of a policy or of what contains policies.

    A serializer in Python would do as well, but pydantic reports Ctrl-C in one as a `ValueError`.
    """
    return _without_rare_fields(model.model_dump(mode="json"))


def _without_rare_fields(data: dict[str, JsonValue]) -> dict[str, JsonValue]:
    # What a rare field contains is the user's own.
    return {
        name: item if name in RARE_FIELDS else _shortened(item)
        for name, item in data.items()
        if item is not None or name not in RARE_FIELDS
    }


def _shortened(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    return _without_rare_fields(value) if isinstance(value, dict) else value


class StageEntry(PlainData):
    """One operation that a stage may choose.

    Parameters
    ----------
    operation : str
        Name of the operation.
    weight : float
        How often it is chosen, relative to the other entries of the stage.
    probability : float
        Probability of transforming the window once the operation is chosen.
    magnitude : float | None
        Strength in [0, 1]; None for an operation without magnitude.
    min_magnitude : float | None
        Smallest strength of a random one: for each window, it is drawn uniformly between this and
        ``magnitude``. None for a strength that is always the same.
    label_map : dict of str to str | None
        Class of a window after the operation by its class before it, a permutation of the classes
        that it names; windows of other classes are left as they are. None keeps every class.
    """

    operation: OperationName
    weight: Weight = 1.0
    probability: Fraction
    magnitude: Fraction | None = None
    min_magnitude: Fraction | None = None
    label_map: dict[ClassName, ClassName] | None = None

    @property
    def choice(self) -> str:
        """Name of the operation together with its label map, if it has one."""
        if self.label_map is None:
            return self.operation
        return str(LabelMap(self.operation, self.label_map))

    @property
    def magnitudes(self) -> tuple[float, float] | None:
        """Smallest and largest magnitude; None for an operation without magnitude."""
        if self.magnitude is None:
            return None
        least = self.magnitude if self.min_magnitude is None else self.min_magnitude
        return least, self.magnitude

    @model_validator(mode="after")
    def _check_label_map(self) -> Self:
        if self.label_map is None:
            return self
        check_mapping(self.label_map)
        if self.probability == 0 or self.weight == 0:
            raise ValueError(
                f"a label map needs an operation that is applied, but {self.operation} has "
                f"{'`probability`' if self.probability == 0 else '`weight`'} 0"
            )
        return self

    @model_validator(mode="after")
    def _check_magnitude(self) -> Self:
        entry = CATALOGUE.get(self.operation)
        if entry is not None and entry.has_magnitude and self.magnitude is None:
            raise ValueError(f"`magnitude` is missing, and {self.operation} needs one")
        least, most = self.min_magnitude, self.magnitude
        if least is not None and (most is None or least > most):
            raise ValueError(
                f"the smallest magnitude, {least:g}, must be at most the largest, "
                f"{'which is missing' if most is None else f'{most:g}'}"
            )
        return self


def make_entry(
    operation: str,
    weight: float,
    probability: float,
    magnitudes: tuple[float, float] | None,
    label_map: dict[str, str] | None = None,
) -> StageEntry:
    """Make an entry with these smallest and largest magnitudes."""
    least, most = magnitudes or (None, None)
    return StageEntry(
        operation=operation,
        weight=weight,
        probability=probability,
        magnitude=most,
        min_magnitude=None if least == most else least,
        label_map=label_map,
    )


Stage = Annotated[tuple[StageEntry, ...], _one_to(MAX_ENTRIES), AfterValidator(_check_stage)]
"""A choice of one operation; a single entry is the ordinary case."""


class Subpolicy(PlainData):
    """Stages that a window passes one after the other.

    Parameters
    ----------
    weight : float
        How often it is drawn, relative to the other subpolicies.
    stages : tuple of stages
        Each a tuple of `StageEntry`.
    """

    weight: Weight = 1.0
    stages: Annotated[tuple[Stage, ...], _one_to(MAX_STAGES), AfterValidator(check_not_empty)]


Subpolicies = Annotated[
    tuple[Subpolicy, ...], Field(max_length=MAX_SUBPOLICIES), AfterValidator(_check_weights)
]
"""What one of is drawn for each window; without any, windows are left as they are."""
