"""Nights of Sleep Physionet and MASS: pairs of EDF files with signals and hypnogram."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cadda.data.channels import find_channels
from cadda.data.io.cutting import ReadPlan, Recording
from cadda.data.io.edf import read_annotations, read_edf_header
from cadda.data.io.header import Header
from cadda.data.io.hypnogram import Annotation, hypnogram_windows, merge_note, stages
from cadda.data.io.options import ReadOptions
from cadda.data.io.own_reference import warn_of_reference, without_reference
from cadda.data.io.preprocess import Preprocessing
from cadda.data.io.stage_map import map_stages
from cadda.exceptions import DataError

__all__ = ["NAMING_SCHEMES", "NamingScheme", "has_nights", "plan_sleep"]

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


def has_nights(folder: Path) -> bool:
    """Check whether a folder has recordings that are named as in a known database."""
    files = _edf_files(folder)
    return any(_matching(files, known.signals) for known in NAMING_SCHEMES)


def plan_sleep(folder: Path, options: ReadOptions) -> ReadPlan:
    """Plan the reading of a folder of nights."""
    files = _edf_files(folder)
    scheme = next((known for known in NAMING_SCHEMES if _matching(files, known.signals)), None)
    if scheme is None:
        examples = " or ".join(f"{known.example} ({known.title})" for known in NAMING_SCHEMES)
        raise DataError(
            f"{folder} has no recording; it must have pairs such as {examples}, or recordings "
            "with annotations in a format that MNE reads."
        )
    options.refuse_rules("is not for nights, whose classes are sleep stages")
    options.check_for_recordings(are_stages=True)
    preprocessing = options.preprocess(scheme.preprocessing)
    if preprocessing.offset:
        raise ValueError(f"`offset` must be 0 for nights, got {preprocessing.offset:g}.")
    wanted = list(options.channels or scheme.channels)
    recordings, texts, zero = [], [], []
    for night in _pairs(folder, files, scheme):
        header = read_edf_header(night.signals)
        wanted, own = without_reference(
            header.expand_types(wanted), header, preprocessing.reference, options.channels
        )
        zero += own
        annotations = _annotations(night.hypnogram, header)
        windows = hypnogram_windows(
            annotations,
            seconds=preprocessing.seconds,
            total=header.seconds,
            where=night.hypnogram.name,
            keep_stage_4=options.keep_stage_4,
        )
        recordings.append(_recording(night, header, wanted, windows, preprocessing))
        texts += [annotation.text for annotation in annotations]
    warn_of_reference(zero)
    names = stages(keep_stage_4=options.keep_stage_4)
    notes = merge_note(texts, keep_stage_4=options.keep_stage_4)
    plan = ReadPlan(
        recordings,
        tuple(wanted),
        names,
        preprocessing,
        notes=notes,
        default=scheme.preprocessing,
        from_stages=True,
    )
    return map_stages(plan, options, str(folder), texts)


@dataclass(frozen=True)
class _Night:
    name: str
    subject: str
    signals: Path
    hypnogram: Path


def _edf_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() == ".edf")


def _matching(files: Sequence[Path], pattern: str) -> bool:
    return any(re.fullmatch(pattern, file.name, re.IGNORECASE) for file in files)


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


def _pairs(folder: Path, files: Sequence[Path], scheme: NamingScheme) -> list[_Night]:
    signals, hypnograms = _named(files, scheme.signals), _named(files, scheme.hypnogram)
    unpaired = sorted(signals.keys() ^ hypnograms.keys())
    if unpaired:
        missing = "hypnogram" if unpaired[0] in signals else "recording"
        raise DataError(
            f"{folder} has no {missing} for {', '.join(unpaired[:5])}"
            f"{' …' if len(unpaired) > 5 else ''}; a night needs both, such as {scheme.example}."
        )
    return [
        _Night(night, match["subject"].upper(), psg, hypnograms[night][0])
        for night, (psg, match) in signals.items()
    ]


def _recording(
    night: _Night,
    header: Header,
    wanted: Sequence[str],
    windows: tuple[NDArray[np.float64], NDArray[np.int64]],
    preprocessing: Preprocessing,
) -> Recording:
    picks = find_channels(wanted, header.labels, night.signals.name)
    reference = header.reference_channels(preprocessing.reference)
    sfreq = header.sfreq_of((*picks, *reference))
    return Recording(night.signals, picks, sfreq, *windows, night.subject, night.name, reference)


def _annotations(hypnogram: Path, header: Header) -> list[Annotation]:
    """Read a hypnogram, with times relative to the start of its recording."""
    own = read_edf_header(hypnogram)
    start, (annotations, _) = own.start, read_annotations(own)
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
