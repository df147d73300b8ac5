"""Nights of Sleep Physionet and MASS: pairs of EDF files with signals and hypnogram."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cadda.data.channels import find_channels
from cadda.data.io.edf import EdfHeader, read_annotations, read_edf_header
from cadda.data.io.hypnogram import STAGES, Annotation, hypnogram_windows
from cadda.data.io.preprocess import Preprocessing, ReadPlan, Recording
from cadda.exceptions import DataError

__all__ = ["NAMING_SCHEMES", "NamingScheme", "plan_sleep"]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class NamingScheme:
    """How a database names its files, and how the paper reads it."""

    title: str
    signals: str  # regular expression with the groups `recording` and `subject`
    hypnogram: str  # regular expression with the group `recording`
    example: str
    channels: tuple[str, ...]
    preprocessing: Preprocessing


NAMING_SCHEMES = (
    NamingScheme(
        "Sleep Physionet",
        r"(?P<recording>(?P<subject>S[CT]\d{3})\d)\w*-PSG\.edf",
        r"(?P<recording>S[CT]\d{4})\w*-Hypnogram\.edf",
        "'SC4001E0-PSG.edf' and 'SC4001EC-Hypnogram.edf'",
        ("Fpz-Cz", "Pz-Oz"),
        Preprocessing(),
    ),
    NamingScheme(
        "MASS",
        r"(?P<recording>(?P<subject>\d\d-\d\d-\d{4})) PSG\.edf",
        r"(?P<recording>\d\d-\d\d-\d{4}) Base\.edf",
        "'01-03-0001 PSG.edf' and '01-03-0001 Base.edf'",
        ("C3", "C4", "F3", "F4", "O1", "O2"),
        Preprocessing(sfreq=128.0),
    ),
)
"""Databases that are recognised by their file names."""


def plan_sleep(
    folder: Path,
    channels: Sequence[str] | None = None,
    preprocessing: Preprocessing | None = None,
) -> ReadPlan:
    """Plan the reading of a folder of nights."""
    files = sorted(file for file in folder.rglob("*") if file.suffix.lower() == ".edf")
    scheme = next((known for known in NAMING_SCHEMES if _named(files, known.signals)), None)
    if scheme is None:
        examples = " or ".join(f"{known.example} ({known.title})" for known in NAMING_SCHEMES)
        content = f"only {files[0].name} and the like" if files else "no EDF file"
        raise DataError(
            f"{folder} has {content}; it must have pairs such as {examples}, or EDF files with a "
            "mapping file (TOML) that assigns annotations to classes."
        )
    wanted = tuple(channels or scheme.channels)
    preprocessing = preprocessing or scheme.preprocessing
    recordings = [
        _night(night, subject, psg, hypnogram, wanted, preprocessing.seconds)
        for night, subject, psg, hypnogram in _pairs(folder, files, scheme)
    ]
    return ReadPlan(recordings, wanted, STAGES, preprocessing)


def _named(files: Sequence[Path], pattern: str) -> dict[str, tuple[Path, re.Match[str]]]:
    """Return the files whose name matches a pattern, by recording."""
    named: dict[str, tuple[Path, re.Match[str]]] = {}
    for file in files:
        match = re.fullmatch(pattern, file.name, re.IGNORECASE)
        if match is None:
            continue
        recording = match["recording"].upper()
        if recording in named:
            raise DataError(
                f"duplicate recording {recording}: {named[recording][0]} and {file}; pass the "
                "folder of one of them."
            )
        named[recording] = (file, match)
    return named


def _pairs(
    folder: Path, files: Sequence[Path], scheme: NamingScheme
) -> list[tuple[str, str, Path, Path]]:
    signals, hypnograms = _named(files, scheme.signals), _named(files, scheme.hypnogram)
    unpaired = sorted(signals.keys() ^ hypnograms.keys())
    if unpaired:
        missing = "hypnogram" if unpaired[0] in signals else "recording"
        raise DataError(
            f"{folder} has no {missing} for {', '.join(unpaired[:5])}"
            f"{' …' if len(unpaired) > 5 else ''}; a night needs both, such as {scheme.example}."
        )
    return [
        (night, match["subject"].upper(), psg, hypnograms[night][0])
        for night, (psg, match) in signals.items()
    ]


def _night(
    night: str, subject: str, psg: Path, hypnogram: Path, wanted: Sequence[str], seconds: float
) -> Recording:
    header = read_edf_header(psg)
    picks = find_channels(wanted, header.labels, psg.name)
    starts, labels = hypnogram_windows(
        _annotations(hypnogram, header),
        seconds=seconds,
        total=header.seconds,
        where=hypnogram.name,
    )
    return Recording(psg, picks, header.sfreq_of(picks), starts, labels, subject, night)


def _annotations(hypnogram: Path, header: EdfHeader) -> list[Annotation]:
    """Read a hypnogram, with times relative to the start of its recording."""
    own = read_edf_header(hypnogram)
    start, annotations = own.start, read_annotations(own)
    if start is None or header.start is None:
        return annotations
    delay = (start - header.start).total_seconds()
    if abs(delay) > header.seconds:
        raise DataError(
            f"{hypnogram.name} does not fit {header.path.name}: it starts at {start}, the "
            f"recording at {header.start}."
        )
    if delay:
        _logger.warning(
            "%s starts %g s after %s; its stages are shifted accordingly.",
            hypnogram.name,
            delay,
            header.path.name,
        )
    return [replace(note, onset=note.onset + delay) for note in annotations]
