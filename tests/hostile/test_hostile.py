"""Files of strangers: read, or refused in a sentence, in little time and memory; never executed.

`make fuzz` tries ten times as many.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import fuzz_harness
import numpy as np
import pytest
from fuzz_formats import FORMATS, Format
from fuzz_harness import fuzz, kept_seeds

from cadda import CaddaError

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and devices")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anything that is executed leaves its mark here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CADDA_CACHE", str(tmp_path / "cache"))


def by_name(kind: Format) -> str:
    return kind.name


def test_a_thousand_files() -> None:
    assert 1000 <= sum(kind.share for kind in FORMATS) <= 1300


@pytest.mark.parametrize("kind", FORMATS, ids=by_name)
def test_damaged_files(kind: Format, tmp_path: Path) -> None:
    seeds = [*range(kind.share), *kept_seeds().get(kind.name, [])]
    tried = fuzz(kind, seeds, tmp_path / "files")
    assert not tried.failures, "\n".join(f"{seed}: {what}" for seed, what in tried.failures)
    assert tried.n_files == len(seeds)
    # Damage is mostly noticed; entries of the cache are made again.
    assert tried.n_refused > len(seeds) / 5 or kind.name == "cache"


def _write(folder: Path) -> Path:
    (folder / "file.txt").write_text("time_reverse p=0.5\n")
    return folder / "file.txt"


def _waits(path: Path) -> None:
    time.sleep(10)


def _executes(path: Path) -> None:
    Path(fuzz_harness.CANARY).mkdir()


def _starts_a_process(path: Path) -> None:
    os.system("true")  # noqa: S605, S607


def _fails(path: Path) -> None:
    {}["key"]


def _fails_elsewhere(path: Path) -> None:
    np.zeros(2).reshape(3)


def _takes_memory(path: Path) -> None:
    np.ones(70_000_000)


def _reserves_memory(path: Path) -> None:
    try:
        np.empty(10**12)
    except MemoryError as error:
        raise CaddaError("there is no memory.") from error


def _takes_time(path: Path) -> None:
    while True:
        pass


def _writes_a_novel(path: Path) -> None:
    raise ValueError("a\nb")


@pytest.mark.parametrize(
    ("read", "problem"),
    [
        (_waits, "it did not end"),
        (_takes_time, "it did not end"),
        (_executes, "something was executed"),
        (_starts_a_process, r"something was executed: os.system"),
        (_fails, "KeyError"),
        (_fails_elsewhere, "not raised by cadda"),
        (_takes_memory, "MB"),
        (_reserves_memory, "it asked for too much memory"),
        (_writes_a_novel, "not raised by cadda"),
    ],
)
def test_what_is_noticed(
    read: Callable[[Path], None],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if problem == "it did not end":
        monkeypatch.setattr(fuzz_harness, "MAX_WALL", 1)
    calls = []

    def read_later(path: Path) -> None:
        # The first is the healthy one.
        calls.append(path)
        if len(calls) > 1:
            read(path)

    kind = Format("test", 1, _write, ("*.txt",), read_later)
    tried = fuzz(kind, [0], tmp_path / "files")
    assert len(tried.failures) == 1
    assert problem in tried.failures[0][1]
