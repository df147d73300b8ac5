"""Conversion between windows and what braindecode and MOABB pass around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cadda._internal.optional import import_optional
from cadda.data.channels import measured_positions
from cadda.data.checks import plain_names
from cadda.data.io.epochs import windows_to_epochs
from cadda.data.windows import Windows
from cadda.exceptions import DataError

__all__ = [
    "windows_from_braindecode",
    "windows_from_moabb",
    "windows_to_braindecode",
    "windows_to_moabb",
]

_WINDOWER = "create_windows_from_events"
"""The call whose arguments braindecode stores with its windows, names of classes among them."""


def windows_from_braindecode(
    dataset: Any, *, subject: str = "subject", class_names: Sequence[str] | None = None
) -> Windows:
    """Make windows of a windowed data set of braindecode.

    Values are those that the data set returns, after its transforms; they are not rescaled.

    Parameters
    ----------
    dataset : BaseConcatDataset | WindowsDataset | EEGWindowsDataset
        Windows with integer targets. Each of the concatenated data sets is a recording.
    subject : str
        The entry of the description that names the subject.
    class_names : sequence of str | None
        Names of the targets in ascending order. None takes those of the events that the windows
        were made from, or else the targets themselves.

    Returns
    -------
    Windows
        The windows. Targets become labels from 0 on, in ascending order.
    """
    parts = list(getattr(dataset, "datasets", [dataset]))
    _check_windowed(parts, subject)
    samples = [[part[i][:2] for i in range(len(part))] for part in parts]
    targets = np.array([target for part in samples for _, target in part])
    if targets.dtype.kind not in "iu" or targets.ndim != 1:
        raise DataError(f"`dataset` must have one integer target per window, got {targets[:1]!r}.")
    present, labels = np.unique(targets, return_inverse=True)
    info = _info(parts[0])
    counts = [len(part) for part in parts]
    return Windows(
        np.stack([np.asarray(x, dtype=np.float32) for part in samples for x, _ in part]),
        labels,
        subject=np.repeat(plain_names([part.description[subject] for part in parts]), counts),
        recording=np.repeat([str(i) for i in range(len(parts))], counts),
        sfreq=float(info["sfreq"]),
        ch_names=info["ch_names"],
        class_names=_event_names(parts, present) if class_names is None else class_names,
        positions=measured_positions(info),
    )


def windows_to_braindecode(windows: Windows) -> Any:
    """Make a data set of braindecode.

    Parameters
    ----------
    windows : Windows
        Windows with labels.

    Returns
    -------
    BaseConcatDataset
        One `WindowsDataset` per recording, described by subject and recording; the targets are
        the labels.
    """
    import mne

    import_optional("braindecode", "A data set of braindecode", "braindecode")
    datasets = import_module("braindecode.datasets")
    mapping = {name: label for label, name in enumerate(windows.class_names)}
    parts = []
    for part in _recordings(windows):
        epochs = windows_to_epochs(part)
        n_windows = len(part)
        metadata = epochs.metadata.assign(
            i_window_in_trial=0,
            i_start_in_trial=np.arange(n_windows) * part.n_times,
            i_stop_in_trial=(np.arange(n_windows) + 1) * part.n_times,
            target=part.y.numpy(),
        )
        # MNE reports that it replaces metadata.
        with mne.use_log_level("error"):
            epochs.metadata = metadata
        description = {"subject": str(part.subject[0]), "recording": str(part.recording[0])}
        made = datasets.WindowsDataset(epochs, description)
        made.window_kwargs = [(_WINDOWER, {"mapping": mapping})]
        parts.append(made)
    return datasets.BaseConcatDataset(parts)


def windows_from_moabb(
    x: Any,
    y: ArrayLike,
    metadata: Any,
    *,
    sfreq: float | None = None,
    ch_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
) -> Windows:
    """Make windows of what ``paradigm.get_data`` of MOABB returns.

    Values are not rescaled: arrays of MOABB are in microvolts, its epochs in volts.

    Parameters
    ----------
    x : array-like of shape (n_windows, n_channels, n_times) | mne.Epochs
        Signals; epochs if MOABB was called with ``return_epochs=True``.
    y : array-like of shape (n_windows,)
        The class of each window.
    metadata : pandas.DataFrame | mapping
        Columns ``subject``, ``session`` and ``run``; the last two together are the recording.
    sfreq : float | None
        Sampling rate in Hz; not needed for epochs.
    ch_names : sequence of str | None
        Names of the channels; not needed for epochs.
    class_names : sequence of str | None
        Classes in the order of their labels; None sorts them.

    Returns
    -------
    Windows
        The windows.
    """
    positions = None
    if hasattr(x, "get_data"):
        sfreq, ch_names = float(x.info["sfreq"]), list(x.ch_names)
        positions, x = measured_positions(x.info), x.get_data(copy=True)
    if sfreq is None or ch_names is None:
        raise ValueError(
            "`sfreq` and `ch_names` must be given, as arrays have none; epochs have both "
            "(`return_epochs=True` in MOABB)."
        )
    texts = np.asarray(y).astype(str)
    names = sorted(set(texts.tolist())) if class_names is None else [*class_names]
    unknown = sorted(set(texts.tolist()) - set(names))
    if unknown:
        raise ValueError(f"`class_names` must name every class of `y`, but not {unknown}.")
    session, run = (_column(metadata, name) for name in ("session", "run"))
    return Windows(
        x,
        np.array([names.index(text) for text in texts]),
        subject=_column(metadata, "subject"),
        recording=[f"{a}/{b}" for a, b in zip(session, run, strict=True)],
        sfreq=sfreq,
        ch_names=ch_names,
        class_names=names,
        positions=positions,
    )


def windows_to_moabb(windows: Windows) -> tuple[NDArray[np.float32], NDArray[np.str_], Any]:
    """Return windows as ``paradigm.get_data`` of MOABB returns them.

    Parameters
    ----------
    windows : Windows
        Windows with labels.

    Returns
    -------
    x : array of shape (n_windows, n_channels, n_times)
        Signals, as they are.
    y : array of shape (n_windows,)
        Names of the classes.
    metadata : pandas.DataFrame
        Columns ``subject``, ``session`` and ``run``: the recording ``session/run``. The run of a
        recording without a slash is ``"0"``.
    """
    pandas = import_optional("pandas", "A table of metadata", "moabb")
    recordings = [name if "/" in name else f"{name}/0" for name in windows.recording.tolist()]
    columns = {
        "subject": windows.subject,
        "session": [name.rpartition("/")[0] for name in recordings],
        "run": [name.rpartition("/")[2] for name in recordings],
    }
    names = np.array(windows.class_names)[windows.y.numpy()]
    return windows.x.numpy(), names, pandas.DataFrame(columns)


def _check_windowed(parts: Sequence[Any], subject: str) -> None:
    """Raise if data sets of braindecode have no windows or no subject."""
    for part in parts:
        if not hasattr(part, "crop_inds"):
            raise TypeError(
                "`dataset` must have windows, made by braindecode's `create_windows_from_events` "
                f"or another windower, got {type(part).__name__}."
            )
        description = {} if part.description is None else dict(part.description)
        if subject not in description:
            raise DataError(
                f"`subject` must be in the description of every data set, but there is "
                f"{list(description) or 'nothing'}, not {subject!r}."
            )


def _info(part: Any) -> Any:
    """Return the `mne.Info` of a data set made from Raw, or from Epochs."""
    return part.raw.info if hasattr(part, "raw") else part.windows.info


def _event_names(parts: Sequence[Any], targets: NDArray[Any]) -> list[str]:
    """Return the events that were mapped to targets; of several, all of their names."""
    names: dict[int, list[str]] = {}
    for call, arguments in getattr(parts[0], "window_kwargs", ()):
        mapping = arguments.get("mapping") if call == _WINDOWER else None
        for name, target in (mapping or {}).items():
            names.setdefault(int(target), []).append(str(name))
    return ["/".join(names.get(int(target), [str(target)])) for target in targets]


def _recordings(windows: Windows) -> Iterator[Windows]:
    """Yield the windows of each recording; one of them may have a single class."""
    pairs = np.stack([windows.subject, windows.recording], axis=1)
    for pair in dict.fromkeys(map(tuple, pairs.tolist())):
        yield windows[(pairs == pair).all(axis=1)]


def _column(metadata: Mapping[str, Any], name: str) -> NDArray[np.str_]:
    try:
        return plain_names(metadata[name])
    except KeyError as error:
        raise DataError(
            f"`metadata` must have the columns subject, session and run, but not {name!r}."
        ) from error
