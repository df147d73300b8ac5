"""By which commands, when and on which machine a run was computed, and what it warned of."""

from __future__ import annotations

import json
import logging
import os
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from cadda._internal.files import write_text_atomically
from cadda.runs.folder import RunFolder, versions
from cadda.searchers.events import SearchEpoch, SearchEvent, SearchStart
from cadda.training import TrainingEvent

__all__ = ["Session", "recorded_session"]


class Session:
    """What is worth knowing of one command that works on a run.

    Parameters
    ----------
    command : str
        The command line.
    run : RunFolder
        Where to write it down, after what earlier commands left there.
    """

    def __init__(self, command: str, run: RunFolder) -> None:
        self.command, self._run = command, run
        self._earlier = (
            json.loads(run.sessions.read_text("utf-8")) if run.sessions.exists() else []
        )
        self.warnings: list[str] = []
        self._started = datetime.now(UTC)
        self._clock = perf_counter()

    def __call__(self, event: SearchEvent | TrainingEvent) -> None:
        """Keep what an event warns of at the start; later ones are in the file of events.

        Each epoch of a search is written down, so that a killed command leaves a record too.

        Parameters
        ----------
        event : event
            What happened.
        """
        if isinstance(event, SearchStart):
            for text in event.warnings:
                self.warn(text)
        if isinstance(event, SearchStart | SearchEpoch):
            self.write(finished=False)

    def warn(self, text: str) -> None:
        """Keep a warning, once.

        Parameters
        ----------
        text : str
            What the user should know.
        """
        if text not in self.warnings:
            self.warnings.append(text)

    def to_dict(self, *, finished: bool) -> dict[str, Any]:
        """Give the session as plain data.

        Parameters
        ----------
        finished : bool
            Whether it came to its end.

        Returns
        -------
        dict
            Command, times, versions, machine and warnings.
        """
        return {
            "command": self.command,
            "started": self._started.isoformat(timespec="seconds"),
            "seconds": round(perf_counter() - self._clock, 1),
            "finished": finished,
            "versions": versions(),
            "machine": _machine(),
            "warnings": self.warnings,
        }

    def write(self, *, finished: bool) -> None:
        """Write the session into the run folder, if there is one.

        Parameters
        ----------
        finished : bool
            Whether it came to its end.
        """
        if self._run.config.exists():
            sessions = [*self._earlier, self.to_dict(finished=finished)]
            write_text_atomically(self._run.sessions, json.dumps(sessions, indent=1))


@contextmanager
def recorded_session(folder: Path, kind: str, command: str) -> Iterator[Session]:
    """Add to the records of a run what happens inside; a refused one leaves no record.

    Parameters
    ----------
    folder : Path
        The run folder.
    kind : str
        What it is of: ``"training"`` or ``"search"``.
    command : str
        The command line.

    Yields
    ------
    Session
        Receiver of events. Warnings of Python and of the log are kept, and shown as always.
    """
    session = Session(command, RunFolder(folder, kind))
    with _overheard(session):
        try:
            yield session
        except KeyboardInterrupt:
            session.write(finished=False)
            raise
    session.write(finished=True)


@contextmanager
def _overheard(session: Session) -> Iterator[None]:
    """Keep warnings on their way to the user."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def keep(message: Warning | str, *arguments: Any, **options: Any) -> None:
            session.warn(str(message))
            show(message, *arguments, **options)

        warnings.showwarning = keep
        ear, logger = _Ear(session), logging.getLogger("cadda")
        logger.addHandler(ear)
        try:
            yield
        finally:
            logger.removeHandler(ear)


class _Ear(logging.Handler):
    """Keeps what is logged as a warning, and passes it on to where it would have gone."""

    def __init__(self, session: Session) -> None:
        super().__init__(logging.WARNING)
        self.session = session

    def emit(self, record: logging.LogRecord) -> None:
        self.session.warn(record.getMessage())
        if logging.lastResort is not None and not logging.getLogger().handlers:
            logging.lastResort.handle(record)


def _machine() -> dict[str, Any]:
    return {
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }
