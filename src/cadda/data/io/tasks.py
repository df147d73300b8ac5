"""The task that windows are assumed to be of, and what it recommends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from cadda.data.io.hypnogram import are_stages

__all__ = ["Task", "guess_task", "highpass_notes"]

Task: TypeAlias = Literal["sleep stages", "movement or imagery", "other"]

SLOW = 1.0
"""Frequency in Hz below which movements of the eyes have most of their power."""

SLOW_OF_MOVEMENT = 4.0
"""Frequency in Hz below which signals tell left from right in imagined fists."""

_BODY = frozenset(
    word
    for part in ("hand", "fist", "finger", "thumb", "wrist", "arm", "leg", "toe", "tongue")
    for word in (part, f"{part}s")
) | {"foot", "feet"}
_CODES = {"769", "770"}
"""Left and right hand in the event tables of GDF."""


def guess_task(class_names: Sequence[str], *, from_stages: bool = False) -> Task:
    """Return the task by the names of classes; `from_stages` if these are merged sleep stages."""
    if from_stages or are_stages(class_names):
        return "sleep stages"
    words = set(_words(class_names))
    is_movement = not words.isdisjoint(_BODY) or words >= {"left", "right"} or words >= _CODES
    return "movement or imagery" if is_movement else "other"


def _words(names: Iterable[str]) -> Iterable[str]:
    return (word for name in names for word in re.findall(r"[a-z]+|\d+", name.casefold()))


def highpass_notes(task: Task, highpass: float) -> tuple[str, ...]:
    """Return a note if slow activity is kept, except in sleep, which is slow itself."""
    if task == "movement or imagery" and highpass < SLOW_OF_MOVEMENT:
        return (
            f"there is no high-pass of {SLOW_OF_MOVEMENT:g} Hz or more: in movement and imagery, "
            "slow activity, probably of the eyes, can tell left from right; remove it with "
            f"`highpass={SLOW_OF_MOVEMENT:g}`",
        )
    if task == "other" and highpass < SLOW:
        return (
            f"there is no high-pass of {SLOW:g} Hz or more: slow activity, such as that of the "
            "eyes, may tell the classes; compare with `highpass=4`",
        )
    return ()
