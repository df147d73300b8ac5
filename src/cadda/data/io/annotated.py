"""Plans for recordings with annotations, with or without a mapping file."""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cadda._internal.text import by_number, quote
from cadda._internal.validation import check_class_name
from cadda.data.io.bids import missing_description, warn_of_unused_tables
from cadda.data.io.cutting import ReadPlan
from cadda.data.io.hypnogram import Annotation, are_stages, hypnogram_windows, merge_note, stages
from cadda.data.io.lost_events import warn_of_events_without_onset
from cadda.data.io.mapping import (
    RecordingMapping,
    mapped_files,
    match_class,
    preprocessing_keys,
    read_mapping,
)
from cadda.data.io.naming import Inspected, distinct
from cadda.data.io.options import ReadOptions, check_classes
from cadda.data.io.participants import ParticipantColumn
from cadda.data.io.preprocess import Preprocessing
from cadda.data.io.raw_files import inspect_recording, names_a_class
from cadda.data.io.recording_plan import join_some, make_plan
from cadda.data.io.stage_map import map_stages
from cadda.data.io.windowing import (
    Rules,
    label_windows,
    warn_about_short,
)
from cadda.exceptions import DataError

__all__ = ["plan_mapping", "plan_recordings"]

MIN_SECONDS = 0.2
"""Duration below which annotations are markers, and not the windows themselves."""

BY_ANNOTATION = "windows as long as the shortest annotation"


def plan_mapping(path: Path, options: ReadOptions) -> ReadPlan:
    """Plan the reading of recordings by a mapping file."""
    mapping, preprocessing = read_mapping(path)
    _check_keys(path, mapping)
    options.check_for_recordings(are_stages=False)
    inspected = distinct([inspect_recording(file) for file in mapped_files(path, mapping)])
    warn_of_unused_tables([header.path for header, _ in inspected])
    given = options.recording_rules
    mapping = mapping.model_copy(update=given)
    _check_given(mapping.class_from, given)
    rules = Rules(
        str(path),
        mapping,
        options.preprocess(preprocessing),
        path.parent,
        in_file=True,
        given=frozenset(given if options.given_seconds is None else (*given, "seconds")),
    )
    inspected = rules.with_class(inspected)
    plan = make_plan(inspected, rules, options, label_windows(inspected, rules))
    return replace(plan, default=preprocessing, given=preprocessing_keys(path))


def plan_recordings(inspected: Sequence[Inspected], options: ReadOptions, where: str) -> ReadPlan:
    """Plan the reading of recordings without a mapping file.

    By default, each annotation is a class.
    """
    inspected = distinct(inspected)
    class_from = options.class_from or "annotations"
    _check_given(class_from, options.recording_rules)
    options.check_for_recordings(are_stages=class_from == "annotations")
    files = [header.path for header, _ in inspected if header.raw is None]
    if class_from != "annotations":
        warn_of_unused_tables(files)
        return _plan_whole(inspected, options, where)
    notes = [note for _, annotations in inspected for note in annotations if names_a_class(note)]
    texts = sorted({note.text for note in notes}, key=by_number)
    if not texts:
        raise DataError(
            f"{where} has no annotation or event that could be a class; {_way_out(inspected)}."
        )
    warn_of_unused_tables(files)
    _check_signals(inspected, texts)
    if are_stages(texts):
        return _plan_stages(inspected, options, where)
    options.check_for_recordings(are_stages=False)
    given = options.recording_rules
    if "classes" not in given:
        given["classes"] = _classes_by_text(texts, options, where)
    classes = given["classes"]
    selected = options.classes or classes.values()
    used = [note for note in notes if match_class(note.text, classes) in selected]
    seconds = _default_seconds(used, notes, options, where)
    rules = Rules(
        where, RecordingMapping(**given), options.preprocess(Preprocessing(seconds=seconds))
    )
    plan = make_plan(inspected, rules, options, label_windows(inspected, rules))
    return replace(plan, default_length=BY_ANNOTATION)


def _check_signals(inspected: Sequence[Inspected], texts: Sequence[str]) -> None:
    """Raise if files have annotations only."""
    if any(header.labels for header, _ in inspected):
        return
    path = inspected[0][0].path
    kind = "is a hypnogram" if are_stages(texts) else "has annotations only"
    raise DataError(
        f"{path} {kind}, without signals; pass the folder with its recording as well, "
        f"{path.parent}."
    )


def _classes_by_text(texts: Sequence[str], options: ReadOptions, where: str) -> dict[str, str]:
    """Return the classes if each annotation is one; raise for those that cannot be."""
    names = list(dict.fromkeys(text.strip() for text in texts))
    selected = names if options.classes is None else check_classes(options.classes, names)
    # Without any class, the selection raises later.
    chosen = [text for text in texts if text.strip() in selected] or texts
    for text in chosen:
        _check_class(text, where)
    return {text: text.strip() for text in chosen}


def _default_seconds(
    used: Sequence[Annotation], notes: Sequence[Annotation], options: ReadOptions, where: str
) -> float:
    """Return the duration of the shortest annotation with a class; raise if it is a marker."""
    # Without any, the classes are reported later.
    if options.given_seconds is not None or not used:
        return options.given_seconds or 1.0
    shortest = min(used, key=lambda note: note.duration)
    if shortest.duration < MIN_SECONDS:
        has_long = any(note.duration >= MIN_SECONDS for note in notes)
        raise DataError(
            f"{where}: `window_seconds` is missing, as {quote(shortest.text)} has "
            f"{shortest.duration:g} s; set it to the length of a window"
            f"{', or select others with `classes`' * has_long}. "
            f"Annotations are {_annotations_listed(notes)}."
        )
    warn_about_short(shortest, used, where)
    return shortest.duration


def _plan_whole(inspected: Sequence[Inspected], options: ReadOptions, where: str) -> ReadPlan:
    """Plan the reading of recordings of one class each, by a file name or a table."""
    given = options.recording_rules
    table = given.get("participants", RecordingMapping.model_fields["participants"].default)
    folder = _folder_with(table, [header.path for header, _ in inspected])
    if "classes" not in given:
        inspected, given["classes"] = _classes_of_participants(inspected, folder / table, options)
    seconds = options.given_seconds
    if seconds is None and options.within is None:
        raise DataError(
            f"{where}: `window_seconds` is missing; set it to the length of the windows that fill "
            "a recording."
        )
    inside = dict.fromkeys(options.within or (), "")
    notes = [note for _, notes in inspected for note in notes]
    used = [note for note in notes if match_class(note.text, inside) is not None]
    default = Preprocessing(seconds=_default_seconds(used, notes, options, where))
    rules = Rules(where, RecordingMapping(**given), options.preprocess(default), folder)
    inspected = rules.with_class(inspected)
    plan = make_plan(inspected, rules, options, label_windows(inspected, rules))
    length = BY_ANNOTATION if options.within else "windows of the given length"
    return replace(plan, default_length=length)


def _classes_of_participants(
    inspected: Sequence[Inspected], table: Path, options: ReadOptions
) -> tuple[list[Inspected], dict[str, str]]:
    """Return the recordings with a value in a column of participants; each value is a class."""
    source, _, name = (options.class_from or "").partition(":")
    if source != "participants":
        raise ValueError(
            f"`class_map` must be given with `class_from`={options.class_from!r}, as names of "
            "files are no classes; assign patterns such as '*_rest.edf' to classes."
        )
    column = ParticipantColumn(table, name, options.subject_rule, "`subject`")
    kept = column.drop_missing(inspected)
    values = sorted(set(column.values_of([header for header, _ in kept])), key=by_number)
    for value in values:
        _check_class(value, str(table), what="value")
    return kept, {value: value for value in values}


def _folder_with(name: str, paths: Sequence[Path]) -> Path:
    """Return the closest folder around recordings that has a file, or else their own."""
    own = Path(os.path.commonpath([path.absolute().parent for path in paths]))
    return next((folder for folder in (own, *own.parents) if (folder / name).is_file()), own)


def _check_keys(path: Path, mapping: RecordingMapping) -> None:
    """Raise for keys of a mapping file that its classes have no use for."""
    source, _, _ = mapping.class_from.partition(":")
    useful = {
        "within": source != "annotations",
        "participants": source == "participants",
    }
    unused = [key for key, is_used in useful.items() if not is_used]
    for key in mapping.model_fields_set.intersection(unused):
        others = "'file' or " * (key == "within")
        raise DataError(
            f"{path}: key `{key}` is not for classes by {mapping.class_from!r}; set the key "
            f"`class_from` to {others}'participants:COLUMN', or delete the key `{key}`."
        )


def _check_given(class_from: str, given: Container[str]) -> None:
    """Raise for arguments that the classes of recordings have no use for."""
    source, _, _ = class_from.partition(":")
    if source == "metadata":
        raise ValueError(
            "`class_from` must be 'annotations', 'file' or 'participants:COLUMN' for recordings, "
            f"got {class_from!r}, which is for epochs."
        )
    if "within" in given and source == "annotations":
        raise ValueError(
            "`within` is for classes that are not those of annotations; set `class_from` to "
            "'file' or 'participants:COLUMN', or select annotations with `class_map`."
        )
    if "participants" in given and source != "participants":
        raise ValueError(
            "`participants` is for classes of participants; set `class_from` to "
            f"'participants:COLUMN', which is {class_from!r}."
        )


def _annotations_listed(notes: Sequence[Annotation]) -> str:
    """Return such as ``"left (45 of 4 s), start (1 of 0 s)"``."""
    durations: dict[str, list[float]] = {}
    for note in notes:
        durations.setdefault(note.text, []).append(note.duration)
    return join_some(
        [
            f"{quote(text)} ({len(each)} of {np.median(each):g} s)"
            for text, each in sorted(durations.items(), key=lambda item: -len(item[1]))
        ]
    )


def _way_out(inspected: Sequence[Inspected]) -> str:
    """Return what to do about recordings without annotations."""
    n_outside = sum(header.n_outside for header, _ in inspected)
    if n_outside:
        return f"{n_outside} are outside their recordings, so check their onsets, in seconds"
    missing = next(filter(None, (missing_description(h.path) for h, _ in inspected)), None)
    if missing is not None:
        return f"to read the events.tsv files of a BIDS data set, add {missing}"
    return (
        "set `class_from` or pass a mapping file (TOML) that assigns classes, or the folder if "
        "the scoring is in other files"
    )


def _check_class(text: str, where: str, what: str = "annotation") -> None:
    """Raise if the text of an annotation cannot be the name of a class."""
    try:
        check_class_name(text.strip())
    except ValueError as error:
        raise DataError(
            f"{where} has the {what} {quote(text)}, but {error}; name the classes with "
            "`class_map` or in a mapping file (TOML), or select others with `classes`."
        ) from error


def _plan_stages(inspected: Sequence[Inspected], options: ReadOptions, where: str) -> ReadPlan:
    """Plan the reading of nights that have their sleep stages as annotations."""
    options.refuse_rules(
        "is not for sleep stages, which are classes and are filled with windows",
        *("within", "repeat", "participants"),
    )
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
    warn_of_events_without_onset(inspected, where)
    plan = make_plan(inspected, rules, options, labelled)
    texts = [note.text for _, annotations in inspected for note in annotations]
    notes = merge_note(texts, keep_stage_4=options.keep_stage_4)
    plan = replace(plan, notes=(*plan.notes, *notes), from_stages=True)
    return map_stages(plan, options, where, texts)
