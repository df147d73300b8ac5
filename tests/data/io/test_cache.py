"""The cache: how little work a hit does, and that damage never reaches the windows."""

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
from numpy.typing import NDArray

from cadda._internal.locks import try_lock
from cadda.data.io import cache, recordings, window_store
from cadda.data.io.cache import cache_entries, clear_cache, remove_abandoned, remove_outdated
from cadda.data.io.preprocess import Preprocessing
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


class Work:
    """Recordings that were preprocessed, and bytes that were hashed."""

    def __init__(self) -> None:
        self.preprocessed: list[str] = []
        self.hashed_bytes = 0

    def clear(self) -> None:
        self.__init__()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Count what is done from now on."""
    counted = Work()
    cut, hash_file = recordings.cut_recording, cache.hash_file

    def counting_cut(recording: Any, preprocessing: Any) -> Any:
        counted.preprocessed.append(recording.name)
        return cut(recording, preprocessing)

    def counting_hash(path: str | Path) -> str:
        counted.hashed_bytes += Path(path).stat().st_size
        return hash_file(path)

    monkeypatch.setattr(recordings, "cut_recording", counting_cut)
    for module in (cache, recordings):
        monkeypatch.setattr(module, "hash_file", counting_hash)
    return counted


def same(windows: Windows, other: Windows) -> bool:
    return (
        windows.x.numpy().tobytes() == other.x.numpy().tobytes()
        and windows.y.tolist() == other.y.tolist()
        and windows.subject.tolist() == other.subject.tolist()
        and windows.recording.tolist() == other.recording.tolist()
        and (windows.sfreq, windows.ch_names, windows.class_names)
        == (other.sfreq, other.ch_names, other.class_names)
    )


def folders(root: Path, kind: str | None = None) -> list[Path]:
    """Entries of a kind, or of both."""
    return [root / entry.key for entry in cache_entries() if kind in (None, entry.kind)]


def drafts(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.startswith(".")]


def replace_silently(path: Path) -> None:
    """Change the content of a file, but neither its size nor its modification time."""
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[-4000:-2000] = bytes(2000)
    path.write_bytes(bytes(content))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_hit_neither_preprocesses_nor_hashes(
    nights: Path, truth: Windows, cache_folder: Path, work: Work
) -> None:
    assert not cache_folder.exists()
    first = read_windows(nights)
    assert work.preprocessed == ["SC4001", "SC4011", "SC4021"]
    assert len(folders(cache_folder, "recording")) == 3
    (selection,) = folders(cache_folder, "selection")
    assert not drafts(cache_folder)
    assert sorted(file.name for file in selection.iterdir()) == ["windows.json", "x.npy", "y.npy"]
    work.clear()
    again = read_windows(nights)
    assert (work.preprocessed, work.hashed_bytes) == ([], 0)
    assert same(first, truth)
    assert same(again, truth)


def test_one_more_night_preprocesses_one(
    nights: Path, write_night: WriteNight, work: Work
) -> None:
    read_windows(nights)
    work.clear()
    added = write_night(nights, "SC4031", "W123R", seed=7)
    more = read_windows(nights)
    assert work.preprocessed == ["SC4031"]
    assert work.hashed_bytes == added.stat().st_size
    assert same(more, read_windows(nights, cache=False))


@pytest.mark.parametrize("standardise", ["window", "recording", None])
def test_other_classes_and_scales_reuse_the_recordings(
    nights: Path, work: Work, standardise: Any
) -> None:
    read_windows(nights, classes=["W", "N2"])
    work.clear()
    options = {"classes": ["N3", "W", "R"], "standardise": standardise}
    other = read_windows(nights, **options)
    assert (work.preprocessed, work.hashed_bytes) == ([], 0)
    assert same(other, read_windows(nights, cache=False, **options))
    assert same(read_windows(nights, **options), other)


def test_fewer_nights_reuse_the_recordings(nights: Path, truth: Windows, work: Work) -> None:
    read_windows(nights)
    work.clear()
    for file in nights.glob("SC4011*"):
        file.unlink()
    assert same(read_windows(nights), truth[truth.recording != "SC4011"])
    assert work.preprocessed == []


def test_channels_and_preprocessing_are_part_of_the_key(nights: Path, work: Work) -> None:
    for options in ({}, {"channels": ["Fpz-Cz"]}, {"preprocessing": Preprocessing(lowpass=20.0)}):
        work.clear()
        read_windows(nights, **options)
        assert len(work.preprocessed) == 3


def test_a_changed_recording_is_preprocessed_again(
    nights: Path, truth: Windows, work: Work
) -> None:
    read_windows(nights)
    path = nights / "SC4001E0-PSG.edf"
    replace_silently(path)
    os.utime(path)
    work.clear()
    changed = read_windows(nights)
    assert work.preprocessed == ["SC4001"]
    assert not same(changed, truth)
    assert same(changed, read_windows(nights, cache=False))


def test_same_size_and_time_are_noticed_on_request(
    nights: Path, truth: Windows, work: Work, caplog: pytest.LogCaptureFixture
) -> None:
    read_windows(nights)
    assert same(read_windows(nights, cache="verify"), truth)
    assert not caplog.text
    replace_silently(nights / "SC4001E0-PSG.edf")
    # The documented limit: size and time are all that a hit looks at.
    assert same(read_windows(nights), truth)
    expected = read_windows(nights, cache=False)
    work.clear()
    verified = read_windows(nights, cache="verify")
    assert "outdated" in caplog.text
    assert work.preprocessed == ["SC4001"]
    assert not same(verified, truth)
    assert same(verified, expected)
    assert same(read_windows(nights), expected)


def test_outdated_entries_can_be_removed(nights: Path, cache_folder: Path) -> None:
    read_windows(nights)
    assert remove_outdated() == []
    replace_silently(nights / "SC4001E0-PSG.edf")
    (nights / "SC4011E0-PSG.edf").unlink()  # an unplugged disk is no reason to remove
    assert sorted(entry.kind or "" for entry in remove_outdated()) == ["recording", "selection"]
    assert sorted(entry.recordings[0].name for entry in cache_entries()) == ["SC4011", "SC4021"]


def test_a_file_that_changes_while_it_is_read_is_not_kept(
    nights: Path,
    truth: Windows,
    cache_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cut = recordings.cut_recording

    def change(recording: Any, preprocessing: Any) -> Any:
        os.utime(nights / "SC4011E0-PSG.edf", (0, 0))
        return cut(recording, preprocessing)

    monkeypatch.setattr(recordings, "cut_recording", change)
    assert same(read_windows(nights), truth)
    assert "SC4011E0-PSG.edf changed while it was read" in caplog.text
    assert sorted(entry.recordings[0].name for entry in cache_entries()) == ["SC4001", "SC4021"]
    assert not drafts(cache_folder)


def test_windows_are_mapped_and_the_file_is_safe(
    nights: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapped: list[int] = []
    load = np.load

    def noting_load(file: Path, **options: Any) -> NDArray[Any]:
        array: NDArray[Any] = load(file, **options)
        if file.name == "x.npy":
            assert isinstance(array, np.memmap)
            mapped.append(array.ctypes.data)
        return array

    monkeypatch.setattr(np, "load", noting_load)
    first, again = read_windows(nights), read_windows(nights)
    # Neither a miss nor a hit copies the windows into memory.
    assert {first.x.data_ptr(), again.x.data_ptr()} <= set(mapped)
    (selection,) = folders(cache_folder, "selection")
    before = (selection / "x.npy").read_bytes()
    first.x[:] = 0
    assert (selection / "x.npy").read_bytes() == before


def test_bad_windows_that_raise_are_cached_all_the_same(
    nights: Path, write_edf: WriteEdf, work: Work
) -> None:
    noise = 9 * np.random.default_rng(0).standard_normal((2, 15_000))
    noise[0, 3000:6000] = 0.0
    write_edf(nights / "SC4011E0-PSG.edf", {"EEG Fpz-Cz": noise[0], "EEG Pz-Oz": noise[1]})
    with pytest.raises(DataError, match="1 of 15 windows"):
        read_windows(nights)
    work.clear()
    assert len(read_windows(nights, on_bad="drop")) == 14
    assert work.preprocessed == []
    classes = ["W", "R"]
    assert same(
        read_windows(nights, classes=classes), read_windows(nights, classes=classes, cache=False)
    )


def cut_off(entry: Path) -> None:
    path = entry / "x.npy"
    path.write_bytes(path.read_bytes()[:-1])


def change_description(entry: Path) -> None:
    path = entry / "windows.json"
    path.write_text(path.read_text().replace("SC40", "SC49"))


def flip_a_bit(entry: Path) -> None:
    path = entry / "x.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


def remove_array(entry: Path) -> None:
    next(file for file in entry.glob("*.npy") if file.name != "x.npy").unlink()


def break_json(entry: Path) -> None:
    (entry / "windows.json").write_text('{"content":')


def other_json(entry: Path) -> None:
    (entry / "windows.json").write_text(json.dumps([1]))


def remove_description(entry: Path) -> None:
    (entry / "windows.json").unlink()


@pytest.mark.parametrize("kind", ["recording", "selection"])
@pytest.mark.parametrize(
    "damage",
    [
        cut_off,
        flip_a_bit,
        change_description,
        remove_array,
        break_json,
        other_json,
        remove_description,
    ],
)
def test_damaged_entries_are_made_anew(
    nights: Path,
    truth: Windows,
    cache_folder: Path,
    work: Work,
    caplog: pytest.LogCaptureFixture,
    damage: Callable[[Path], None],
    kind: str,
) -> None:
    read_windows(nights)
    work.clear()
    damage(folders(cache_folder, kind)[0])
    if kind == "recording":
        # Otherwise the selection would be all that is looked at.
        shutil.rmtree(folders(cache_folder, "selection")[0])
    assert same(read_windows(nights), truth)
    assert "is damaged and made again" in caplog.text
    assert len(work.preprocessed) == (kind == "recording")
    assert not drafts(cache_folder)
    work.clear()
    caplog.clear()
    assert same(read_windows(nights), truth)
    assert work.preprocessed == []
    assert not caplog.text


def write_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    write, calls = window_store._Draft.write, []

    def fail(draft: Any, x: Any) -> None:
        calls.append(1)
        if len(calls) >= 4:
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
    assert "(No space left on device); continuing without it" in caplog.text
    assert not folders(cache_folder, "selection")
    assert not drafts(cache_folder)
    monkeypatch.undo()
    monkeypatch.setenv("CADDA_CACHE", str(cache_folder))
    assert same(read_windows(nights), truth)
    assert len(folders(cache_folder)) == 4


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
    if done == 2:
        time.sleep(60)
read_windows(sys.argv[1], on_progress=progress)
"""

AT_ONCE = """
import multiprocessing, os, sys
from cadda.data.io.read import read_windows
def read(barrier):
    barrier.wait()
    windows = read_windows(
        sys.argv[1], progress=False, on_progress=lambda *_: barrier.wait()
    )
    barrier.wait()
    line = f"{len(windows)} {float(windows.x.double().square().sum())}\\n"
    os.write(1, line.encode())  # in one piece, as others write as well
context = multiprocessing.get_context("fork")
barrier = context.Barrier(3, timeout=60)
processes = [context.Process(target=read, args=(barrier,)) for _ in range(3)]
for process in processes: process.start()
for process in processes: process.join()
"""


def start(folder: Path, script: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_in_the_middle(
    nights: Path, truth: Windows, cache_folder: Path, work: Work
) -> None:
    process = start(nights, READ)
    assert process.stdout is not None
    while process.stdout.readline().strip() != "2":
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (draft,) = drafts(cache_folder)
    assert (draft / "x.npy").stat().st_size > 200_000
    assert not folders(cache_folder, "selection")
    assert same(read_windows(nights), truth)
    # What was complete is not done again.
    assert work.preprocessed == ["SC4021"]
    assert len(folders(cache_folder)) == 4
    # Its draft is removed at once, as the process no longer holds its lock.
    assert not drafts(cache_folder)


def test_drafts_of_others_stay(nights: Path, cache_folder: Path) -> None:
    draft = cache_folder / ".0123456789ab-abcdefgh"
    draft.mkdir(parents=True)
    with (draft / "x.npy").open("wb", buffering=0) as file:
        assert try_lock(file)
        file.write(b"\x93NUMPY")
        read_windows(nights)
        assert drafts(cache_folder) == [draft]
    read_windows(nights, standardise=None)
    assert not drafts(cache_folder)


def test_the_cache_is_emptied_while_it_is_written(
    nights: Path, truth: Windows, cache_folder: Path
) -> None:
    def empty(done: int, total: int, name: str) -> None:
        if done == 2:
            shutil.rmtree(cache_folder)

    assert same(read_windows(nights, on_progress=empty), truth)
    assert same(read_windows(nights), truth)


@pytest.mark.parametrize("name", ["x.npy", "y.npy", "windows.json"])
def test_one_flipped_bit(
    name: str, nights: Path, truth: Windows, cache_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each bit of the beginning, and some of the rest, of a file; also those of the byte order."""
    read_windows(nights)
    (selection,) = folders(cache_folder, "selection")
    path = selection / name
    whole = path.read_bytes()
    bits = [*range(8 * 100), *range(800, 8 * len(whole), 8 * len(whole) // 50)]
    for bit in bits:
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        try:
            entry = cache.read_entry(selection)
        except cache.READ_ERRORS:
            continue
        assert np.array_equal(entry.arrays["x"], truth.x.numpy()), bit
        assert np.array_equal(entry.arrays["y"], truth.y.numpy()), bit
        assert entry.arrays["x"].dtype == np.float32
    changed = bytearray(whole)
    changed[-10] ^= 1
    path.write_bytes(changed)
    assert same(read_windows(nights), truth)
    assert "is damaged and made again" in caplog.text
    assert path.read_bytes() == whole


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
    with pytest.raises(DataError, match=r"cannot remove .*a{40}: .*; another program"):
        clear_cache()
    assert all((other / "precious.txt").exists() for other in others)
    shutil.rmtree(others[-1])
    read_windows(nights)
    removed = [[recording.name for recording in e.recordings] for e in clear_cache()]
    assert sorted(removed, key=len)[-1] == ["SC4001", "SC4011", "SC4021"]
    assert len(removed) == 4
    assert sorted(cache_folder.iterdir()) == sorted(others[:-1])


def test_a_draft_that_may_be_alive_stays(nights: Path, cache_folder: Path) -> None:
    def clear(done: int, _total: int, _name: str) -> None:
        if done == 1:
            clear_cache()
            assert len(drafts(cache_folder)) == 1

    read_windows(nights, on_progress=clear)
    assert len(folders(cache_folder, "selection")) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_processes_at_once(nights: Path, truth: Windows, cache_folder: Path) -> None:
    process = start(nights, AT_ONCE)
    out, err = process.communicate(timeout=120)
    expected = f"{len(truth)} {float(truth.x.double().square().sum())}"
    assert out.splitlines() == [expected] * 3, err
    assert err == ""
    assert len(folders(cache_folder)) == 4
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
    assert len(folders(cache_folder)) == 4
    assert not drafts(cache_folder)


@pytest.mark.skipif(sys.platform == "win32", reason="limits are a matter of POSIX")
def test_the_system_refuses_to_write(
    nights: Path, truth: Windows, cache_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        windows = read_windows(nights)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert same(windows, truth)
    assert "continuing without it" in caplog.text
    assert not folders(cache_folder, "selection")
    assert not drafts(cache_folder)


def test_interrupt_keeps_what_is_complete(nights: Path, cache_folder: Path, work: Work) -> None:
    def interrupt(done: int, total: int, _: str) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_windows(nights, on_progress=interrupt)
    assert not drafts(cache_folder)
    assert len(folders(cache_folder)) == 1
    work.clear()
    read_windows(nights)
    assert work.preprocessed == ["SC4011", "SC4021"]


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


def test_a_draft_that_another_process_has_just_made_stays(cache_folder: Path) -> None:
    """Files are locked before the first byte, so an unlocked one with bytes is left over."""
    cache_folder.mkdir(exist_ok=True)
    new, left = (cache_folder / f".{digit * 12}-abc" for digit in "01")
    for folder, content in ((new, b""), (left, b"\x93NUMPY")):
        folder.mkdir()
        (folder / "x.npy").write_bytes(content)
    remove_abandoned()
    assert new.exists()
    assert not left.exists()
