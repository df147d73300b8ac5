"""The interface of a study.

How to add a study
------------------
A study is a class in a module of `studies/` and one line in `registry.py`. The module has

- a subclass of `StudyConfig`, or of `TrainingConfig` in `training.py` if it trains models: the
  settings, each with a default and a docstring below it, which ``cadda experiment plan`` prints.
  Settings that only decide *which* jobs there are, such as the number of folds, are marked
  `PlanOnly`. All others are part of the key of every result, so that results of other settings are
  never mistaken for those that are asked for;
- a subclass of `StudyJob`, which identifies a piece of work, and one of `JobResult`: small
  pydantic models that JSON can hold. `training.py` and `racing.py` have some that several
  studies share;
- a subclass of `Study` that lists the jobs, runs one of them, and makes a table and a figure from
  records alone.

Jobs are independent. `Study.run` may be called in another process: it must depend on nothing but
its arguments. All randomness comes from named streams of ``config.seed``
(`cadda._internal.random.Seeds`). Reading data, checking settings, saving results, resuming,
progress, engines and saving figures happen outside of the study.

`Study.scales` changes the defaults for ``quick`` (seconds, for tests), ``cpu`` (up to half an hour
on two cores) and ``paper`` (the sizes of the paper).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, TypeAlias, TypeVar

import tomli_w
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from cadda._internal.cells import Cell, format_rows
from cadda._internal.frames import make_frame
from cadda._internal.limits import MAX_SEED, MAX_SIMULATED, parse_toml, read_text
from cadda._internal.notebook import block, table
from cadda._internal.text import describe_error, short_reason
from cadda._internal.validation import NONE_WORD, read_none, split_commas
from cadda.data.simulation.nights import Night, nights_to_windows, simulate_nights
from cadda.data.windows import Windows
from cadda.exceptions import CaddaError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "SCALES",
    "SIMULATION_SETTINGS",
    "Added",
    "Cell",
    "JobResult",
    "Names",
    "PlanOnly",
    "Reader",
    "Record",
    "ResultTable",
    "Several",
    "Study",
    "StudyConfig",
    "StudyJob",
    "is_simulated",
    "make_config",
    "read_toml",
    "to_toml",
]

SCALES = ("quick", "cpu", "paper")
MAX_DESCRIPTION = 60
SIMULATION_SETTINGS = ("n_subjects", "n_windows")
"""Settings that have no effect on data that are read."""

MONTAGES = {"simulated": "physionet", "simulated-mass": "mass"}
"""Names of simulated data, and their montages."""

Reader: TypeAlias = Callable[[str | Windows], Windows]
"""Reads a path, or selects from windows, with the user's options."""

_PLAN_ONLY, _ADDED = "plan only", "added"
_Value = TypeVar("_Value")

PlanOnly: TypeAlias = Annotated[_Value, _PLAN_ONLY]
"""A setting that only decides which jobs there are, where they run, or what is simulated."""

Added: TypeAlias = Annotated[_Value, _ADDED]
"""A setting that there was not when results were kept; its default is what they were made with."""

Several: TypeAlias = Annotated[tuple[_Value, ...], BeforeValidator(split_commas)]
"""Values as a list, or as text with commas."""

Names: TypeAlias = Several[str]


class StudyConfig(BaseModel):
    """Settings that all studies have."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    seed: int = Field(0, ge=0, le=MAX_SEED)
    """Seed of all randomness: same seed, same results."""
    n_subjects: PlanOnly[int] = Field(24, ge=1, le=MAX_SIMULATED)
    """Number of subjects, if data are simulated."""
    n_windows: PlanOnly[int] = Field(40, ge=10, le=MAX_SIMULATED)
    """Windows of 30 s per simulated subject."""

    def __init__(self, **values: object) -> None:
        """Validate the settings; "none" is None, and a wrong one raises `ValueError`."""
        fields = type(self).model_fields
        types = {name: field.annotation for name, field in fields.items()}
        try:
            super().__init__(**read_none(values, types))
        except ValidationError as error:
            text = describe_error(error, noun="setting of this study", known=fields)
            raise ValueError(f"{text}.") from error

    def result_key(self) -> dict[str, JsonValue]:
        """Return the settings that results depend on: all but those that are `PlanOnly`.

        Those that are `Added` count if they differ from their defaults.
        """
        left_out = {
            name
            for name, field in type(self).model_fields.items()
            if _PLAN_ONLY in field.metadata
            or (_ADDED in field.metadata and getattr(self, name) == field.default)
        }
        return self.model_dump(mode="json", exclude=left_out)


class StudyJob(BaseModel):
    """What identifies a piece of work; a subclass per kind of study."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_json(self) -> dict[str, JsonValue]:
        """Return the job as plain values."""
        return self.model_dump(mode="json")

    def describe(self) -> str:
        """Name the job in a line; folds count from 1."""
        job = self.to_json()
        if isinstance(fold := job.get("fold"), int):
            job["fold"] = fold + 1
        values = job.items()
        text = ", ".join(f"{name} {value}" for name, value in values if value is not None)
        return text if len(text) <= MAX_DESCRIPTION else f"{text[:MAX_DESCRIPTION]}…"


class JobResult(BaseModel):
    """What a job computed; a subclass per kind of study."""

    model_config = ConfigDict(frozen=True)

    def to_json(self) -> dict[str, JsonValue]:
        """Return the result as plain values, without what is not set."""
        return self.model_dump(mode="json", exclude_defaults=True)


def read_toml(path: Path) -> dict[str, object]:
    """Read settings by name from a TOML file, such as ``config.toml`` in a study's folder."""
    try:
        return parse_toml(read_text(path))
    except OSError as error:
        raise CaddaError(f"{path} cannot be read: {short_reason(error)}.") from error
    except ValueError as error:
        raise CaddaError(f"{path} cannot be read as TOML: {short_reason(error)}.") from error


def to_toml(config: StudyConfig, without: Sequence[str] = ()) -> str:
    """Format settings for `read_toml`, with "none" for None, but for some."""
    plain = config.model_dump(mode="json", exclude=set(without))
    return tomli_w.dumps(
        {name: NONE_WORD if value is None else value for name, value in plain.items()}
    )


@dataclass(frozen=True)
class ResultTable:
    """Rows of plain values under named columns, with units in the names.

    Parameters
    ----------
    title : str
        What the table shows.
    columns : tuple of str
        Names of the columns.
    rows : tuple of tuple
        Text, numbers, and None for empty cells.
    note : str
        What is to be known about the numbers; may be empty.
    legend : str
        What the columns mean, if their names do not tell; may be empty.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    legend: str = ""

    def to_dict(self) -> dict[str, JsonValue]:
        """Return the table as plain values.

        Returns
        -------
        dict
            Title, note, legend, and a dict per row.
        """
        rows: list[JsonValue] = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        texts = {"title": self.title, "note": self.note, "legend": self.legend}
        return {**texts, "rows": rows}

    def to_frame(self) -> Any:
        """Return the rows as a data frame.

        Returns
        -------
        pandas.DataFrame
            The same rows and columns.
        """
        rows = (dict(zip(self.columns, row, strict=True)) for row in self.rows)
        return make_frame(rows, self.columns)

    def to_text(self) -> list[tuple[str, ...]]:
        """Return the rows as text, with the same decimals in all numbers of a column.

        Returns
        -------
        list of tuple of str
            The cells of each row.
        """
        return format_rows(self.rows)

    def _repr_html_(self) -> str:
        return block(self.title, table(self.columns, self.to_text(), self.notes))

    @property
    def notes(self) -> str:
        """Note and legend, for where the table is shown."""
        return " ".join(filter(None, (self.note, self.legend)))


Config = TypeVar("Config", bound=StudyConfig)
Job = TypeVar("Job", bound=StudyJob)
Result = TypeVar("Result", bound=JobResult)


@dataclass(frozen=True)
class Record(Generic[Job, Result]):
    """A finished job and its result."""

    job: Job
    result: Result


class Study(ABC, Generic[Config, Job, Result]):
    """A study: its jobs, how to run one, and what they show together."""

    config_type: type[Config]
    job_type: type[Job]
    result_type: type[Result]

    scales: ClassVar[Mapping[str, Mapping[str, object]]]
    """What ``quick``, ``cpu`` and ``paper`` change of the default settings."""

    same_jobs_as: ClassVar[tuple[str, ...]] = ()
    """Studies with the same jobs, whose results in neighbouring folders are reused."""

    def windows(
        self, config: Config, data: str, read: Reader, on_progress: Callable[[int, int, str], None]
    ) -> Windows:
        """Read or simulate the data; a study with data of its own kind overrides this.

        ``data`` is ``"simulated"``, ``"simulated-mass"`` or a path. ``read`` reads a path, or
        selects from windows. ``on_progress`` is called with the number of simulated subjects,
        their total and a name.
        """
        if not is_simulated(data):
            return read(data)
        return read(_simulate(config, MONTAGES[data], on_progress))

    def data_name(self, data: str) -> str:
        """Return the name of the data in figures."""
        return data if is_simulated(data) else Path(data).name

    def data_summary(self, windows: Windows) -> str:
        """Describe the data in a line."""
        return repr(windows)

    @abstractmethod
    def jobs(self, config: Config, windows: Windows) -> list[Job]:
        """List the jobs, all different; raise `ValueError` for settings that do not fit."""

    @abstractmethod
    def expected_seconds(self, config: Config, windows: Windows, job: Job) -> float:
        """Estimate the seconds of a job on one core; finished jobs correct them by a factor."""

    @abstractmethod
    def run(self, config: Config, windows: Windows, job: Job) -> Result:
        """Run a job."""

    @abstractmethod
    def table(self, records: Sequence[Record[Job, Result]]) -> ResultTable:
        """Make the table from one or more records in the order of the plan."""

    def details(self, records: Sequence[Record[Job, Result]]) -> tuple[ResultTable, ...]:
        """Make further tables for the report, such as of each subject."""
        return ()

    def warnings(self, records: Sequence[Record[Job, Result]]) -> tuple[str, ...]:
        """List what suggests that models have learned nothing, with the name of the job."""
        return ()

    def logged(self, job: Job, result: Result) -> Mapping[str, float]:
        """Return the numbers of a job that experiment trackers get, by name."""
        numbers = result.model_dump(exclude_none=True).items()
        return {name: float(value) for name, value in numbers if isinstance(value, int | float)}

    @abstractmethod
    def figure(self, records: Sequence[Record[Job, Result]]) -> Figure:
        """Draw the figure from one or more records; its title is added later."""


# What runs any study need not know its types of settings, jobs and results.
AnyStudy: TypeAlias = Study[Any, Any, Any]


def make_config(
    study: Study[Config, Any, Any], scale: str, settings: Mapping[str, object]
) -> Config:
    """Combine the settings of a scale with the user's; raise `ValueError` if any is wrong."""
    if scale not in SCALES:
        raise ValueError(f"`scale` must be one of {', '.join(SCALES)}, got {scale!r}.")
    return study.config_type(**{**study.scales[scale], **settings})


def is_simulated(data: str) -> bool:
    """Check whether a name is one of simulated data, not a path."""
    return data in MONTAGES


def _simulate(
    config: StudyConfig, montage: str, on_progress: Callable[[int, int, str], None]
) -> Windows:
    """Simulate sleep as `cadda.simulate_sleep` does, reporting each subject."""

    def reported() -> Iterator[Night]:
        on_progress(0, config.n_subjects, "sleep")
        nights = simulate_nights(
            config.n_subjects, config.n_windows, montage=montage, seed=config.seed
        )
        for done, night in enumerate(nights, start=1):
            yield night
            on_progress(done, config.n_subjects, night.subject)

    return nights_to_windows(reported())
