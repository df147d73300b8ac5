"""Numbers as text, formatted alike everywhere in a report."""

from __future__ import annotations

from collections.abc import Callable

from cadda._internal.statistics import Estimate
from cadda.reporting.html.scores import ScoreRow

__all__ = [
    "HOUR",
    "MINUTE",
    "count",
    "describe_condition",
    "describe_score",
    "duration",
    "interval",
    "number",
    "percent",
    "signed",
    "with_interval",
]

MINUTE, HOUR = 60, 3600


def number(value: float) -> str:
    """Format a score with three decimals."""
    return f"{value:.3f}".replace("-", "−")


def signed(value: float) -> str:
    """Format a difference of scores, such as ``"−0.010"``."""
    return f"{value:+.3f}".replace("-", "−")


def percent(value: float) -> str:
    """Format a fraction.

    Examples
    --------
    >>> percent(0.004), percent(0.25)
    ('< 1%', '25%')
    """
    return "< 1%" if 0 < value < 0.005 else f"{value:.0%}"


def interval(estimate: Estimate, write: Callable[[float], str]) -> str:
    """Format an interval in brackets; empty if there is none."""
    if not estimate.has_interval:
        return ""
    return f"[{write(estimate.low)} to {write(estimate.high)}]"


def with_interval(estimate: Estimate, write: Callable[[float], str]) -> str:
    """Format a value, followed by its interval if there is one."""
    return f"{write(estimate.value)} {interval(estimate, write)}".rstrip()


def count(n: int, noun: str) -> str:
    """Format a number of things, such as ``"2 subjects"``."""
    return f"{n} {noun}" if n == 1 else f"{n:,} {noun}s".replace(",", "\u202f")


def describe_condition(operation: str | None, magnitude: float | None) -> str:
    """Return an operation and its magnitude.

    Examples
    --------
    >>> describe_condition("time_mask", 0.5), describe_condition(None, None)
    ('time_mask 0.5', 'no operation')
    """
    if operation is None:
        return "no operation"
    return operation if magnitude is None else f"{operation} {magnitude:g}"


def duration(seconds: float) -> str:
    """Format a time.

    Examples
    --------
    >>> duration(42), duration(150), duration(7260)
    ('42 s', '2 min 30 s', '2 h 1 min')
    """
    rounded = round(seconds)
    if rounded < MINUTE:
        return f"{seconds:.2g} s" if seconds < 1 else f"{rounded} s"
    if rounded < HOUR:
        return f"{rounded // MINUTE} min {rounded % MINUTE} s"
    return f"{rounded // HOUR} h {rounded % HOUR // MINUTE} min"


def describe_score(row: ScoreRow) -> str:
    """Return a score of both models with intervals, for readers who cannot see the bars."""
    name = row.name if row.class_name is None else f"{row.name} of {row.class_name}"
    first = with_interval(row.predicted, number)
    if row.without is None:
        return f"{name}: {first}"
    second = with_interval(row.without, number)
    return f"{name}: with the policy {first}, without augmentation {second}"
