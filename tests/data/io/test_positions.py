"""Positions of several sources: the same in any order, and none that some sources contradict."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import mne
import numpy as np
import pytest

from cadda.data.io.positions import shared_positions
from cadda.data.io.read import read_windows
from cadda.data.windows import Windows

NAMES = ["C3", "C4", "Cz"]
TRUE = np.array([[-0.065, -0.012, 0.079], [0.065, -0.012, 0.079], [0.0, -0.01, 0.12]])
LEFT_AND_RIGHT_EXCHANGED = TRUE[[1, 0, 2]]


def make(kind: str, positions: np.ndarray | None, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    info = mne.create_info(NAMES, 100.0, "eeg")
    if positions is not None:
        known = {n: p for n, p in zip(NAMES, positions, strict=True) if np.isfinite(p).all()}
        montage = mne.channels.make_dig_montage(known, coord_frame="head")
        info.set_montage(montage, on_missing="ignore")
    if kind == "raw":
        raw = mne.io.RawArray(1e-5 * rng.standard_normal((3, 3000)), info, verbose="error")
        return raw.set_annotations(mne.Annotations([2, 6, 10, 14], 2.0, list("abab")))
    events = np.c_[np.arange(4), np.zeros(4, int), [1, 2, 1, 2]]
    data = 1e-5 * rng.standard_normal((4, 3, 200))
    return mne.EpochsArray(data, info, events, event_id={"a": 1, "b": 2}, verbose="error")


def read(kind: str, *positions: np.ndarray | None) -> tuple[Windows, list[str]]:
    sources = [make(kind, own, seed) for seed, own in enumerate(positions)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        windows = read_windows(sources)
    texts = [str(warning.message) for warning in caught]
    return windows, [text for text in texts if "different positions" in text]


@pytest.mark.parametrize("kind", ["raw", "epochs"])
def test_sources_with_and_without_positions(kind: str) -> None:
    for order in itertools.permutations([TRUE, None, TRUE + 2e-4]):
        windows, notes = read(kind, *order)
        np.testing.assert_allclose(windows.positions, TRUE + 1e-4, atol=1e-7)
        assert not notes
    assert read(kind, None, None)[0].positions is None


@pytest.mark.parametrize("kind", ["raw", "epochs"])
def test_sources_that_disagree(kind: str) -> None:
    for order in itertools.permutations([TRUE, LEFT_AND_RIGHT_EXCHANGED, None]):
        windows, notes = read(kind, *order)
        assert windows.positions is None
        assert notes == [
            "recordings have their sensors at different positions, up to 65 mm from their mean, "
            "so that those of a standard montage are used, by the names of the channels"
        ]
    moved = np.array([0.01, 0.0, 0.0])  # a cap that sits differently
    windows, notes = read(kind, TRUE, TRUE + moved)
    np.testing.assert_allclose(windows.positions, TRUE + moved / 2, atol=1e-7)
    assert not notes
    windows, notes = read(kind, TRUE, TRUE + 5 * moved)
    assert windows.positions is None
    assert "up to 25 mm from their mean" in notes[0]


def test_channels_that_only_some_sources_know() -> None:
    first, second = TRUE.copy(), TRUE.copy()
    first[0], second[[0, 1]] = np.nan, np.nan
    for order in ([first, second], [second, first]):
        shared, notes = shared_positions(order)
        np.testing.assert_allclose(shared, first, rtol=1e-15)
        assert not notes


def test_the_same_bits_in_any_order() -> None:
    rng = np.random.default_rng(0)
    sources = [TRUE + 1e-4 * rng.standard_normal(TRUE.shape) for _ in range(4)]
    orders = itertools.permutations(sources)
    assert len({shared_positions(order)[0].tobytes() for order in orders}) == 1
    np.testing.assert_allclose(shared_positions([TRUE] * 3)[0], TRUE, rtol=1e-15)
