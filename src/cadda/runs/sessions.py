"""Records of the commands that work on a run, with their warnings."""

from __future__ import annotations

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
from pydantic import TypeAdapter

from cadda._internal.files import write_text_atomically
from cadda._internal.limits import parse_json, read_bytes
from cadda._internal.text import short_reason, storable
from cadda.exceptions import DataWarning
from cadda.reporting.records import Machine, Session
from cadda.runs.events import RunEvent
from cadda.runs.folder import RunFolder, versions
from cadda.searchers.events import SearchEpoch, SearchStart

__all__ = ["SessionRecorder", "load_sessions", "recorded_session"]

_logger = logging.getLogger(__name__)

_SESSIONS: TypeAdapter[tuple[Session, ...]] = TypeAdapter(tuple[Session, ...])


def load_sessions(run: RunFolder) -> tuple[Session, ...]:
    """Read the sessions of a run; there are none without a file."""
    if not run.sessions.exists():
        return ()
    return _SESSIONS.validate_python(parse_json(read_bytes(run.sessions)))


class SessionRecorder:
    """Receives the events and warnings of a command and adds a session to the run."""

    def __init__(self, command: str, run: RunFolder) -> None:
        self.command, self._run = command, run
        self.warnings: list[str] = []
        try:
            self._earlier = load_sessions(run)
        except (OSError, ValueError) as error:
            # Nothing is computed from earlier sessions.
            self._earlier = ()
            self.warn(
                f"{run.sessions} is damaged or of another version of cadda "
                f"({short_reason(error)}); earlier sessions are no longer listed."
            )
            _logger.warning(self.warnings[-1])
        self._started = datetime.now(UTC)
        self._clock = perf_counter()

    def __call__(self, event: RunEvent) -> None:
        """Keep the warnings of the start; later warnings are in the file of events.

        The session is written after each epoch of a search, so that a killed command has one too.
        """
        if isinstance(event, SearchStart):
            for text in event.warnings:
                self.warn(text)
        if isinstance(event, SearchStart | SearchEpoch):
            self.write(finished=False)

    def warn(self, text: str) -> None:
        """Keep a warning, once."""
        kept = storable(text)
        if kept not in self.warnings:
            self.warnings.append(kept)

    def write(self, *, finished: bool) -> None:
        """Write the session, if the run has begun."""
        if not (self._run.config.exists() or self._run.has_folds):
            return
        session = Session(
            command=self.command,
            started=self._started.isoformat(timespec="seconds"),
            seconds=round(perf_counter() - self._clock, 1),
            finished=finished,
            versions=versions(),
            machine=_machine(),
            warnings=tuple(self.warnings),
        )
        content = _SESSIONS.dump_json((*self._earlier, session), indent=1)
        write_text_atomically(self._run.sessions, content.decode())


@contextmanager
def recorded_session(folder: Path, command: str) -> Iterator[SessionRecorder]:
    """Record a command; one that fails is not recorded, one that is interrupted is.

    Warnings and logged warnings are recorded and shown as usual.
    """
    session = SessionRecorder(command, RunFolder(folder))
    with _capture_warnings(session):
        try:
            yield session
        except KeyboardInterrupt:
            session.write(finished=False)
            raise
    session.write(finished=True)


@contextmanager
def _capture_warnings(session: SessionRecorder) -> Iterator[None]:
    with warnings.catch_warnings():
        show = warnings.showwarning

        def keep(message: Warning | str, *place: Any, **options: Any) -> None:
            # What is to be known of data is shown; what is lost of them is kept too.
            if place[0] is not DataWarning:
                session.warn(str(message))
            show(message, *place, **options)

        warnings.showwarning = keep
        handler, logger = _WarningHandler(session), logging.getLogger("cadda")
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)


class _WarningHandler(logging.Handler):
    """Records logged warnings, and passes them on to where they would have gone."""

    def __init__(self, session: SessionRecorder) -> None:
        super().__init__(logging.WARNING)
        self.session = session

    def emit(self, record: logging.LogRecord) -> None:
        self.session.warn(record.getMessage())
        if logging.lastResort is not None and not logging.getLogger().handlers:
            logging.lastResort.handle(record)


def _machine() -> Machine:
    return Machine(
        system=platform.platform(),
        processor=platform.processor() or platform.machine(),
        cores=os.cpu_count(),
        gpu=torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    )
