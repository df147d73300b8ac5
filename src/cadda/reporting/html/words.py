"""Numbers in words, the same way all over a report."""

from __future__ import annotations

from collections.abc import Callable

from cadda._internal.statistics import Estimate
from cadda.reporting.html.intervals import ScoreRow

__all__ = [
    "count",
    "duration",
    "interval",
    "measured",
    "number",
    "percent",
    "score_in_words",
    "signed",
]

MINUTE, HOUR = 60, 3600


def number(value: float) -> str:
    """Write a score.

    Parameters
    ----------
    value : float
        The score.

    Returns
    -------
    str
        Three decimals.
    """
    return f"{value:.3f}".replace("-", "−")


def signed(value: float) -> str:
    """Write a difference of scores.

    Parameters
    ----------
    value : float
        The difference.

    Returns
    -------
    str
        Three decimals with a sign.

    Examples
    --------
    >>> signed(-0.01)
    '−0.010'
    """
    return f"{value:+.3f}".replace("-", "−")


def percent(value: float) -> str:
    """Write a share.

    Parameters
    ----------
    value : float
        Share in [0, 1].

    Returns
    -------
    str
        In per cent.

    Examples
    --------
    >>> percent(0.004), percent(0.25)
    ('< 1%', '25%')
    """
    return "< 1%" if 0 < value < 0.005 else f"{value:.0%}"


def interval(estimate: Estimate, write: Callable[[float], str]) -> str:
    """Write an interval.

    Parameters
    ----------
    estimate : Estimate
        What it is of.
    write : callable
        How to write its ends.

    Returns
    -------
    str
        In brackets; empty if there is none.
    """
    if not estimate.has_interval:
        return ""
    return f"[{write(estimate.low)} to {write(estimate.high)}]"


def measured(estimate: Estimate, write: Callable[[float], str]) -> str:
    """Write a number with its interval.

    Parameters
    ----------
    estimate : Estimate
        The number.
    write : callable
        How to write it.

    Returns
    -------
    str
        The number, and behind it the interval if there is one.
    """
    return f"{write(estimate.value)} {interval(estimate, write)}".rstrip()


def count(n: int, what: str) -> str:
    """Write a number of things.

    Parameters
    ----------
    n : int
        How many.
    what : str
        One of them.

    Returns
    -------
    str
        Such as ``"2 subjects"``.
    """
    return f"{n} {what}" if n == 1 else f"{n:,} {what}s".replace(",", "\u202f")


def duration(seconds: float) -> str:
    """Write a time.

    Parameters
    ----------
    seconds : float
        The time.

    Returns
    -------
    str
        In seconds, minutes or hours.

    Examples
    --------
    >>> duration(42), duration(150), duration(7260)
    ('42 s', '2 min 30 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < MINUTE:
        return f"{seconds:.2g} s" if seconds < 1 else f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"


def score_in_words(row: ScoreRow) -> str:
    """Write a score of both models.

    Parameters
    ----------
    row : ScoreRow
        The score.

    Returns
    -------
    str
        With its intervals.
    """
    name = row.name if row.class_name is None else f"{row.name} of {row.class_name}"
    first = measured(row.predicted, number)
    if row.without is None:
        return f"{name}: {first}"
    second = measured(row.without, number)
    return f"{name}: with the policy {first}, without augmentation {second}"
