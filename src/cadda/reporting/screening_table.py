"""Rows of the table that a screening results in, plain records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["REWARD_UNIT", "VERDICT_RULE", "ScreeningRow", "Verdict"]

Verdict = Literal["helps", "hurts", "undecided", "control"]


REWARD_UNIT = "1 is the typical size of that of a single destroyed window"
"""The unit of rewards, for captions."""

VERDICT_RULE = (
    "To help, an operation must be better than the unchanged windows, the controls and random "
    "labels; to hurt, worse (over all classes, the controls aside); both after correction for the "
    "number of operations. All else is undecided."
)
"""What a verdict needs, in short, for captions."""


@dataclass(frozen=True)
class ScreeningRow:
    """Reward and verdict of one operation.

    Parameters
    ----------
    operation : str
        Name of the operation or control.
    magnitude : float | None
        Its magnitude; None for the mean over all magnitudes that were tried.
    class_name : str
        Class of the windows; ``"*"`` for all, each class as often as in the training windows.
    reward : float
        Mean reward beyond that of the same windows unchanged; 1 is the typical size of the reward
        of a single destroyed window.
    standard_error : float
        Standard error of the reward; NaN where the windows come from one subject only.
    n : int
        Number of rewards in the mean.
    p_value : float
        Two-sided p-value of the verdict, corrected for the number of operations; 1 for a control.
    verdict : 'helps' | 'hurts' | 'undecided' | 'control'
        Result of the tests.
    """

    operation: str
    magnitude: float | None
    class_name: str
    reward: float
    standard_error: float
    n: int
    p_value: float
    verdict: Verdict

    @property
    def in_errors(self) -> float:
        """The reward in standard errors; 0 for one that never differed, NaN where unknown."""
        return self.reward / self.standard_error if self.standard_error else 0.0
