"""The folder of a study: settings, plan, results and figures."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cadda._internal.files import make_folder, replace_atomically, write_text_atomically
from cadda._internal.jsonlines import JsonLines
from cadda._internal.text import short_reason
from cadda.exceptions import RunError
from cadda.experiments.config import to_toml
from cadda.experiments.plan import Plan
from cadda.experiments.study import StudyConfig

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["StudyFolder"]

DOTS_PER_INCH = 150


@dataclass(frozen=True)
class StudyFolder:
    """Where a study keeps what it needs to go on, and what came out.

    Results of several settings and data may lie in one file; the plan says which are meant.

    Parameters
    ----------
    folder : Path
        Where it is.
    """

    folder: Path

    @property
    def config(self) -> Path:
        """The settings of the last run, for `read_toml`."""
        return self.folder / "config.toml"

    @property
    def plan(self) -> Path:
        """The jobs of the last run."""
        return self.folder / "plan.json"

    @property
    def results(self) -> JsonLines:
        """The results of all runs."""
        return JsonLines(self.folder / "results.jsonl")

    def begin(self, plan: Plan, config: StudyConfig) -> None:
        """Keep settings and plan of a run.

        Parameters
        ----------
        plan : Plan
            The jobs.
        config : StudyConfig
            The settings.
        """
        # A missing or damaged plan is that of no other study.
        with suppress(OSError, ValueError):
            self._check_study(self._load_plan(), plan.study)
        make_folder(self.folder)
        write_text_atomically(self.config, to_toml(config))
        write_text_atomically(self.plan, plan.to_json())

    def take_over(self, plan: Plan, studies: Iterable[str]) -> int:
        """Copy results of other studies in neighbouring folders that are missing here.

        Parameters
        ----------
        plan : Plan
            What is to be done.
        studies : iterable of str
            Studies whose jobs mean the same.

        Returns
        -------
        int
            How many results were taken over.
        """
        n_taken = 0
        for other in studies:
            missing = plan.progress(self.results.read()).missing
            for line in JsonLines(self.folder.parent / other / "results.jsonl").read():
                ours = line | {"study": plan.study, "taken_from": other}
                is_missing = line.get("study") == other and line.get("job") in missing
                if is_missing and plan.progress([ours]).records:
                    self.results.append(ours)
                    n_taken += 1
        return n_taken

    def read_plan(self, study: str) -> Plan:
        """Read the plan of the last run.

        Parameters
        ----------
        study : str
            Name of the study that it must be of.

        Returns
        -------
        Plan
            The jobs.
        """
        run = f"begin it with `cadda experiment run {study} --out {self.folder}`"
        if not self.plan.exists():
            raise RunError(f"{self.folder} holds no study; {run}, or give its folder with --out.")
        try:
            plan = self._load_plan()
        except (OSError, ValueError) as error:
            raise RunError(
                f"{self.plan} cannot be read ({short_reason(error)}); {run} again."
            ) from error
        self._check_study(plan, study)
        return plan

    def _load_plan(self) -> Plan:
        return Plan.from_json(self.plan.read_text(encoding="utf-8"))

    def _check_study(self, plan: Plan, study: str) -> None:
        """Refuse the folder of another study."""
        if plan.study != study:
            raise RunError(
                f"{self.folder} holds the study {plan.study}, not {study}; give another folder "
                "with --out."
            )

    def save_figure(self, figure: Figure, plan: Plan) -> list[Path]:
        """Write a figure as PNG and SVG.

        Parameters
        ----------
        figure : matplotlib.figure.Figure
            The figure.
        plan : Plan
            What it is of; its names of the study and of the data become the title, once if they
            are the same.

        Returns
        -------
        list of Path
            The files.
        """
        from matplotlib import rc_context

        is_same = plan.data.name.lower() == plan.study
        title = plan.study if is_same else f"{plan.study}: {plan.data.name}"
        figure.suptitle(title, fontsize=10)
        files = [self.folder / f"{plan.study}.{ending}" for ending in ("png", "svg")]
        # Without the salt and the date, the same figure would have other bytes each time.
        with rc_context({"svg.hashsalt": "cadda"}):
            for file in files:
                metadata = {"Date": None} if file.suffix == ".svg" else None
                with replace_atomically(file) as temporary:
                    figure.savefig(
                        temporary,
                        format=file.suffix[1:],
                        dpi=DOTS_PER_INCH,
                        metadata=metadata,
                    )
        return files
