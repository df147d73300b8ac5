"""Progress of a study, from its events."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Self

from cadda.experiments.runner import StudyEvent, StudyStart
from cadda.tracking.displays import JobDisplay

__all__ = ["StudyDisplay"]


class StudyDisplay:
    """Shows the jobs of a study; a context manager that receives events."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._jobs: JobDisplay | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def __call__(self, event: StudyEvent) -> None:
        """Show an event."""
        if isinstance(event, StudyStart):
            jobs = JobDisplay(len(event.plan.jobs), event.n_done, event.seconds_left)
            self._jobs = self._stack.enter_context(jobs)
        elif self._jobs is not None:
            text = event.job.describe()
            self._jobs.show(text, event.error, event.done, event.seconds_left)
