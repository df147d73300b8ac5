"""The jobs of a study on given data with given settings, and which of them are finished."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeAlias

from pydantic import BaseModel, JsonValue, TypeAdapter
from pydantic_core import to_jsonable_python

from cadda._internal.limits import parse_json
from cadda._internal.text import storable
from cadda.data.windows import Windows
from cadda.experiments.study import AnyStudy, Config, Job, Record, Result, Study, StudyConfig
from cadda.reporting.records import Reading
from cadda.runs.folder import digest_of

__all__ = [
    "DataInfo",
    "Progress",
    "ResultLine",
    "StudyPlan",
    "StudyRun",
    "describe_data",
    "make_plan",
    "parse_plan",
    "read_plan_name",
]

Values: TypeAlias = dict[str, JsonValue]


@dataclass(frozen=True)
class DataInfo:
    """What identifies data: name, summary and reading for people, the rest for keys of results."""

    name: str
    summary: str
    digest: str
    sfreq: float | None
    ch_names: tuple[str, ...]
    class_names: tuple[str, ...]
    reading: Reading | None = None

    def result_key(self) -> Values:
        """Return what results depend on: the digest tells more than how data were read."""
        key: Values = to_jsonable_python(self, exclude={"name", "summary", "reading"})
        return key


def describe_data(
    windows: Windows, name: str, summary: str, reading: Reading | None = None
) -> DataInfo:
    """Collect what identifies windows."""
    return DataInfo(
        storable(name),
        summary,
        digest_of(windows),
        windows.sfreq,
        windows.ch_names,
        windows.class_names,
        reading,
    )


class ResultLine(BaseModel):
    """A line of a file of results: the key of a job, and its result or error."""

    study: str
    job: Values
    settings: Values
    data: Values
    expected: float
    versions: dict[str, str] = {}
    result: Values | None = None
    seconds: float = 0.0
    error: str | None = None
    taken_from: str | None = None

    def to_json(self) -> Values:
        """Return the line as plain values, without what is not set."""
        return self.model_dump(mode="json", exclude_defaults=True)


@dataclass(frozen=True)
class Progress(Generic[Job, Result]):
    """How far a study is."""

    records: tuple[Record[Job, Result], ...]
    """Finished jobs, in the order of the plan."""
    failures: tuple[tuple[Job, str], ...]
    """Jobs whose last attempt failed, each with the error."""
    missing: tuple[Job, ...]
    """Jobs to do, including those that failed."""
    seconds_left: float
    """Estimated time of the missing jobs on one core."""
    n_measured: int
    """Number of finished jobs that corrected the estimate."""


@dataclass(frozen=True)
class StudyPlan(Generic[Job]):
    """The jobs of a study, and the key of their results."""

    study: str
    scale: str
    settings: Values
    """Settings that results depend on."""
    data: DataInfo
    jobs: tuple[Job, ...]
    expected: tuple[float, ...]
    """Estimated seconds of each job on one core."""

    def line(self, job: Job) -> ResultLine:
        """Return the key of a job's result."""
        return ResultLine(
            study=self.study,
            job=job.to_json(),
            settings=self.settings,
            data=self.data.result_key(),
            expected=self.seconds_of([job]),
        )

    def progress(
        self, study: Study[Any, Job, Result], lines: Iterable[ResultLine]
    ) -> Progress[Job, Result]:
        """Find finished, failed and missing jobs; lines of other settings or data are ignored."""
        # Only these count, also for times: other settings or data take other times.
        own = [line for line in lines if self._is_own(line)]
        # The last line of a job counts, unless it failed after it had succeeded.
        last: dict[str, ResultLine] = {}
        for line in own:
            name = _canonical(line.job)
            if line.result is not None or name not in last or last[name].result is None:
                last[name] = line
        by_job = [(job, last.get(_canonical(job.to_json()))) for job in self.jobs]
        measured = [line for line in own if line.result is not None]
        expected = sum(line.expected for line in measured)
        factor = sum(line.seconds for line in measured) / expected if expected else 1.0
        missing = tuple(job for job, line in by_job if line is None or line.result is None)
        return Progress(
            records=tuple(
                Record(job, study.result_type.model_validate(line.result))
                for job, line in by_job
                if line is not None and line.result is not None
            ),
            failures=tuple(
                (job, line.error)
                for job, line in by_job
                if line is not None and line.error is not None
            ),
            missing=missing,
            seconds_left=factor * self.seconds_of(missing),
            n_measured=len(measured),
        )

    def seconds_of(self, jobs: Sequence[Job]) -> float:
        """Add up the estimated seconds of jobs on one core."""
        return sum(self._expected_by_job[_canonical(job.to_json())] for job in jobs)

    def _is_own(self, line: ResultLine) -> bool:
        return line.study == self.study and self._key == _canonical([line.settings, line.data])

    @cached_property
    def _key(self) -> str:
        return _canonical([self.settings, self.data.result_key()])

    @cached_property
    def _expected_by_job(self) -> dict[str, float]:
        return {
            _canonical(job.to_json()): seconds
            for job, seconds in zip(self.jobs, self.expected, strict=True)
        }

    def to_dict(self) -> Values:
        """Return the plan as plain values."""
        # Without what older plans lack.
        absent = {"data": {"reading"}} if self.data.reading is None else None
        values: Values = to_jsonable_python(self, exclude=absent)
        return values

    def to_json(self) -> str:
        """Format the plan for a file."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False)


# What runs any study need not know its types of jobs and results.
AnyPlan: TypeAlias = StudyPlan[Any]
AnyProgress: TypeAlias = Progress[Any, Any]


class _PlanName(BaseModel):
    study: str


def read_plan_name(text: str) -> str:
    """Return the study of a plan that `StudyPlan.to_json` wrote; `ValueError` if it is none."""
    return _PlanName.model_validate(parse_json(text)).study


def parse_plan(text: str, job_type: type[Job]) -> StudyPlan[Job]:
    """Parse a plan that `StudyPlan.to_json` wrote; `ValueError` if it is none."""
    # pydantic takes types that are only known at run time, type checkers do not.
    content = parse_json(text)
    plan: StudyPlan[Job] = TypeAdapter(StudyPlan[job_type]).validate_python(content)  # type: ignore[valid-type]
    return plan


@dataclass(frozen=True, eq=False)
class StudyRun:
    """What a worker needs for any job of a study."""

    study: AnyStudy
    config: StudyConfig
    windows: Windows


def make_plan(
    name: str,
    study: Study[Config, Job, Result],
    scale: str,
    config: Config,
    windows: Windows,
    data: DataInfo,
) -> StudyPlan[Job]:
    """List the jobs of a study with their estimated times."""
    jobs = study.jobs(config, windows)
    return StudyPlan(
        study=name,
        scale=scale,
        settings=config.result_key(),
        data=data,
        jobs=tuple(jobs),
        expected=tuple(study.expected_seconds(config, windows, job) for job in jobs),
    )


def _canonical(value: JsonValue | list[Values]) -> str:
    return json.dumps(value, sort_keys=True)
