"""Copies of windows are found by a few samples, and compared in full."""

from __future__ import annotations

import shutil
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cadda._internal.rows import Rows
from cadda.data import copies
from cadda.data.copies import warn_of_copies
from cadda.data.io.read import read_windows
from cadda.data.windows import Windows
from cadda.exceptions import DataWarning


def told(call: Callable[[], Any]) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    texts = [str(warning.message) for warning in caught if warning.category is DataWarning]
    (text,) = [text for text in texts if "are copies" in text] or [""]
    return text


def make(n_windows: int = 12, shape: tuple[int, int] = (2, 50), seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n_windows, *shape)).astype(np.float32)


def arrays(x: np.ndarray, subject: Any, **others: Any) -> dict[str, Any]:
    ch_names = [f"E{i}" for i in range(x.shape[1])]
    y = np.arange(len(x)) % 2
    return {"x": x, "y": y, "subject": subject, "sfreq": 50.0, "ch_names": ch_names, **others}


def test_wherever_windows_come_from(tmp_path: Path) -> None:
    """The same six windows of two people, who are four."""
    x = np.concatenate([make()] * 2)
    given = arrays(x, np.repeat(["a", "b", "A1", "B1"], 6))
    expected = "12 of 24 windows are copies of others: 6 of 'a' and 'A1', 6 of 'b' and 'B1'; they"
    assert told(lambda: Windows(**given)).startswith(expected)
    assert told(lambda: read_windows(given)).startswith(expected)
    np.savez(tmp_path / "a.npz", **given)
    assert told(lambda: read_windows(tmp_path / "a.npz")).startswith(expected)
    with warnings.catch_warnings(action="ignore"):
        windows = Windows(**given)
        windows.to_epochs().save(tmp_path / "a-epo.fif", fmt="double", verbose="error")
    windows.save(tmp_path / "b.npz")
    assert told(lambda: read_windows(tmp_path / "b.npz")).startswith(expected)
    assert told(lambda: read_windows(tmp_path / "a-epo.fif")).startswith(expected)
    assert not told(lambda: Windows(**arrays(make(), np.repeat(["a", "b"], 6))))


def test_a_recording_under_two_names(tmp_path: Path, write_edf: Callable[..., Path]) -> None:
    signals = {
        name: 20 * make(1, (1, 3000), seed).ravel() for seed, name in enumerate(("C3", "C4"))
    }
    events = [(2.0 + 4 * i, 2.0, "ab"[i % 2]) for i in range(6)]
    path = write_edf(tmp_path / "S001R04.edf", signals, annotations=events)
    assert not told(lambda: read_windows(tmp_path, subject="^(S[0-9]+)"))
    shutil.copy(path, tmp_path / "S002R04.edf")
    for _ in range(2):  # the second time from the cache, by a map of the file
        text = told(lambda: read_windows(tmp_path, subject="^(S[0-9]+)"))
        assert text.startswith(
            "6 of 12 windows are copies of others: 6 of 'S001/S001R04' and 'S002"
        )


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_those_of_a_count_of_all_bytes(seed: int) -> None:
    """Also where windows agree in the samples that are looked at first, and are no copies."""
    rng = np.random.default_rng(seed)
    x = make(40, (3, 30), seed)
    x[:, [0, -1], 11:19] = rng.integers(0, 3, (40, 1, 1)) + np.arange(8)
    x = x[rng.integers(0, 40, 60)]
    n_copies = 60 - len(Counter(window.tobytes() for window in x))
    assert n_copies
    assert told(lambda: Windows(**arrays(x, ["a"] * 60))).startswith(f"{n_copies} of 60 windows ")


def test_flat_windows_and_the_smallest_are_no_copies() -> None:
    x = make(8)
    x[2:6] = 0.5
    assert not told(lambda: Windows(**arrays(x, list("aabbccdd"))))
    x[2:6, 0], x[2:6, 1] = 1.0, 2.0
    assert not told(lambda: Windows(**arrays(x, list("aabbccdd"))))
    assert not told(lambda: Windows(**arrays(np.zeros((8, 1, 1)), list("aabbccdd"))))


def test_one_bit_is_no_copy() -> None:
    x = make(8)
    x[4:] = x[:4]
    x[4:, 1, -1] = np.nextafter(x[:4, 1, -1], np.float32(9))
    assert not told(lambda: Windows(**arrays(x, list("aabbccdd"))))


def test_little_of_a_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = make(200)
    x[100:] = x[:100]
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="c")
    subject = np.repeat(["a", "b"], 100)
    hashed = []
    digest = copies.hashlib.sha256
    monkeypatch.setattr(copies.hashlib, "sha256", lambda data: hashed.append(1) or digest(data))
    monkeypatch.setattr(copies, "MAX_BYTES", 20 * x[0].nbytes)
    text = told(lambda: warn_of_copies(Rows(mapped), subject, subject))
    assert text.startswith("at least 10 of 200 windows are copies of others: 10 of 'a' and 'b'")
    assert len(hashed) == 20
    hashed.clear()
    index = torch.arange(199, 99, -1)
    assert not told(lambda: warn_of_copies(Rows(mapped, index), subject[index], subject[index]))
    assert not hashed
    index = torch.tensor([150, 7, 50, 9])
    text = told(lambda: warn_of_copies(Rows(mapped, index), subject[index], subject[index]))
    assert text.startswith("1 of 4 windows are copies of others: 1 of 'b' and 'a'; they count")
