"""Windows in a file: selecting reads nothing, and reading gives what the array has."""

from __future__ import annotations

from pathlib import Path

import cloudpickle
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tiny_commands import tiny_windows

from cadda import Windows, read_windows
from cadda._internal.rows import Rows, batches, join, shared_by_file, take
from cadda.api.prepare import join_windows
from cadda.compute import open_engine
from cadda.data.io import npz_map
from cadda.runs.folder import digest_of

X = np.random.default_rng(0).standard_normal((20, 2, 50)).astype(np.float32)


@pytest.fixture
def array(tmp_path: Path) -> NDArray[np.float32]:
    np.save(tmp_path / "x.npy", X)
    mapped: NDArray[np.float32] = np.load(tmp_path / "x.npy", mmap_mode="c")
    return mapped


@pytest.fixture
def windows(array: NDArray[np.float32]) -> Windows:
    return Windows(
        array,
        np.arange(20) % 2,
        subject=np.repeat(list("abcde"), 4),
        sfreq=50,
        ch_names=["C3", "C4"],
        class_names=["a", "b"],
    )


def in_memory(windows: Windows) -> Windows:
    return Windows(
        windows.x.numpy().copy(),
        windows.y,
        subject=windows.subject,
        sfreq=windows.sfreq,
        ch_names=windows.ch_names,
        class_names=windows.class_names,
    )


def test_reading(array: NDArray[np.float32]) -> None:
    rows, index = Rows(array), torch.tensor([3, 19, 3, 0])
    some = rows.take(index)
    assert some.shape == (4, 2, 50)
    assert (len(some), some.numel()) == (4, 400)
    assert np.array_equal(some[:], X[index])
    assert np.array_equal(some[torch.tensor([True, False, True, False])], X[[3, 3]])
    assert np.array_equal(some.take(torch.tensor([1, 3]))[:], X[[19, 0]])
    assert np.array_equal(some[1], X[19])
    both = join([some, rows])
    assert isinstance(both, Rows)
    assert np.array_equal(torch.cat(list(batches(both, 7))), np.concatenate([X[index], X]))
    mixed = join([some, torch.from_numpy(X)])
    assert np.array_equal(mixed[:], np.concatenate([X[index], X]))
    assert np.array_equal(take(torch.from_numpy(X), index)[:], X[index])


def test_splits_read_nothing_and_are_those_of_arrays(windows: Windows) -> None:
    copied = in_memory(windows)
    parts = windows.split(valid=0.2, test=0.2, seed=1)
    for part, expected in zip(parts, copied.split(valid=0.2, test=0.2, seed=1), strict=True):
        assert isinstance(part.signals, Rows)
        assert np.shares_memory(part.signals.array, windows.x.numpy())
        assert digest_of(part) == digest_of(expected)
        assert isinstance(part.signals, Rows)
        assert torch.equal(part.x, expected.x)
    joined = join_windows(*windows.split(valid=0.2, test=0.2, seed=1)[:2])
    assert isinstance(joined.signals, Rows)
    assert torch.equal(joined.x, torch.cat([part.x for part in parts[:2]]))


def test_pickles(array: NDArray[np.float32], tmp_path: Path) -> None:
    some = Rows(array[4:]).take(torch.tensor([2, 5]))
    assert torch.equal(cloudpickle.loads(cloudpickle.dumps(some)), some[:])
    with shared_by_file():
        by_name = cloudpickle.dumps(some)
    assert torch.equal(cloudpickle.loads(by_name)[:], some[:])
    assert len(by_name) < 2000
    (tmp_path / "x.npy").unlink()
    with shared_by_file():
        by_value = cloudpickle.dumps(some)
    assert torch.equal(cloudpickle.loads(by_value)[:], torch.from_numpy(X[[6, 9]]))


def test_workers_map_the_file(array: NDArray[np.float32]) -> None:
    some = Rows(array).take(torch.arange(3, 9))
    with open_engine("processes:1") as engine:
        shared = engine.share(some)
        assert shared.path.stat().st_size < 5000
        total = engine.submit(lambda rows: float(rows[:].sum()), shared).result()
    assert total == float(some[:].sum())


@pytest.mark.parametrize("n_bytes", [1, 1 << 40])
def test_large_files_are_mapped(
    n_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npz_map, "MIN_BYTES", n_bytes)
    windows, path = tiny_windows(), tmp_path / "windows.npz"
    windows.save(path)
    loaded = read_windows(path)
    assert isinstance(loaded.signals, Rows) is (n_bytes == 1)
    assert torch.equal(loaded.x, windows.x)
    selected = read_windows(path, channels=["C4"], classes=["loud", "soft"])
    assert torch.equal(selected.x, windows.x[:, 1:])
    loaded.x[0] = 0
    assert torch.equal(read_windows(path).x, windows.x)
    assert digest_of(read_windows(path)[::-1]) == digest_of(windows[::-1])
