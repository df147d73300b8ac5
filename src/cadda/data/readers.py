"""`read_windows`: recordings and data files of every kind that cadda knows, as windows."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import torch

from cadda.data.annotated_edf import plan_annotated
from cadda.data.arrays import arrays_to_windows, read_npz
from cadda.data.cache import CachedWindows, Run, WindowStore, cache_key, load_entry
from cadda.data.checks import Quality, choose_classes, find_channels, find_flaws, refuse_bad
from cadda.data.epochs import epochs_to_windows, open_epochs
from cadda.data.preprocess import (
    Plan,
    Preprocessing,
    Standardise,
    cut_recording,
    standardise_as,
)
from cadda.data.sleep_edf import plan_sleep
from cadda.data.windows import Windows
from cadda.exceptions import DataError

__all__ = ["Progress", "ReadOptions", "read_windows", "read_with_quality"]

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the number of recordings done, their total, and the name of the next one."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReadOptions:
    """The options of `read_windows`, which explains them.

    Parameters
    ----------
    subject : str | None
        Column with the subjects.
    channels : sequence of str | None
        Channels to take.
    classes : sequence of str | None
        Classes to take.
    min_windows : int | None
        Smallest number of windows of a class.
    standardise : "window" | "recording" | None
        What gets mean 0 and standard deviation 1.
    preprocessing : Preprocessing | None
        What is done to nights.
    cache : bool
        Whether to use the cache.
    on_progress : callable | None
        Called before each recording.
    """

    subject: str | None = None
    channels: Sequence[str] | None = None
    classes: Sequence[str] | None = None
    min_windows: int | None = None
    standardise: Standardise = "window"
    preprocessing: Preprocessing | None = None
    cache: bool = True
    on_progress: Progress | None = None

    def __post_init__(self) -> None:
        if self.standardise not in ("window", "recording", None):
            raise ValueError(
                f"`standardise` must be 'window', 'recording' or None, got {self.standardise!r}."
            )
        for name in ("channels", "classes"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"`{name}` must be a list of names, got {getattr(self, name)!r}.")
        if self.channels is not None and not len(self.channels):
            raise ValueError("`channels` must name at least one channel, got none.")


def read_windows(
    source: Any,
    *,
    subject: str | None = None,
    channels: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    min_windows: int | None = None,
    standardise: Standardise = "window",
    bad: Literal["refuse", "drop"] = "refuse",
    preprocessing: Preprocessing | None = None,
    cache: bool = True,
    on_progress: Progress | None = None,
) -> Windows:
    """Read windows with labels and subjects.

    Parameters
    ----------
    source : path-like | mne.Epochs | mapping | Windows
        An MNE epochs file (``.fif``, ``.fif.gz``); a folder of nights named as in Sleep Physionet
        or MASS; a mapping file (``.toml``), or a folder with one, for any other EDF files with
        annotations; a ``.npz`` file; MNE epochs; a mapping with the arguments of `Windows`.
        `Windows`, and files that `Windows.save` wrote, keep the signals that they have.
    subject : str | None
        For epochs: the column of the metadata with the subjects; None takes ``subject``. Other
        sources know their subjects themselves.
    channels : sequence of str | None
        Names of the channels to take, as people write them; None takes all EEG channels of epochs,
        those of the paper for nights, and those of the mapping file.
    classes : sequence of str | None
        Names of the classes to take, in the order wanted; None takes all.
    min_windows : int | None
        Classes with fewer windows are left out; None refuses a class without any.
    standardise : "window" | "recording" | None
        What gets mean 0 and standard deviation 1: each channel of each window, or of each
        recording. Either uses nothing but the recording itself, so nothing leaks between subjects.
        None leaves the unit of the source, volts for recordings.
    bad : "refuse" | "drop"
        What to do about windows with NaN or with a flat channel.
    preprocessing : Preprocessing | None
        For nights: what is done before they are cut; None does what the paper does.
    cache : bool
        For nights and mapping files: whether to keep the windows in the folder ``CADDA_CACHE``.
    on_progress : callable | None
        For nights and mapping files: called before each recording with the number of recordings
        done, their total and a name, and once at the end.

    Returns
    -------
    Windows
        The windows.
    """
    if bad not in ("refuse", "drop"):
        raise ValueError(f"`bad` must be 'refuse' or 'drop', got {bad!r}.")
    options = ReadOptions(
        subject, channels, classes, min_windows, standardise, preprocessing, cache, on_progress
    )
    windows, quality = read_with_quality(source, options)
    if bad == "refuse":
        refuse_bad(quality, _name(source))
    elif quality.n_bad:
        message = "%s: %d of %d windows have NaN or a flat channel and are left out."
        _logger.warning(message, _name(source), quality.n_bad, quality.n_bad + quality.n_good)
    return windows


def read_with_quality(source: Any, options: ReadOptions) -> tuple[Windows, Quality]:
    """Read windows without the bad ones, and say what is known of all of them.

    Parameters
    ----------
    source : path-like | mne.Epochs | mapping | Windows
        As in `read_windows`.
    options : ReadOptions
        The other arguments of `read_windows`.

    Returns
    -------
    windows : Windows
        The good windows.
    quality : Quality
        How many others there are, and how strong the signals were.
    """
    if isinstance(source, str | os.PathLike):
        windows, quality = _read_path(Path(source), options)
    elif hasattr(source, "event_id") and hasattr(source, "get_data"):
        windows, quality = _read_epochs(source, options, "epochs")
    elif isinstance(source, Windows):
        windows = _select(source, options, "windows")
        quality = replace(find_flaws(windows.x.numpy()).quality(), n_bad=0, n_good=len(windows))
    elif isinstance(source, Mapping):
        windows, quality = arrays_to_windows(source, standardise=options.standardise)
        windows = _select(windows, options, "arrays")
    else:
        raise TypeError(
            "`source` must be a path, MNE epochs, Windows or a mapping of arrays, "
            f"got {type(source).__name__}."
        )
    counts = zip(windows.class_names, windows.class_counts(), strict=True)
    lost = [name for name, count in counts if not count]
    if quality.n_bad and lost:
        raise DataError(
            f"{_name(source)}: every window of {', '.join(map(repr, lost))} has NaN or a flat "
            "channel; leave these classes out with `classes`."
        )
    return windows, quality


def _name(source: Any) -> str:
    return str(source) if isinstance(source, str | os.PathLike) else type(source).__name__


def _read_path(path: Path, options: ReadOptions) -> tuple[Windows, Quality]:
    if not path.exists():
        raise DataError(f"{path} does not exist.")
    if path.name.endswith((".fif", ".fif.gz")):
        return _read_epochs(open_epochs(path), options, path.name)
    if path.suffix == ".npz":
        windows, quality = read_npz(path, standardise=options.standardise)
        return _select(windows, options, path.name), quality
    if path.is_dir() or path.suffix == ".toml":
        return _read_plan(_plan(path, options), options)
    hint = "; give the folder that it is in" if path.suffix.lower() == ".edf" else ""
    raise DataError(
        f"{path} must be an MNE epochs file (.fif, .fif.gz), a .npz file, a mapping file (.toml) "
        f"or a folder of recordings{hint}."
    )


def _read_epochs(epochs: Any, options: ReadOptions, where: str) -> tuple[Windows, Quality]:
    return epochs_to_windows(
        epochs,
        subject=options.subject,
        channels=options.channels,
        classes=options.classes,
        min_windows=options.min_windows,
        standardise=options.standardise,
        where=where,
    )


def _select(windows: Windows, options: ReadOptions, where: str) -> Windows:
    """Take some channels and classes of windows; without a choice, the very same windows."""
    if options.channels is None and options.classes is None and options.min_windows is None:
        return windows
    channels = options.channels or windows.ch_names
    picks = find_channels(channels, windows.ch_names, where)
    rows = [windows.ch_names.index(name) for name in picks]
    class_names, labels = choose_classes(
        windows.class_names, windows.y.numpy(), options.classes, options.min_windows
    )
    kept = labels >= 0
    return Windows(
        windows.x[torch.from_numpy(kept)][:, rows],
        labels[kept],
        subject=windows.subject[kept],
        recording=windows.recording[kept],
        sfreq=windows.sfreq,
        ch_names=channels,
        class_names=class_names,
        positions=None if windows.positions is None else windows.positions[rows],
    )


def _plan(path: Path, options: ReadOptions) -> Plan:
    mappings = [path] if path.is_file() else sorted(path.glob("*.toml"))
    if len(mappings) > 1:
        raise DataError(
            f"{path} has several mapping files, {[one.name for one in mappings]}; give the one "
            "to use instead of the folder."
        )
    if not mappings:
        return plan_sleep(path, options.channels, options.preprocessing)
    if options.preprocessing is not None:
        raise ValueError(f"`preprocessing` must be None, as {mappings[0]} says what is done.")
    return plan_annotated(mappings[0], options.channels)


def _read_plan(plan: Plan, options: ReadOptions) -> tuple[Windows, Quality]:
    plan = _chosen(plan, options)
    rates = {one.sfreq: one.path.name for one in plan.recordings}
    if len(rates) > 1 and plan.preprocessing.sfreq is None:
        raise DataError(
            "the recordings must have one sampling rate, but "
            + ", ".join(f"{name} has {rate:g} Hz" for rate, name in sorted(rates.items()))
            + "; resample them with `sfreq` of the preprocessing."
        )
    key = _key(plan, options) if options.cache else None
    entry = None if key is None else load_entry(key)
    if entry is None:
        entry = _build(plan, options, key)
    counts = [run.quality.n_good for run in entry.runs]
    windows = Windows(
        entry.x,
        entry.y,
        subject=np.repeat([run.subject for run in entry.runs], counts),
        recording=np.repeat([run.recording for run in entry.runs], counts),
        sfreq=plan.preprocessing.rate(plan.recordings[0].sfreq),
        ch_names=plan.ch_names,
        class_names=plan.class_names,
    )
    return windows, Quality.of_all([run.quality for run in entry.runs])


def _chosen(plan: Plan, options: ReadOptions) -> Plan:
    """Leave out classes before any signal is read."""
    labels = np.concatenate([one.labels for one in plan.recordings])
    class_names, labels = choose_classes(
        plan.class_names, labels, options.classes, options.min_windows
    )
    ends = np.cumsum([len(one.labels) for one in plan.recordings])[:-1]
    recordings = [
        replace(one, starts=one.starts[new >= 0], labels=new[new >= 0])
        for one, new in zip(plan.recordings, np.split(labels, ends), strict=True)
    ]
    recordings = [one for one in recordings if len(one.starts)]
    return replace(plan, recordings=recordings, class_names=class_names)


def _key(plan: Plan, options: ReadOptions) -> str:
    parameters = {
        "mne": version("mne"),
        "preprocessing": asdict(plan.preprocessing),
        "standardise": options.standardise,
        "recordings": [
            [one.picks, one.starts.tolist(), one.labels.tolist(), one.subject, one.name]
            for one in plan.recordings
        ],
    }
    return cache_key([one.path for one in plan.recordings], parameters)


def _build(plan: Plan, options: ReadOptions, key: str | None) -> CachedWindows:
    on_progress = options.on_progress or (lambda _done, _total, _name: None)
    total = len(plan.recordings)
    runs: list[Run] = []
    n_windows = sum(len(one.starts) for one in plan.recordings)
    n_times = round(plan.preprocessing.seconds * plan.preprocessing.rate(plan.recordings[0].sfreq))
    with WindowStore(key, (n_windows, len(plan.ch_names), n_times)) as store:
        for done, recording in enumerate(plan.recordings):
            on_progress(done, total, recording.name)
            x, flaws = cut_recording(recording, plan.preprocessing)
            labels = recording.labels
            if flaws.bad.any():
                x, labels = x[~flaws.bad], labels[~flaws.bad]
            standardise_as(options.standardise, x)
            runs.append(Run(recording.subject, recording.name, flaws.quality()))
            store.append(x, labels, runs[-1])
        on_progress(total, total, "")
        quality = Quality.of_all([run.quality for run in runs])
        if not quality.n_good:
            refuse_bad(quality, str(plan.recordings[0].path.parent))
        return store.finish()
