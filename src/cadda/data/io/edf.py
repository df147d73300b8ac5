"""Headers and annotations of EDF files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from cadda._internal.limits import open_regular
from cadda._internal.text import short_reason
from cadda.data.io.header import Header, check_rate, guess_type
from cadda.data.io.hypnogram import Annotation
from cadda.data.io.lost_events import collected_warnings, count_omitted
from cadda.exceptions import DataError

__all__ = ["open_edf", "read_annotations", "read_edf_header"]

_ANNOTATIONS = "EDF Annotations"


def read_edf_header(path: Path) -> Header:
    """Read the header of an EDF file; raise if the file is truncated or not EDF."""
    try:
        with open_regular(path) as file:
            fixed = file.read(256).decode("latin-1")
            n_channels = int(fixed[252:256])
            table = file.read(256 * n_channels).decode("latin-1")
    except OSError as error:
        raise DataError(f"cannot read {path}: {short_reason(error)}.") from error
    except ValueError:
        raise DataError(f"{path} is not an EDF file.") from None
    if n_channels < 1:
        raise DataError(f"{path} is not an EDF file: it has no channel.")
    try:
        if len(table) < 256 * n_channels:
            raise ValueError
        names = [table[16 * i : 16 * (i + 1)].strip() for i in range(n_channels)]
        sizes = [int(table[216 * n_channels + 8 * i :][:8]) for i in range(n_channels)]
        n_records, duration = int(fixed[236:244]), float(fixed[244:252])
        body = path.stat().st_size - int(fixed[184:192])
        if min(sizes) < 0 or not math.isfinite(duration):
            raise ValueError
    except ValueError:
        raise DataError(f"{path} is truncated in its header, or is not an EDF file.") from None
    n_present = body // max(2 * sum(sizes), 1)
    if n_present < n_records or not n_present:
        raise DataError(
            f"{path} is truncated: its header announces {n_records} records, but only "
            f"{n_present} are present; copy or fetch the file again."
        )
    signals = [i for i, name in enumerate(names) if name != _ANNOTATIONS]
    if signals and fixed[192:197] == "EDF+D":
        raise DataError(f"{path} has gaps in time (EDF+D), which cannot be read; fill them first.")
    if signals and duration <= 0:
        raise DataError(f"{path} has signals, but its records last {duration:g} s.")
    for i in signals:
        check_rate(sizes[i] / duration, path, names[i])
    labels = tuple(names[i] for i in signals)
    return Header(
        path,
        labels,
        tuple(map(guess_type, labels)),
        tuple(sizes[i] / duration for i in signals),
        # A recorder that was switched off leaves -1.
        (n_records if n_records > 0 else n_present) * duration,
        _start(fixed[168:184]),
    )


def read_annotations(header: Header) -> tuple[list[Annotation], int]:
    """Read the annotations of an EDF file, with signals or without, in the order of the file.

    Return how many are left out as well, because they are outside the recording.
    """
    path, labels = header.path, header.labels
    with collected_warnings() as caught:
        try:
            annotations = _annotations(path, labels, "utf8")
        # MNE has no exception of its own for text that is not UTF-8.
        except Exception:
            caught.clear()
            try:
                annotations = _annotations(path, labels, "latin1")
            except Exception as error:
                raise DataError(
                    f"cannot read the annotations of {path}: {short_reason(error)}."
                ) from error
    notes = [
        Annotation(float(onset), float(duration), str(text))
        for onset, duration, text in zip(
            annotations.onset, annotations.duration, annotations.description, strict=True
        )
    ]
    return notes, count_omitted(caught)


def open_edf(path: Path, channels: Sequence[str], encoding: str = "latin1") -> Any:
    """Open some channels, so that others with a higher sampling rate do not matter.

    In Latin-1, any bytes are text: annotations that are not used cannot fail.
    """
    import mne

    return mne.io.read_raw_edf(
        path, include=list(channels), preload=False, encoding=encoding, verbose="warning"
    )


def _annotations(path: Path, labels: tuple[str, ...], encoding: str) -> Any:
    import mne

    if not labels:
        return mne.read_annotations(path, encoding=encoding)
    # Where there are signals, MNE's `read_annotations` would look for text in them as well.
    return open_edf(path, labels[:1], encoding).annotations


def _start(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%d.%m.%y%H.%M.%S")
    except ValueError:
        return None
