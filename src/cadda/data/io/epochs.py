"""Conversion between MNE epochs and windows."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.validation import check_sfreq
from cadda.data.io.eeglab_epochs import name_by_time_zero
from cadda.data.io.epoch_parts import EpochsPart, merge_classes
from cadda.data.io.epoch_signals import read_epochs
from cadda.data.io.file_checks import check_count, check_recording
from cadda.data.io.header import check_rate
from cadda.data.io.hypnogram import are_stages, merge_note, stage_of, stages
from cadda.data.io.losses import parts_of, warn_of_losses
from cadda.data.io.options import ReadOptions, argument_of, map_classes, select_classes
from cadda.data.io.own_reference import warn_of_reference
from cadda.data.io.positions import shared_positions
from cadda.data.io.preprocess import Preprocessing
from cadda.data.io.projectors import pending_projectors, projector_notes
from cadda.data.io.raw_files import reading
from cadda.data.io.stage_map import stage_patterns
from cadda.data.quality import Quality, raise_if_bad, raise_if_rejected
from cadda.data.standardise import standardise_as
from cadda.data.windows import Windows

__all__ = [
    "epochs_are_stages",
    "epochs_notes",
    "epochs_preprocessing",
    "epochs_to_windows",
    "open_epochs",
    "windows_to_epochs",
]

_logger = logging.getLogger(__name__)


def open_epochs(path: Path) -> Any:
    """Open a file of epochs without reading the signals."""
    import mne

    with reading(path, " as MNE epochs"):
        check_recording(path)
        if path.suffix.casefold() == ".set":
            epochs = mne.read_epochs_eeglab(path, verbose="error")
            name_by_time_zero(epochs, path)
        else:
            epochs = mne.read_epochs(path, proj=False, preload=False, verbose="error")
        check_count(path, len(epochs.ch_names))
        check_rate(float(epochs.info["sfreq"]), path)
        return epochs


def epochs_to_windows(
    sources: Sequence[tuple[str, Any]], options: ReadOptions
) -> tuple[Windows, Quality, tuple[str, ...]]:
    """Convert `mne.Epochs` to windows without the bad windows.

    Return the quality of all, and notes on positions, as well. Sources are epochs with names.
    Event names are the classes, in the order of their ids; sleep stages are renamed to those of
    the AASM. Columns of the metadata name the subject and, if there is one, the recording. Without
    `channels`, the EEG channels that are not marked as bad are used.
    """
    parts = _parts(sources, options)
    first = parts[0]
    for part in parts[1:]:
        part.check_fits(first)
    names, labels = merge_classes(parts, keep_stage_4=options.keep_stage_4)
    # Of a column, the values themselves are mapped.
    if options.class_map is not None and options.label is None:
        names, labels = _map_events(names, labels, options, parts)
    classes = options.classes
    if classes is not None and names and set(names) <= set(stages(keep_stage_4=True)):
        classes = [stage_of(n, keep_stage_4=options.keep_stage_4) or n for n in classes]
    class_names, labels = select_classes(names, labels, classes, options.min_windows)
    subjects = np.concatenate([part.subjects for part in parts])
    recordings = np.concatenate([part.recordings for part in parts])
    chosen = np.flatnonzero(labels >= 0)
    preprocessing = epochs_preprocessing(options)
    x, assessed = read_epochs(parts, labels, preprocessing, options.standardise_signals)
    quality = assessed.summary()
    if not quality.n_good:
        raise_if_bad(quality, first.where, first.ch_names)
    good = ~(assessed.bad | assessed.rejected)
    if not good.all():
        parts_read = parts_of(assessed, subjects[chosen], recordings[chosen])
        warn_of_losses(parts_read, first.ch_names, options.raise_bad_of)
        x, chosen = x[good], chosen[good]
    raise_if_rejected(quality, labels[chosen], first.where)
    groups = np.stack([subjects, recordings], axis=1)[chosen]
    x = standardise_as(options.standardise_signals, x, groups)
    positions, notes = shared_positions([p.header.positions_of(p.picks) for p in parts])
    windows = Windows(
        x,
        labels[chosen],
        subject=subjects[chosen],
        recording=recordings[chosen],
        sfreq=first.sfreq if preprocessing is None else preprocessing.rate(first.sfreq),
        ch_names=first.ch_names,
        class_names=class_names,
        positions=positions,
    )
    return windows, quality, notes


def _map_events(
    names: Sequence[str],
    labels: NDArray[np.int64],
    options: ReadOptions,
    parts: Sequence[EpochsPart],
) -> tuple[list[str], NDArray[np.int64]]:
    """Rename and merge events, or the stages that they are, by `class_map`."""
    patterns = dict(options.class_map or {})
    if are_stages(names):
        texts = {text for part in parts for text in part.class_names}
        patterns = stage_patterns(patterns, texts, keep_stage_4=options.keep_stage_4)
    mapped, labels = map_classes(names, labels, patterns, parts[0].where)
    return list(mapped), labels


def _parts(sources: Sequence[tuple[str, Any]], options: ReadOptions) -> list[EpochsPart]:
    given = options.subject_names(len(sources), "epochs objects or files")
    parts = [
        EpochsPart.of(where, epochs, options, subject, is_only=len(sources) == 1)
        for (where, epochs), subject in zip(sources, given, strict=True)
    ]
    warn_of_reference(parts[0].zero)
    unnamed = [part.where for part in parts if not part.is_named]
    if unnamed and len(parts) > 1:
        _logger.warning(
            "Each of the %d epochs objects or files that do not tell the subject, such as %s, "
            "counts as a subject; if a subject has several, set `subject` to a regular expression "
            "such as '^(sub-[0-9]+)', whose group is the subject in a file name, to a column of "
            "the metadata, or to a list with the subject of each.",
            len(unnamed),
            unnamed[0],
        )
    return parts


def windows_to_epochs(windows: Windows) -> Any:
    """Convert windows to `mne.EpochsArray`, with subject and recording as metadata."""
    import mne

    sfreq = check_sfreq(windows.sfreq, "a conversion to MNE epochs")
    info = mne.create_info(list(windows.ch_names), sfreq, "eeg", verbose="error")
    if windows.positions is not None:
        known = {
            name: position
            for name, position in zip(windows.ch_names, windows.positions, strict=True)
            if np.isfinite(position).all()
        }
        montage = mne.channels.make_dig_montage(known, coord_frame="head")
        info.set_montage(montage, on_missing="ignore", verbose="error")
    events = np.zeros((len(windows), 3), dtype=int)
    events[:, 0] = np.arange(len(windows)) * windows.n_times
    events[:, 2] = windows.y.numpy() + 1
    return mne.EpochsArray(
        windows.x.numpy(),
        info,
        events,
        event_id={name: i for i, name in enumerate(windows.class_names, start=1)},
        metadata=_metadata(windows),
        on_missing="ignore",
        verbose="error",
    )


def epochs_preprocessing(options: ReadOptions) -> Preprocessing | None:
    """Return what is done to epochs: nothing, unless it is given."""
    for setting in ("seconds", "offset"):
        if setting in options.settings:
            raise ValueError(
                f"`{argument_of(setting)}` is for recordings; epochs have their length, so crop "
                "them first."
            )
    if options.preprocessing is None and not options.settings:
        return None
    return options.preprocess(Preprocessing(lowpass=None))


def epochs_notes(sources: Sequence[tuple[str, Any]], options: ReadOptions) -> tuple[str, ...]:
    """Return notes for `cadda data info`."""
    notes = projector_notes([pending_projectors(epochs.info) for _, epochs in sources])
    if not epochs_are_stages(sources, options):
        return notes
    return (*notes, *merge_note(_event_names(sources), keep_stage_4=options.keep_stage_4))


def epochs_are_stages(sources: Sequence[tuple[str, Any]], options: ReadOptions) -> bool:
    """Check whether the classes of epochs are those of events that are sleep stages."""
    return options.label is None and are_stages(_event_names(sources))


def _event_names(sources: Sequence[tuple[str, Any]]) -> list[str]:
    return [str(name) for _, epochs in sources for name in epochs.event_id]


def _metadata(windows: Windows) -> Any:
    rows = [
        {"subject": str(subject), "recording": str(recording)}
        for subject, recording in zip(windows.subject, windows.recording, strict=True)
    ]
    try:
        pandas = import_module("pandas")
    except ImportError:
        # MNE accepts rows only where pandas is not installed.
        _logger.warning(
            "pandas is not installed, so `metadata` of the epochs is a list of dicts; "
            "for a table: pip install pandas."
        )
        return rows
    return pandas.DataFrame(rows)
