"""SIGTERM, which schedulers send, ends a command as Ctrl-C does."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from commands import CADDA
from tiny_commands import Command

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")


@pytest.mark.parametrize("name", ["train", "adda"])
def test_terminated(name: str, data: Path, root: Path) -> None:
    command = Command(name, data, root)
    # The last of several values counts.
    long = {"train": ["--max-epochs", "100000"], "adda": ["--budget", "100000"]}[name]
    arguments = [*command.arguments, *long]
    process = subprocess.Popen([CADDA, *arguments], stderr=subprocess.PIPE, text=True)
    while not (command.out / "checkpoint.pt").exists():
        time.sleep(0.05)
        assert process.poll() is None
    process.terminate()
    _, said = process.communicate(timeout=120)
    assert process.returncode == 143, said
    assert "resume with" in said.lower()
    assert "Traceback" not in said
    assert not list(command.out.glob(".*"))
    (session,) = json.loads((command.out / "sessions.json").read_text())
    assert not session["finished"]
