"""`read_windows`: windows from recordings, epochs and arrays."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch

from cadda.data.checks import Quality, quality_of_kept, raise_if_bad
from cadda.data.io.annotated import plan_annotated
from cadda.data.io.epochs import epochs_to_windows, open_epochs
from cadda.data.io.npz import arrays_to_windows, load_npz
from cadda.data.io.options import CacheUse, Progress, ReadOptions, select
from cadda.data.io.preprocess import Preprocessing, ReadPlan
from cadda.data.io.recordings import read_recordings
from cadda.data.io.sleep_edf import plan_sleep
from cadda.data.standardise import Standardise
from cadda.data.windows import Windows
from cadda.exceptions import DataError

__all__ = ["read_windows", "read_with_quality"]

_logger = logging.getLogger(__name__)


def read_windows(
    source: Any,
    *,
    subject: str | None = None,
    channels: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    min_windows: int | None = None,
    standardise: Standardise | Literal["auto"] = "auto",
    on_bad: Literal["raise", "drop"] = "raise",
    preprocessing: Preprocessing | None = None,
    cache: CacheUse = True,
    engine: str = "serial",
    on_progress: Progress | None = None,
) -> Windows:
    """Read windows with labels and subjects from files, MNE epochs or arrays.

    Parameters
    ----------
    source : path-like | mne.Epochs | mapping | Windows
        An MNE epochs file (``.fif``, ``.fif.gz``); a folder of nights named as in Sleep Physionet
        or MASS; a mapping file (``.toml``), or a folder with one, for any other EDF files with
        annotations; a ``.npz`` file; MNE epochs; `Windows`, or a mapping with their arguments.
    subject : str | None
        For epochs: the column of the metadata with the subjects, by default ``subject``. Other
        sources define their subjects themselves.
    channels : sequence of str | None
        Channels to select, in any common spelling. None selects all EEG channels of epochs, those
        of the paper for nights, and those of the mapping file.
    classes : sequence of str | None
        Classes to select, in this order; None selects all.
    min_windows : int | None
        Drop classes with fewer windows; 0 drops none, even empty classes. With None, an empty
        class is an error.
    standardise : "auto" | "window" | "recording" | None
        Scale each channel of each window, or of each recording, to mean 0 and standard deviation
        1. No recording influences another, so nothing leaks between subjects. ``"auto"`` scales
        windows, except in `Windows` and files written by `Windows.save`, which stay as they are.
        None keeps the unit of the source, volts for recordings.
    on_bad : "raise" | "drop"
        Whether windows with NaN or a flat channel are an error or are dropped with a warning.
    preprocessing : Preprocessing | None
        For nights: filter, sampling rate and window length; None uses those of the paper.
    cache : bool | "verify"
        For nights and mapping files: whether to keep preprocessed windows in the folder
        ``CADDA_CACHE``. A recording that has changed is noticed by its size and modification
        time; ``"verify"`` compares the content of the file as well, which takes longer.
    engine : str
        For nights and mapping files: where to preprocess, ``"serial"``,
        ``"processes:N"``, ``"dask:ADDRESS"`` or ``"dask:local:N"``; the result is the same.
    on_progress : callable | None
        For nights and mapping files: called before each recording with the number of recordings
        done, their total and a name, and once at the end.

    Returns
    -------
    Windows
        The windows.
    """
    if on_bad not in ("raise", "drop"):
        raise ValueError(f"`on_bad` must be 'raise' or 'drop', got {on_bad!r}.")
    options = ReadOptions(
        subject,
        channels,
        classes,
        min_windows,
        standardise,
        preprocessing,
        cache,
        engine,
        on_progress,
    )
    windows, quality = read_with_quality(source, options)
    if on_bad == "raise":
        raise_if_bad(quality, _name(source))
    elif quality.n_bad:
        message = "%s: dropped %d of %d windows, which have NaN or a flat channel."
        _logger.warning(message, _name(source), quality.n_bad, quality.n_bad + quality.n_good)
    return windows


def read_with_quality(source: Any, options: ReadOptions) -> tuple[Windows, Quality]:
    """Read windows without bad windows; return the quality of all windows as well."""
    if isinstance(source, str | os.PathLike):
        windows, quality = _read_path(Path(source).expanduser(), options)
    elif hasattr(source, "event_id") and hasattr(source, "get_data"):
        windows, quality = epochs_to_windows(source, options)
    elif isinstance(source, Windows):
        windows, quality = _read_existing(source, options, "windows")
    elif isinstance(source, Mapping):
        windows, quality = arrays_to_windows(source, options, "arrays")
    else:
        raise TypeError(
            "`source` must be a path, MNE epochs, Windows or a mapping of arrays, "
            f"got {type(source).__name__}."
        )
    counts = zip(windows.class_names, windows.class_counts(), strict=True)
    empty = [name for name, count in counts if not count]
    if quality.n_bad and empty and options.min_windows != 0:
        raise DataError(
            f"{_name(source)}: every window of {', '.join(map(repr, empty))} has NaN or a flat "
            "channel; select other classes with `classes`."
        )
    return windows, quality


def _name(source: Any) -> str:
    return str(source) if isinstance(source, str | os.PathLike) else type(source).__name__


def _read_path(path: Path, options: ReadOptions) -> tuple[Windows, Quality]:
    if not path.exists():
        raise DataError(f"{path} does not exist.")
    if path.name.endswith((".fif", ".fif.gz")):
        return epochs_to_windows(open_epochs(path), options, path.name)
    if path.suffix == ".npz":
        content = load_npz(path)
        if isinstance(content, Windows):
            return _read_existing(content, options, path.name)
        return arrays_to_windows(content, options, str(path))
    if path.is_dir() or path.suffix == ".toml":
        return read_recordings(_plan(path, options), options)
    hint = "; pass the folder that contains it" if path.suffix.lower() == ".edf" else ""
    raise DataError(
        f"{path} must be an MNE epochs file (.fif, .fif.gz), a .npz file, a mapping file (.toml) "
        f"or a folder of recordings{hint}."
    )


def _read_existing(windows: Windows, options: ReadOptions, where: str) -> tuple[Windows, Quality]:
    """Select from existing windows; without options, return them unchanged."""
    selecting = (options.channels, options.classes, options.min_windows)
    if any(option is not None for option in selecting):
        selection = select(windows, options, where)
        selected = windows.x[torch.from_numpy(selection.kept)][:, selection.rows]
        windows = selection.take(windows, selected)
    quality = quality_of_kept(windows.x.numpy())
    how = options.standardise_windows
    return (windows if how is None else windows.standardised(how)), quality


def _plan(path: Path, options: ReadOptions) -> ReadPlan:
    mappings = [path] if path.is_file() else sorted(path.glob("*.toml"))
    if len(mappings) > 1:
        raise DataError(
            f"{path} has several mapping files, {[file.name for file in mappings]}; pass one of "
            "them instead of the folder."
        )
    if not mappings:
        return plan_sleep(path, options.channels, options.preprocessing)
    if options.preprocessing is not None:
        raise ValueError(f"`preprocessing` must be None, as {mappings[0]} defines it.")
    return plan_annotated(mappings[0], options.channels)
