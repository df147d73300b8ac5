"""Download of Sleep Physionet, on request."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from cadda._internal.text import short_reason
from cadda.exceptions import DataError

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

    Files that are present are not downloaded again, and a file appears only once it is complete
    and its checksum is correct, so calling this again resumes after a failure, which raises
    `DataError`. Return pairs of recording and hypnogram.
    """
    from mne.datasets.sleep_physionet import age

    nights = available_nights(subjects, recordings)
    report = on_progress or (lambda _done, _total, _name: None)
    pairs: list[tuple[Path, Path]] = []
    for done, (subject, night) in enumerate(nights):
        report(done, len(nights), f"subject {subject}, night {night}")
        try:
            with _quiet():
                files = age.fetch_data(
                    subjects=[subject],
                    recording=[night],
                    path=None if folder is None else str(folder),
                    on_missing="ignore",
                    verbose="error",
                )
        # The network, the disk and checksums raise many kinds of errors.
        except Exception as error:
            raise DataError(
                f"cannot download night {night} of subject {subject} ({_reason(error)}); "
                f"{done} of {len(nights)} nights are complete. Call this again to resume, or "
                f"download the files from {_ADDRESS} and pass their folder."
            ) from error
        pairs.extend((Path(psg), Path(hypnogram)) for psg, hypnogram in files)
    report(len(nights), len(nights), "")
    return pairs


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence MNE's downloader, and nothing else."""
    # It has its own logger and handler, whatever the program has configured.
    downloader = import_module("pooch").get_logger()
    was_disabled, downloader.disabled = downloader.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        downloader.disabled = was_disabled


def _reason(error: Exception) -> str:
    """Return a short reason; those of network libraries are long."""
    if type(error).__name__ in ("ConnectionError", "ConnectTimeout", "ReadTimeout"):
        return "no connection to physionet.org"
    known = isinstance(error, OSError) and error.strerror
    return short_reason(error) if known else f"{type(error).__name__}: {short_reason(error)[:200]}"
