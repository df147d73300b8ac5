"""A disk on which every operation below a folder is seen before it happens, and may fail."""

from __future__ import annotations

import builtins
import hashlib
import io
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

RANDOM_NAME = re.compile(r"(?<=[.-])[a-z0-9_]{8}(?=$|\.tmp$)")
"""What `tempfile` puts into names."""

FILLING = ("open", "write", "half", "fsync", "mkdir")
"""Operations that a full disk refuses."""

WATCHED = ("replace", "rename", "unlink", "remove", "mkdir", "rmdir", "symlink", "truncate")

OnOperation = Callable[[str, Path], None]


class _WatchedFile(io.FileIO):
    """A file that announces each write, before and in the middle of it."""

    def __init__(self, file: Any, mode: str, announce: Callable[[str], None], **rest: Any) -> None:
        super().__init__(file, mode, **rest)
        self._announce = announce

    def write(self, content: Any, /) -> int:
        data = memoryview(content).cast("B")
        self._announce("write")
        n_first = len(data) // 2
        if n_first:
            super().write(data[:n_first])
            self._announce("half")
        return n_first + super().write(data[n_first:])

    def truncate(self, size: int | None = None, /) -> int:
        self._announce("truncate")
        return super().truncate(size)


@contextmanager
def watched_disk(root: Path, on_operation: OnOperation) -> Iterator[None]:
    """Call a function before each operation that changes files below a folder.

    What the function raises is what the operation raises; what it does itself is not watched.
    """
    folder, real_open, is_inside = root.resolve(), io.open, [False]

    def announce(name: str, path: Path) -> None:
        if is_inside[0] or not path.is_relative_to(folder):
            return
        is_inside[0] = True
        try:
            on_operation(name, path)
        finally:
            is_inside[0] = False

    def watched_open(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        path = _path_of(file)
        if not set(mode) & set("wax+") or not path.is_relative_to(folder):
            return real_open(file, mode, *args, **options)
        announce("open", path)
        return _open(file, mode, lambda name: announce(name, path), *args, **options)

    def watch(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*args: Any, **options: Any) -> Any:
            announce(name, _path_of(args[0], options.get("dir_fd")))
            return real(*args, **options)

        return call

    def os_open(file: Any, flags: int, *args: Any, **options: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            announce("open", _path_of(file, options.get("dir_fd")))
        return real_os_open(file, flags, *args, **options)

    real_os_open = os.open
    with ExitStack() as patches:
        for module in (io, builtins):
            patches.enter_context(patch.object(module, "open", watched_open))
        patches.enter_context(patch.object(os, "open", os_open))
        for name in (*WATCHED, "fsync"):
            patches.enter_context(patch.object(os, name, watch(name)))
        yield


def _open(
    file: Any,
    mode: str,
    announce: Callable[[str], None],
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,  # noqa: FBT002
    opener: Any = None,
) -> Any:
    """Open a watched file as `open` would."""
    kind = mode.replace("b", "").replace("t", "")
    raw = _WatchedFile(file, kind, announce, closefd=closefd, opener=opener)
    if buffering == 0:
        return raw
    buffer = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
    return buffer if "b" in mode else io.TextIOWrapper(buffer, encoding, errors, newline)


def _path_of(file: Any, folder: int | None = None) -> Path:
    if isinstance(file, int):
        return Path(f"/proc/self/fd/{file}").readlink()
    parent = Path.cwd() if folder is None else Path(f"/proc/self/fd/{folder}").readlink()
    return parent / os.fsdecode(file)


class Kills:
    """The states of a folder in which a kill at any operation would leave it, each once."""

    def __init__(self, root: Path, kept: Path) -> None:
        self.root, self.kept, self.n_operations = root, kept, 0
        self.states: dict[str, Path] = {}

    def __call__(self, name: str, path: Path) -> None:
        self.n_operations += 1
        state = digest_of(self.root)
        if state not in self.states:
            self.states[state] = self.kept / str(len(self.states))
            shutil.copytree(self.root, self.states[state], symlinks=True)


def digest_of(root: Path) -> str:
    """Return a digest of all files below a folder, random parts of names aside."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        name = RANDOM_NAME.sub("*", str(path.relative_to(root)))
        digest.update(name.encode())
        if path.is_file() and not path.is_symlink():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def put_back(state: Path, root: Path) -> None:
    """Make a folder what it was in a state."""
    shutil.rmtree(root)
    shutil.copytree(state, root, symlinks=True)


def exit_at(number: int) -> OnOperation:
    """End the process at an operation, as SIGKILL would."""
    n_seen = [0]

    def end(name: str, path: Path) -> None:
        n_seen[0] += 1
        if n_seen[0] == number:
            os._exit(9)

    return end
