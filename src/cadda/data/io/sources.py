"""Which reader gets a source: one path, several, a pattern, or objects of MNE."""

from __future__ import annotations

import glob
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cadda._internal.text import describe_paths, path_order, short_reason
from cadda.data.io.annotated import plan_mapping, plan_recordings
from cadda.data.io.cutting import ReadPlan
from cadda.data.io.defaults import with_default_filters
from cadda.data.io.epochs import open_epochs
from cadda.data.io.mapped_epochs import open_mapped_epochs
from cadda.data.io.mapping import find_mapping
from cadda.data.io.naming import Inspected, distinct_names, own_subject
from cadda.data.io.options import ReadOptions
from cadda.data.io.raw_files import (
    BY_HAND,
    find_epochs,
    find_recordings,
    inspect_raw,
    inspect_recording,
    is_readable,
    is_recording,
    open_raw,
)
from cadda.data.io.sleep_edf import has_nights, plan_sleep
from cadda.exceptions import DataError

__all__ = ["Epochs", "describe_sources", "expand_paths", "is_epochs", "is_raw", "open_sources"]

_logger = logging.getLogger(__name__)

Epochs = list[tuple[str, Any]]
"""Epochs with their names."""


def is_raw(source: Any) -> bool:
    """Check for a Raw object of MNE."""
    return hasattr(source, "annotations") and hasattr(source, "n_times")


def is_epochs(source: Any) -> bool:
    """Check for an Epochs object of MNE."""
    return hasattr(source, "event_id") and hasattr(source, "get_data")


def expand_paths(path: Path) -> list[Path]:
    """Return the files that a pattern with ``*`` matches, or the path itself."""
    path = path.expanduser()
    try:
        is_there = path.exists()
    except OSError as error:
        raise DataError(f"cannot read {path}: {short_reason(error)}.") from error
    if is_there:
        return [path]
    if not glob.has_magic(str(path)):
        raise DataError(f"{path} does not exist.")
    found = sorted(
        map(Path, glob.glob(str(path), recursive=True)),  # noqa: PTH207 (absolute too)
        key=path_order,
    )
    if not found:
        raise DataError(f"no file matches {path}.")
    return found


def describe_sources(paths: Sequence[Path]) -> str:
    """Return a path, or the number of files and their folder; patterns are expanded."""
    return describe_paths([file for path in paths for file in expand_paths(path)])


def open_sources(
    sources: Sequence[Any], options: ReadOptions
) -> tuple[ReadPlan | Epochs, ReadOptions]:
    """Return a plan for recordings, or epochs, of paths or objects of one kind.

    Paths are files, or folders of recordings. A mapping file of epochs has options, too.
    """
    if not sources:
        raise ValueError("`source` must have at least one element, got an empty list.")
    path = sources[0]
    if len(sources) > 1 or not isinstance(path, Path) or not _is_folder(path):
        return _with_options(_open_several(sources, options), options)
    mapping = path if path.is_file() else find_mapping(path)
    opened = None if mapping is None else open_mapped_epochs(mapping, options)
    return opened or _with_options(_open_folder(path, mapping, options), options)


def _with_options(
    opened: ReadPlan | Epochs, options: ReadOptions
) -> tuple[ReadPlan | Epochs, ReadOptions]:
    """Return what was opened with its options; raise for those that are not for epochs."""
    if isinstance(opened, ReadPlan):
        return with_default_filters(opened, options), options
    return opened, options.for_epochs()


def _is_folder(path: Path) -> bool:
    """Check for a mapping file, or a folder that is not a recording itself."""
    return path.suffix == ".toml" or (path.is_dir() and not is_recording(path))


def _open_several(sources: Sequence[Any], options: ReadOptions) -> ReadPlan | Epochs:
    if all(map(is_epochs, sources)):
        return _named("epochs", sources)
    if all(map(is_raw, sources)):
        return plan_recordings(_inspect_raws(sources, options), options, type(sources[0]).__name__)
    if not all(isinstance(source, Path) for source in sources):
        kinds = sorted({type(source).__name__ for source in sources})
        raise TypeError(
            "`source` must be a path, MNE epochs or Raw, Windows, a mapping of arrays, or a list "
            f"of paths, of epochs or of Raw, got {' and '.join(kinds)}."
        )
    return _open_files(sources, options)


def _named(kind: str, sources: Sequence[Any]) -> Epochs:
    """Return objects with names, numbered if there are several."""
    if len(sources) == 1:
        return [(kind, sources[0])]
    return [(f"{kind} {i}", source) for i, source in enumerate(sources, 1)]


def _inspect_raws(raws: Sequence[Any], options: ReadOptions) -> list[Inspected]:
    """Return recordings in memory, named by their files or numbered."""
    inspected = []
    given = options.subject_names(len(raws), "recordings")
    files = [next(iter(raw.filenames), None) for raw in raws]
    owners: dict[Any, set[str | None]] = {}
    for file, raw in zip(files, raws, strict=True):
        owners.setdefault(file, set()).add(own_subject(raw.info))
    for number, (raw, file, subject) in enumerate(zip(raws, files, given, strict=True), 1):
        path = Path(f"raw-{number}") if file is None else Path(file).absolute()
        header, annotations = inspect_raw(raw, path, in_memory=True)
        # What a file says about its subject is often a placeholder; its name is not.
        tells_nothing = file is None or len(owners[file]) > 1
        own = own_subject(raw.info) if tells_nothing else None
        inspected.append((replace(header, subject=subject or own), annotations))
    return inspected


def _inspect_files(files: Sequence[Path], options: ReadOptions) -> list[Inspected]:
    given = options.subject_names(len(files), "files")
    inspected = map(inspect_recording, files)
    return [
        (replace(header, subject=subject), annotations)
        for (header, annotations), subject in zip(inspected, given, strict=True)
    ]


def _open_folder(path: Path, mapping: Path | None, options: ReadOptions) -> ReadPlan | Epochs:
    if options.subject is not None and options.subject_rule is None:
        raise ValueError(
            f"`subject` must be a regular expression for {path}, got a list; list the files as "
            "well, or pass a pattern such as 'data/*.edf'."
        )
    if mapping is not None:
        if options.preprocessing is not None:
            raise ValueError(f"`preprocessing` must be None, as {mapping} defines it.")
        plan = plan_mapping(mapping, options)
        if mapping == path:
            return plan
        _logger.info("%s: classes are those of the mapping file %s.", path, mapping.name)
        note = f"classes and preprocessing are those of the mapping file {mapping.name}"
        return replace(plan, notes=(note, *plan.notes))
    if has_nights(path):
        return plan_sleep(path, options)
    if files := find_recordings(path):
        if any(map(_has_epochs, files)):
            return _open_files([*files, *find_epochs(path)], options)
        return plan_recordings(_inspect_files(files, options), options, str(path))
    if epochs := find_epochs(path):
        return _open_files(epochs, options)
    return plan_sleep(path, options)


def _open_files(paths: Sequence[Path], options: ReadOptions) -> ReadPlan | Epochs:
    files = [file for path in paths for file in _files_of(path)]
    unknown = [file for file in files if not is_recording(file) and not is_readable(file)]
    if unknown:
        raise DataError(_describe_unknown(unknown[0]))
    where = describe_paths(files)
    epoched = [_has_epochs(file) for file in files]
    if all(epoched):
        names = distinct_names(files)
        return [(name, open_epochs(file)) for name, file in zip(names, files, strict=True)]
    if any(epoched):
        names = distinct_names(files)
        raise DataError(
            f"`source` must be recordings or epochs, but {names[epoched.index(True)]} has epochs "
            f"and {names[epoched.index(False)]} does not; read them one after the other."
        )
    return plan_recordings(_inspect_files(files, options), options, where)


def _describe_unknown(path: Path) -> str:
    """Return why a file is not read, and what to pass instead."""
    suffix = path.suffix.casefold()
    if suffix in (".eeg", ".vmrk"):
        header = path.with_suffix(".vhdr")
        missing = "" if header.exists() else ", which is missing"
        return f"{path} is a part of a BrainVision recording; pass {header.name}{missing}."
    if suffix in BY_HAND:
        return (
            f"{path} is not read by its name only; open it with "
            f"mne.io.read_raw_{BY_HAND[suffix]}, and pass the Raw object, or save it as .fif."
        )
    if suffix == ".npz":
        return (
            f"{path} is among several sources, and only one .npz file can be read at a time; join "
            "their arrays with numpy.concatenate, and save them in one file (numpy.savez)."
        )
    if suffix == ".npy":
        return (
            f"{path} has a single array; save the arrays x, y and subject in one .npz file "
            "(numpy.savez), or pass them to cadda.Windows."
        )
    return (
        f"{path} must be an MNE epochs file (.fif, .fif.gz), a .npz file, a mapping file (.toml), "
        "a recording in a format that MNE reads, or a folder of recordings."
    )


def _files_of(path: Path) -> list[Path]:
    if not path.is_dir() or is_recording(path):
        return [path]
    found = find_recordings(path) or find_epochs(path)
    if not found:
        raise DataError(f"{path} has no recording and no file of epochs (*-epo.fif).")
    return found


def _has_epochs(path: Path) -> bool:
    """Check whether a file has epochs; in two formats that shows only when it is opened."""
    if not path.name.casefold().endswith((".fif", ".fif.gz", ".set")):
        return False
    if not is_recording(path):
        return True
    try:
        open_raw(path)
    except DataError:
        return True
    return False
