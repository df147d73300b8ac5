"""The interface of a study.

How to add a study
------------------
A study is one module in `studies/` and one line in `registry.py`. The module has

- a subclass of `StudyConfig`, or of `TrainingConfig` in `training.py` if it trains models: the
  settings, each with a default and a docstring below it, which ``cadda experiment plan`` prints.
  Settings that only decide *which* jobs there are, such as the number of folds, are marked
  `PlanOnly`. All others are part of the key of every result, so that results of other settings are
  never mistaken for those that are asked for;
- a subclass of `StudyJob`, which identifies a piece of work, and one of `JobResult`: small
  pydantic models that JSON can hold. `training.py` and `racing.py` have some that several
  studies share;
- a subclass of `Study` that lists the jobs, runs one of them, and makes a table and a figure from
  records alone;
- ``STUDY``, an instance of it.

Jobs are independent. `Study.run` may be called in another process: it must depend on nothing but
its arguments. All randomness comes from named streams of ``config.seed``
(`cadda._internal.random.Seeds`). Reading data, checking settings, saving results, resuming,
progress, engines and saving figures happen outside of the study.

`Study.scales` changes the defaults for ``quick`` (seconds, for tests), ``cpu`` (up to half an hour
on two cores) and ``paper`` (the sizes of the paper).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from cadda._internal.text import describe_error
from cadda._internal.validation import read_none, split_commas
from cadda.experiments.sources import Reader, is_simulated, simulate
from cadda.experiments.tables import ResultTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cadda.data.windows import Windows

__all__ = [
    "JobResult",
    "Names",
    "PlanOnly",
    "Record",
    "Several",
    "Study",
    "StudyConfig",
    "StudyJob",
]

MAX_DESCRIPTION = 60

_PLAN_ONLY = "plan only"
_Value = TypeVar("_Value")

PlanOnly: TypeAlias = Annotated[_Value, _PLAN_ONLY]
"""A setting that only decides which jobs there are, or which data are simulated."""

Several: TypeAlias = Annotated[tuple[_Value, ...], BeforeValidator(split_commas)]
"""Values as a list, or as text with commas."""

Names: TypeAlias = Several[str]


class StudyConfig(BaseModel):
    """Settings that all studies have."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    seed: int = Field(0, ge=0)
    """Seed of all randomness: same seed, same results."""
    n_subjects: PlanOnly[int] = Field(24, ge=1)
    """Number of subjects, if data are simulated."""
    n_windows: PlanOnly[int] = Field(40, ge=10)
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
        """Return the settings that results depend on: all but those that are `PlanOnly`."""
        plan_only = {
            name for name, field in type(self).model_fields.items() if _PLAN_ONLY in field.metadata
        }
        return self.model_dump(mode="json", exclude=plan_only)


class StudyJob(BaseModel):
    """What identifies a piece of work; a subclass per kind of study."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_json(self) -> dict[str, JsonValue]:
        """Return the job as plain values."""
        return self.model_dump(mode="json")

    def describe(self) -> str:
        """Name the job in a line."""
        values = self.to_json().items()
        text = ", ".join(f"{name} {value}" for name, value in values if value is not None)
        return text if len(text) <= MAX_DESCRIPTION else f"{text[:MAX_DESCRIPTION]}…"


class JobResult(BaseModel):
    """What a job computed; a subclass per kind of study."""

    model_config = ConfigDict(frozen=True)

    def to_json(self) -> dict[str, JsonValue]:
        """Return the result as plain values, without what is not set."""
        return self.model_dump(mode="json", exclude_defaults=True)


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
        self,
        config: Config,
        data: str,
        read: Reader,
        on_progress: Callable[[int, int, str], None],
    ) -> Windows:
        """Read or simulate the data; a study with data of its own kind overrides this.

        ``data`` is ``"simulated"``, ``"simulated-mass"`` or a path. ``read`` reads a path, or
        selects from windows. ``on_progress`` is called with the number of simulated subjects,
        their total and a name.
        """
        if not is_simulated(data):
            return read(data)
        shape = (config.n_subjects, config.n_windows)
        return read(simulate(data, *shape, seed=config.seed, on_progress=on_progress))

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

    @abstractmethod
    def figure(self, records: Sequence[Record[Job, Result]]) -> Figure:
        """Draw the figure from one or more records; its title is added later."""


# What runs any study need not know its types of settings, jobs and results.
AnyStudy: TypeAlias = Study[Any, Any, Any]
