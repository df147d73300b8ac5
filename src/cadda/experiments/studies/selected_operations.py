"""Which operations the best policies use, by method and by class.

A figure of the paper's appendix. Class-wise methods have a row for each class.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cadda.experiments.racing import RaceJob, RaceResult, operation_use
from cadda.experiments.studies.search_race import SAME_JOBS, MethodRaceStudy, race_scales
from cadda.experiments.study import Record
from cadda.experiments.tables import ResultTable
from cadda.reporting.figures.race import plot_selected

__all__ = ["SelectedOperations"]

N_SHOWN = 3
MIN_SHOWN = 0.005
"""Probabilities that would be written as 0 % are not listed."""


class SelectedOperations(MethodRaceStudy):
    """Searches whose policies are examined."""

    title = "How often the best policies change a window by an operation"
    same_jobs_as = SAME_JOBS
    scales = race_scales(
        quick=("adda", "cadda"),
        full=(
            *("adda", "dada", "faster_autoaugment", "autoaugment", "fast_autoaugment"),
            *("cadda", "classwise:autoaugment"),
        ),
    )

    def table(self, records: Sequence[Record[RaceJob, RaceResult]]) -> ResultTable:
        use = operation_use(records)
        cells = tuple(
            (method, row, *_most_used(values, use.operations))
            for method, names in use.rows.items()
            for row, values in zip(names, use.tables[method], strict=True)
        )
        columns = ("method", "classes", "most used", "second", "third")
        return ResultTable(self.title, columns, cells, "Means over folds; the figure has all.")

    def figure(self, records: Sequence[Record[RaceJob, RaceResult]]) -> Figure:
        use = operation_use(records)
        return plot_selected(use.tables, use.rows, use.operations)


def _most_used(values: NDArray[np.float64], operations: Sequence[str]) -> list[str]:
    order = np.argsort(-values, kind="stable")[:N_SHOWN]
    shown = [f"{operations[i]} {values[i]:.0%}" for i in order if values[i] >= MIN_SHOWN]
    return shown + [""] * (N_SHOWN - len(shown))


STUDY = SelectedOperations()
