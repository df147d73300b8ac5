"""Windows of any source, with their quality and what was done to them."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from cadda._internal.rows import Signals, take
from cadda._internal.scale import describe_odd_scale
from cadda._internal.text import describe_paths
from cadda.data.checks import CHUNK
from cadda.data.io.cutting import ReadPlan
from cadda.data.io.epochs import (
    epochs_are_stages,
    epochs_notes,
    epochs_preprocessing,
    epochs_to_windows,
)
from cadda.data.io.npz import arrays_to_windows, load_npz
from cadda.data.io.options import ReadOptions, Selection, argument_of, select
from cadda.data.io.preprocess import (
    Preprocessing,
    describe_defaults,
    describe_preprocessing,
)
from cadda.data.io.recordings import read_recordings
from cadda.data.io.sources import expand_paths, open_sources
from cadda.data.io.tasks import Task, guess_task, highpass_notes, slow_power_notes
from cadda.data.quality import Quality, first_of, quality_of_kept
from cadda.data.windows import Windows
from cadda.exceptions import DataError

__all__ = ["ReadResult", "read_with_quality", "source_name"]

_logger = logging.getLogger(__name__)

MAX_RARE, MIN_PER_CLASS = 10, 3
"""Classes that may be rare, and windows of a class, on average, if there are more."""


@dataclass(frozen=True, eq=False)
class ReadResult:
    """Windows without bad windows, the quality of all windows, and what was done to them."""

    windows: Windows
    quality: Quality
    preprocessing: Preprocessing | None = None  # None: none
    notes: tuple[str, ...] = ()
    defaults: str = describe_preprocessing(None)  # what is done without options
    from_stages: bool = False  # whether the classes are sleep stages, perhaps merged
    has_odd_scale: bool = False  # whether a note says that signals must be standardised
    label: str | None = None  # column of the metadata that names the classes

    def describe_values(self) -> str | None:
        """Return why the classes are rather the values of a measurement, or None."""
        n_windows, n_classes = len(self.windows), len(self.windows.class_names)
        if self.label is None or n_classes <= MAX_RARE or n_windows >= MIN_PER_CLASS * n_classes:
            return None
        return (
            f"the column {self.label!r} has {n_classes} different values in {n_windows} windows, "
            "so they are hardly classes; name another column with `label`, or a column of a few "
            "groups of these values"
        )

    @property
    def task(self) -> Task:
        """The task that is assumed, by the names of the classes."""
        return guess_task(self.windows.class_names, from_stages=self.from_stages)


def read_with_quality(source: Any, options: ReadOptions) -> ReadResult:
    """Read windows as `read_windows` does, without bad windows, with their quality."""
    result = _read(source, options)
    windows, quality = result.windows, result.quality
    _warn_of_similar_classes(windows.class_names)
    _warn_of_similar_subjects(windows.subjects)
    counts = zip(windows.class_names, windows.class_counts(), strict=True)
    empty = [name for name, count in counts if not count]
    if (quality.n_bad or quality.n_rejected) and empty and options.min_windows != 0:
        reason = "is rejected, or " if quality.n_rejected else ""
        raise DataError(
            f"{source_name(source)}: every window of {', '.join(map(repr, empty))} {reason}has "
            "NaN or a flat channel; select other classes with `classes`."
        )
    return result


def _warn_of_similar_classes(class_names: Sequence[str]) -> None:
    """Warn of classes that are probably one."""
    for same, name in _similar(class_names, lambda name: " ".join(name.split()).casefold()):
        _logger.warning(
            "Classes %r and %r differ in capital letters or spaces only; if they are one, "
            "join them with `class_map`.",
            *(same, name),
        )


def _warn_of_similar_subjects(subjects: Sequence[str]) -> None:
    """Warn of subjects that are probably the same person."""
    similar = _similar(subjects, _plain_subject)
    if similar:
        _logger.warning(
            "Subjects %s differ in capital letters, spaces or leading zeros only: if they are the "
            "same people, these may be both in training and in testing; write each in one way.",
            first_of([f"{same!r} and {name!r}" for same, name in similar]),
        )


def _similar(names: Sequence[str], plain: Callable[[str], str]) -> list[tuple[str, str]]:
    """Return names that are the same in a plain form, each with the first of them."""
    first: dict[str, str] = {}
    pairs = [(first.setdefault(plain(name), name), name) for name in names]
    return [(same, name) for same, name in pairs if same != name]


def _plain_subject(name: str) -> str:
    """Return a subject without capital letters, spaces, leading zeros and the end of 1.0."""
    joined = re.sub(r"^(\d+)\.0$", r"\1", "".join(name.split()).casefold())
    return re.sub(r"(?<![\d.])0+(?=\d)", "", joined)


def _read(source: Any, options: ReadOptions) -> ReadResult:
    if isinstance(source, Windows | Mapping):
        where = "windows" if isinstance(source, Windows) else "arrays"
        return _read_arrays(source, options, where)
    listed = list(source) if isinstance(source, list | tuple) else [source]
    sources = [
        item
        for element in listed
        for item in (
            expand_paths(Path(element)) if isinstance(element, str | os.PathLike) else [element]
        )
    ]
    path = sources[0] if len(sources) == 1 else None
    if isinstance(path, Path) and path.suffix.casefold() == ".npz":
        return _read_arrays(load_npz(path), options, str(path))
    opened, options = open_sources(sources, options)
    if isinstance(opened, ReadPlan):
        windows, quality = read_recordings(opened, options)
        windows.filters = opened.preprocessing.filters
        result = ReadResult(
            windows,
            quality,
            opened.preprocessing,
            opened.notes,
            "with those of the mapping file, " * bool(opened.given)
            + describe_defaults(opened.default, opened.default_length),
            opened.from_stages,
        )
        return _with_highpass_notes(result, opened.preprocessing.highpass or 0.0)
    windows, quality, notes = epochs_to_windows(opened, options)
    preprocessing = epochs_preprocessing(options)
    windows.filters = (preprocessing or Preprocessing(lowpass=None)).filters
    highpass = min(float(epochs.info["highpass"]) for _, epochs in opened)
    if preprocessing is not None:
        highpass = max(highpass, preprocessing.highpass or 0.0)
    result = ReadResult(
        windows,
        quality,
        preprocessing,
        (*epochs_notes(opened, options), *notes),
        describe_preprocessing(options.preprocessing),
        from_stages=epochs_are_stages(opened, options),
        label=options.label,
    )
    return _with_highpass_notes(result, highpass)


def _with_highpass_notes(result: ReadResult, highpass: float) -> ReadResult:
    """Add what is to be known of slow activity; `highpass` is that of the signals in Hz."""
    return replace(result, notes=(*result.notes, *highpass_notes(result.task, highpass)))


def source_name(source: Any) -> str:
    """Return the name of a source, for messages."""
    if isinstance(source, list | tuple) and source:
        if not all(isinstance(item, str | os.PathLike) for item in source):
            return type(source[0]).__name__
        return describe_paths([Path(item) for item in source])
    return str(source) if isinstance(source, str | os.PathLike) else type(source).__name__


def _read_arrays(
    source: Windows | Mapping[str, Any], options: ReadOptions, where: str
) -> ReadResult:
    if options.subject is not None and options.subject_rule is None:
        raise ValueError(
            "`subject` must be None for arrays and windows, which have the subject of each "
            "window, got a list."
        )
    options.refuse_rules("is for recordings, not for arrays; use `class_map`")
    if "sfreq" in options.settings:
        raise ValueError(
            "`sfreq` is to resample recordings and epochs, not for arrays; if the sampling rate "
            "of arrays is missing, save them again with cadda.Windows(..., sfreq=...).save(path)."
        )
    for setting in options.settings:
        raise ValueError(
            f"`{argument_of(setting)}` is for recordings and epochs, not for arrays; use "
            "`Windows.to_epochs` to preprocess windows."
        )
    if isinstance(source, Windows):
        windows, quality = _read_existing(source, options, where)
        odd = describe_odd_scale(windows.signals)
        notes = () if odd is None else (odd,)
        result = ReadResult(windows, quality, notes=notes, has_odd_scale=odd is not None)
    else:
        result = ReadResult(*arrays_to_windows(source, options, where))
    windows = result.windows
    slow = slow_power_notes(result.task, windows.signals, windows.sfreq)
    return replace(result, notes=(*result.notes, *slow))


def _read_existing(windows: Windows, options: ReadOptions, where: str) -> tuple[Windows, Quality]:
    """Select from existing windows; without options, return them unchanged."""
    selecting = (options.channels, options.classes, options.class_map, options.min_windows)
    if any(option is not None for option in selecting):
        selection = select(windows, options, where)
        windows = selection.take(windows, _select_signals(windows, selection))
    quality = quality_of_kept(windows.signals)
    how = options.standardise_windows
    return (windows if how is None else windows.standardised(how)), quality


def _select_signals(windows: Windows, selection: Selection) -> Signals:
    """Return the selected windows, without a copy if they are in a file and have all channels."""
    kept = torch.from_numpy(selection.kept)
    if selection.rows == list(range(windows.n_channels)):
        return take(windows.signals, kept)
    parts = torch.split(kept, CHUNK)
    return torch.cat([windows.signals[part][:, selection.rows] for part in parts])
