"""Mapping files: which recordings, subjects and classes, and how they are preprocessed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from cadda._internal.limits import parse_toml, read_text
from cadda._internal.text import describe_error, python_place, short_reason
from cadda._internal.validation import check_class_name
from cadda.data.io.file_checks import MAX_FILES
from cadda.data.io.preprocess import Preprocessing
from cadda.data.io.raw_files import find_epochs, find_recordings
from cadda.exceptions import DataError

__all__ = [
    "RecordingMapping",
    "check_class_source",
    "find_mapping",
    "mapped_files",
    "match_class",
    "preprocessing_keys",
    "read_mapping",
]

MAX_PATTERN, MAX_REPEATS = 300, 4
"""Length of a regular expression, and how often it may repeat something."""

_PREPROCESSING = tuple(field.name for field in fields(Preprocessing))


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Names = Annotated[list[str], Field(min_length=1), BeforeValidator(_as_list)]


def _check_pattern(pattern: str) -> str:
    """Raise `ValueError` for a regular expression that could take for ever; return it."""
    plain = re.sub(r"\\.|\[\^?\]?[^\]]*\]", "x", pattern)
    n_repeats = len(re.findall(r"[*+{]", plain))
    if len(pattern) > MAX_PATTERN or n_repeats > MAX_REPEATS or re.search(r"\)[*+{]", plain):
        raise ValueError(
            f"must be a regular expression of at most {MAX_PATTERN} characters and {MAX_REPEATS} "
            "of * and +, none of them behind a group"
        )
    return pattern


def check_class_source(source: str) -> str:
    """Raise `ValueError` for what cannot name the class of a recording; return it."""
    if not re.fullmatch("annotations|file|(participants|metadata):.+", source):
        raise ValueError(
            "must be 'annotations', 'file', 'participants:COLUMN' or 'metadata:COLUMN'"
        )
    return source


ClassName = Annotated[str, AfterValidator(check_class_name)]
Pattern = Annotated[str, AfterValidator(_check_pattern)]


class RecordingMapping(BaseModel):
    """The content of a mapping file beside the preprocessing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    classes: Annotated[dict[str, ClassName], Field(min_length=1)]  # of texts, with *
    subject: Pattern | None = None  # for file names; its first group is the subject
    class_from: Annotated[str, AfterValidator(check_class_source)] = "annotations"
    within: Names | None = None  # annotations to cut from, if the class is not theirs
    repeat: bool = False  # fill an annotation with windows, instead of one at its onset
    files: Names | None = None  # None: all recordings below the folder of the mapping file
    channels: Names | None = None  # None: the good EEG channels
    participants: str = "participants.tsv"

    @property
    def label(self) -> str | None:
        """Column of the metadata that names the class, if the mapping is of epochs."""
        source, _, column = self.class_from.partition(":")
        return column if source == "metadata" else None


def find_mapping(folder: Path) -> Path | None:
    """Return the mapping file in a folder, or None; raise if there are several."""
    found = [path for path in sorted(folder.glob("*.toml")) if _may_be_mapping(path)]
    if len(found) > 1:
        raise DataError(
            f"{folder} has several mapping files, {[file.name for file in found]}; pass one of "
            "them instead of the folder."
        )
    return found[0] if found else None


def _may_be_mapping(path: Path) -> bool:
    """Check whether a file has a key of mapping files; files such as pyproject.toml have none."""
    try:
        content = parse_toml(read_text(path))
    except (OSError, ValueError):
        # `read_mapping` raises with the reason.
        return True
    return not {*RecordingMapping.model_fields, *_PREPROCESSING}.isdisjoint(content)


def read_mapping(path: Path) -> tuple[RecordingMapping, Preprocessing]:
    """Read a mapping file; raise `DataError` that names the key."""
    try:
        content = parse_toml(read_text(path))
    except OSError as error:
        raise DataError(f"cannot read {path}: {short_reason(error)}.") from error
    except ValueError as error:
        raise DataError(f"{path} is not valid TOML: {short_reason(error)}.") from error
    if "resample" in content and "sfreq" not in content:
        content["sfreq"] = content.pop("resample")
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
    # TOML has no value for None.
    given: dict[str, Any] = {
        name: None if value is False else value for name, value in settings.items()
    }
    if mapping.label is not None:
        _check_epochs_keys(path, content)
        given = {"lowpass": None} | given
    elif "seconds" not in settings:
        raise DataError(f"{path}: key `seconds` is missing.")
    try:
        return mapping, Preprocessing(**given)
    except ValueError as error:
        raise DataError(f"{path}: key {error}") from error


def preprocessing_keys(path: Path) -> frozenset[str]:
    """Return the keys of the preprocessing in a mapping file that can be read."""
    return frozenset(parse_toml(read_text(path))).intersection(_PREPROCESSING)


def _check_epochs_keys(path: Path, content: Iterable[str]) -> None:
    """Raise for keys that are about windows to cut."""
    for name in content:
        if name in ("seconds", "offset", "within", "repeat", "participants"):
            raise DataError(f"{path}: key `{name}` is for recordings; epochs are windows already.")


def mapped_files(path: Path, mapping: RecordingMapping) -> list[Path]:
    """Return the recordings, or the files of epochs, that a mapping file is about."""
    patterns, of_epochs = mapping.files, mapping.label is not None
    if patterns is not None:
        return sorted({file for pattern in patterns for file in _matching_files(path, pattern)})
    found = find_epochs(path.parent) if of_epochs else find_recordings(path.parent)
    if not found:
        noun = "file of epochs" if of_epochs else "recording"
        raise DataError(f"{path.parent} has no {noun}; name some by the key `files` of {path}.")
    return found


def match_class(text: str, classes: Mapping[str, str]) -> str | None:
    """Return the class of a text: of the same text, or else of the first pattern that matches."""
    if text in classes:
        return classes[text]
    return next((name for pattern, name in classes.items() if _matches(text, pattern)), None)


def _matches(text: str, pattern: str) -> bool:
    """Check whether a text matches a pattern with ``*``, in time linear in both."""
    first, *others = pattern.split("*")
    if not others or not text.startswith(first):
        return False
    *middle, last = others
    place = len(first)
    for part in middle:
        place = text.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return len(text) - len(last) >= place and text.endswith(last)


def _matching_files(path: Path, text: str) -> list[Path]:
    pattern = Path(text)
    root = Path(pattern.anchor) if pattern.is_absolute() else path.parent
    inside = str(pattern.relative_to(pattern.anchor)) if pattern.is_absolute() else text
    try:
        found = list(islice(root.glob(inside), MAX_FILES + 1))
    # Patterns that cannot be are reported in several ways.
    except (ValueError, NotImplementedError, IndexError, OSError) as error:
        raise DataError(
            f"{path}: key `files` must be a pattern of file names, got {text!r}: "
            f"{short_reason(error)}."
        ) from error
    if len(found) > MAX_FILES:
        raise DataError(
            f"{path}: key `files` must match at most {MAX_FILES} files, got {text!r}, which "
            "matches more."
        )
    files = [f for f in found if f.is_file() or f.suffix.casefold() in (".mff", ".mefd")]
    if not files:
        raise DataError(f"{path}: key `files` must match a file, got {text!r}.")
    return files
