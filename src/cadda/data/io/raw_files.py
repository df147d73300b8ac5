"""Recordings in every format that MNE reads: header, annotations and signals."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

from cadda._internal.limits import LimitError, check_memory
from cadda._internal.text import path_order, short_reason
from cadda.data.channels import measured_positions
from cadda.data.io.bids import bids_recordings, bids_root, bids_sidecars, lost_events, open_bids
from cadda.data.io.brainvision import check_markers, explained_markers
from cadda.data.io.edf import open_edf, read_annotations, read_edf_header
from cadda.data.io.file_checks import check_count, check_recording
from cadda.data.io.header import Header, check_rate
from cadda.data.io.hypnogram import Annotation
from cadda.data.io.lost_events import collected_warnings, count_omitted
from cadda.data.io.projectors import pending_projectors
from cadda.exceptions import CaddaError, DataError

__all__ = [
    "BY_HAND",
    "SUFFIXES",
    "find_epochs",
    "find_recordings",
    "inspect_raw",
    "inspect_recording",
    "is_readable",
    "is_recording",
    "names_a_class",
    "open_raw",
    "reading",
]

SUFFIXES = (
    *(".edf", ".bdf", ".gdf", ".vhdr", ".ahdr", ".set", ".cnt", ".mff", ".fif", ".fif.gz"),
    *(".nxe", ".lay", ".nedf", ".cdt", ".mefd"),
)
"""Formats of recordings that are looked for in a folder, by the end of the name."""

BY_HAND = {".mat": "fieldtrip", ".data": "nicolet"}
"""Readers of MNE that need more than a path, by the end of the name."""

_HINTS = {
    ".eeg": "; if it is a part of a BrainVision recording, pass its .vhdr file, which is missing"
}
"""Endings of messages about files that cannot be read."""

_IGNORED = ("bad", "edge", "new segment", "boundary")
"""How annotations begin that name no class, in small letters."""

_EPOCHS = ("-epo.fif", "_epo.fif", "-epo.fif.gz", "_epo.fif.gz")

_TRIGGER_BITS = 2**16 - 1
"""Bits of the stim channel of BioSemi that hold triggers; the others are states of the device."""


def is_recording(path: Path) -> bool:
    """Check whether the name is that of a continuous recording."""
    name = path.name.casefold()
    return name.endswith(SUFFIXES) and not name.endswith(_EPOCHS) and not name.startswith(".")


def is_readable(path: Path) -> bool:
    """Check whether MNE opens a file by its name only; in folders, fewer are looked for."""
    from mne.io import _read_raw

    _, suffix = _read_raw.split_name_ext(path)
    if suffix == ".eeg" and path.with_suffix(".vhdr").exists():
        return False
    return suffix is not None and suffix not in (".vmrk", ".amrk", *BY_HAND)


def find_recordings(folder: Path) -> list[Path]:
    """Return the recordings in a folder and below; of a BIDS data set, those of its subjects."""
    if bids_root(folder) == folder:
        return [path for path in bids_recordings(folder) if is_recording(path)]
    found = [path for path in folder.rglob("*") if is_recording(path)]
    # Some formats are folders of files.
    folders = {path for path in found if path.is_dir()}
    own = (path for path in found if not folders.intersection(path.parents))
    return sorted(own, key=path_order)


def find_epochs(folder: Path) -> list[Path]:
    """Return the files of epochs in a folder and below, by their names."""
    found = (
        path
        for path in folder.rglob("*.fif*")
        if path.name.casefold().endswith(_EPOCHS) and not path.name.startswith(".")
    )
    return sorted(found, key=path_order)


def inspect_recording(path: Path) -> tuple[Header, list[Annotation]]:
    """Read the header and the annotations of a recording."""
    if path.suffix.lower() == ".edf" and bids_root(path) is None:
        header = read_edf_header(path)
        annotations, n_outside = read_annotations(header)
        return replace(header, n_outside=n_outside), annotations
    raw, n_outside = _open(path)
    with reading(path):
        is_bids = bids_root(path) is not None
        sidecars = bids_sidecars(path) if is_bids else ()
        # Some formats are folders, in which every file counts.
        parts = [path] if path.is_dir() else [Path(f) for f in raw.filenames if f is not None]
        files = dict.fromkeys((*sidecars, *(file for part in parts for file in _files(part))))
        header, annotations = inspect_raw(raw, path, tuple(f for f in files if f != path))
        lost = lost_events(path, header.seconds) if is_bids else None
        n_without_onset, n_outside = lost or (0, n_outside)
        header = replace(header, n_outside=n_outside, n_without_onset=n_without_onset)
        return header, annotations


@contextmanager
def reading(path: Path, what: str = "") -> Iterator[list[warnings.WarningMessage]]:
    """Report whatever a reader of MNE raises as `DataError`; collect its warnings."""
    # The reader of MFF prints what it does not find.
    is_mff = path.suffix.casefold() == ".mff"
    hidden = redirect_stdout(StringIO()) if is_mff else nullcontext()
    # Most warnings are about units, filters and positions that the file lacks and are not used.
    with collected_warnings() as caught, hidden:
        try:
            yield caught
        except CaddaError:
            raise
        except LimitError as error:
            # It may be one of the files beside the recording.
            raise DataError(f"cannot read {error.filename}{what}: {error.strerror}.") from error
        except FileNotFoundError as error:
            raise DataError(f"cannot read {path}{what}: {_missing(error, path)}.") from error
        # MNE raises whatever the first surprise in the file leads to.
        except Exception as error:
            reason = f"{short_reason(error)}{_HINTS.get(path.suffix.casefold(), '')}"
            raise DataError(f"cannot read {path}{what}: {reason}.") from error


def _missing(error: FileNotFoundError, path: Path) -> str:
    """Return which file that a recording consists of does not exist."""
    if error.filename is None or Path(error.filename).name == path.name:
        return short_reason(error)
    return (
        f"it consists of several files, and its header names {Path(error.filename).name}, which "
        "does not exist; restore that name, or correct it in the header"
    )


def inspect_raw(
    raw: Any, path: Path, files: tuple[Path, ...] = (), *, in_memory: bool = False
) -> tuple[Header, list[Annotation]]:
    """Return the header and the annotations of an open recording.

    Where no annotation could name a class, the events of its stim channel are used.
    """
    info = raw.info
    header = Header(
        path,
        tuple(raw.ch_names),
        tuple(raw.get_channel_types()),
        (float(info["sfreq"]),) * len(raw.ch_names),
        raw.n_times / float(info["sfreq"]),
        bads=tuple(info["bads"]),
        files=files,
        # MNE derives those of Neuroscan from the layout on the screen.
        positions=None if path.suffix.casefold() == ".cnt" else measured_positions(info),
        raw=raw if in_memory else None,
        projectors=pending_projectors(info),
    )
    notes = raw.annotations
    annotations = [
        # MNE counts from when the recorder was switched on, perhaps before the first sample.
        Annotation(float(onset - raw.first_time), float(duration), str(text))
        for onset, duration, text in zip(
            notes.onset, notes.duration, notes.description, strict=True
        )
    ]
    if "stim" in header.types and not any(map(names_a_class, annotations)):
        annotations += _stim_events(raw)
    return header, annotations


def names_a_class(annotation: Annotation) -> bool:
    """Check whether an annotation may name a class: not bad parts, edges, pauses, no text."""
    # What is text in other formats is a comment in BrainVision's.
    text = annotation.text.casefold().removeprefix("comment/")
    return bool(text.strip()) and not text.startswith(_IGNORED)


def open_raw(path: Path, channels: Sequence[str] = ()) -> Any:
    """Open a recording without reading its signals; of EDF files, only some channels."""
    return _open(path, channels)[0]


def _open(path: Path, channels: Sequence[str] = ()) -> tuple[Any, int]:
    """Open a recording; return how many of its annotations are outside it as well."""
    with reading(path) as caught, explained_markers(path):
        check_recording(path)
        if bids_root(path):
            raw = open_bids(path)
        elif path.suffix.lower() == ".edf" and channels:
            raw = open_edf(path, channels)
        else:
            check_markers(path)
            raw = _read_raw(path)
        check_count(path, len(raw.ch_names))
        check_rate(float(raw.info["sfreq"]), path)
        return raw, count_omitted(caught)


def _read_raw(path: Path) -> Any:
    import mne

    try:
        return mne.io.read_raw(path, preload=False, verbose="warning")
    except Exception:
        # MNE reads files of BCI2000 only as a whole, and does not say so.
        if path.suffix.casefold() != ".dat":
            raise
        return mne.io.read_raw(path, preload=True, verbose="warning")


def _stim_events(raw: Any) -> list[Annotation]:
    """Return the events of the stim channel; their texts are the codes."""
    import mne

    sizes = [Path(file).stat().st_size for file in raw.filenames if file is not None]
    if sizes:
        check_memory(str(raw.filenames[0]), sum(sizes), 8 * raw.n_times)
    mask = _TRIGGER_BITS if "Status" in raw.ch_names else None
    events = mne.find_events(
        raw, shortest_event=1, mask=mask, mask_type="and", initial_event=True, verbose="error"
    )
    return [
        Annotation(float(sample - raw.first_samp) / raw.info["sfreq"], 0.0, str(code))
        for sample, _, code in events
    ]


def _files(path: Path) -> list[Path]:
    """Return a file, or the files in a folder."""
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file())
    return [path]
