"""What a study shows: its tables, figure and page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from cadda._internal.notebook import Html, block, folded, paragraph
from cadda.experiments.plan import AnyPlan, AnyProgress
from cadda.experiments.study import Record, ResultTable

__all__ = ["StudyResult"]


@dataclass(frozen=True, repr=False)
class StudyResult:
    """What a study shows so far.

    Parameters
    ----------
    plan : StudyPlan
        The jobs.
    progress : Progress
        Finished, failed and missing jobs.
    table : ResultTable
        The numbers.
    figure : matplotlib.figure.Figure
        The figure.
    files : tuple of Path
        Where the figure was saved.
    report : Path
        Where table and figure were saved as an HTML page.
    details : tuple of ResultTable
        Further tables, such as of each subject.
    warnings : tuple of str
        What suggests that models have learned nothing, each with the name of the job.
    """

    plan: AnyPlan
    progress: AnyProgress
    table: ResultTable
    figure: Figure
    files: tuple[Path, ...]
    report: Path
    details: tuple[ResultTable, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def records(self) -> tuple[Record[Any, Any], ...]:
        """Finished jobs with their results."""
        return self.progress.records

    def to_frame(self) -> Any:
        """Return the table as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per row of `table`.
        """
        return self.table.to_frame()

    def plot(self) -> Figure:
        """Return the figure, which is also in `files`.

        Returns
        -------
        matplotlib.figure.Figure
            The picture.
        """
        return self.figure

    def __repr__(self) -> str:
        missing = len(self.progress.missing)
        unfinished = f", {missing} of {len(self.plan.jobs)} jobs missing" if missing else ""
        return f"StudyResult: {self.plan.study}{unfinished}; {self.table.note or self.table.title}"

    def _repr_html_(self) -> str:
        n_missing = len(self.progress.missing)
        unfinished = f"Unfinished: {n_missing} of {len(self.plan.jobs)} jobs are missing."
        return block(
            f"{self.plan.study}: {self.plan.data.summary}",
            *([paragraph(unfinished)] if n_missing else ()),
            Html(self.table._repr_html_()),
            *(folded(table.title, Html(table._repr_html_())) for table in self.details),
            *(paragraph(f"{text}.") for text in self.warnings),
        )
