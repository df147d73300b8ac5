"""Plans for recordings with annotations, with or without a mapping file."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path

import numpy as np

from cadda._internal.text import quote
from cadda._internal.validation import check_class_name
from cadda.data.channels import find_channels, has_channel
from cadda.data.io.bids import missing_description
from cadda.data.io.cutting import ReadPlan, Recording
from cadda.data.io.header import Header
from cadda.data.io.hypnogram import are_stages, hypnogram_windows, merge_note, stages
from cadda.data.io.mapping import RecordingMapping, mapped_files, read_mapping
from cadda.data.io.naming import Inspected, distinct, subject_of
from cadda.data.io.options import ReadOptions, check_classes
from cadda.data.io.preprocess import Preprocessing
from cadda.data.io.raw_files import inspect_recording, names_a_class
from cadda.data.io.windowing import (
    MAX_LISTED,
    Labelled,
    Rules,
    label_windows,
    warn_about_short,
)
from cadda.exceptions import DataError

__all__ = ["plan_mapping", "plan_recordings"]

_logger = logging.getLogger(__name__)

MIN_SECONDS = 0.2
"""Duration below which annotations are markers, and not the windows themselves."""


def plan_mapping(path: Path, options: ReadOptions) -> ReadPlan:
    """Plan the reading of recordings by a mapping file."""
    mapping, preprocessing = read_mapping(path)
    inspected = distinct([inspect_recording(file) for file in mapped_files(path, mapping)])
    if options.subject_rule is not None:
        mapping = mapping.model_copy(update={"subject": options.subject_rule})
    rules = Rules(str(path), mapping, options.preprocess(preprocessing), path.parent, in_file=True)
    return _plan(inspected, rules, options, label_windows(inspected, rules))


def plan_recordings(inspected: Sequence[Inspected], options: ReadOptions, where: str) -> ReadPlan:
    """Plan the reading of recordings without a mapping file: each annotation is a class."""
    inspected = distinct(inspected)
    notes = [note for _, annotations in inspected for note in annotations if names_a_class(note)]
    texts = sorted({note.text for note in notes})
    if not texts:
        raise DataError(
            f"{where} has no annotation or event that could be a class; {_way_out(inspected)}."
        )
    if are_stages(texts):
        return _plan_stages(inspected, options, where)
    names = list(dict.fromkeys(text.strip() for text in texts))
    selected = names if options.classes is None else check_classes(options.classes, names)
    # Without any class, the selection raises later.
    chosen = [text for text in texts if text.strip() in selected] or texts
    for text in chosen:
        _check_class(text, where)
    mapping = RecordingMapping(
        classes={text: text.strip() for text in chosen}, subject=options.subject_rule
    )
    shortest = min(
        (note for note in notes if note.text in mapping.classes), key=lambda note: note.duration
    )
    seconds = shortest.duration
    if options.given_seconds is None and seconds < MIN_SECONDS:
        reason = (
            f"the shortest annotation, {quote(shortest.text)}, has {seconds:g} s"
            if seconds > 0
            else "annotations have no duration"
        )
        raise DataError(
            f"{where}: `window_seconds` is missing, as {reason}; set it to the length of a window."
        )
    if options.given_seconds is None:
        warn_about_short(shortest, [n for n in notes if n.text in mapping.classes], where)
    default = Preprocessing(seconds=seconds or 1.0)
    rules = Rules(where, mapping, options.preprocess(default))
    return _plan(inspected, rules, options, label_windows(inspected, rules))


def _way_out(inspected: Sequence[Inspected]) -> str:
    """Return what to do about recordings without annotations."""
    missing = next(filter(None, (missing_description(h.path) for h, _ in inspected)), None)
    if missing is not None:
        return f"to read the events.tsv files of a BIDS data set, add {missing}"
    return (
        "pass a mapping file (TOML) that assigns classes, or the folder if the scoring is in "
        "other files"
    )


def _check_class(text: str, where: str) -> None:
    """Raise if the text of an annotation cannot be the name of a class."""
    try:
        check_class_name(text.strip())
    except ValueError as error:
        raise DataError(
            f"{where} has the annotation {quote(text)}, but {error}; name the classes in a "
            "mapping file (TOML), or select others with `classes`."
        ) from error


def _plan_stages(inspected: Sequence[Inspected], options: ReadOptions, where: str) -> ReadPlan:
    """Plan the reading of nights that have their sleep stages as annotations."""
    names = stages(keep_stage_4=options.keep_stage_4)
    mapping = RecordingMapping(
        classes={name: name for name in names}, subject=options.subject_rule
    )
    rules = Rules(where, mapping, options.preprocess(Preprocessing()))
    labelled = [
        hypnogram_windows(
            annotations,
            seconds=rules.preprocessing.seconds,
            total=header.seconds,
            where=header.path.name,
            keep_stage_4=options.keep_stage_4,
        )
        if any(map(names_a_class, annotations))
        else (np.zeros(0), np.zeros(0, dtype=np.int64))
        for header, annotations in inspected
    ]
    plan = _plan(inspected, rules, options, labelled)
    texts = [note.text for _, annotations in inspected for note in annotations]
    return replace(plan, notes=merge_note(texts, keep_stage_4=options.keep_stage_4))


def _plan(
    inspected: Sequence[Inspected],
    rules: Rules,
    options: ReadOptions,
    labelled: Sequence[Labelled],
) -> ReadPlan:
    inspected, labelled = _with_windows(inspected, rules, options, labelled)
    headers = [header for header, _ in inspected]
    chosen = options.channels or rules.mapping.channels
    wanted = headers[0].expand_types(chosen) if chosen else _common_eeg(headers)
    given_as = "`channels`" if options.channels else rules.key("channels")
    subjects = _subjects(headers, rules)
    recordings = []
    for header, (starts, labels), subject in zip(headers, labelled, subjects, strict=True):
        picks = find_channels(wanted, header.labels, header.path.name, given_as=given_as)
        reference = header.reference_channels(rules.preprocessing.reference)
        recording = Recording(
            header.path,
            picks,
            header.sfreq_of((*picks, *reference)),
            starts,
            labels,
            subject,
            header.name,
            reference,
            header.files,
            header.raw,
        )
        recordings.append(recording)
    _warn_about_bad_channels(headers, recordings)
    return ReadPlan(
        recordings,
        tuple(wanted),
        rules.class_names,
        rules.preprocessing,
        headers[0].positions_of(recordings[0].picks),
    )


def _with_windows(
    inspected: Sequence[Inspected],
    rules: Rules,
    options: ReadOptions,
    labelled: Sequence[Labelled],
) -> tuple[list[Inspected], list[Labelled]]:
    """Return the recordings with windows of the selected classes; warn of the others."""
    names = rules.class_names
    selected = [i for i, name in enumerate(names) if name in (options.classes or names)]
    has_windows = [bool(np.isin(labels, selected).any()) for _, labels in labelled]
    # Without any window, the classes are reported later.
    if not any(has_windows):
        return list(inspected), list(labelled)
    left_out = [
        header.path.name
        for (header, _), has in zip(inspected, has_windows, strict=True)
        if not has
    ]
    if left_out:
        _logger.warning(
            "%s: %d of %d recordings have no window of a class and are left out: %s.",
            rules.where,
            len(left_out),
            len(inspected),
            _listed(left_out),
        )
    return [*compress(inspected, has_windows)], [*compress(labelled, has_windows)]


def _common_eeg(headers: Sequence[Header]) -> list[str]:
    """Return the EEG channels of the first recording that are bad in none."""
    first = headers[0]
    if not first.eeg():
        raise DataError(
            f"{first.path.name} has no good EEG channel, or none with a name of the 10-20 "
            f"system, but {', '.join(map(repr, first.labels[:20])) or 'no signals'}; set "
            "`channels`."
        )
    shared = [name for name in first.eeg() if all(h.has(name) for h in headers)]
    _check_shared(shared, headers)
    bads = {name for header in headers for name in header.bads}
    good = [name for name in shared if name not in bads]
    if not good:
        raise DataError("every EEG channel is marked as bad in a recording; set `channels`.")
    left_out = sorted(bads.intersection(*({*header.labels} for header in headers)))
    if left_out and len(headers) > 1:
        _logger.warning(
            "Channels that are marked as bad in a recording are not used in any: %s.",
            _listed(left_out),
        )
    return good


def _check_shared(shared: Sequence[str], headers: Sequence[Header]) -> None:
    """Warn of channels that not all recordings have; raise if there are no others."""
    first = headers[0]
    if not shared:
        other = min(headers[1:], key=lambda h: sum(h.has(name) for name in first.eeg()))
        raise DataError(
            f"no EEG channel is in all recordings: {first.path.name} has "
            f"{_listed(first.eeg())}, {other.path.name} has {_listed(other.eeg())}; read "
            "them separately, or rename channels."
        )
    names = dict.fromkeys(name for header in headers for name in header.eeg())
    rest = [name for name in names if not any(has_channel(own, [name]) for own in shared)]
    lacking = {name: [h for h in headers if not h.has(name)] for name in rest}
    if lacking:
        # Of the channel that most recordings have.
        header = min(lacking.values(), key=len)[0]
        _logger.warning(
            "Recordings have different channels: %s has no %s; those that all have are used: %s.",
            header.path.name,
            _listed([name for name, own in lacking.items() if header in own]),
            _listed(shared),
        )


def _listed(names: Sequence[str]) -> str:
    more = ", …" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + more


def _subjects(headers: Sequence[Header], rules: Rules) -> list[str]:
    pattern = rules.mapping.subject
    subjects = [subject_of(header, pattern, rules.key("subject")) for header in headers]
    if pattern is not None:
        return subjects
    if any(name in header.folders[:1] for name, header in zip(subjects, headers, strict=True)):
        _logger.warning(
            "%s: files in different folders have the same name, so that folders are subjects: %s; "
            "if they are not, set `subject` to a regular expression whose first group is the "
            "subject in a path.",
            rules.where,
            _listed(list(dict.fromkeys(subjects))),
        )
    unnamed = [header for header in headers if header.subject is None]
    if len(headers) > 1 and unnamed and {header.name for header in unnamed} <= set(subjects):
        _logger.warning(
            "%s: each of the %d recordings %scounts as a subject; if a subject has several, set "
            "`subject` to %s.",
            rules.where,
            len(unnamed),
            "" if len(unnamed) == len(headers) else "that do not name one ",
            "a list with the subject of each recording"
            if headers[0].raw is not None
            else "a regular expression whose first group is the subject in a file name",
        )
    return subjects


def _warn_about_bad_channels(headers: Sequence[Header], recordings: Sequence[Recording]) -> None:
    """Warn if channels that were asked for are marked as bad."""
    bad = [
        f"{', '.join(used)} of {header.path.name}"
        for header, recording in zip(headers, recordings, strict=True)
        if (used := [name for name in recording.picks if name in header.bads])
    ]
    if bad:
        _logger.warning("Channels are used although they are marked as bad: %s.", "; ".join(bad))
