"""What epochs of MNE hold: classes and subjects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.text import by_number, did_you_mean, quote
from cadda.data.channels import find_channels, measured_positions
from cadda.data.checks import count_missing, plain_names
from cadda.data.io.header import Header
from cadda.data.io.hypnogram import are_stages, stage_of, stages
from cadda.data.io.mapping import match_class
from cadda.data.io.naming import own_subject, subject_of
from cadda.data.io.options import ReadOptions
from cadda.data.io.own_reference import without_reference
from cadda.data.io.preprocess import Preprocessing
from cadda.data.io.projectors import pending_projectors
from cadda.exceptions import DataError

__all__ = ["EpochsPart", "merge_classes"]


@dataclass(frozen=True, eq=False)
class EpochsPart:
    """One `mne.Epochs` object and what is selected from it."""

    where: str  # its name in messages
    epochs: Any
    header: Header
    ch_names: tuple[str, ...]  # as the user names them
    picks: tuple[str, ...]
    classes: list[str]  # of each epoch
    class_names: list[str]  # in their order
    subjects: NDArray[np.str_]
    recordings: NDArray[np.str_]
    is_named: bool  # whether more than its own name tells the subjects
    zero: list[str]  # the channel that is left out as the reference, if any

    @classmethod
    def of(
        cls, where: str, epochs: Any, options: ReadOptions, subject: str | None, *, is_only: bool
    ) -> EpochsPart:
        """Read everything but the signals; `subject` is that of all epochs, if it is given."""
        import mne

        if isinstance(epochs, mne.Epochs) and not epochs.preload:
            # Rejected epochs are known only after reading.
            epochs = epochs.copy().drop_bad(verbose="error")
        header = _header(epochs, where)
        reference = options.preprocess(Preprocessing(lowpass=None)).reference
        wanted, zero = without_reference(
            _wanted(header, options.channels), header, reference, options.channels
        )
        picks = find_channels(wanted, header.labels, where)
        columns = _columns(epochs.metadata)
        class_names, classes = _classes(epochs, columns, options, where)
        file = _file(epochs, header)
        rule = options.subject_rule
        if file is not None and rule is not None and _is_pattern(rule, columns):
            subjects = np.full(len(epochs), subject_of(file, rule, "`subject`"))
            recordings, is_named = np.full(len(epochs), file.name), True
        else:
            subjects, is_named = _subjects(
                epochs, columns, options, where, subject, is_only=is_only
            )
            recordings = subjects
        if "recording" in columns:
            recordings = _texts("recording", columns["recording"])
        return cls(
            where,
            epochs,
            header,
            tuple(wanted),
            picks,
            classes,
            class_names,
            subjects,
            recordings,
            is_named,
            zero,
        )

    @property
    def sfreq(self) -> float:
        """Sampling rate in Hz."""
        return self.header.sfreqs[0]

    def check_fits(self, first: EpochsPart) -> None:
        """Raise if these epochs cannot be put together with others."""
        if differ := [*set(self.ch_names).symmetric_difference(first.ch_names)]:
            name = min(differ)
            has, lacks = (first, self) if name in first.ch_names else (self, first)
            raise DataError(
                f"all epochs must have the same channels, but {lacks.where} has no {name}, and "
                f"{has.where} has; select channels that all have with `channels`."
            )
        for name, own, other in (
            ("order of channels", self.ch_names, first.ch_names),
            ("sampling rate", self.sfreq, first.sfreq),
            ("number of samples", len(self.epochs.times), len(first.epochs.times)),
        ):
            if own != other:
                raise DataError(
                    f"all epochs must have the same {name}, but {first.where} has {other} and "
                    f"{self.where} has {own}."
                )
        start, other_start = (float(part.epochs.times[0]) for part in (self, first))
        if abs(start - other_start) * self.sfreq > 0.5:
            raise DataError(
                f"all epochs must begin at the same time after their event, but {first.where} "
                f"begins at {other_start:g} s and {self.where} at {start:g} s; crop them in MNE, "
                "or if their events differ, shift time 0 (`epochs.shift_time`)."
            )


def merge_classes(
    parts: Sequence[EpochsPart], *, keep_stage_4: bool
) -> tuple[list[str], NDArray[np.int64]]:
    """Return class names and the label of each epoch of all parts, -1 for unscored."""
    names = list(dict.fromkeys(name for part in parts for name in part.class_names))
    class_of = {name: name for name in names}
    if are_stages(names):
        class_of = {n: stage_of(n, keep_stage_4=keep_stage_4) or "" for n in names}
        names = [n for n in stages(keep_stage_4=keep_stage_4) if n in class_of.values()]
    index = {name: i for i, name in enumerate(names)}
    labels = [index.get(class_of.get(name, ""), -1) for part in parts for name in part.classes]
    return names, np.array(labels, dtype=np.int64)


def _header(epochs: Any, where: str) -> Header:
    sfreq = float(epochs.info["sfreq"])
    return Header(
        Path(where),
        tuple(epochs.ch_names),
        tuple(epochs.get_channel_types()),
        (sfreq,) * len(epochs.ch_names),
        len(epochs.times) / sfreq,
        bads=tuple(epochs.info["bads"]),
        positions=measured_positions(epochs.info),
        projectors=pending_projectors(epochs.info),
    )


def _wanted(header: Header, channels: Sequence[str] | None) -> list[str]:
    if channels is not None:
        return header.expand_types(channels)
    good = header.good("eeg")
    if not good:
        raise DataError(
            f"{header.path}: none of the channels {list(header.labels)} is EEG; select some with "
            "`channels`."
        )
    return good


def _classes(
    epochs: Any, columns: dict[str, list[Any]], options: ReadOptions, where: str
) -> tuple[list[str], list[str]]:
    """Return the names of the classes and the class of each epoch, by events or by a column.

    Epochs without a class have the text "".
    """
    if options.label is not None:
        texts = _column("label", options.label, columns, where).tolist()
        if options.class_map is None:
            return sorted(set(texts), key=by_number), texts
        named = [match_class(text, options.class_map) or "" for text in texts]
        return list(dict.fromkeys(options.class_map.values())), named
    ids = dict(sorted(epochs.event_id.items(), key=lambda item: item[1]))
    _check_codes(epochs, options, where)
    name_of = {code: str(name) for name, code in ids.items()}
    return [str(name) for name in ids], [name_of.get(c, "") for c in epochs.events[:, 2]]


def _check_codes(epochs: Any, options: ReadOptions, where: str) -> None:
    """Raise if events have a code that is of several classes."""
    as_stages = are_stages(epochs.event_id)
    names_of: dict[int, dict[str | None, str]] = {}
    for name, code in epochs.event_id.items():
        group = stage_of(name, keep_stage_4=options.keep_stage_4) if as_stages else str(name)
        if options.class_map is not None:
            group = match_class(name, options.class_map)
        names_of.setdefault(code, {}).setdefault(group, str(name))
    for code, names in names_of.items():
        if len(names) > 1 and (epochs.events[:, 2] == code).any():
            raise DataError(
                f"{where}: the events {' and '.join(map(quote, names.values()))} have the same "
                f"code, {code}, so that the class of these epochs is ambiguous; keep one of the "
                "names in `epochs.event_id`, or join them with `class_map`."
            )


def _file(epochs: Any, header: Header) -> Header | None:
    """Return the header with the name of the file of the epochs, or None for those of no file."""
    if epochs.filename is None:
        return None
    own = Path(epochs.filename).name
    if header.path.name != own:
        return replace(header, path=Path(own))
    return replace(header, folders=header.path.parts[:-1])


def _is_pattern(rule: str, columns: dict[str, list[Any]]) -> bool:
    """Check for a regular expression with a group that is not the name of a column."""
    try:
        return rule not in columns and re.compile(rule).groups > 0
    except re.error:
        return False


def _subjects(
    epochs: Any,
    columns: dict[str, list[Any]],
    options: ReadOptions,
    where: str,
    given: str | None,
    *,
    is_only: bool,
) -> tuple[NDArray[np.str_], bool]:
    """Return the subject of each epoch, and whether more than the name of the source tells it.

    Without a column of subjects, each of several sources is a subject.
    """
    column = options.subject_rule
    if given is None and (column is not None or "subject" in columns or (columns and is_only)):
        return _column("subject", column or "subject", columns, where), True
    name = given or own_subject(epochs.info)
    return np.full(len(epochs), name or where), name is not None


def _column(
    argument: str, name: str, columns: dict[str, list[Any]], where: str
) -> NDArray[np.str_]:
    """Return a column of the metadata that an argument names."""
    if name in columns:
        return _texts(name, columns[name])
    meaning = {"subject": "subjects", "label": "classes"}[argument]
    raise DataError(
        f"`{argument}` must be a column of the metadata, but {where} has "
        f"{list(columns) or 'no metadata'}, not {name!r}{did_you_mean(name, columns)}; "
        + (
            f"name the column with the {meaning} in `{argument}`"
            if columns
            else f"set epochs.metadata, with a column of the {argument} of each epoch"
        )
        + (", or pass a regular expression with a group." if argument == "subject" else ".")
    )


def _columns(metadata: Any) -> dict[str, list[Any]]:
    """Return the columns of metadata, a table, or a list of rows without pandas."""
    if metadata is None:
        return {}
    if isinstance(metadata, list):
        return {str(key): [row[key] for row in metadata] for key in (metadata or [{}])[0]}
    return {str(key): metadata[key].tolist() for key in metadata.columns}


def _texts(name: str, values: list[Any]) -> NDArray[np.str_]:
    missing = count_missing(values)
    if missing:
        raise DataError(f"the column {name!r} of the metadata is empty for {missing} epochs.")
    return plain_names(np.array(values, dtype=object))
