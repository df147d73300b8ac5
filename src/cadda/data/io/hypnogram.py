"""Names of sleep stages, and the windows of a hypnogram."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cadda._internal.limits import MAX_WINDOWS
from cadda._internal.text import did_you_mean
from cadda.exceptions import DataError

__all__ = [
    "STAGES",
    "Annotation",
    "are_stages",
    "count_windows",
    "hypnogram_windows",
    "merge_note",
    "stage_of",
    "stages",
]

STAGES = ("W", "N1", "N2", "N3", "R")
"""Sleep stages of the AASM, in their usual order."""

_SPELLINGS = {
    "W": ("w", "wake", "awake", "wakefulness"),
    "N1": ("n1", "s1", "nrem1", "nrem 1"),
    "N2": ("n2", "s2", "nrem2", "nrem 2"),
    "N3": ("n3", "s3", "nrem3", "nrem 3"),
    "N4": ("n4", "s4", "nrem4", "nrem 4"),
    "R": ("r", "rem"),
    "": ("?", "u", "unknown", "unscored", "undefined", "m", "mt", "movement", "movement time"),
}
_STAGE_OF = {spelling: stage for stage, group in _SPELLINGS.items() for spelling in group}
# A bare number is a stage only where the text says so.
_NUMBERED = {"0": "W", "1": "N1", "2": "N2", "3": "N3", "4": "N4", "5": "R"}

_SHORTFALL = 0.1
"""Seconds by which an annotation may be shorter than its windows, as scorers round."""


@dataclass(frozen=True)
class Annotation:
    """An annotation of a recording."""

    onset: float  # seconds from the start of the recording
    duration: float  # seconds; 0 if unknown
    text: str


def stages(*, keep_stage_4: bool) -> tuple[str, ...]:
    """Return the names of the stages: of the AASM, or with the N4 of Rechtschaffen and Kales."""
    return (*STAGES[:4], "N4", *STAGES[4:]) if keep_stage_4 else STAGES


def stage_of(text: str, *, keep_stage_4: bool = False) -> str | None:
    """Return the stage that a text such as ``Sleep stage 2`` or ``REM`` names.

    Stages 3 and 4 are N3, unless stage 4 is kept as N4; movement and unscored are ``""``; any
    other text is None.
    """
    plain = " ".join(text.casefold().split())
    bare = re.sub(r"^(sleep[ _-]?)?stage[ _:-]*", "", plain)
    is_numbered = bare != plain and bare in _NUMBERED
    stage = _NUMBERED[bare] if is_numbered else _STAGE_OF.get(bare)
    return "N3" if stage == "N4" and not keep_stage_4 else stage


def merge_note(texts: Iterable[str], *, keep_stage_4: bool) -> tuple[str, ...]:
    """Return a note if stage 4 is among some texts and is merged into N3."""
    merges = not keep_stage_4 and any(stage_of(t, keep_stage_4=True) == "N4" for t in set(texts))
    return ("stages 3 and 4 are merged into N3; `keep_stage_4=True` keeps N4",) if merges else ()


def are_stages(names: Iterable[str]) -> bool:
    """Check whether all names are sleep stages, and not only letters such as R and W."""
    found = [stage_of(name) for name in names]
    return None not in found and any(stage in ("N1", "N2", "N3") for stage in found)


def hypnogram_windows(
    annotations: Sequence[Annotation],
    *,
    seconds: float,
    total: float,
    where: str,
    wake_minutes: float = 30.0,
    keep_stage_4: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return starts in seconds and labels, indices into `stages`, of the windows of a hypnogram.

    A stage without a duration lasts until the next. Movement and unscored parts have no windows,
    and wake is kept for `wake_minutes` before the first and after the last sleep.
    """
    scored = _scored(annotations, seconds, where, keep_stage_4=keep_stage_4)
    names = stages(keep_stage_4=keep_stage_4)
    end = max(stage.onset + stage.duration for stage in scored)
    if end > total + seconds or scored[0].onset < -seconds:
        raise DataError(
            f"{where} does not fit its recording: it has sleep stages from {scored[0].onset:g} to "
            f"{end:g} s, but the recording lasts {total:g} s."
        )
    starts, labels = [], []
    for stage in scored:
        n_windows = count_windows((stage.duration + _SHORTFALL) / seconds, where)
        starts.append(stage.onset + seconds * np.arange(n_windows))
        labels.append(np.full(n_windows, names.index(stage.text)))
    if not any(map(len, starts)):
        longest = max(stage.duration for stage in scored)
        raise DataError(
            f"{where} has no stage that lasts a window of {seconds:g} s, the longest has "
            f"{longest:g} s; choose shorter windows."
        )
    start, label = np.concatenate(starts), np.concatenate(labels).astype(np.int64)
    keep = (start >= -_SHORTFALL) & (start + seconds <= total + _SHORTFALL)
    asleep = start[keep & (label != names.index("W"))]
    if len(asleep):
        keep &= start >= asleep.min() - 60 * wake_minutes
        keep &= start <= asleep.max() + 60 * wake_minutes
    return np.clip(start[keep], 0, max(total - seconds, 0)), label[keep]


def count_windows(count: float, where: str) -> int:
    """Return a number of windows as an integer; raise if there are too many, or if it is NaN."""
    if not count <= MAX_WINDOWS:
        raise DataError(
            f"{where} would have {count:.3g} windows, and at most {MAX_WINDOWS} of a recording "
            "are read; choose longer windows, or correct the durations of its annotations."
        )
    return max(int(count), 0)


def _scored(
    annotations: Sequence[Annotation], seconds: float, where: str, *, keep_stage_4: bool
) -> list[Annotation]:
    """Return the stages in the order of time, with durations and AASM names."""
    ordered = sorted(annotations, key=lambda annotation: annotation.onset)
    known = [annotation for annotation in ordered if _is_stage(annotation, seconds, where)]
    ends = (
        [annotation.onset for annotation in known[1:]] + [known[-1].onset + seconds]
        if known
        else []
    )
    scored = [
        Annotation(annotation.onset, annotation.duration or end - annotation.onset, stage)
        for annotation, end in zip(known, ends, strict=True)
        if (stage := stage_of(annotation.text, keep_stage_4=keep_stage_4))
    ]
    if not scored:
        texts = sorted({annotation.text for annotation in annotations})[:5]
        raise DataError(
            f"{where} has no sleep stages; "
            + (f"its annotations are {texts}." if texts else "it has no annotations at all.")
        )
    for before, after in pairwise(scored):
        if after.onset < before.onset + before.duration - _SHORTFALL - 1e-6:
            raise DataError(
                f"{where} has two stages at {after.onset:g} s: {before.text} lasts until "
                f"{before.onset + before.duration:g} s, but {after.text} has begun."
            )
    return scored


def _is_stage(annotation: Annotation, seconds: float, where: str) -> bool:
    """Check whether an annotation is a stage; raise if it looks like an unknown one."""
    if stage_of(annotation.text) is not None:
        return True
    # Arousals, lights and the like are shorter than a window.
    if "stage" in annotation.text.casefold() or annotation.duration >= seconds:
        raise DataError(
            f"{where} has the unknown stage {annotation.text!r} at {annotation.onset:g} s"
            f"{did_you_mean(annotation.text, [f'Sleep stage {stage}' for stage in STAGES])}; "
            f"known are {', '.join(STAGES)} and 'Sleep stage W', 1, 2, 3, 4, R and ?."
        )
    return False
