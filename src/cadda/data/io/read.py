"""`read_windows`: windows from recordings, epochs and arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from cadda._internal.delayed import shown_progress
from cadda._internal.step_display import Step, StepDisplay
from cadda._internal.user_warnings import warn_user
from cadda.data.io.options import CacheUse, Progress, ReadOptions, given_settings
from cadda.data.io.preprocess import Preprocessing
from cadda.data.io.read_result import read_with_quality, source_name
from cadda.data.standardise import Standardise
from cadda.data.windows import Windows
from cadda.exceptions import DataError, DataWarning

__all__ = ["read_windows"]


def read_windows(
    source: Any,
    *,
    subject: str | Sequence[str] | None = None,
    label: str | None = None,
    channels: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    class_from: str | None = None,
    class_map: Mapping[str, str] | None = None,
    within: Sequence[str] | None = None,
    repeat: bool | None = None,
    participants: str | os.PathLike[str] | None = None,
    min_windows: int | None = None,
    standardise: Standardise | Literal["auto"] = "auto",
    on_bad: Literal["raise", "drop"] = "raise",
    highpass: float | Literal["auto"] | None = "auto",
    lowpass: float | Literal["auto"] | None = "auto",
    transition: float | Literal["auto"] = "auto",
    notch: float | Sequence[float] | Literal["auto"] | None = "auto",
    reference: str | Sequence[str] | None = "auto",
    sfreq: float | Literal["auto"] | None = "auto",
    window_seconds: float | Literal["auto"] = "auto",
    offset: float | Literal["auto"] = "auto",
    baseline_seconds: tuple[float, float] | Literal["auto"] | None = "auto",
    reject: float | Literal["auto"] | None = "auto",
    keep_stage_4: bool = False,
    preprocessing: Preprocessing | None = None,
    cache: CacheUse = True,
    engine: str = "serial",
    progress: bool = True,
    on_progress: Progress | None = None,
) -> Windows:
    """Read windows with labels and subjects from files, MNE objects or arrays.

    Parameters
    ----------
    source : path-like | mne.Epochs | mne.io.Raw | mapping | Windows | list
        A file of recordings or epochs in a format that MNE reads, or a pattern such as
        ``"data/*.vhdr"``; a folder of recordings, as a BIDS data set or as in Sleep Physionet or
        MASS; a mapping file (``.toml``), or a folder with one, that assigns classes and subjects;
        a ``.npz`` file; MNE epochs or Raw; `Windows`, or a mapping with their arguments. Also a
        list of files, of epochs or of Raw.
    subject : str | sequence of str | None
        For epochs: the column of the metadata with the subjects, by default ``subject``. For
        recordings, and for files of epochs without that column: a regular expression whose first
        group is the subject in a file name. Recordings are by default of the subject ``sub-`` of
        BIDS, or of the folder if files in several have the same name, or else each is one. For a
        list of files, of epochs or of Raw, also a list with the subject of each. Raw counts as its
        file does. Raw without a file, and epochs without metadata, are by default of the subject
        ``info["subject_info"]["his_id"]``, or else each is a subject.
    label : str | None
        For epochs: the column of the metadata with the classes; None uses the names of events.
    channels : sequence of str | None
        Channels to select, in any common spelling, or types such as ``eeg`` and ``eog``. None
        selects the good EEG channels, those of the paper for nights, and those of the mapping
        file.
    classes : sequence of str | None
        Classes to select, in this order; None selects all.
    class_from : str | None
        For recordings: what names the class, ``"annotations"``, ``"file"`` for the name of the
        file, or ``"participants:COLUMN"`` for a column of a table of participants. For epochs:
        ``"metadata:COLUMN"``, as `label`. Here and in the next four, None is what the mapping file
        says, or else annotations and events.
    class_map : mapping of str to str | None
        Classes by annotations, events, sleep stages, names of files or values of a column, where
        ``*`` stands for any text: ``{"left/*": "left", "N1": "light", "N2": "light"}``. What
        matches nothing is left out. In place of the classes of a mapping file. Of arrays and
        `Windows`, it renames and merges the classes. None takes each text as a class; with
        ``class_from="file"``, it is required.
    within : sequence of str | None
        For recordings whose class is not that of annotations: annotations to cut windows from,
        where ``*`` stands for any text. None fills the whole recording with windows.
    repeat : bool | None
        For recordings: whether to fill each annotation with windows, instead of one at its onset.
    participants : path-like | None
        For ``class_from="participants:COLUMN"``: the table, with tabs between columns and a column
        ``participant_id``; by default ``participants.tsv``. A relative path is that from the
        mapping file, or else from the closest folder around the recordings that has the table.
    min_windows : int | None
        Drop classes with fewer windows; 0 drops none, even empty classes. With None, an empty
        class is an error.
    standardise : "auto" | "window" | "recording" | None
        Scale each channel of each window, or of each recording, to mean 0 and standard deviation
        1. No recording influences another, so nothing leaks between subjects. ``"auto"`` scales
        windows, except in `Windows` and files written by `Windows.save`, which stay as they are.
        None keeps the unit of the source, volts for recordings.
    on_bad : "raise" | "drop"
        Whether windows with NaN or a flat channel are an error or are dropped with a
        `DataWarning`.
    highpass, lowpass : float | "auto" | None
        Edges of the pass band in Hz; None does not filter. Here and below, ``"auto"`` is what the
        mapping file says, or else the default of `Preprocessing`, but 4 and 38 Hz if the classes
        have names of movements; epochs are left as they are.
    transition : float | "auto"
        Width of the transition band above ``lowpass`` in Hz.
    notch : float | sequence of float | "auto" | None
        Frequencies in Hz to remove, such as those of the mains.
    reference : "average" | "mastoids" | sequence of str | "auto" | None
        Channels whose mean is subtracted; ``"average"``: all good EEG channels, ``"mastoids"``: M1
        and M2, A1 and A2, or TP9 and TP10.
    sfreq : float | "auto" | None
        Sampling rate to resample to in Hz.
    window_seconds : float | "auto"
        For recordings: length of a window. Without a mapping file, the default is 30 s for sleep
        stages and the shortest annotation for others.
    offset : float | "auto"
        For recordings: start of a window after its annotation in seconds.
    baseline_seconds : tuple of float | "auto" | None
        Start and end, in seconds after the annotation, of the time whose mean is subtracted from
        each channel of the window.
    reject : float | "auto" | None
        Drop windows with a larger peak-to-peak amplitude in any channel, in volts.
    keep_stage_4 : bool
        Whether stage 4 of Rechtschaffen and Kales is a class N4; by default it is part of N3.
    preprocessing : Preprocessing | None
        All of these settings at once, in place of the defaults; not with a mapping file.
    cache : bool | "verify"
        For recordings in files: whether to keep preprocessed windows in the folder
        ``CADDA_CACHE``. A recording that has changed is noticed by its size and modification
        time; ``"verify"`` compares the content of the file as well, which takes longer.
    engine : str
        For recordings: where to preprocess, ``"serial"``,
        ``"processes:N"``, ``"dask:ADDRESS"`` or ``"dask:local:N"``; the result is the same.
    progress : bool
        For recordings: whether to show the progress of reading that takes longer than a few
        seconds, a bar in a terminal, a few lines elsewhere.
    on_progress : callable | None
        For recordings: called before each recording with the number of recordings
        done, their total and a name, and once at the end.

    Returns
    -------
    Windows
        The windows.
    """
    if on_bad not in ("raise", "drop"):
        raise ValueError(f"`on_bad` must be 'raise' or 'drop', got {on_bad!r}.")
    arguments = {
        "highpass": highpass,
        "lowpass": lowpass,
        "transition": transition,
        "notch": notch,
        "reference": reference,
        "sfreq": sfreq,
        "window_seconds": window_seconds,
        "offset": offset,
        "baseline_seconds": baseline_seconds,
        "reject": reject,
    }
    with shown_progress(
        lambda: StepDisplay("reading"), _receiver(on_progress), progress=progress
    ) as report:
        options = ReadOptions(
            subject,
            channels,
            classes,
            min_windows,
            standardise,
            preprocessing,
            cache,
            engine,
            lambda *step: report(step),
            label,
            keep_stage_4,
            given_settings(arguments),
            class_from=class_from,
            class_map=class_map,
            within=within,
            repeat=repeat,
            participants=None if participants is None else os.fspath(participants),
            raise_bad_of=source_name(source) if on_bad == "raise" else None,
        )
        result = read_with_quality(source, options)
    if values := result.describe_values():
        raise DataError(f"{source_name(source)}: {values}.")
    for note in dict.fromkeys(result.notes):
        warn_user(note, DataWarning)
    return result.windows


def _receiver(on_progress: Progress | None) -> Callable[[Step], None] | None:
    """Return what passes steps on to a function of three arguments."""
    return None if on_progress is None else lambda step: on_progress(*step)
