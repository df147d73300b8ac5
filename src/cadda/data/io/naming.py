"""Names of recordings and of their subjects."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from cadda._internal.text import storable
from cadda.data.io.header import Header
from cadda.data.io.hypnogram import Annotation
from cadda.exceptions import DataError

__all__ = ["Inspected", "distinct", "distinct_names", "own_subject", "subject_of"]

Inspected: TypeAlias = tuple[Header, list[Annotation]]

_logger = logging.getLogger(__name__)

SAME_LENGTH = 2.0
"""Seconds by which formats pad a recording, at most."""

_UNKNOWN = "X"
"""What EDF+ has for a subject that is not named."""


def own_subject(info: Any) -> str | None:
    """Return the subject that an object of MNE names, or None."""
    name = (info["subject_info"] or {}).get("his_id")
    return None if name in (None, "", _UNKNOWN) else str(name)


def distinct(inspected: Sequence[Inspected]) -> list[Inspected]:
    """Return recordings with different names; raise if one would count twice.

    Files that are parts of other recordings are left out. If files in different folders have the
    same name, recordings are named by their folders, too. Parts of one file that MNE has opened
    keep one name.
    """
    parts = {file for header, _ in inspected for file in header.files}
    kept = [(header, notes) for header, notes in inspected if header.path not in parts]
    headers = [header for header, _ in kept]
    _check_once(headers)
    _warn_of_formats(headers)
    names = {_named_path(header.path): header.file_name for header in headers}
    if len(set(names.values())) == len(names):
        return kept
    paths = [header.path for header in headers if header.has_file]
    folders = dict(zip(paths, _folders(paths), strict=True))
    return [(replace(header, folders=folders.get(header.path, ())), own) for header, own in kept]


def distinct_names(files: Sequence[Path]) -> list[str]:
    """Return the names of files, with their folders if some files have the same name."""
    names = [file.name for file in files]
    if len(set(names)) == len(names):
        return names
    folders = zip(_folders(files), names, strict=True)
    return ["/".join((*map(storable, own), name)) for own, name in folders]


def _check_once(headers: Sequence[Header]) -> None:
    """Raise for a recording that is given twice, under other names or in two formats."""
    by_files: dict[tuple[Path, ...], Path] = {}
    by_name: dict[Path, Path] = {}
    for header in headers:
        path = _named_path(header.path)
        # Two objects of one file may be different parts of it.
        if header.raw is None:
            _check_same_file(by_files.setdefault(_signal_files(header), path), path)
        other = by_name.setdefault(path.parent / header.file_name, path)
        if other != path:
            raise DataError(
                f"{other.name} and {path.name} in {path.parent} have the same name: a recording "
                "in two formats would count twice; select one format, as with the pattern "
                f"'*{path.suffix}'."
            )


def _warn_of_formats(headers: Sequence[Header]) -> None:
    """Warn of recordings in different folders that seem to be one in two formats."""
    first: dict[str, Header] = {}
    for header in headers:
        other = first.setdefault(header.file_name, header)
        is_as_long = abs(other.seconds - header.seconds) < SAME_LENGTH
        if is_as_long and other.path.suffix != header.path.suffix:
            _logger.warning(
                "%s and %s have the same name and length: if they are a recording in two formats, "
                "it counts twice; select one format, as with the pattern '*%s'.",
                *(other.path, header.path, header.path.suffix),
            )
            return


def _check_same_file(other: Path, path: Path) -> None:
    """Raise unless a path is the first of its file."""
    if other is path:
        return
    if other == path:
        raise DataError(f"{path} is given twice; list every recording once.")
    raise DataError(
        f"{other} and {path} are the same file, {path.resolve()}: a recording would "
        "count twice; list every recording once."
    )


def _signal_files(header: Header) -> tuple[Path, ...]:
    """Return the files that hold a recording, without links and tables beside it."""
    own = (file for file in header.files if file.suffix not in (".tsv", ".json"))
    # Headers with the same content can belong to different signals.
    return tuple(file.resolve() for file in (header.path, *own))


def _named_path(path: Path) -> Path:
    """Return a path without links to folders; a link to a file keeps its name.

    The files of data sets in git-annex are links whose targets are named by checksums.
    """
    return path.parent.resolve() / path.name


def _folders(paths: Sequence[Path]) -> list[tuple[str, ...]]:
    """Return the folders of files below the one that has all of them."""
    parents = [_named_path(path).parent for path in paths]
    root = Path(os.path.commonpath(parents))
    return [parent.relative_to(root).parts for parent in parents]


def subject_of(header: Header, pattern: str | None, key: str) -> str:
    """Return the subject of a recording: its own, by its file name, or by its first folder.

    The first group of ``pattern`` is the subject in what the recording says itself or in the name
    of the file, or else in the name of the recording, which can have folders; ``key`` names the
    pattern in messages.
    """
    name = storable(header.subject or header.path.name)
    if pattern is None:
        if header.subject is not None:
            return header.subject
        bids = re.match(r"sub-[^_.]+", name)
        return bids[0] if bids else storable((header.folders or (header.file_name,))[0])
    try:
        match = re.search(pattern, name) or re.search(pattern, header.name)
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
