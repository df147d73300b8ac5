"""A disk that is full or broken: one sentence, exit code 1, and the same bytes once it works."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from commands import CADDA, Finished
from disk import put_back
from failures import Failures, start_limited
from tiny_commands import COMMANDS, MIN_OPERATIONS, Command

EVERY = {
    **{"train": 2, "folds": 5, "probe": 2, "randaugment": 5, "adda": 5, "compare": 4},
    **{"study": 9, "report": 1, "simplify": 1, "cap": 1, "simulate": 1, "nights": 1},
}
"""At every how many operations the disk fails in `make test`; in `make test-all`, at each."""

N_RESUMED = 4
"""States that `make test` resumes; `make test-all` resumes all of them."""

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux")


def check_message(finished: Finished, root: Path, reason: str) -> None:
    (said,) = [line for line in finished.stderr.splitlines() if line.startswith("cadda: ")]
    assert finished.returncode == 1
    assert str(root) in said
    assert reason in said
    assert "Traceback" not in finished.stderr


def check_all(name: str, data: Path, root: Path, every: int, n_resumed: int | None) -> None:
    """Let the disk fail from each operation on, then let it work again."""
    torch.set_num_threads(1)
    command = Command(name, data, root)
    command.start()
    expected = command.results()
    command.clear()
    failures = Failures(command, root, every)
    for failure in failures.run():
        if failure.finished.returncode == 0:
            # All is written; only the lock cannot be removed.
            assert failure.operation in ("unlink out/.lock", "rmdir out"), failure
        else:
            check_message(failure.finished, root, os.strerror(failure.code))
    assert command.results() == expected
    assert failures.n_operations >= MIN_OPERATIONS[name]
    states = list(failures.states.values())
    step = 1 if n_resumed is None else -(-len(states) // n_resumed)
    for state in states[::step]:
        put_back(state, root)
        command.resume()
        assert command.results() == expected, (name, state)


@pytest.mark.parametrize("name", EVERY)
def test_some_failures(name: str, data: Path, root: Path) -> None:
    check_all(name, data, root, EVERY[name], N_RESUMED)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_all_failures(name: str, data: Path, root: Path) -> None:
    check_all(name, data, root, 1, None)


@pytest.mark.parametrize("share", [0, 0.01, 0.1, 0.9])
@pytest.mark.parametrize(
    "name",
    [
        "train",
        *(pytest.param(name, marks=pytest.mark.slow) for name in COMMANDS if name != "train"),
    ],
)
def test_limits_on_the_size_of_files(name: str, share: float, data: Path, root: Path) -> None:
    """Files can be no larger than a share of the largest one."""
    torch.set_num_threads(1)
    command = Command(name, data, root)
    command.start()
    expected = command.results()
    sizes = {path: path.stat().st_size for path in root.rglob("*")}
    command.clear()
    largest = max(size for path, size in sizes.items() if not path.exists())
    check_message(start_limited(command, int(share * largest)), root, "File too large")
    command.resume()
    assert command.results() == expected


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
    command.clear()
    command.start()
    assert command.results() == found


def test_a_limit_on_the_size_of_files(data: Path, root: Path) -> None:
    command = Command("train", data, root)
    finished = start(command, limit=True)
    assert finished.returncode == 1
    check_message(finished, root, "File too large")
    command.resume()
    found = command.results()
    command.clear()
    command.start()
    assert command.results() == found
