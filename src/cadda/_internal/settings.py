"""Settings checked by their types, with one way of phrasing what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias, TypeVar, get_args, get_type_hints

from pydantic import (
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

__all__ = ["NONE_IN_WORDS", "Pair", "check_settings", "first_problem", "read_none", "split_commas"]

NONE_IN_WORDS = "none"
"""What settings without a value are called in files and on the command line."""

MAX_QUOTED = 60

Settings = TypeVar("Settings")


def check_settings(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """Make settings of values as a user gives them, and refuse what is not of the right type.

    Parameters
    ----------
    kind : type
        Dataclass of the settings.
    values : mapping of str to object
        Values by name; text is read as a number, as true or false, or as None where that is meant.

    Returns
    -------
    object
        The settings. Anything wrong raises `ValueError` with one sentence.
    """
    try:
        made = TypeAdapter(kind).validate_python(read_none(values, get_type_hints(kind)))
    except ValidationError as error:
        raise ValueError(f"{first_problem(error)}.") from error
    for name, value in values.items():
        # To Python, true is the number 1.
        if isinstance(value, bool) and not isinstance(getattr(made, name), bool):
            raise ValueError(f"`{name}` must be a number, got {value}.")
    return made


def first_problem(error: ValidationError) -> str:
    """Say the first thing that is wrong with settings.

    Parameters
    ----------
    error : ValidationError
        What pydantic found.

    Returns
    -------
    str
        Such as ``"`n_folds` must be a valid integer, got 'many'"``, without a full stop.
    """
    first = error.errors(include_url=False)[0]
    rule = first["msg"].removeprefix("Value error, ").replace(" after validation", "")
    rule = rule.replace("Input should", "must").replace("Value should", "must").removesuffix(".")
    if not first["loc"]:
        return rule
    if first["type"].endswith(("_parsing", "_from_float")):
        # Why a value is no number can be seen from the value.
        rule = rule.partition(",")[0].replace("a valid boolean", "true or false")
    given = repr(first["input"])
    place = ".".join(map(str, first["loc"]))
    value = f", got {given}" if len(given) <= MAX_QUOTED else ""
    colon = "" if rule.startswith("must ") else ":"
    return f"`{place}`{colon} {rule}{value}"


def read_none(values: Mapping[str, Any], types: Mapping[str, Any]) -> dict[str, Any]:
    """Take the word for None, which TOML and a command line cannot say, where None is allowed.

    Parameters
    ----------
    values : mapping of str to object
        Values by name.
    types : mapping of str to type
        Types by name.

    Returns
    -------
    dict of str to object
        The values.
    """
    return {
        name: None if value == NONE_IN_WORDS and type(None) in get_args(types.get(name)) else value
        for name, value in values.items()
    }


def split_commas(value: Any) -> Any:
    """Read text with commas as a list, and one number as a list of one.

    Parameters
    ----------
    value : object
        Text, a number, or anything else.

    Returns
    -------
    object
        The parts of the text, or the number, in a list; anything else as it is.
    """
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return [value] if isinstance(value, int | float) else value


def _read_pair(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """Read two numbers, also as text with a comma, and say so if they are anything else."""
    try:
        return read(split_commas(value))
    except ValidationError:
        raise ValueError("must be two numbers with a comma between") from None


Pair: TypeAlias = Annotated[tuple[float, float], WrapValidator(_read_pair)]
"""Two numbers, as a list or as text with a comma."""
