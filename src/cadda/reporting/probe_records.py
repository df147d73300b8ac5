"""What a probe has found, for reports and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["MARKS", "ProbeFacts", "ProbeMatrix", "ProbeRow", "ProbeVerdict"]

ProbeVerdict = Literal["keeps", "becomes", "destroys", "undecided"]
MARKS: Mapping[ProbeVerdict, str] = {
    "keeps": "✓",
    "becomes": "→",
    "destroys": "✗",
    "undecided": "?",
}
"""Verdicts in figures and notebooks."""


@dataclass(frozen=True)
class ProbeFacts:
    """What a probe has found."""

    class_names: tuple[str, ...]
    sentences: tuple[str, ...]  # the model first, then each operation
    table: tuple[ProbeRow, ...]
    matrices: tuple[ProbeMatrix, ...]


@dataclass(frozen=True)
class ProbeRow:
    """What an operation does to a class, as far as a model can tell.

    Shares are of windows of the class after the operation; their intervals are 95 % intervals over
    subjects.

    Parameters
    ----------
    operation : str
        Name of the operation.
    magnitude : float | None
        Its magnitude; None for an operation without magnitude.
    class_name : str
        Class of the windows.
    plain : float
        Share that the model takes for this class without the operation.
    kept : float
        Share that it takes for this class.
    kept_low : float
        Lower end of the interval.
    kept_high : float
        Upper end of the interval.
    other : str
        The class that they become; otherwise the other class that they are taken for most.
    other_share : float
        Share that it takes for that class.
    other_low : float
        Lower end of the interval.
    other_high : float
        Upper end of the interval.
    verdict : 'keeps' | 'becomes' | 'destroys' | 'undecided'
        Result of the tests.
    """

    operation: str
    magnitude: float | None
    class_name: str
    plain: float
    kept: float
    kept_low: float
    kept_high: float
    other: str
    other_share: float
    other_low: float
    other_high: float
    verdict: ProbeVerdict

    @property
    def description(self) -> str:
        """The verdict, with the class that windows become."""
        return f"becomes {self.other}" if self.verdict == "becomes" else self.verdict


@dataclass(frozen=True)
class ProbeMatrix:
    """Shares of the windows of each class that are taken for each class.

    Parameters
    ----------
    operation : str | None
        Name of the operation; None for windows as they are.
    magnitude : float | None
        Its magnitude; None for an operation without magnitude.
    share : tuple of tuple of float
        Rows are the true classes, columns the predicted ones.
    """

    operation: str | None
    magnitude: float | None
    share: tuple[tuple[float, ...], ...]
