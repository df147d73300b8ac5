"""What a probe has found, for reports and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Any, Literal

from cadda._internal.frames import make_frame

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

    def to_frame(self, class_names: Sequence[str] | None = None) -> Any:
        """Return the shares as a data frame.

        Parameters
        ----------
        class_names : sequence of str | None
            Names of the classes, such as `ProbeResult.class_names`; None numbers them from 0.

        Returns
        -------
        pandas.DataFrame
            One row per true and predicted class, with the operation and its magnitude.
        """
        names = range(len(self.share)) if class_names is None else tuple(class_names)
        if len(names) != len(self.share):
            raise ValueError(
                f"`class_names` must have {len(self.share)} names, one per row of the matrix, got "
                f"{len(names)}."
            )
        columns = ("operation", "magnitude", "true", "predicted", "share")
        return make_frame(
            (
                dict(zip(columns, (self.operation, self.magnitude, *pair, value), strict=True))
                for pair, value in zip(product(names, names), chain(*self.share), strict=True)
            ),
            columns,
        )
