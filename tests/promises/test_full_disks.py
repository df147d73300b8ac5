"""A disk that is full or broken: one sentence, exit code 1, and the same bytes once it works."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import CADDA, Finished
from disk import fail_from, watched_disk
from tiny_commands import COMMANDS, Command

EVERY = {"train": 4, "probe": 3, "randaugment": 24, "adda": 24, "compare": 9}
"""Every how many of the operations fail once in `make test`; in `make test-all`, each does."""

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux")


def check_message(finished: Finished, root: Path, reason: str) -> None:
    (said,) = [line for line in finished.stderr.splitlines() if line.startswith("cadda: ")]
    assert str(root) in said
    assert reason in said
    assert "Traceback" not in finished.stderr


def check_all(name: str, data: Path, root: Path, every: int, code: int) -> None:
    """Let the disk fail from each operation on, then let it work again."""
    command = Command(name, data, root)
    command.start()
    expected, number = command.results(), 1
    while True:
        shutil.rmtree(root)
        root.mkdir()
        with watched_disk(root, fail_from(number, code)):
            try:
                finished = command.start(code=1)
            except AssertionError:
                # The number of operations is exceeded: nothing has failed.
                assert command.results() == expected
                break
        check_message(finished, root, os.strerror(code))
        command.resume()
        assert command.results() == expected, (name, number)
        number += every
    assert number > 20


@pytest.mark.parametrize("name", EVERY)
def test_some_failures(name: str, data: Path, root: Path) -> None:
    check_all(name, data, root, EVERY[name], errno.ENOSPC)


@pytest.mark.slow
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("name", COMMANDS)
def test_all_failures(name: str, code: int, data: Path, root: Path) -> None:
    check_all(name, data, root, 1, code)


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


@pytest.fixture
def full_disk(root: Path) -> Iterator[Path]:
    """A real disk that is too small."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None or not mounted(mount, "size=24k", root):
        pytest.skip("a file system cannot be mounted here")
    yield root
    subprocess.run([umount, str(root)], check=True)


def mounted(mount: str, options: str, folder: Path) -> bool:
    command = [mount, "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True).returncode == 0


def start(command: Command, *, limit: bool = False) -> Finished:
    done = subprocess.run(
        [CADDA, *command.arguments],
        capture_output=True,
        text=True,
        preexec_fn=limit_files if limit else None,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def test_a_small_disk(data: Path, full_disk: Path) -> None:
    command = Command("train", data, full_disk)
    finished = start(command)
    assert finished.returncode == 1
    check_message(finished, full_disk, "No space left on device")
    assert mounted(shutil.which("mount") or "", "remount,size=100m", full_disk)
    command.resume()
    found = command.results()
    shutil.rmtree(command.out)
    command.start()
    assert command.results() == found


def test_a_limit_on_the_size_of_files(data: Path, root: Path) -> None:
    command = Command("train", data, root)
    finished = start(command, limit=True)
    assert finished.returncode == 1
    check_message(finished, root, "File too large")
    command.resume()
    found = command.results()
    shutil.rmtree(command.out)
    command.start()
    assert command.results() == found
