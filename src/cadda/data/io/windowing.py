"""Which windows recordings have: by annotations, by file names, or by a table of participants."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cadda._internal.text import quote
from cadda.data.io.header import Header
from cadda.data.io.hypnogram import Annotation, count_windows
from cadda.data.io.losses import warn_of_loss
from cadda.data.io.lost_events import warn_of_events_without_onset, warn_of_outside
from cadda.data.io.mapping import RecordingMapping, match_class
from cadda.data.io.naming import Inspected
from cadda.data.io.participants import ParticipantColumn
from cadda.data.io.preprocess import Preprocessing
from cadda.exceptions import DataError

__all__ = ["MAX_LISTED", "Labelled", "Rules", "label_windows", "warn_about_short"]

_logger = logging.getLogger(__name__)

Labelled: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Starts of windows in seconds, and their labels."""

MAX_LISTED = 20
"""Annotations that a message lists."""

MIN_SHARE = 0.75
"""Part of the usual duration below which the shortest annotation is an exception."""

_BAD = re.compile("(comment/)?bad", re.IGNORECASE)
"""How annotations of bad parts begin, with the prefix that they have in BrainVision's format."""

_TOLERANCE = 1e-3
"""Rounding of times in files, in seconds."""


@dataclass(frozen=True)
class Rules:
    """How recordings become windows."""

    where: str  # the mapping file or the recordings, in messages
    mapping: RecordingMapping
    preprocessing: Preprocessing
    folder: Path = Path()  # of the mapping file
    in_file: bool = False  # whether there is a mapping file
    given: frozenset[str] = frozenset()  # keys that are arguments, whatever the file says

    def is_key(self, name: str) -> bool:
        """Check whether a key is that of the mapping file, and not an argument."""
        return self.in_file and name not in self.given

    def key(self, name: str) -> str:
        """Return a key of the mapping file in messages, or an argument."""
        if self.is_key(name):
            return f"{self.where}: key `{name}`"
        return "`class_map`" if name == "classes" else f"`{name}`"

    def short_key(self, name: str) -> str:
        """Return a key in messages that name the mapping file already, or an argument."""
        return f"the key `{name}`" if self.is_key(name) else self.key(name)

    @property
    def seconds_key(self) -> str:
        """The length of a window in messages."""
        return "the key `seconds`" if self.is_key("seconds") else "`window_seconds`"

    @property
    def column(self) -> ParticipantColumn | None:
        """Column of the table of participants, if that names the classes."""
        source, _, column = self.mapping.class_from.partition(":")
        if source != "participants":
            return None
        table = self.folder / self.mapping.participants
        return ParticipantColumn(table, column, self.mapping.subject, self.key("subject"))

    def with_class(self, inspected: Sequence[Inspected]) -> list[Inspected]:
        """Return recordings without those whose participant has no value in the column."""
        column = self.column
        if column is None:
            return list(inspected)
        return column.drop_missing(inspected, self.mapping.classes)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the mapping."""
        return tuple(dict.fromkeys(self.mapping.classes.values()))


def label_windows(inspected: Sequence[Inspected], rules: Rules) -> list[Labelled]:
    """Return the windows of all recordings; raise if there are none."""
    segments = [_segments(header, notes, rules) for header, notes in inspected]
    planned = [
        _windows(found, header.seconds, rules)
        for (header, _), found in zip(inspected, segments, strict=True)
    ]
    labelled = [windows for windows, _ in planned]
    if not sum(len(starts) for starts, _ in labelled):
        raise DataError(f"{rules.where}: {_why_no_windows(inspected, segments, rules)}.")
    _warn_about_absent_annotations(inspected, rules)
    if rules.mapping.class_from == "annotations" or rules.mapping.within is not None:
        counts = [(lost, lost + len(starts)) for (starts, _), lost in planned]
        has_baseline = rules.preprocessing.baseline is not None
        warn_of_outside(inspected, counts, rules.where, has_baseline=has_baseline)
        warn_of_events_without_onset(inspected, rules.where)
    labelled = _without_bad_parts(inspected, labelled, rules)
    _warn_about_two_labels(inspected, labelled, rules)
    _warn_about_overlaps([starts for starts, _ in labelled], rules)
    return labelled


def warn_about_short(shortest: Annotation, notes: Sequence[Annotation], where: str) -> None:
    """Warn if one annotation, as at the end of a recording, makes all windows short."""
    usual = float(np.median([note.duration for note in notes]))
    if shortest.duration < MIN_SHARE * usual:
        _logger.warning(
            "%s: windows have %g s, as long as the shortest annotation, %s; half of them have %g "
            "s or more: set `window_seconds` to use more.",
            where,
            shortest.duration,
            quote(shortest.text),
            usual,
        )


def _segments(
    header: Header, notes: Sequence[Annotation], rules: Rules
) -> list[tuple[Annotation, int]]:
    """Return the parts of a recording that have a class, and their labels."""
    mapping, class_names = rules.mapping, rules.class_names
    if mapping.class_from == "annotations":
        names = [match_class(note.text, mapping.classes) for note in notes]
    else:
        name = match_class(_class_text(header, rules), mapping.classes)
        if mapping.within is None:
            notes = [Annotation(0.0, header.seconds, "")]
        else:
            inside = dict.fromkeys(mapping.within, "")
            notes = [note for note in notes if match_class(note.text, inside) is not None]
        names = [name] * len(notes)
    pairs = zip(notes, names, strict=True)
    return [(note, class_names.index(name)) for note, name in pairs if name is not None]


def _class_text(header: Header, rules: Rules) -> str:
    """Return what names the class of a whole recording."""
    column = rules.column
    return header.path.name if column is None else column.values_of([header])[0]


def _windows(
    segments: Sequence[tuple[Annotation, int]], recorded: float, rules: Rules
) -> tuple[Labelled, int]:
    """Return starts in seconds and labels of the windows, in the order of time.

    The recording has `recorded` seconds. Return how many windows are not within it as well.
    """
    settings, mapping = rules.preprocessing, rules.mapping
    fills = mapping.repeat or (mapping.class_from != "annotations" and mapping.within is None)
    windows: list[tuple[float, int]] = []
    for annotation, label in segments:
        room = annotation.duration - settings.offset + _TOLERANCE
        count = count_windows(room / settings.seconds, rules.where) if fills else 1
        first = annotation.onset + settings.offset
        windows += [(first + k * settings.seconds, label) for k in range(count)]
    before, after = settings.extent()
    earliest, latest = -before - _TOLERANCE, recorded - after + _TOLERANCE
    inside = sorted(window for window in windows if earliest <= window[0] <= latest)
    starts = np.array([start for start, _ in inside])
    labels = np.array([label for _, label in inside], dtype=np.int64)
    n_outside = len(windows) - len(inside)
    return (np.clip(starts, 0, max(recorded - settings.seconds, 0)), labels), n_outside


def _without_bad_parts(
    inspected: Sequence[Inspected], labelled: Sequence[Labelled], rules: Rules
) -> list[Labelled]:
    """Drop windows that overlap an annotation that begins with ``bad``, as MNE does."""
    kept, n_dropped = [], 0
    for (_, notes), (starts, labels) in zip(inspected, labelled, strict=True):
        bad = [note for note in notes if _BAD.match(note.text)]
        onsets = np.array([note.onset for note in bad])
        ends = onsets + np.array([note.duration for note in bad])
        overlap = (onsets < starts[:, None] + rules.preprocessing.seconds - _TOLERANCE) & (
            ends > starts[:, None] + _TOLERANCE
        )
        good = ~overlap.any(axis=1)
        n_dropped += int((~good).sum())
        kept.append((starts[good], labels[good]))
    if n_dropped:
        warn_of_loss(
            f"{rules.where}: {n_dropped} windows overlap an annotation that begins with 'bad' and "
            "are dropped."
        )
    return kept


def _why_no_windows(
    inspected: Sequence[Inspected],
    segments: Sequence[Sequence[tuple[Annotation, int]]],
    rules: Rules,
) -> str:
    mapping = rules.mapping
    first, notes = next((pair for pair in inspected if pair[1]), inspected[0])
    if not any(segments):
        own = f"{first.path.name} has {sorted({note.text for note in notes})[:10]}"
        if mapping.class_from == "annotations":
            return f"no file has one of the annotations {list(mapping.classes)}; {own}"
        texts = [_class_text(header, rules) for header, _ in inspected]
        if mapping.within is None or not any(match_class(t, mapping.classes) for t in texts):
            return f"no recording has one of the classes {list(mapping.classes)}"
        return (
            f"no recording of a class has one of the annotations {mapping.within} of "
            f"{rules.short_key('within')}; {own}"
        )
    longest = max(header.seconds for header, _ in inspected)
    return (
        f"no window of {rules.seconds_key}, {rules.preprocessing.seconds:g} s, fits into its "
        f"recording{' and its annotation' if mapping.repeat else ''}; the longest recording has "
        f"{longest:g} s"
    )


def _warn_about_absent_annotations(inspected: Sequence[Inspected], rules: Rules) -> None:
    """Warn about annotations, or values of a table, that no file has, which may be misspelt."""
    what = "annotation"
    present = {note.text for _, notes in inspected for note in notes}
    if rules.mapping.class_from != "annotations":
        what = "value" if rules.column is not None else "name"
        present = {_class_text(header, rules) for header, _ in inspected}
    classes = rules.mapping.classes
    absent = [
        text
        for text, name in classes.items()
        if not any(match_class(own, {text: name}) for own in present)
    ]
    if absent:
        _logger.warning(
            "%s: no file has the %s%s %s of %s; there are %s.",
            rules.where,
            what,
            "s" if absent[1:] else "",
            ", ".join(map(repr, absent)),
            rules.short_key("classes"),
            ", ".join(map(repr, sorted(present)[:MAX_LISTED])),
        )


def _warn_about_two_labels(
    inspected: Sequence[Inspected], labelled: Sequence[Labelled], rules: Rules
) -> None:
    """Warn about windows of several classes that begin at the same time, and so are the same."""
    n_windows, first = 0, ""
    for (header, _), (starts, labels) in zip(inspected, labelled, strict=True):
        same = (np.diff(starts) < _TOLERANCE) & (np.diff(labels) != 0)
        n_windows += int(same.sum())
        if same.any() and not first:
            i = int(same.argmax())
            names = (repr(rules.class_names[label]) for label in labels[i : i + 2])
            first = f"{' and '.join(names)} at {starts[i]:g} s of {header.name}"
    if n_windows:
        _logger.warning(
            "%s: the same signal has two labels %d times, as annotations of different classes "
            "begin at the same time, such as %s; select one of them with `classes` or "
            "`class_map`.",
            *(rules.where, n_windows, first),
        )


def _warn_about_overlaps(starts_of_all: Sequence[NDArray[np.float64]], rules: Rules) -> None:
    """Warn about windows that share signal with another, which is rarely intended."""
    seconds = rules.preprocessing.seconds
    n_overlapping = n_windows = 0
    for starts in starts_of_all:
        touches_next = np.diff(starts) < seconds - _TOLERANCE
        overlaps = np.zeros(len(starts), dtype=bool)
        overlaps[:-1] |= touches_next
        overlaps[1:] |= touches_next
        n_overlapping += int(overlaps.sum())
        n_windows += len(overlaps)
    if n_overlapping:
        _logger.warning(
            "%s: %d of %d windows overlap, as their annotations are less than %s, %g s, apart; "
            "choose shorter windows if that is not intended.",
            rules.where,
            n_overlapping,
            n_windows,
            rules.seconds_key,
            seconds,
        )
