"""The folder of a study: settings, plan, results and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from cadda._internal.files import make_folder, write_text_atomically
from cadda._internal.jsonlines import JsonLines
from cadda._internal.limits import MAX_RECORD, read_text
from cadda._internal.text import short_reason
from cadda.exceptions import RunError
from cadda.experiments.plan import AnyPlan, ResultLine, parse_plan, read_plan_name
from cadda.experiments.study import (
    SIMULATION_SETTINGS,
    AnyStudy,
    StudyConfig,
    StudyJob,
    to_toml,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "StudyFolder", "check_formats"]

FORMATS = ("png", "svg", "pdf")


def check_formats(formats: Sequence[str]) -> None:
    """Raise `ValueError` for a file format that figures cannot be saved in."""
    for name in formats:
        if name not in FORMATS:
            raise ValueError(f"`formats` must be among {', '.join(FORMATS)}, got {name!r}.")


@dataclass(frozen=True)
class StudyFolder:
    """Files of a study. Results of several settings and data may share the file of results."""

    folder: Path

    @property
    def config(self) -> Path:
        """Settings of the last run, for `read_toml`."""
        return self.folder / "config.toml"

    @property
    def plan(self) -> Path:
        """Jobs of the last run."""
        return self.folder / "plan.json"

    @property
    def results(self) -> Path:
        """Results of all runs."""
        return self.folder / "results.jsonl"

    @property
    def report(self) -> Path:
        """Table, figure and settings as a page."""
        return self.folder / "report.html"

    def read_results(self) -> list[ResultLine]:
        """Read the results of all runs."""
        lines = []
        for number, values in enumerate(JsonLines(self.results).read(), start=1):
            try:
                lines.append(ResultLine.model_validate(values))
            except ValidationError as error:
                raise RunError(
                    f"{self.results}, line {number}, is not a result of a study "
                    f"({short_reason(error)}); remove the line, or choose another folder."
                ) from error
        return lines

    def append_result(self, line: ResultLine) -> None:
        """Append a result, which is on disk when this returns."""
        JsonLines(self.results).append(line.to_json())

    def start(self, plan: AnyPlan, config: StudyConfig) -> None:
        """Write settings and plan of a run; raise `RunError` in the folder of another study."""
        # A missing or damaged plan is that of no other study.
        with suppress(OSError, ValueError):
            self._check_study(read_plan_name(read_text(self.plan, MAX_RECORD)), plan.study)
        make_folder(self.folder)
        without = () if plan.data.reading is None else SIMULATION_SETTINGS
        write_text_atomically(self.config, to_toml(config, without=without))
        write_text_atomically(self.plan, plan.to_json())

    def reuse_results(self, plan: AnyPlan, study: AnyStudy, others: Iterable[str]) -> int:
        """Copy missing results from neighbouring folders of studies with the same jobs.

        Returns how many were copied.
        """
        n_copied = 0
        for other in others:
            missing = [job.to_json() for job in plan.progress(study, self.read_results()).missing]
            for line in StudyFolder(self.folder.parent / other).read_results():
                own = line.model_copy(update={"study": plan.study, "taken_from": other})
                is_missing = line.study == other and line.job in missing
                if is_missing and plan.progress(study, [own]).records:
                    self.append_result(own)
                    n_copied += 1
        return n_copied

    def read_settings(self) -> str:
        """Read the settings of the last run as text; there are none without a file."""
        try:
            return read_text(self.config) if self.config.exists() else ""
        except (OSError, ValueError) as error:
            raise RunError(f"{self.config} cannot be read ({short_reason(error)}).") from error

    def read_study(self) -> str:
        """Return the name of the study that was last run here."""
        try:
            return read_plan_name(read_text(self.plan, MAX_RECORD))
        except (OSError, ValueError) as error:
            raise RunError(f"{self.plan} cannot be read ({short_reason(error)}).") from error

    def read_plan(self, study: str, job_type: type[StudyJob]) -> AnyPlan:
        """Read the plan of the last run, which must be of the given study."""
        if not self.plan.exists():
            raise RunError(f"{self.folder} has no study; run {study} with this `out` first.")
        try:
            text = read_text(self.plan, MAX_RECORD)
            self._check_study(read_plan_name(text), study)
            plan = parse_plan(text, job_type)
            plan.seconds_of(plan.jobs)
            return plan
        except (OSError, ValueError) as error:
            raise RunError(
                f"{self.plan} cannot be read ({short_reason(error)}); run {study} again."
            ) from error

    def _check_study(self, name: str, study: str) -> None:
        if name != study:
            raise RunError(
                f"{self.folder} holds the study {name}, not {study}; choose another `out`."
            )

    def save_figure(
        self, figure: Figure, plan: AnyPlan, formats: Sequence[str] = ("png",)
    ) -> list[Path]:
        """Write a figure, titled with the names of the study and of the data if they differ."""
        from matplotlib import rc_context

        from cadda.reporting.figures.saving import save_figure

        is_same = plan.data.name.lower() == plan.study
        title = plan.study if is_same else f"{plan.study}: {plan.data.name}"
        figure.suptitle(title, fontsize=10)
        files = [self.folder / f"{plan.study}.{name}" for name in formats]
        dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        # Without salt and with dates, the same figure would have other bytes each time.
        with rc_context({"svg.hashsalt": "cadda"}):
            for name, file in zip(formats, files, strict=True):
                save_figure(figure, file, metadata=dates.get(name))
        return files
