"""Mapping files: which recordings, subjects and classes, and how they are preprocessed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from cadda._internal.text import describe_error, python_place, short_reason
from cadda.data.io.preprocess import Preprocessing
from cadda.data.io.raw_files import find_recordings
from cadda.exceptions import DataError

__all__ = ["RecordingMapping", "mapped_files", "match_class", "read_mapping"]

_PREPROCESSING = tuple(field.name for field in fields(Preprocessing))


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Names = Annotated[list[str], Field(min_length=1), BeforeValidator(_as_list)]


class RecordingMapping(BaseModel):
    """The content of a mapping file beside the preprocessing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    classes: Annotated[dict[str, str], Field(min_length=1)]  # of texts; * stands for any text
    subject: str | None = None  # regular expression for file names; its first group is the subject
    class_from: Annotated[str, Field(pattern="^(annotations|file|participants:.+)$")] = (
        "annotations"
    )
    within: Names | None = None  # annotations to cut from, if the class is not theirs
    repeat: bool = False  # fill an annotation with windows, instead of one at its onset
    files: Names | None = None  # None: all recordings below the folder of the mapping file
    channels: Names | None = None  # None: the good EEG channels
    participants: str = "participants.tsv"


def read_mapping(path: Path) -> tuple[RecordingMapping, Preprocessing]:
    """Read a mapping file; raise `DataError` that names the key."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot read {path}: {short_reason(error)}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not valid TOML: {error}.") from error
    own = {name: value for name, value in content.items() if name not in _PREPROCESSING}
    settings = {name: value for name, value in content.items() if name in _PREPROCESSING}
    try:
        mapping = RecordingMapping.model_validate(own)
    except ValidationError as error:
        known = [*RecordingMapping.model_fields, *_PREPROCESSING]
        text = describe_error(
            error, noun="known key", known=known, place=lambda at: f"key {python_place(at)}"
        )
        raise DataError(f"{path}: {text}.") from error
    if "seconds" not in settings:
        raise DataError(f"{path}: key `seconds` is missing.")
    try:
        # TOML has no value for None.
        given: dict[str, Any] = {
            name: None if value is False else value for name, value in settings.items()
        }
        return mapping, Preprocessing(**given)
    except ValueError as error:
        raise DataError(f"{path}: key {error}") from error


def mapped_files(path: Path, patterns: Sequence[str] | None) -> list[Path]:
    """Return the recordings that a mapping file is about."""
    if patterns is not None:
        return sorted({file for pattern in patterns for file in _matches(path, pattern)})
    found = find_recordings(path.parent)
    if not found:
        raise DataError(f"{path.parent} has no recording; name some by the key `files` of {path}.")
    return found


def match_class(text: str, classes: dict[str, str]) -> str | None:
    """Return the class of a text: of the same text, or else of the first pattern that matches."""
    if text in classes:
        return classes[text]
    for pattern, name in classes.items():
        parts = map(re.escape, pattern.split("*"))
        if "*" in pattern and re.fullmatch(".*".join(parts), text, re.DOTALL):
            return name
    return None


def _matches(path: Path, text: str) -> list[Path]:
    pattern = Path(text)
    root = Path(pattern.anchor) if pattern.is_absolute() else path.parent
    inside = str(pattern.relative_to(pattern.anchor)) if pattern.is_absolute() else text
    files = [file for file in root.glob(inside) if file.is_file() or file.suffix == ".mff"]
    if not files:
        raise DataError(f"{path}: key `files` must match a file, got {text!r}.")
    return files
