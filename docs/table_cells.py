"""Cells of the tables of results."""

from collections.abc import Iterable, Sequence

from benchmarks.equivariance import Gain

SIGNIFICANT = 0.05


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with a header."""
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def describe_paired(gain: Gain, p_value: float) -> str:
    """Return such as ``"+0.119 (+0.071 to +0.167), 10 of 10"``, bold if significant."""
    mean = gain.test.difference
    words = f"{mean.value:+.3f} ({mean.low:+.3f} to {mean.high:+.3f})".replace("-", "−")
    return bold(f"{words}, {gain.n_better} of {gain.n_draws}", p_value)


def describe_mean(gain: Gain, p_value: float) -> str:
    """Return such as ``"+0.119"``, bold if significant."""
    return bold(f"{gain.test.difference.value:+.3f}".replace("-", "−"), p_value)


def bold(words: str, p_value: float) -> str:
    """Return words in bold if a p-value is small."""
    return f"**{words}**" if p_value < SIGNIFICANT else words


def rate(verdicts: Iterable[bool]) -> str:
    """Return such as ``"3 of 5"``."""
    every = list(verdicts)
    return f"{sum(every)} of {len(every)}"
