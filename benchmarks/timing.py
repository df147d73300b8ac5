"""Timing of alternatives against each other, in one run and in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter

__all__ = ["Ratio", "milliseconds"]

SECONDS = 1.0
MAX_REPEATS = 200


@dataclass(frozen=True)
class Ratio:
    """How many times as long something takes, or how many times as fast it is."""

    what: str
    got: float
    wanted: float
    is_cost: bool = False  # whether less is better

    @property
    def is_met(self) -> bool:
        """Whether the ratio is as wanted."""
        return self.got <= self.wanted if self.is_cost else self.got >= self.wanted

    def row(self) -> tuple[str, str, str, str]:
        """Return what, got, wanted, and whether it was met, as text."""
        sign = "≤" if self.is_cost else "≥"
        met = "met" if self.is_met else "MISSED"
        return self.what, f"{self.got:.2f}", f"{sign} {self.wanted:g}", met


def milliseconds(
    alternatives: Mapping[str, Callable[[], object]], *, seconds: float = SECONDS
) -> dict[str, float]:
    """Time alternatives in turn, so that a busy moment of the machine affects all of them.

    Each is measured for about ``seconds``. The result is milliseconds per call: the median of the
    faster half of the calls.
    """
    for call in alternatives.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in alternatives}
    spent = dict.fromkeys(alternatives, 0.0)
    for repeat in range(MAX_REPEATS):
        for name, call in alternatives.items():
            # A slow alternative is called less often, but at least five times.
            if spent[name] > seconds and repeat >= 5:
                continue
            start = perf_counter()
            call()
            times[name].append(perf_counter() - start)
            spent[name] += times[name][-1]
    return {
        name: 1e3 * median(sorted(values)[: (len(values) + 1) // 2])
        for name, values in times.items()
    }
