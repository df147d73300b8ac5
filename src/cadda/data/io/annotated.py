"""Any EDF files with annotations; a mapping file assigns annotations to classes."""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from cadda._internal.text import describe_error, python_place, short_reason
from cadda.data.channels import electrodes, find_channels
from cadda.data.io.edf import EdfHeader, read_annotations, read_edf_header
from cadda.data.io.hypnogram import Annotation
from cadda.data.io.preprocess import Preprocessing, ReadPlan, Recording
from cadda.exceptions import DataError

__all__ = ["EdfMapping", "plan_annotated"]

_logger = logging.getLogger(__name__)

MAX_LISTED = 20
"""Annotations that a message lists."""

_TOLERANCE = 1e-3
"""Rounding of times in files, in seconds."""


def _check_lowpass(value: Any) -> Any:
    # In Python, True is a number.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not False and not (is_number and value > 0):
        raise ValueError("must be a number above 0, or false")
    return value


class EdfMapping(BaseModel):
    """The content of a mapping file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    classes: Annotated[dict[str, str], Field(min_length=1)]  # of annotation texts
    subject: str  # regular expression for file names whose first group is the subject
    seconds: Annotated[float, Field(gt=0)]
    offset: float = 0.0  # of a window after its annotation, in seconds
    repeat: bool = False  # fill an annotation with windows, instead of one at its onset
    files: str | Annotated[list[str], Field(min_length=1)] = "**/*.[eE][dD][fF]"
    channels: list[str] | None = None  # None: all that have a 10-20 name
    lowpass: Annotated[float | Literal[False], BeforeValidator(_check_lowpass)] = 30.0
    transition: Annotated[float, Field(gt=0)] = 7.0
    sfreq: Annotated[float, Field(gt=0)] | None = None


def plan_annotated(path: Path, channels: Sequence[str] | None = None) -> ReadPlan:
    """Plan the reading of EDF files by a mapping file."""
    mapping = _read_mapping(path)
    headers = [read_edf_header(file) for file in _files(path, mapping)]
    wanted = list(channels or mapping.channels or _placed_channels(headers[0]))
    class_names = tuple(dict.fromkeys(mapping.classes.values()))
    given_as = "`channels`" if channels else _key(path, "channels")
    recordings: list[Recording] = []
    texts: list[set[str]] = []
    for header in headers:
        annotations = read_annotations(header)
        texts.append({annotation.text for annotation in annotations})
        starts, labels = _windows(annotations, header.seconds, mapping, class_names)
        picks = find_channels(wanted, header.labels, header.path.name, given_as=given_as)
        subject = _subject(path, mapping.subject, header.path.name)
        recordings.append(
            Recording(
                header.path,
                picks,
                header.sfreq_of(picks),
                starts,
                labels,
                subject,
                header.path.stem,
            )
        )
    if not sum(len(recording.starts) for recording in recordings):
        raise DataError(f"{path}: {_why_no_windows(headers, texts, mapping)}.")
    _warn_about_absent_annotations(path, mapping, set().union(*texts))
    _warn_about_overlaps(path, recordings, mapping.seconds)
    preprocessing = Preprocessing(
        lowpass=mapping.lowpass or None,
        transition=mapping.transition,
        sfreq=mapping.sfreq,
        seconds=mapping.seconds,
    )
    return ReadPlan(recordings, tuple(wanted), class_names, preprocessing)


def _read_mapping(path: Path) -> EdfMapping:
    try:
        return EdfMapping.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise DataError(f"cannot read {path}: {short_reason(error)}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not valid TOML: {error}.") from error
    except ValidationError as error:
        known = list(EdfMapping.model_fields)
        text = describe_error(
            error, noun="known key", known=known, place=lambda at: f"key {python_place(at)}"
        )
        raise DataError(f"{path}: {text}.") from error


def _key(path: Path, name: str) -> str:
    """Return the name of a key in messages: not one of an argument."""
    return f"{path}: key `{name}`"


def _files(path: Path, mapping: EdfMapping) -> list[Path]:
    patterns = [mapping.files] if isinstance(mapping.files, str) else mapping.files
    return sorted({file for pattern in patterns for file in _matches(path, pattern)})


def _matches(path: Path, text: str) -> list[Path]:
    pattern = Path(text)
    root = Path(pattern.anchor) if pattern.is_absolute() else path.parent
    inside = str(pattern.relative_to(pattern.anchor)) if pattern.is_absolute() else text
    files = [file for file in root.glob(inside) if file.is_file()]
    if not files:
        raise DataError(f"{_key(path, 'files')} must match a file, got {text!r}.")
    return files


def _placed_channels(header: EdfHeader) -> list[str]:
    placed = [name for name in header.labels if electrodes(name)]
    if not placed:
        raise DataError(
            f"{header.path.name} has no channel with a name of the 10-20 system, but "
            f"{', '.join(map(repr, header.labels[:20])) or 'no signals'}; set `channels`."
        )
    return placed


def _why_no_windows(
    headers: Sequence[EdfHeader], texts: Sequence[set[str]], mapping: EdfMapping
) -> str:
    if not any(mapping.classes.keys() & present for present in texts):
        return (
            f"no file has one of the annotations {list(mapping.classes)}; "
            f"{headers[0].path.name} has {sorted(texts[0])[:10]}"
        )
    longest = max(header.seconds for header in headers)
    return (
        f"no window of the key `seconds`, {mapping.seconds:g} s, fits into its recording"
        f"{' and its annotation' if mapping.repeat else ''}; the longest recording has "
        f"{longest:g} s"
    )


def _subject(path: Path, pattern: str, name: str) -> str:
    """Return the subject of a file, by its name."""
    key = _key(path, "subject")
    try:
        match = re.search(pattern, name)
        subject = match[1] if match else None
    except (re.error, IndexError) as error:
        raise DataError(
            f"{key} must be a regular expression with a group, got {pattern!r}."
        ) from error
    if not subject:
        raise DataError(
            f"{key} must match the names of all files, but {pattern!r} does not match {name}."
        )
    return subject


def _windows(
    annotations: Sequence[Annotation],
    recorded: float,
    mapping: EdfMapping,
    class_names: tuple[str, ...],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return starts in seconds and labels of the windows, in the order of time.

    The recording has `recorded` seconds.
    """
    windows: list[tuple[float, int]] = []
    for annotation in annotations:
        if annotation.text not in mapping.classes:
            continue
        label = class_names.index(mapping.classes[annotation.text])
        room = annotation.duration - mapping.offset + _TOLERANCE
        count = int(room / mapping.seconds) if mapping.repeat else 1
        first = annotation.onset + mapping.offset
        windows += [(first + k * mapping.seconds, label) for k in range(count)]
    last = recorded - mapping.seconds
    inside = sorted(w for w in windows if -_TOLERANCE <= w[0] <= last + _TOLERANCE)
    starts = np.array([start for start, _ in inside])
    labels = np.array([label for _, label in inside], dtype=np.int64)
    return np.clip(starts, 0, max(last, 0)), labels


def _warn_about_absent_annotations(path: Path, mapping: EdfMapping, present: set[str]) -> None:
    """Warn about annotations that no file has, which may be misspelt."""
    absent = [text for text in mapping.classes if text not in present]
    if absent:
        _logger.warning(
            "%s: no file has the annotation%s %s of the key `classes`; there are %s.",
            path,
            "s" if absent[1:] else "",
            ", ".join(map(repr, absent)),
            ", ".join(map(repr, sorted(present)[:MAX_LISTED])),
        )


def _warn_about_overlaps(path: Path, recordings: Sequence[Recording], seconds: float) -> None:
    """Warn about windows that share signal with another, which is rarely intended."""
    n_overlapping = n_windows = 0
    for recording in recordings:
        touches_next = np.diff(recording.starts) < seconds - _TOLERANCE
        overlaps = np.zeros(len(recording.starts), dtype=bool)
        overlaps[:-1] |= touches_next
        overlaps[1:] |= touches_next
        n_overlapping += int(overlaps.sum())
        n_windows += len(overlaps)
    if n_overlapping:
        _logger.warning(
            "%s: %d of %d windows overlap, as their annotations are less than `seconds`, %g s, "
            "apart; choose shorter windows if that is not intended.",
            path,
            n_overlapping,
            n_windows,
            seconds,
        )
