"""Conversion between MNE epochs and windows."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.text import did_you_mean, short_reason
from cadda.data.channels import find_channels, measured_positions
from cadda.data.checks import Quality, assess_windows, chunks, count_missing, raise_if_bad
from cadda.data.io.hypnogram import STAGES, are_stages, stage_of
from cadda.data.io.options import ReadOptions, select_classes
from cadda.data.standardise import standardise_as
from cadda.data.windows import Windows
from cadda.exceptions import DataError

__all__ = ["epochs_to_windows", "open_epochs", "windows_to_epochs"]

_logger = logging.getLogger(__name__)


def open_epochs(path: Path) -> Any:
    """Open a file of epochs without reading the signals."""
    import mne

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return mne.read_epochs(path, preload=False, verbose="error")
        # MNE raises many kinds of errors for damaged files.
        except Exception as error:
            raise DataError(f"cannot read {path} as MNE epochs: {short_reason(error)}.") from error


def epochs_to_windows(
    epochs: Any, options: ReadOptions, where: str = "epochs"
) -> tuple[Windows, Quality]:
    """Convert `mne.Epochs` to windows without the bad windows; return the quality of all as well.

    Event names are the classes, in the order of their ids; sleep stages are renamed to those of
    the AASM. Columns of the metadata name the subject and, if there is one, the recording.
    Without `channels`, the EEG channels that are not marked as bad are used.
    """
    import mne

    if isinstance(epochs, mne.Epochs) and not epochs.preload:
        # Rejected epochs are known only after reading.
        epochs = epochs.copy().drop_bad(verbose="error")
    picks = _picks(epochs, options.channels, where)
    names, labels = _labels(epochs)
    classes = options.classes
    if classes is not None and names and set(names) <= set(STAGES):
        classes = [stage_of(name) or name for name in classes]
    class_names, labels = select_classes(names, labels, classes, options.min_windows)
    subjects, recordings = _subjects(epochs, options.subject, where)
    chosen = np.flatnonzero(labels >= 0)
    x = _signals(epochs, picks, chosen, where)
    assessed = assess_windows(x)
    quality = assessed.summary()
    if not quality.n_good:
        raise_if_bad(quality, where)
    if quality.n_bad:
        x, chosen = x[~assessed.bad], chosen[~assessed.bad]
    groups = np.stack([subjects, recordings], axis=1)[chosen]
    standardise_as(options.standardise_signals, x, groups)
    info = epochs.info
    windows = Windows(
        x,
        labels[chosen],
        subject=subjects[chosen],
        recording=recordings[chosen],
        sfreq=float(info["sfreq"]),
        ch_names=options.channels or picks,
        class_names=class_names,
        positions=_positions(info, picks),
    )
    return windows, quality


def windows_to_epochs(windows: Windows) -> Any:
    """Convert windows to `mne.EpochsArray`, with subject and recording as metadata."""
    import mne

    info = mne.create_info(list(windows.ch_names), windows.sfreq, "eeg", verbose="error")
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


def _picks(epochs: Any, channels: Sequence[str] | None, where: str) -> tuple[str, ...]:
    if channels is not None:
        return find_channels(channels, epochs.ch_names, where)
    kinds = dict(zip(epochs.ch_names, epochs.get_channel_types(), strict=True))
    picks = tuple(
        name for name, kind in kinds.items() if kind == "eeg" and name not in epochs.info["bads"]
    )
    if not picks:
        raise DataError(
            f"{where}: none of the channels {list(kinds)} is EEG; select some with `channels`."
        )
    return picks


def _labels(epochs: Any) -> tuple[list[str], NDArray[np.int64]]:
    """Return class names and the label of each epoch, -1 for unscored."""
    ids = dict(sorted(epochs.event_id.items(), key=lambda item: item[1]))
    names = [str(name) for name in ids]
    if are_stages(names):
        stages = [stage_of(name) or "" for name in names]
        names = [stage for stage in STAGES if stage in stages]
        keep = {
            code: names.index(stage)
            for code, stage in zip(ids.values(), stages, strict=True)
            if stage
        }
    else:
        keep = {code: i for i, code in enumerate(ids.values())}
    return names, np.array([keep.get(code, -1) for code in epochs.events[:, 2]], dtype=np.int64)


def _subjects(
    epochs: Any, subject: str | None, where: str
) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    columns = _columns(epochs.metadata)
    if subject is None and not columns:
        only = (epochs.info["subject_info"] or {}).get("his_id") or where
        subjects = np.full(len(epochs), str(only))
    else:
        name = "subject" if subject is None else subject
        if name not in columns:
            raise DataError(
                f"`subject` must be a column of the metadata, but {where} has "
                f"{list(columns) or 'no metadata'}, not {name!r}{did_you_mean(name, columns)}; "
                + (
                    "name the column with the subjects in `subject`."
                    if columns
                    else "set epochs.metadata, with a column of the subject of each epoch."
                )
            )
        subjects = _texts(name, columns[name])
    recordings = _texts("recording", columns["recording"]) if "recording" in columns else subjects
    return subjects, recordings


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
    return np.array([str(value) for value in values])


def _signals(
    epochs: Any, picks: tuple[str, ...], chosen: NDArray[np.int64], where: str
) -> NDArray[np.float32]:
    """Read some epochs as float32, a chunk at a time, as MNE uses float64."""
    x = np.empty((len(chosen), len(picks), len(epochs.times)), dtype=np.float32)
    for here in chunks(len(chosen)):
        try:
            x[here] = epochs.get_data(
                picks=list(picks), item=chosen[here], copy=False, verbose="error"
            )
        # MNE raises many kinds of errors for truncated files.
        except Exception as error:
            raise DataError(
                f"cannot read {where} as MNE epochs: {short_reason(error)}."
            ) from error
    return x


def _positions(info: Any, picks: tuple[str, ...]) -> NDArray[np.float64] | None:
    positions = measured_positions(info)
    return None if positions is None else positions[[info["ch_names"].index(n) for n in picks]]


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
