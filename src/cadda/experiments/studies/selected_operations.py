"""Which operations the best policies use, by method and by class.

A figure of the paper's appendix. Class-wise methods have a row for each class.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cadda.experiments.race_results import selected
from cadda.experiments.racing import NO_SEARCH
from cadda.experiments.studies.search_race import SAME_JOBS, RaceConfig, RaceStudy, race_scales
from cadda.experiments.study import Record
from cadda.experiments.tables import Table
from cadda.reporting.figures.race import plot_selected

__all__ = ["SelectedOperations"]

N_SHOWN = 3
LEAST_SHOWN = 0.005
"""What would be written as 0 % is not used, and has no rank."""


class SelectedOperations(RaceStudy[RaceConfig]):
    """Searches whose policies are looked at."""

    config_type = RaceConfig
    title = "How often the best policies change a window by an operation"
    same_jobs_as = SAME_JOBS
    scales = race_scales(
        quick=("adda", "cadda"),
        full=(
            *("adda", "dada", "faster_autoaugment", "autoaugment", "fast_autoaugment"),
            *("cadda", "classwise:autoaugment"),
        ),
    )

    def table(self, records: Sequence[Record]) -> Table:
        tables, rows, operations = selected(_searches(records))
        cells = tuple(
            (method, row, *_most_used(values, operations))
            for method, names in rows.items()
            for row, values in zip(names, tables[method], strict=True)
        )
        columns = ("method", "classes", "most used", "second", "third")
        return Table(self.title, columns, cells, "Means over folds; the figure has all of them.")

    def figure(self, records: Sequence[Record]) -> Figure:
        return plot_selected(*selected(_searches(records)))


def _most_used(values: NDArray[np.float64], operations: Sequence[str]) -> list[str]:
    order = np.argsort(-values, kind="stable")[:N_SHOWN]
    shown = [f"{operations[i]} {values[i]:.0%}" for i in order if values[i] >= LEAST_SHOWN]
    return shown + [""] * (N_SHOWN - len(shown))


def _searches(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.job["method"] != NO_SEARCH]


STUDY = SelectedOperations()
