"""A disk that fails at any operation, each time in a process of its own that starts there.

The command runs once. At each operation, a copy of the process continues on a copy of the folder
and on a disk that fails from then on, so that a failure takes as long as its message.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import shutil
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from commands import Finished, attempt
from disk import FILLING, digest_of, watched_disk
from tiny_commands import Command

REFUSED: dict[int, tuple[str, ...]] = {
    errno.ENOSPC: FILLING,
    errno.EIO: (*FILLING, "replace", "rename", "truncate", "unlink", "rmdir"),
}
"""Operations that a full disk refuses, and a broken one."""


@dataclass(frozen=True)
class Failure:
    """How a command ended on a disk that failed at an operation."""

    number: int
    operation: str
    code: int
    finished: Finished
    state: Path  # what it left, the same for failures that left the same


class Failures:
    """Let a command fail at every so many of its operations, and keep what is left."""

    def __init__(self, command: Command, root: Path, every: int = 1) -> None:
        self.command, self.root, self.every = command, root, every
        self.kept, self.n_operations = root.parent / "states", 0
        self.states: dict[str, Path] = {}
        self.failures: list[Failure] = []
        self._code: int | None = None  # of the disk of this process
        self._answer = -1

    def run(self) -> list[Failure]:
        """Run the command on a disk that works, with all failures beside it."""
        with watched_disk(self.root, self._on_operation):
            finished = ended(self.command)
        if self._code is not None:
            # This is the copy of the process whose disk has failed.
            answer(self._answer, finished)
            os._exit(0)
        assert finished.returncode == 0, finished.stderr
        return self.failures

    def _on_operation(self, name: str, path: Path) -> None:
        if self._code is not None:
            if name in REFUSED[self._code]:
                raise _error(name, path, self._code)
            return
        self.n_operations += 1
        if (self.n_operations - 1) % self.every:
            return
        for code in REFUSED:
            if name in REFUSED[code]:
                self._fail(name, path, code)

    def _fail(self, name: str, path: Path, code: int) -> None:
        aside = self.root.with_name("aside")
        copy = self.root.with_name("copy")
        shutil.copytree(self.root, copy, symlinks=True)
        self.root.rename(aside)
        copy.rename(self.root)

        def begin(pipe: int) -> None:
            self._code, self._answer = code, pipe
            reopen_files(aside, self.root)
            raise _error(name, path, code)

        finished = in_a_copy(begin)
        operation = f"{name} {path.relative_to(self.root)}"
        state = self._keep(self.root)
        self.failures.append(Failure(self.n_operations, operation, code, finished, state))
        aside.rename(self.root)

    def _keep(self, folder: Path) -> Path:
        digest = digest_of(folder)
        if digest in self.states:
            shutil.rmtree(folder)
        else:
            self.kept.mkdir(exist_ok=True)
            self.states[digest] = folder.rename(self.kept / str(len(self.states)))
        return self.states[digest]


def _error(operation: str, path: Path, code: int) -> OSError:
    """Return the error of the system, which names files but where they are open."""
    named = operation not in ("write", "half", "fsync", "truncate")
    return OSError(code, os.strerror(code), *([str(path)] if named else []))


def ended(command: Command) -> Finished:
    """Run a command; an error that it does not report itself is in what it printed."""
    try:
        return attempt(*command.arguments)
    except Exception:
        return Finished(-1, "", traceback.format_exc())


def answer(pipe: int, finished: Finished) -> None:
    """Write how a command ended to a pipe."""
    with os.fdopen(pipe, "w") as file:
        json.dump(asdict(finished), file)


def in_a_copy(work: Callable[[int], None]) -> Finished:
    """Call a function in a copy of this process, which writes how a command ended to a pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        work(writing)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(child, 0)
    assert content, f"the process ended with {os.waitstatus_to_exitcode(status)}"
    return Finished(**json.loads(content))


def reopen_files(folder: Path, copy: Path) -> None:
    """Let files that are open below a folder be those of its copy, at the same place of each.

    A copy of a process shares them, and what it wrote would be in the files of the other.
    """
    for entry in Path("/proc/self/fd").iterdir():
        number = int(entry.name)
        path = entry.readlink() if entry.is_symlink() else Path()
        if not path.is_relative_to(folder) or not path.is_file():
            continue
        flags = fcntl.fcntl(number, fcntl.F_GETFL)
        reopened = os.open(copy / path.relative_to(folder), flags & ~os.O_TRUNC)
        os.lseek(reopened, os.lseek(number, 0, os.SEEK_CUR), os.SEEK_SET)
        os.dup2(reopened, number, inheritable=False)
        os.close(reopened)


def start_limited(command: Command, n_bytes: int) -> Finished:
    """Run a command whose files can have no more than some bytes."""

    def start(pipe: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
        answer(pipe, ended(command))

    return in_a_copy(start)
