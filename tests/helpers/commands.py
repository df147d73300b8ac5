"""The command line of cadda, run in this process: importing torch again takes seconds."""

from __future__ import annotations

import io
import logging
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cadda.cli.app import main

CADDA = str(Path(sys.executable).parent / "cadda")
"""The command itself, for tests that kill or interrupt it."""


@dataclass(frozen=True)
class Finished:
    """What a command printed, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments: object, code: int = 0) -> Finished:
    """Run ``cadda`` with these arguments and check its exit code."""
    finished = attempt(*arguments)
    assert finished.returncode == code, finished.stderr
    return finished


def attempt(*arguments: object) -> Finished:
    """Run ``cadda`` with these arguments, however it ends."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr), _as_in_a_process(arguments):
        try:
            main()
            returncode = 0
        except SystemExit as end:
            returncode = end.code if isinstance(end.code, int) else int(end.code is not None)
    return Finished(returncode, stdout.getvalue(), stderr.getvalue())


class _as_in_a_process:  # noqa: N801
    """Arguments, warnings and logging as a process of its own would have them."""

    def __init__(self, arguments: tuple[object, ...]) -> None:
        self._arguments = patch.object(sys, "argv", [CADDA, *map(str, arguments)])
        self._warnings = warnings.catch_warnings()
        self._handlers = patch.object(logging.getLogger(), "handlers", [])

    def __enter__(self) -> None:
        self._arguments.start()
        self._handlers.start()
        self._warnings.__enter__()
        warnings.simplefilter("default")
        warnings.showwarning = _print_warning

    def __exit__(self, *error: Any) -> None:
        self._warnings.__exit__(*error)
        self._handlers.stop()
        self._arguments.stop()


def _print_warning(*arguments: Any, **_: Any) -> None:
    sys.stderr.write(warnings.formatwarning(*arguments[:4]))
