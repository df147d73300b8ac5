"""Charts of the report: rewards of a search by class, beside a control that destroys windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cadda.reporting.charts import Chart, Series, line_chart
from cadda.reporting.records import RewardCurves

__all__ = ["reward_charts"]

N_COLOURED = 6
"""Classes that get a colour of their own; the others are grey."""


def reward_charts(
    curves: RewardCurves, number: NDArray[np.float64], class_names: Sequence[str]
) -> tuple[Chart, ...]:
    """Draw rewards and residuals of each class over the epochs of a search."""
    panels = (
        ("Reward of unchanged windows; negative: whatever silences the class wins", "unchanged"),
        ("Reward of the policy, beyond unchanged windows", "policy"),
        ("Reward of white noise in place of windows", "control"),
        ("Residuals ‖p − y‖ of augmented relative to unchanged windows", "residual_ratio"),
    )
    tables = [(title, getattr(curves, name)) for title, name in panels]
    return tuple(
        _chart(title, values, number, class_names)
        for title, values in tables
        if np.isfinite(values).all(1).any()
    )


def _chart(
    title: str,
    values: NDArray[np.float64],
    number: NDArray[np.float64],
    class_names: Sequence[str],
) -> Chart:
    known = np.isfinite(values).all(1)
    series = [
        Series(number[known], values[known, c], _style(c), name if c < N_COLOURED else "")
        for c, name in enumerate(class_names)
    ]
    last = ", ".join(
        f"{name} {value:.3g}"
        for name, value in zip(class_names, values[known][-1:].ravel(), strict=False)
    )
    return line_chart(
        series, title=title, alt=f"{title}, at the end: {last}.", x_label="epoch of the search"
    )


def _style(n: int) -> str:
    return f"op-{n + 1}" if n < N_COLOURED else "other"
