"""What the report of a study shows."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from cadda.experiments.folder import StudyFolder
from cadda.experiments.plan import AnyPlan, AnyProgress
from cadda.experiments.study import ResultTable
from cadda.reporting.html import StudyPage, TextTable
from cadda.reporting.html.provenance import read_call

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["study_page"]


def study_page(
    plan: AnyPlan,
    progress: AnyProgress,
    tables: Sequence[ResultTable],
    warnings: Sequence[str],
    figure: Figure,
    folder: StudyFolder,
) -> StudyPage:
    """Collect what the report of a study shows."""
    from cadda.reporting.figures.saving import DOTS_PER_INCH

    picture = BytesIO()
    figure.savefig(picture, format="png", dpi=DOTS_PER_INCH)
    n_left = len(progress.missing)
    missing = f"{n_left} of {len(plan.jobs)} jobs are missing." if n_left else ""
    return StudyPage(
        study=plan.study,
        data=f"{plan.data.name}: {plan.data.summary}.",
        conclusion=f"{missing and f'Unfinished: {missing} '}{tables[0].note}",
        tables=tuple(
            TextTable(table.title, table.columns, table.to_text(), table.legend)
            for table in tables
        ),
        warnings=tuple(warnings),
        failures=tuple(f"{job.describe()}: {error}" for job, error in progress.failures),
        figure=picture.getvalue(),
        settings=folder.read_settings(),
        reading="" if plan.data.reading is None else read_call(plan.data.reading),
    )
