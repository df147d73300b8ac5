"""MNIST's own files, made small."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from cadda.data.datasets.mnist import read_mnist
from cadda.exceptions import DataError


def write(folder: Path, name: str, values: np.ndarray, *, packed: bool = True) -> None:
    content = bytes([0, 0, 8, values.ndim])
    content += np.array(values.shape, dtype=">u4").tobytes() + values.tobytes()
    if packed:
        (folder / f"{name}.gz").write_bytes(gzip.compress(content))
    else:
        (folder / name).write_bytes(content)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for part, count, packed in (("train", 60, True), ("t10k", 20, False)):
        images = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        labels = np.arange(count, dtype=np.uint8) % 10
        write(tmp_path, f"{part}-images-idx3-ubyte", images, packed=packed)
        write(tmp_path, f"{part}-labels-idx1-ubyte", labels, packed=packed)
    return tmp_path


def test_everything(folder: Path) -> None:
    windows = read_mnist(folder)
    assert windows.x.shape == (80, 28, 28)
    assert windows.class_names == tuple("0123456789")
    assert windows.class_counts().tolist() == [8] * 10
    assert 0 <= float(windows.x.min()) < float(windows.x.max()) <= 1
    first = np.random.default_rng(0).integers(0, 256, (60, 28, 28), dtype=np.uint8)[3]
    np.testing.assert_allclose(255 * windows.x[3].numpy(), first, rtol=1e-6)
    assert windows.subjects == [f"{part}-{k}" for part in ("train", "test") for k in range(10)]
    assert len(windows[windows.recording == "test"]) == 20


def test_some_digits(folder: Path) -> None:
    windows = read_mnist(folder, parts=["train"], digits=[7, 1], n_chunks=3)
    assert windows.class_names == ("7", "1")
    assert windows.y.tolist() == [1, 0] * 6
    assert windows.subject.tolist() == ["train-0"] * 4 + ["train-1"] * 4 + ["train-2"] * 4


def test_splits_work(folder: Path) -> None:
    train, valid, test = read_mnist(folder, parts=["train"], n_chunks=6).split()
    assert not set(train.subjects) & set(test.subjects)
    assert len(train) + len(valid) + len(test) == 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"digits": [1]}, "`digits` must be at least two different digits"),
        ({"digits": [1, 1]}, "`digits` must be"),
        ({"digits": [1, 10]}, "`digits` must be"),
        ({"parts": ["valid"]}, "`parts` must be 'train', 'test' or both"),
        ({"parts": "train"}, "`parts` must be"),
        ({"n_chunks": 0}, "`n_chunks` must be at least 1, got 0"),
    ],
)
def test_refuses(folder: Path, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_mnist(folder, **arguments)


def test_damaged_files(folder: Path) -> None:
    packed = folder / "train-images-idx3-ubyte.gz"
    whole = packed.read_bytes()
    packed.write_bytes(whole[:-50])
    with pytest.raises(DataError, match=r"cannot read .*truncated"):
        read_mnist(folder)
    packed.write_bytes(gzip.compress(gzip.decompress(whole)[:-1]))
    with pytest.raises(DataError, match=r"is truncated: it must hold \(60, 28, 28\) values"):
        read_mnist(folder)
    packed.write_bytes(gzip.compress(b"hello"))
    with pytest.raises(DataError, match="is not an idx file of bytes with 3 axes"):
        read_mnist(folder)
    packed.unlink()
    with pytest.raises(DataError, match="has neither train-images-idx3-ubyte nor"):
        read_mnist(folder)
    packed.write_bytes(whole)
    write(folder, "train-labels-idx1-ubyte", np.zeros(59, dtype=np.uint8))
    with pytest.raises(DataError, match="has 60 train images, but 59 labels"):
        read_mnist(folder)
