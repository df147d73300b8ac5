"""What a study is going to do on given data with given settings, and what is done of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

from pydantic import TypeAdapter

from cadda.data.windows import Windows
from cadda.experiments.sources import DataInfo
from cadda.experiments.study import Job, Record, Study, StudyConfig

__all__ = ["Plan", "Progress", "make_plan"]


@dataclass(frozen=True)
class Progress:
    """How far a study is.

    Parameters
    ----------
    records : tuple of Record
        Finished jobs, in the order of the plan.
    failures : tuple of (dict, str)
        Jobs whose last attempt failed, each with what went wrong.
    missing : tuple of dict
        Jobs that are to be done, with those that failed.
    seconds_left : float
        About how long the missing jobs take on one core.
    n_measured : int
        Number of finished jobs that expected times were corrected by.
    """

    records: tuple[Record, ...]
    failures: tuple[tuple[Job, str], ...]
    missing: tuple[Job, ...]
    seconds_left: float
    n_measured: int


@dataclass(frozen=True)
class Plan:
    """The jobs of a study, and what the key of their results says.

    Parameters
    ----------
    study : str
        Name of the study.
    scale : str
        Scale that the settings started from.
    settings : dict
        Settings that matter.
    data : DataInfo
        The data.
    jobs : tuple of dict
        The jobs.
    expected : tuple of float
        About how many seconds each of them takes on one core.
    """

    study: str
    scale: str
    settings: dict[str, Any]
    data: DataInfo
    jobs: tuple[Job, ...]
    expected: tuple[float, ...]

    def key(self, job: Job) -> dict[str, Any]:
        """Give what tells the result of a job from all others.

        Parameters
        ----------
        job : dict
            One of the jobs.

        Returns
        -------
        dict
            Study, job, settings and data.
        """
        data = self.data.that_matters()
        return {"study": self.study, "job": job, "settings": self.settings, "data": data}

    def progress(self, results: Iterable[Mapping[str, Any]]) -> Progress:
        """Find out what is done.

        Parameters
        ----------
        results : iterable of mapping
            The results of a file, also those of other settings and data.

        Returns
        -------
        Progress
            Finished, failed and missing jobs.
        """
        # Only these count, also for times: other settings or data take other times.
        same = {part: _canonical(value) for part, value in self.key({}).items() if part != "job"}
        lines = [
            line
            for line in results
            if all(_canonical(line.get(part)) == value for part, value in same.items())
        ]
        # The last word on a job counts, unless it failed after it had succeeded.
        last: dict[str, Mapping[str, Any]] = {}
        for line in lines:
            name = _canonical(line["job"])
            if "result" in line or "result" not in last.get(name, {}):
                last[name] = line
        found = [(job, last.get(_canonical(job), {})) for job in self.jobs]
        measured = [line for line in lines if "result" in line]
        expected = sum(line["expected"] for line in measured)
        factor = sum(line["seconds"] for line in measured) / expected if expected else 1.0
        missing = tuple(job for job, line in found if "result" not in line)
        return Progress(
            records=tuple(Record(job, line["result"]) for job, line in found if "result" in line),
            failures=tuple((job, line["error"]) for job, line in found if "error" in line),
            missing=missing,
            seconds_left=factor * self.seconds_of(missing),
            n_measured=len(measured),
        )

    def seconds_of(self, jobs: Sequence[Job]) -> float:
        """Add up about how long jobs take.

        Parameters
        ----------
        jobs : sequence of dict
            Some of the jobs.

        Returns
        -------
        float
            Seconds on one core.
        """
        return sum(self._expected_by_job[_canonical(job)] for job in jobs)

    @cached_property
    def _expected_by_job(self) -> dict[str, float]:
        return {_canonical(job): one for job, one in zip(self.jobs, self.expected, strict=True)}

    def to_json(self) -> str:
        """Write the plan.

        Returns
        -------
        str
            Content of a file.
        """
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a plan that `to_json` wrote.

        Parameters
        ----------
        text : str
            Content of a file.

        Returns
        -------
        Plan
            The plan; `ValueError` if it is none.
        """
        return TypeAdapter(cls).validate_json(text)


def make_plan(
    name: str,
    study: Study[Any],
    scale: str,
    config: StudyConfig,
    windows: Windows,
    data: DataInfo,
) -> Plan:
    """Plan a study.

    Parameters
    ----------
    name : str
        Name of the study.
    study : Study
        The study.
    scale : str
        Scale that the settings started from.
    config : StudyConfig
        The settings.
    windows : Windows
        The data.
    data : DataInfo
        What tells them from others.

    Returns
    -------
    Plan
        The jobs, with their key.
    """
    jobs = study.jobs(config, windows)
    return Plan(
        study=name,
        scale=scale,
        settings=config.that_matters(),
        data=data,
        jobs=tuple(jobs),
        expected=tuple(study.expected_seconds(config, windows, job) for job in jobs),
    )


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
