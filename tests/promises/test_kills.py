"""Commands that are killed at any operation on a file end, once resumed, with the same bytes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from disk import Kills, exit_at, put_back, watched_disk
from tiny_commands import COMMANDS, MIN_OPERATIONS, Command

EVERY = {
    **{"train": 1, "folds": 9, "probe": 3, "randaugment": 16, "adda": 16, "compare": 9},
    **{"study": 12, "report": 1, "simplify": 1, "cap": 1, "simulate": 2, "nights": 1},
}
"""Every how many of the states are resumed by `make test`; `make test-all` resumes all."""

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux")


def check_all(name: str, data: Path, root: Path, every: int) -> None:
    """Resume from every state that a kill can leave, and compare the results."""
    command = Command(name, data, root)
    command.start()
    expected = command.results()
    command.clear()
    kills = Kills(root, root.parent / "states")
    with watched_disk(root, kills):
        command.start()
    assert command.results() == expected
    assert kills.n_operations >= MIN_OPERATIONS[name]
    for state in list(kills.states.values())[::every]:
        put_back(state, root)
        command.resume()
        assert command.results() == expected, (name, state)


@pytest.mark.parametrize("name", EVERY)
def test_some_kills(name: str, data: Path, root: Path) -> None:
    check_all(name, data, root, EVERY[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_all_kills(name: str, data: Path, root: Path) -> None:
    check_all(name, data, root, every=1)


@pytest.mark.parametrize("number", [3, 12, 30, 47, 63])
def test_a_process_that_ends(number: int, data: Path, root: Path) -> None:
    """The states are those that a process leaves which really ends."""
    torch.set_num_threads(1)
    command = Command("train", data, root)
    command.start()
    expected = command.results()
    command.clear()
    child = os.fork()
    if not child:
        try:
            with watched_disk(root, exit_at(number)):
                command.start()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 9
    command.resume()
    assert command.results() == expected
