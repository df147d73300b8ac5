"""What a study is.

How a study is made
-------------------
A study is one module in this folder and one line in `registry.py`. The module has

- a subclass of `StudyConfig`, or of `TrainingConfig` in `training.py` if it trains models: the
  settings, each with a default and a docstring below it, which ``cadda experiment plan`` prints.
  What only decides *which* jobs there are, such as the number of folds, is marked `Planned`; all
  other settings are part of the key of every result, so that what was computed with other
  settings is never taken for an answer;
- a subclass of `Study` that gives the jobs, does one of them, and draws a table and a figure from
  records alone;
- ``STUDY``, an instance of it.

A job is a small dict of plain values that names it, such as ``{"fold": 0, "operation":
"sign_flip", "magnitude": None}``. Jobs do not need each other. `Study.run` does one of them,
perhaps in another process: it must not depend on anything but its arguments, and it gives plain
values that JSON can hold. All that is random comes from named streams of ``config.seed``
(`cadda._internal.random.Seeds`). Everything else is done outside of the study: reading data,
asking for settings, keeping results, resuming, progress, engines, saving pictures.

`scales` says what ``quick`` (seconds, for the tests), ``cpu`` (up to about half an hour on two
cores) and ``paper`` (the sizes of the paper) change of the defaults.

Shared by several studies: `training.py` trains once on a part of a fold and scores;
`operations.py` chooses operations and their magnitudes and makes policies of them; `gains.py`
compares scores over folds; `cadda.reporting.figures.gains` draws them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from cadda._internal.validation import read_none, split_commas
from cadda.experiments.sources import Reader, is_simulated, simulate
from cadda.experiments.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cadda.data.windows import Windows

__all__ = ["Job", "Names", "Record", "Result", "Several", "Study", "StudyConfig"]

Job: TypeAlias = dict[str, Any]
"""What names a piece of work: plain values only."""

Result: TypeAlias = dict[str, Any]
"""What came of it: plain values only."""

_PLANNED = "planned"
_Value = TypeVar("_Value")

Planned: TypeAlias = Annotated[_Value, _PLANNED]
"""A setting that only decides which jobs there are, or which data are simulated."""


Several: TypeAlias = Annotated[tuple[_Value, ...], BeforeValidator(split_commas)]
"""Values as a list, or as text with commas."""

Names: TypeAlias = Several[str]


class StudyConfig(BaseModel):
    """Settings that all studies have."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    seed: int = Field(0, ge=0)
    """Decides all that is random: same seed, same results."""
    n_subjects: Planned[int] = Field(24, ge=1)
    """Number of subjects, if data are simulated."""
    n_windows: Planned[int] = Field(40, ge=10)
    """Windows of 30 s of each of them."""

    @model_validator(mode="before")
    @classmethod
    def _read_none(cls, values: Any) -> Any:
        """Take the word for None where there may be None."""
        if not isinstance(values, dict):
            return values
        return read_none(
            values, {name: field.annotation for name, field in cls.model_fields.items()}
        )

    def that_matters(self) -> dict[str, Any]:
        """Give the settings that results depend on.

        Returns
        -------
        dict of str to object
            Plain values by name, without those that are `Planned`.
        """
        planned = {
            name for name, field in type(self).model_fields.items() if _PLANNED in field.metadata
        }
        return self.model_dump(mode="json", exclude=planned)


@dataclass(frozen=True)
class Record:
    """A finished job.

    Parameters
    ----------
    job : dict
        What was done.
    result : dict
        What came of it.
    """

    job: Job
    result: Result


Config = TypeVar("Config", bound=StudyConfig)


class Study(ABC, Generic[Config]):
    """A study: which jobs there are, how to do one, and what they say together."""

    config_type: type[Config]
    """Its settings."""

    scales: ClassVar[Mapping[str, Mapping[str, Any]]]
    """What ``quick``, ``cpu`` and ``paper`` change of the defaults."""

    same_jobs_as: ClassVar[tuple[str, ...]] = ()
    """Studies whose jobs mean the same: results that lie beside this one's are taken over."""

    def windows(
        self, config: Config, data: str, read: Reader, on_progress: Callable[[int, int, str], None]
    ) -> Windows:
        """Get the data; a study with data of its own kind overrides this.

        Parameters
        ----------
        config : StudyConfig
            The settings.
        data : str
            ``"simulated"``, ``"simulated-mass"`` or a path.
        read : callable
            Reads a path, or takes some classes and channels of windows, as the user's options say.
        on_progress : callable
            Called with the number of simulated subjects, their total and a name.

        Returns
        -------
        Windows
            All windows.
        """
        if not is_simulated(data):
            return read(data)
        shape = (config.n_subjects, config.n_windows)
        return read(simulate(data, *shape, seed=config.seed, on_progress=on_progress))

    def data_name(self, data: str) -> str:
        """Say what figures call the data.

        Parameters
        ----------
        data : str
            What the user gave.

        Returns
        -------
        str
            A simulation, or the name of a file or folder.
        """
        return data if is_simulated(data) else Path(data).name

    def data_summary(self, windows: Windows) -> str:
        """Say what the data hold.

        Parameters
        ----------
        windows : Windows
            The data.

        Returns
        -------
        str
            A line.
        """
        return repr(windows)

    @abstractmethod
    def jobs(self, config: Config, windows: Windows) -> list[Job]:
        """Say what is to be done, and refuse settings that do not fit the data.

        Parameters
        ----------
        config : StudyConfig
            The settings.
        windows : Windows
            The data.

        Returns
        -------
        list of dict
            The jobs, all different.
        """

    @abstractmethod
    def expected_seconds(self, config: Config, windows: Windows, job: Job) -> float:
        """Say about how long a job takes; finished jobs correct this by a factor for all.

        Parameters
        ----------
        config : StudyConfig
            The settings.
        windows : Windows
            The data.
        job : dict
            One of the jobs.

        Returns
        -------
        float
            Seconds on one core.
        """

    @abstractmethod
    def run(self, config: Config, windows: Windows, job: Job) -> Result:
        """Do a job.

        Parameters
        ----------
        config : StudyConfig
            The settings.
        windows : Windows
            The data.
        job : dict
            One of the jobs.

        Returns
        -------
        dict
            What came of it.
        """

    @abstractmethod
    def table(self, records: Sequence[Record]) -> Table:
        """Put the numbers together, also if jobs are still missing.

        Parameters
        ----------
        records : sequence of Record
            Finished jobs, at least one, in the order of their plan.

        Returns
        -------
        Table
            What the study says.
        """

    @abstractmethod
    def figure(self, records: Sequence[Record]) -> Figure:
        """Draw the same, also if jobs are still missing.

        Parameters
        ----------
        records : sequence of Record
            Finished jobs, at least one, in the order of their plan.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; a title with the name of the data is added to it.
        """
