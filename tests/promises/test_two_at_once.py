"""Two commands in one folder: the second is refused, and names the first."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from commands import CADDA, run
from tiny_commands import Command

from cadda import RunError
from cadda._internal.folder_lock import locked
from cadda._internal.locks import temporary_folder
from cadda.compute import open_engine

LONG = {
    "train": ["--max-epochs", "100000", "--patience", "100000"],
    "adda": ["--budget", "100000"],
    "compare": ["--folds", "4", "--seeds", "1000"],
    "probe": ["--epochs", "100000"],
}

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals")


@pytest.mark.parametrize(
    "name",
    ["train", *(pytest.param(name, marks=pytest.mark.slow) for name in LONG if name != "train")],
)
def test_the_second_is_refused(name: str, data: Path, root: Path) -> None:
    command = Command(name, data, root)
    arguments = [*command.arguments, *LONG[name]]
    first = subprocess.Popen(
        [CADDA, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    lock = command.out / ".lock"
    while not (lock.exists() and lock.read_text()):
        time.sleep(0.05)
        assert first.poll() is None
    again = ["--resume"] if name == "adda" else []
    while name == "adda" and not (command.out / "config.json").exists():
        time.sleep(0.05)
    refused = run(*arguments, *again, code=2)
    assert f"is in use: process {first.pid} on {platform.node()} is writing the" in refused.stderr
    first.kill()
    first.wait()
    # The lock of a dead owner is taken over.
    assert lock.exists()
    with locked(command.out, "run"):
        assert f"process {os.getpid()}" in lock.read_text()
    assert not lock.exists()


def test_one_process_twice(tmp_path: Path) -> None:
    refused = pytest.raises(RunError, match=f"process {os.getpid()} on")
    with locked(tmp_path, "run"), refused, locked(tmp_path, "run"):
        pass


def test_nothing_remains_of_a_folder_without_results(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with pytest.raises(ValueError, match="wrong"), locked(folder, "run"):
        raise ValueError("wrong")
    assert not folder.exists()


SHARE = """
import time
from cadda.compute import open_engine
engine = open_engine("processes:1")
print(engine.share(b"windows" * 1000).path, flush=True)
time.sleep(1000)
"""


def test_copies_of_killed_drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", SHARE], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    shared = Path(process.stdout.readline().strip())
    assert shared.is_relative_to(tmp_path)
    with open_engine("processes:1"):
        assert shared.exists()
    assert shared.exists()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with temporary_folder() as own:
        assert not shared.exists()
        assert sorted(tmp_path.iterdir()) == [own, own.with_name(f"{own.name}.lock")]
    assert not list(tmp_path.iterdir())
