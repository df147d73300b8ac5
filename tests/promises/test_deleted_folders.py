"""A folder that is deleted while a command writes to it: one sentence, and nothing is lost."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import torch
from commands import attempt
from disk import watched_disk
from tiny_commands import COMMANDS, Command

EVERY = {"train": 9, "probe": 6, "compare": 12, "study": 8}
"""At every how many operations `make test` deletes the folder; `make test-all` does so at more."""

REASON = re.compile(
    r"^cadda: .*(No such file|does not exist|has no finished job|has no config.json)", re.MULTILINE
)

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux")


class Deletion:
    """Deletes a folder at an operation, and counts them."""

    def __init__(self, folder: Path, number: int | None = None) -> None:
        self.folder, self.number, self.n_seen = folder, number, 0
        self.deleted: set[str] = set()

    def __call__(self, name: str, path: Path) -> None:
        self.n_seen += 1
        if self.n_seen == self.number and self.folder.exists():
            self.deleted = {file.name for file in self.folder.rglob("*")}
            shutil.rmtree(self.folder)


def check(name: str, data: Path, root: Path, every: int) -> None:
    torch.set_num_threads(1)
    command = Command(name, data, root)
    counted = Deletion(command.out)
    with watched_disk(root, counted):
        command.start()
    expected = command.results()
    for number in range(1, counted.n_seen + 1, every):
        command.clear()
        deletion = Deletion(command.out, number)
        with watched_disk(root, deletion):
            finished = attempt(*command.arguments)
        assert "Traceback" not in finished.stderr
        if finished.returncode:
            assert REASON.search(finished.stderr), finished.stderr
            command.resume()
        elif "scores.json" in deletion.deleted:
            # All was written, and only the time that it took was still to be recorded.
            continue
        assert command.results() == expected, (name, number)


@pytest.mark.parametrize("name", EVERY)
def test_some_deletions(name: str, data: Path, root: Path) -> None:
    check(name, data, root, EVERY[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "report"])
def test_more_deletions(name: str, data: Path, root: Path) -> None:
    check(name, data, root, every=7)
