"""Sleep stages as scorers write them, and the windows that a hypnogram gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cadda._internal.text import did_you_mean
from cadda.exceptions import DataError

__all__ = ["STAGES", "Annotation", "are_stages", "hypnogram_windows", "stage_of"]

STAGES = ("W", "N1", "N2", "N3", "R")
"""Sleep stages of the AASM, in their usual order."""

_SPELLINGS = {
    "W": ("w", "wake", "awake", "wakefulness"),
    "N1": ("n1", "s1", "nrem1", "nrem 1"),
    "N2": ("n2", "s2", "nrem2", "nrem 2"),
    "N3": ("n3", "n4", "s3", "s4", "nrem3", "nrem 3", "nrem4", "nrem 4"),
    "R": ("r", "rem"),
    "": ("?", "u", "unknown", "unscored", "undefined", "m", "mt", "movement", "movement time"),
}
_STAGE_OF = {spelling: stage for stage, group in _SPELLINGS.items() for spelling in group}
# A bare number is a stage only where the text says so.
_NUMBERED = {"0": "W", "1": "N1", "2": "N2", "3": "N3", "4": "N3", "5": "R"}

_SHORTFALL = 0.1
"""By how many seconds an annotation may be shorter than its windows: scorers round."""


@dataclass(frozen=True)
class Annotation:
    """Something that a person or a machine wrote beside a recording."""

    onset: float
    duration: float
    text: str


def stage_of(text: str) -> str | None:
    """Find the sleep stage that a text speaks of."""
    plain = " ".join(text.casefold().split())
    bare = re.sub(r"^(sleep[ _-]?)?stage[ _:-]*", "", plain)
    if bare != plain and bare in _NUMBERED:
        return _NUMBERED[bare]
    return _STAGE_OF.get(bare)


def are_stages(names: Iterable[str]) -> bool:
    """Say whether names of classes are sleep stages."""
    stages = [stage_of(name) for name in names]
    return None not in stages and any(stage in ("N1", "N2", "N3") for stage in stages)


def hypnogram_windows(
    annotations: Sequence[Annotation],
    *,
    seconds: float,
    total: float,
    where: str,
    wake_minutes: float = 30.0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Cut a hypnogram into windows."""
    scored = _scored(annotations, seconds, where)
    end = max(one.onset + one.duration for one in scored)
    if end > total + seconds or scored[0].onset < -seconds:
        raise DataError(
            f"{where} does not fit its recording: it has sleep stages from {scored[0].onset:g} to "
            f"{end:g} s, but the recording lasts {total:g} s."
        )
    starts, labels = [], []
    for one in scored:
        n_windows = int((one.duration + _SHORTFALL) / seconds)
        starts.append(one.onset + seconds * np.arange(n_windows))
        labels.append(np.full(n_windows, STAGES.index(one.text)))
    if not any(map(len, starts)):
        longest = max(one.duration for one in scored)
        raise DataError(
            f"{where} has no stage that lasts a window of {seconds:g} s, the longest has "
            f"{longest:g} s; choose shorter windows."
        )
    start, label = np.concatenate(starts), np.concatenate(labels).astype(np.int64)
    keep = (start >= -_SHORTFALL) & (start + seconds <= total + _SHORTFALL)
    asleep = start[keep & (label != STAGES.index("W"))]
    if len(asleep):
        keep &= start >= asleep.min() - 60 * wake_minutes
        keep &= start <= asleep.max() + 60 * wake_minutes
    return np.clip(start[keep], 0, max(total - seconds, 0)), label[keep]


def _scored(annotations: Sequence[Annotation], seconds: float, where: str) -> list[Annotation]:
    """Give the stages in the order of time, with a duration and the name of the AASM."""
    ordered = sorted(annotations, key=lambda one: one.onset)
    known = [one for one in ordered if _is_stage(one, seconds, where)]
    ends = [one.onset for one in known[1:]] + [known[-1].onset + seconds] if known else []
    scored = [
        Annotation(one.onset, one.duration or end - one.onset, stage)
        for one, end in zip(known, ends, strict=True)
        if (stage := stage_of(one.text))
    ]
    if not scored:
        texts = sorted({one.text for one in annotations})[:5]
        raise DataError(
            f"{where} has no sleep stages; "
            + (f"its annotations are {texts}." if texts else "it has no annotations at all.")
        )
    for one, after in pairwise(scored):
        if after.onset < one.onset + one.duration - _SHORTFALL - 1e-6:
            raise DataError(
                f"{where} has two stages at {after.onset:g} s: {one.text} lasts until "
                f"{one.onset + one.duration:g} s, and {after.text} has begun."
            )
    return scored


def _is_stage(annotation: Annotation, seconds: float, where: str) -> bool:
    """Say whether an annotation is a stage; refuse one that may be, but is not known."""
    if stage_of(annotation.text) is not None:
        return True
    # Arousals, lights and the like are short and are no business of ours.
    if "stage" in annotation.text.casefold() or annotation.duration >= seconds:
        raise DataError(
            f"{where} has the unknown stage {annotation.text!r} at {annotation.onset:g} s"
            f"{did_you_mean(annotation.text, [f'Sleep stage {stage}' for stage in STAGES])}; "
            f"known are {', '.join(STAGES)} and 'Sleep stage W', 1, 2, 3, 4, R and ?."
        )
    return False
