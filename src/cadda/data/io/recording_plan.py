"""The plan for recordings whose windows are known: channels, subjects and preprocessing."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import compress

import numpy as np

from cadda._internal.text import list_names
from cadda.data.channels import find_channels, has_channel
from cadda.data.io.cutting import ReadPlan, Recording
from cadda.data.io.header import Header
from cadda.data.io.losses import warn_of_loss
from cadda.data.io.naming import Inspected, subject_of
from cadda.data.io.options import ReadOptions
from cadda.data.io.own_reference import warn_of_reference, without_reference
from cadda.data.io.positions import shared_positions
from cadda.data.io.projectors import projector_notes
from cadda.data.io.windowing import MAX_LISTED, Labelled, Rules
from cadda.exceptions import DataError

__all__ = ["join_some", "make_plan"]

_logger = logging.getLogger(__name__)


def make_plan(
    inspected: Sequence[Inspected],
    rules: Rules,
    options: ReadOptions,
    labelled: Sequence[Labelled],
) -> ReadPlan:
    """Return a plan for the windows of recordings: channels, subjects and preprocessing."""
    inspected, labelled = _with_windows(inspected, rules, options, labelled)
    headers = [header for header, _ in inspected]
    chosen = options.channels or rules.mapping.channels
    wanted = headers[0].expand_types(chosen) if chosen else _common_eeg(headers)
    wanted, zero = without_reference(wanted, headers[0], rules.preprocessing.reference, chosen)
    warn_of_reference(zero)
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
            header.projectors,
        )
        recordings.append(recording)
    _warn_about_bad_channels(headers, recordings)
    located = [h.positions_of(r.picks) for h, r in zip(headers, recordings, strict=True)]
    positions, notes = shared_positions(located)
    return ReadPlan(
        recordings,
        tuple(wanted),
        rules.class_names,
        rules.preprocessing,
        positions,
        (*projector_notes([header.projectors for header in headers]), *notes),
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
        warn_of_loss(
            f"{rules.where}: {len(left_out)} of {len(inspected)} recordings have no window of a "
            f"class and are left out: {join_some(left_out)}."
        )
    return [*compress(inspected, has_windows)], [*compress(labelled, has_windows)]


def _common_eeg(headers: Sequence[Header]) -> list[str]:
    """Return the EEG channels of the first recording that are bad in none."""
    first = headers[0]
    if not first.eeg():
        raise DataError(
            f"{first.path.name} has no good EEG channel, or none with a name of the 10-20 "
            f"system, but {list_names(first.labels) or 'no signals'}; set `channels`."
        )
    shared = [name for name in first.eeg() if all(h.has(name) for h in headers)]
    _check_shared(shared, headers)
    bads = {name for header in headers for name in header.bads}
    good = [name for name in shared if name not in bads]
    if not good:
        raise DataError("every EEG channel is marked as bad in a recording; set `channels`.")
    unused = [name for name in first.unused_eeg() if name not in bads]
    if unused:
        _logger.warning(
            "Channels of type EEG without a name of the 10-20 system are not used: %s; set "
            "`channels` to 'eeg' for all, or to names.",
            join_some(unused),
        )
    left_out = sorted(bads.intersection(*({*header.labels} for header in headers)))
    if left_out and len(headers) > 1:
        _logger.warning(
            "Channels that are marked as bad in a recording are not used in any: %s; interpolate "
            "them in MNE, leave out these recordings, or set `channels`.",
            join_some([_bad_where(name, headers) for name in left_out]),
        )
    return good


def _bad_where(name: str, headers: Sequence[Header]) -> str:
    """Return a channel and the recordings in which it is bad, such as ``"C4 of S04"``."""
    bad = [header.name for header in headers if name in header.bads]
    return f"{name} of {bad[0]}{f' and {len(bad) - 1} more' if len(bad) > 1 else ''}"


def _check_shared(shared: Sequence[str], headers: Sequence[Header]) -> None:
    """Warn of channels that not all recordings have; raise if there are no others."""
    first = headers[0]
    if not shared:
        other = min(headers[1:], key=lambda h: sum(h.has(name) for name in first.eeg()))
        raise DataError(
            f"no EEG channel is in all recordings: {first.path.name} has "
            f"{join_some(first.eeg())}, {other.path.name} has {join_some(other.eeg())}; read "
            "them separately, or rename channels."
        )
    names = dict.fromkeys(name for header in headers for name in header.eeg())
    rest = [name for name in names if not any(has_channel(own, [name]) for own in shared)]
    lacking = {name: [h for h in headers if not h.has(name)] for name in rest}
    # The others are marked as bad in a recording.
    lacking = {name: without for name, without in lacking.items() if without}
    if lacking:
        # Of the channel that most recordings have.
        header = min(lacking.values(), key=len)[0]
        _logger.warning(
            "Recordings have different channels: %s has no %s; those that all have are used: %s.",
            header.path.name,
            join_some([name for name, own in lacking.items() if header in own]),
            join_some(shared),
        )


def join_some(names: Sequence[str]) -> str:
    """Return names separated by commas, of many only the first."""
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
            join_some(list(dict.fromkeys(subjects))),
        )
    _warn_of_subjects(headers, subjects, rules.where)
    return subjects


def _warn_of_subjects(headers: Sequence[Header], subjects: Sequence[str], where: str) -> None:
    """Warn of recordings that count as a subject each, and of files that do."""
    unnamed = [header for header in headers if header.subject is None]
    names = list(dict.fromkeys(header.name for header in unnamed))
    if len(headers) < 2 or not unnamed or not set(names) <= set(subjects):
        return
    # Only objects of MNE can be parts of a file.
    has_parts = len(names) < len(unnamed)
    _logger.warning(
        "%s: each of the %d %s %scounts as a subject; if %s, set `subject` to %s.",
        where,
        len(names),
        f"files of {len(unnamed)} recordings" if has_parts else "recordings",
        "" if len(unnamed) == len(headers) else "that do not name one ",
        "that is wrong" if has_parts else "a subject has several",
        "a list with the subject of each recording"
        if headers[0].raw is not None
        else "a regular expression whose first group is the subject in a file name",
    )


def _warn_about_bad_channels(headers: Sequence[Header], recordings: Sequence[Recording]) -> None:
    """Warn if channels that were asked for are marked as bad."""
    bad = [
        f"{', '.join(used)} of {header.path.name}"
        for header, recording in zip(headers, recordings, strict=True)
        if (used := [name for name in recording.picks if name in header.bads])
    ]
    if bad:
        _logger.warning("Channels are used although they are marked as bad: %s.", "; ".join(bad))
