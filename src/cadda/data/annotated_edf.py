"""EDF files with annotations: what their headers say, and windows by a mapping of your own."""

from __future__ import annotations

import re
import tomllib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cadda.data.checks import find_channels
from cadda.data.hypnogram import Annotation
from cadda.data.montage import electrodes
from cadda.data.preprocess import Plan, Preprocessing, Recording
from cadda.exceptions import DataError

__all__ = ["EdfHeader", "EdfMapping", "plan_annotated", "read_annotations", "read_edf_header"]

_ANNOTATIONS = "EDF Annotations"


@dataclass(frozen=True)
class EdfHeader:
    """What an EDF file says of itself.

    Parameters
    ----------
    path : Path
        The file.
    labels : tuple of str
        Names of the channels.
    sfreqs : tuple of float
        Their sampling rates in Hz.
    seconds : float
        Length of the recording.
    start : datetime | None
        When it began; None if the file does not say.
    """

    path: Path
    labels: tuple[str, ...]
    sfreqs: tuple[float, ...]
    seconds: float
    start: datetime | None

    def sfreq_of(self, picks: tuple[str, ...]) -> float:
        """Give the sampling rate of some channels, and refuse if they have several.

        Parameters
        ----------
        picks : tuple of str
            Names of channels in this file.

        Returns
        -------
        float
            Sampling rate in Hz.
        """
        rates = {name: self.sfreqs[self.labels.index(name)] for name in picks}
        if len(set(rates.values())) > 1:
            raise DataError(
                f"{self.path.name} has channels with different sampling rates, {rates} Hz; choose "
                "`channels` with the same rate."
            )
        return rates[picks[0]]


def read_edf_header(path: Path) -> EdfHeader:
    """Read the header of an EDF file and refuse what is cut off or not EDF.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    EdfHeader
        What it says.
    """
    try:
        with path.open("rb") as file:
            fixed = file.read(256).decode("latin-1")
            n_channels = int(fixed[252:256])
            table = file.read(256 * n_channels).decode("latin-1")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError:
        raise DataError(f"{path} is not an EDF file.") from None
    try:
        names = [table[16 * i : 16 * (i + 1)].strip() for i in range(n_channels)]
        sizes = [int(table[216 * n_channels + 8 * i :][:8]) for i in range(n_channels)]
        n_records, duration = int(fixed[236:244]), float(fixed[244:252])
        body = path.stat().st_size - int(fixed[184:192])
    except ValueError:
        raise DataError(f"{path} is cut off in its header, or is not an EDF file.") from None
    there = body // max(2 * sum(sizes), 1)
    if there < n_records or not there:
        raise DataError(
            f"{path} is cut off: its header announces {n_records} records, but only {there} are "
            "there; copy or fetch the file again."
        )
    signals = [i for i, name in enumerate(names) if name != _ANNOTATIONS]
    if signals and fixed[192:197] == "EDF+D":
        raise DataError(f"{path} has gaps in time (EDF+D), which cannot be read; fill them first.")
    if signals and duration <= 0:
        raise DataError(f"{path} has signals, but its records last {duration:g} s.")
    return EdfHeader(
        path,
        tuple(names[i] for i in signals),
        tuple(sizes[i] / duration for i in signals),
        # Recorders that were switched off leave -1.
        (n_records if n_records > 0 else there) * duration,
        _start(fixed[168:184]),
    )


def read_annotations(path: Path) -> list[Annotation]:
    """Read the annotations of an EDF file.

    Parameters
    ----------
    path : Path
        The file, with signals or without.

    Returns
    -------
    list of Annotation
        The annotations, in the order of the file.
    """
    labels = read_edf_header(path).labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = _annotations(path, labels, "utf8")
        # MNE has no class of its own for text that is not UTF-8.
        except Exception:
            found = _annotations(path, labels, "latin1")
    return [
        Annotation(float(onset), float(duration), str(text))
        for onset, duration, text in zip(
            found.onset, found.duration, found.description, strict=True
        )
    ]


class EdfMapping(BaseModel):
    """Which annotations are which classes, as a mapping file says it.

    Parameters
    ----------
    classes : dict of str to str
        Class for each text of an annotation; other annotations are not used.
    subject : str
        Regular expression whose first group finds the subject in the name of a file.
    seconds : float
        Length of a window.
    offset : float
        Where a window begins, in seconds after its annotation.
    repeat : bool
        Whether to fill each annotation with windows, instead of one at its onset.
    files : str
        Which files to read, beside the mapping file.
    channels : list of str | None
        Channels to read; None takes all with a name of the 10-20 system.
    lowpass : float | False
        Edge of the pass band in Hz; False does not filter.
    transition : float
        Width of the transition band in Hz.
    sfreq : float | None
        Sampling rate to resample to in Hz; None keeps that of the files.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    classes: Annotated[dict[str, str], Field(min_length=1)]
    subject: str
    seconds: Annotated[float, Field(gt=0)]
    offset: float = 0.0
    repeat: bool = False
    files: str = "**/*.edf"
    channels: list[str] | None = None
    lowpass: Annotated[float, Field(gt=0)] | Literal[False] = 30.0
    transition: Annotated[float, Field(gt=0)] = 7.0
    sfreq: Annotated[float, Field(gt=0)] | None = None


def plan_annotated(path: Path, channels: Sequence[str] | None = None) -> Plan:
    """Plan the reading of EDF files by a mapping file.

    Parameters
    ----------
    path : Path
        The mapping file, TOML.
    channels : sequence of str | None
        Channels to read; None takes those of the mapping file.

    Returns
    -------
    Plan
        What to read.
    """
    mapping = _read_mapping(path)
    headers = [read_edf_header(file) for file in _files(path, mapping)]
    wanted = list(channels or mapping.channels or []) or [
        n for n in headers[0].labels if electrodes(n)
    ]
    class_names = tuple(dict.fromkeys(mapping.classes.values()))
    recordings = [_recording(header, mapping, wanted, class_names) for header in headers]
    if not sum(len(one.starts) for one in recordings):
        raise DataError(
            f"no file beside {path} has one of the annotations {list(mapping.classes)}; "
            f"{headers[0].path.name} has "
            f"{sorted({one.text for one in read_annotations(headers[0].path)})[:10]}."
        )
    preprocessing = Preprocessing(
        lowpass=mapping.lowpass or None,
        transition=mapping.transition,
        sfreq=mapping.sfreq,
        seconds=mapping.seconds,
    )
    return Plan(recordings, tuple(wanted), class_names, preprocessing)


def _annotations(path: Path, labels: tuple[str, ...], encoding: str) -> Any:
    import mne

    if not labels:
        return mne.read_annotations(path, encoding=encoding)
    # Where there are signals, MNE's `read_annotations` would look for text in them as well.
    raw = mne.io.read_raw_edf(
        path, include=[labels[0]], preload=False, encoding=encoding, verbose="error"
    )
    return raw.annotations


def _start(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%d.%m.%y%H.%M.%S")
    except ValueError:
        return None


def _read_mapping(path: Path) -> EdfMapping:
    try:
        return EdfMapping.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not valid TOML: {error}.") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{path}: `{key}`: {first['msg']}.") from error


def _files(path: Path, mapping: EdfMapping) -> list[Path]:
    pattern = Path(mapping.files)
    root = Path(pattern.anchor) if pattern.is_absolute() else path.parent
    inside = str(pattern.relative_to(pattern.anchor)) if pattern.is_absolute() else mapping.files
    files = sorted(file for file in root.glob(inside) if file.is_file())
    if not files:
        raise DataError(f"{path}: `files`: no file beside it is named like {mapping.files!r}.")
    return files


def _recording(
    header: EdfHeader, mapping: EdfMapping, wanted: list[str], class_names: tuple[str, ...]
) -> Recording:
    name = header.path.name
    try:
        match = re.search(mapping.subject, name)
        subject = match[1] if match else None
    except (re.error, IndexError) as error:
        raise DataError(
            f"`subject` must be a regular expression with a group, got {mapping.subject!r}."
        ) from error
    if not subject:
        raise DataError(f"`subject` must match every file, but {mapping.subject!r} not {name}.")
    starts: list[float] = []
    labels: list[int] = []
    for one in sorted(read_annotations(header.path), key=lambda one: one.onset):
        if one.text not in mapping.classes:
            continue
        count = int((one.duration - mapping.offset) / mapping.seconds) if mapping.repeat else 1
        for k in range(count):
            start = one.onset + mapping.offset + k * mapping.seconds
            if start >= 0 and start + mapping.seconds <= header.seconds:
                starts.append(start)
                labels.append(class_names.index(mapping.classes[one.text]))
    picks = find_channels(wanted, header.labels, name)
    return Recording(
        header.path,
        picks,
        header.sfreq_of(picks),
        np.array(starts),
        np.array(labels, dtype=np.int64),
        subject,
        header.path.stem,
    )
