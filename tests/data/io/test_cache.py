"""The cache: it is never believed when it is not whole, whatever happens while it is written."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cadda.data.io import cache, recordings, window_store
from cadda.data.io.cache_upkeep import cache_entries, clear_cache
from cadda.data.io.read import read_windows
from cadda.data.windows import Windows
from cadda.exceptions import DataError

WriteEdf = Callable[..., Path]
WriteNight = Callable[..., Path]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory, write_night: WriteNight) -> Path:
    folder = tmp_path_factory.mktemp("originals")
    for seed, name in enumerate(("SC4001", "SC4011", "SC4021")):
        write_night(folder, name, "W123R", seed=seed)
    return folder


@pytest.fixture(scope="module")
def truth(originals: Path) -> Windows:
    return read_windows(originals, cache=False)


@pytest.fixture
def nights(tmp_path: Path, originals: Path) -> Path:
    """Three nights, for the test to do with as it likes."""
    return Path(shutil.copytree(originals, tmp_path / "nights"))


@pytest.fixture
def never_again(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, reading a signal is an error."""

    def fail(*_: object) -> None:
        raise AssertionError("the recording was read again")

    return lambda: monkeypatch.setattr(recordings, "cut_recording", fail)


def same(one: Windows, other: Windows) -> bool:
    return (
        bool((one.x == other.x).all())
        and one.y.tolist() == other.y.tolist()
        and one.subject.tolist() == other.subject.tolist()
        and one.recording.tolist() == other.recording.tolist()
        and (one.sfreq, one.ch_names, one.class_names)
        == (other.sfreq, other.ch_names, other.class_names)
    )


def entries(folder: Path) -> list[Path]:
    return [one for one in folder.iterdir() if not one.name.startswith(".")]


def drafts(folder: Path) -> list[Path]:
    return [one for one in folder.iterdir() if one.name.startswith(".")]


def test_second_reading_is_from_disk(
    nights: Path, truth: Windows, cache_folder: Path, never_again: Callable[[], None]
) -> None:
    assert not cache_folder.exists()
    first = read_windows(nights)
    (entry,) = entries(cache_folder)
    assert not drafts(cache_folder)
    assert sorted(file.name for file in entry.iterdir()) == ["windows.json", "x.npy", "y.npy"]
    never_again()
    assert same(first, truth)
    assert same(read_windows(nights), truth)


def test_windows_are_mapped_and_the_file_is_safe(nights: Path, cache_folder: Path) -> None:
    first = read_windows(nights)
    (entry,) = entries(cache_folder)
    loaded = cache.load_entry(entry.name)
    assert loaded is not None
    assert isinstance(loaded.x, np.memmap)
    before = (entry / "x.npy").read_bytes()
    first.x[:] = 0
    assert (entry / "x.npy").read_bytes() == before


def test_content_counts_not_names_or_dates(
    nights: Path, tmp_path: Path, truth: Windows, never_again: Callable[[], None]
) -> None:
    read_windows(nights)
    moved = tmp_path / "elsewhere"
    shutil.copytree(nights, moved)
    os.utime(moved / "SC4001E0-PSG.edf", (0, 0))
    never_again()
    assert same(read_windows(moved), truth)


def test_another_sample_or_parameter_is_another_entry(nights: Path, cache_folder: Path) -> None:
    before = read_windows(nights)
    read_windows(nights, standardise="recording")
    read_windows(nights, channels=["Fpz-Cz"])
    read_windows(nights, classes=["W", "N2"])
    assert len(entries(cache_folder)) == 4
    path = nights / "SC4001E0-PSG.edf"
    content = bytearray(path.read_bytes())
    content[-4000:-2000] = bytes(2000)
    path.write_bytes(bytes(content))
    assert not same(read_windows(nights), before)
    assert len(entries(cache_folder)) == 5


def test_refusing_bad_windows_keeps_the_work(
    nights: Path, write_edf: WriteEdf, never_again: Callable[[], None]
) -> None:
    noise = 9 * np.random.default_rng(0).standard_normal((2, 15_000))
    noise[0, 3000:6000] = 0.0
    write_edf(nights / "SC4011E0-PSG.edf", {"EEG Fpz-Cz": noise[0], "EEG Pz-Oz": noise[1]})
    with pytest.raises(DataError, match="1 of 15 windows"):
        read_windows(nights)
    never_again()
    assert len(read_windows(nights, bad="drop")) == 14


def cut_off(entry: Path) -> None:
    path = entry / "x.npy"
    path.write_bytes(path.read_bytes()[:-1])


def change_description(entry: Path) -> None:
    path = entry / "windows.json"
    path.write_text(path.read_text().replace("SC400", "SC409"))


def forget_labels(entry: Path) -> None:
    (entry / "y.npy").unlink()


def break_json(entry: Path) -> None:
    (entry / "windows.json").write_text('{"content":')


def other_json(entry: Path) -> None:
    (entry / "windows.json").write_text(json.dumps([1]))


def forget_description(entry: Path) -> None:
    (entry / "windows.json").unlink()


@pytest.mark.parametrize(
    "damage",
    [cut_off, change_description, forget_labels, break_json, other_json, forget_description],
)
def test_damaged_entries_are_made_anew(
    nights: Path,
    truth: Windows,
    cache_folder: Path,
    never_again: Callable[[], None],
    damage: Callable[[Path], None],
) -> None:
    read_windows(nights)
    (entry,) = entries(cache_folder)
    damage(entry)
    assert same(read_windows(nights), truth)
    assert not drafts(cache_folder)
    never_again()
    assert same(read_windows(nights), truth)


def write_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    write, calls = window_store._Draft.write, []

    def fail(draft: Any, x: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            write(draft, x[:1])
            raise OSError(28, "No space left on device")
        write(draft, x)

    monkeypatch.setattr(window_store._Draft, "write", fail)


def sync_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)


def rename_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", fail)


@pytest.mark.parametrize("disaster", [write_fails, sync_fails, rename_fails])
def test_full_disk(
    nights: Path,
    truth: Windows,
    cache_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    disaster: Callable[[pytest.MonkeyPatch], None],
) -> None:
    disaster(monkeypatch)
    assert same(read_windows(nights), truth)
    assert "cannot be written (No space left on device); going on in memory" in caplog.text
    assert not entries(cache_folder)
    assert not drafts(cache_folder)
    monkeypatch.undo()
    monkeypatch.setenv("CADDA_CACHE", str(cache_folder))
    assert same(read_windows(nights), truth)
    assert len(entries(cache_folder)) == 1


def test_folder_that_cannot_be_made(
    nights: Path,
    truth: Windows,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CADDA_CACHE", str(tmp_path / "file" / "cache"))
    with caplog.at_level(logging.WARNING, logger="cadda"):
        assert same(read_windows(nights), truth)
    assert "Set CADDA_CACHE to a folder with space" in caplog.text


READ = """
import sys, time
from cadda.data.io.read import read_windows
def progress(done, total, name):
    print(done, flush=True)
    if done == {stop}:
        time.sleep(60)
windows = read_windows(sys.argv[1], on_progress=progress)
print(len(windows), float(windows.x.double().square().sum()))
"""

AT_ONCE = """
import multiprocessing, os, sys
from cadda.data.io.read import read_windows
def read(barrier):
    barrier.wait()
    windows = read_windows(sys.argv[1], on_progress=lambda *_: barrier.wait())
    barrier.wait()
    line = f"{len(windows)} {float(windows.x.double().square().sum())}\\n"
    os.write(1, line.encode())  # in one piece, as others write as well
context = multiprocessing.get_context("fork")
barrier = context.Barrier(3, timeout=60)
processes = [context.Process(target=read, args=(barrier,)) for _ in range(3)]
for one in processes: one.start()
for one in processes: one.join()
"""

LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
"""


def start(folder: Path, script: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_in_the_middle(nights: Path, truth: Windows, cache_folder: Path) -> None:
    process = start(nights, READ.format(stop=2))
    assert process.stdout is not None
    while process.stdout.readline().strip() != "2":
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (draft,) = drafts(cache_folder)
    assert (draft / "x.npy").stat().st_size > 200_000
    assert not entries(cache_folder)
    assert same(read_windows(nights), truth)
    assert len(entries(cache_folder)) == 1
    # What the dead process left might belong to a living one, until it is old.
    assert drafts(cache_folder) == [draft]
    old = time.time() - 7200
    for path in (draft / "x.npy", draft):
        os.utime(path, (old, old))
    read_windows(nights, standardise=None)
    assert not drafts(cache_folder)


def test_only_our_own_is_ever_removed(nights: Path, cache_folder: Path) -> None:
    """The folder may be one that the user has other things in."""
    old = time.time() - 7200
    others = [cache_folder / name for name in (".config-mine", "results", "0" * 39, "a" * 40)]
    for other in others:
        other.mkdir(parents=True)
        (other / "precious.txt").touch()
        for path in (other / "precious.txt", other):
            os.utime(path, (old, old))
    ours = cache_folder / ".0123456789ab-x1_y2z3w"
    ours.mkdir()
    (ours / "x.npy").touch()
    for path in (ours / "x.npy", ours):
        os.utime(path, (old, old))
    read_windows(nights)
    assert not ours.exists()
    with pytest.raises(DataError, match=r"a{40} cannot be removed: .*; another program may be"):
        clear_cache()
    assert all((other / "precious.txt").exists() for other in others)
    shutil.rmtree(others[-1])
    read_windows(nights)
    (removed,) = clear_cache()
    assert [run.recording for run in removed.runs or ()] == ["SC4001", "SC4011", "SC4021"]
    assert sorted(cache_folder.iterdir()) == sorted(others[:-1])


def test_a_draft_that_may_be_alive_stays(nights: Path, cache_folder: Path) -> None:
    def clear(done: int, _total: int, _name: str) -> None:
        if done == 1:
            clear_cache()
            assert len(drafts(cache_folder)) == 1

    read_windows(nights, on_progress=clear)
    assert len(cache_entries()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_processes_at_once(nights: Path, truth: Windows, cache_folder: Path) -> None:
    process = start(nights, AT_ONCE)
    out, err = process.communicate(timeout=120)
    expected = f"{len(truth)} {float(truth.x.double().square().sum())}"
    assert out.splitlines() == [expected] * 3, err
    assert err == ""
    assert len(entries(cache_folder)) == 1
    assert not drafts(cache_folder)
    assert same(read_windows(nights), truth)


def test_entry_appears_while_another_is_written(
    nights: Path, truth: Windows, cache_folder: Path
) -> None:
    """The slower of two processes takes what the faster one has made."""

    def overtake(done: int, total: int, _: str) -> None:
        if done == 1:
            read_windows(nights)

    assert same(read_windows(nights, on_progress=overtake), truth)
    assert len(entries(cache_folder)) == 1
    assert not drafts(cache_folder)


@pytest.mark.skipif(sys.platform == "win32", reason="limits are a matter of POSIX")
def test_the_system_refuses_to_write(nights: Path, truth: Windows, cache_folder: Path) -> None:
    process = start(nights, LIMITED + READ.format(stop=-1))
    out, err = process.communicate(timeout=60)
    assert out.splitlines()[-1] == f"{len(truth)} {float(truth.x.double().square().sum())}"
    assert "going on in memory" in err
    assert not entries(cache_folder)
    assert not drafts(cache_folder)


def test_interrupt_leaves_nothing(nights: Path, cache_folder: Path) -> None:
    def interrupt(done: int, total: int, _: str) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_windows(nights, on_progress=interrupt)
    assert not list(cache_folder.iterdir())


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"CADDA_CACHE": "~/mine"}, "~/mine"),
        ("linux", {"XDG_CACHE_HOME": "/var/c"}, "/var/c/cadda"),
        ("linux", {}, "~/.cache/cadda"),
        ("darwin", {}, "~/Library/Caches/cadda"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/cadda"),
        ("win32", {}, "~/AppData/Local/cadda"),
    ],
)
def test_where_it_is(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: str
) -> None:
    for name in ("CADDA_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache.cache_folder() == Path(expected).expanduser()
