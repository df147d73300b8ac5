"""Download of Sleep Physionet, on request."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from cadda.data.datasets.download import download_each

__all__ = ["available_nights", "fetch_sleep_physionet"]

_N_SUBJECTS = 83
_NO_SUBJECT = {39, 68, 69, 78, 79}
_NO_NIGHT = {(13, 2), (36, 1), (52, 1)}
_ADDRESS = "https://physionet.org/content/sleep-edfx/1.0.0/"


def available_nights(
    subjects: Sequence[int], recordings: Sequence[int] = (1, 2)
) -> list[tuple[int, int]]:
    """Return the (subject, night) pairs that exist in Sleep Physionet."""
    wrong = [subject for subject in subjects if not 0 <= subject < _N_SUBJECTS]
    if wrong or not len(subjects):
        raise ValueError(f"`subjects` must be numbers from 0 to 82, got {wrong or 'none'}.")
    if not len(recordings) or not set(recordings) <= {1, 2}:
        raise ValueError(f"`recordings` must be 1, 2 or both, got {list(recordings)}.")
    nights = [
        (subject, night)
        for subject in sorted(set(subjects))
        for night in sorted(set(recordings))
        if subject not in _NO_SUBJECT and (subject, night) not in _NO_NIGHT
    ]
    if not nights:
        raise ValueError(
            f"`subjects` must have at least one night: {sorted(_NO_SUBJECT)} do not exist, and "
            f"the nights {sorted(_NO_NIGHT)} were lost."
        )
    return nights


def fetch_sleep_physionet(
    subjects: Sequence[int],
    recordings: Sequence[int] = (1, 2),
    *,
    folder: str | os.PathLike[str] | None = None,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> list[tuple[Path, Path]]:
    """Download nights of Sleep Physionet, about 50 MB each, with MNE's fetcher.

    Return pairs of recording and hypnogram. Calling this again resumes after a failure.
    """
    from mne.datasets.sleep_physionet import age

    nights = {
        f"night {night} of subject {subject}": partial(
            age.fetch_data,
            subjects=[subject],
            recording=[night],
            path=None if folder is None else str(folder),
            on_missing="ignore",
            verbose="error",
        )
        for subject, night in available_nights(subjects, recordings)
    }
    files = download_each(nights, unit="nights", address=_ADDRESS, on_progress=on_progress)
    return [(Path(psg), Path(hypnogram)) for pairs in files for psg, hypnogram in pairs]
