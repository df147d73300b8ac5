"""Offsets that are far larger than the signal: nothing is lost, or a warning says so."""

from __future__ import annotations

from typing import Any

import mne
import numpy as np
import pytest
import torch
from torch import nn

from cadda import AugmentedClassifier, Windows, read_windows
from cadda.data.standardise import standardise_as

OFFSET = 1e6
"""In standard deviations of the signal: float32 has steps of a sixteenth there."""

SIGNAL = np.random.default_rng(0).standard_normal((12, 2, 200))
SUBJECT = np.repeat(["a", "b", "c"], 4)
LABELS = {"y": np.arange(12) % 2, "subject": SUBJECT, "sfreq": 100, "ch_names": ["C3", "C4"]}


def standardised(x: np.ndarray, per: str) -> np.ndarray:
    """Standardise by the definition, in double precision."""
    if per == "window":
        return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
    out = np.empty_like(x)
    for subject in set(SUBJECT):
        here = x[subject == SUBJECT]
        mean, deviation = here.mean((0, 2), keepdims=True), here.std((0, 2), keepdims=True)
        out[subject == SUBJECT] = (here - mean) / deviation
    return out


def make_epochs(x: np.ndarray) -> mne.EpochsArray:
    pandas = pytest.importorskip("pandas")
    events = np.column_stack([np.arange(12) * 200, np.zeros(12, int), LABELS["y"] + 1])
    info = mne.create_info(["C3", "C4"], 100.0, "eeg")
    metadata = pandas.DataFrame({"subject": SUBJECT})
    names = {"left": 1, "right": 2}
    return mne.EpochsArray(x, info, events, event_id=names, metadata=metadata, verbose="error")


@pytest.mark.parametrize("per", ["window", "recording"])
@pytest.mark.parametrize("kind", [">f8", np.longdouble, np.int64, "epochs"])
def test_standardised_in_double_precision(kind: Any, per: Any) -> None:
    if kind == "epochs":
        x = SIGNAL + OFFSET
        source: Any = make_epochs(x)
    else:
        x = 1000 * (SIGNAL + OFFSET)
        x = np.rint(x) if kind is np.int64 else x
        source = {**LABELS, "x": x.astype(kind)}
    windows = read_windows(source, standardise=per)
    np.testing.assert_allclose(windows.x, standardised(x, per), rtol=0, atol=1e-5)


def test_in_place_if_possible() -> None:
    x = SIGNAL.astype(np.float32)
    assert standardise_as("window", x) is x
    assert standardise_as(None, x) is x


@pytest.mark.parametrize("convert", [np.asarray, torch.from_numpy, np.int64])
def test_digits_that_are_lost(convert: Any) -> None:
    x = np.rint(1000 * SIGNAL)
    x[3:5] += 1000 * OFFSET
    with pytest.warns(UserWarning, match=r"`x`: an offset .* float32, in 2 of 12 windows; subtra"):
        Windows(convert(x), LABELS["y"], subject=SUBJECT)
    x[3:5] -= 1000 * OFFSET
    # A warning would be an error.
    Windows(convert(x), LABELS["y"], subject=SUBJECT)


def test_digits_that_files_of_arrays_lose() -> None:
    with pytest.warns(UserWarning, match="arrays: an offset .* in 12 of 12 windows"):
        read_windows({**LABELS, "x": SIGNAL + OFFSET}, standardise=None)
    with pytest.warns(UserWarning, match="an offset .* in 12 of 12 windows"):
        read_windows(make_epochs(SIGNAL + OFFSET), standardise=None)


def test_noise_of_rounding_is_flat() -> None:
    """The last digits of a constant are not a signal."""
    x = SIGNAL.copy()
    x[5, 1] = 0.1 + 1e-16 * np.arange(200)
    windows = read_windows({**LABELS, "x": x}, on_bad="drop")
    assert len(windows) == 11
    Windows(x, LABELS["y"], subject=SUBJECT)


def make_linear(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(n_channels * n_times, n_classes))


def test_classifier() -> None:
    x = np.concatenate([SIGNAL, SIGNAL])
    y = np.tile(LABELS["y"], 2)
    probabilities = [
        AugmentedClassifier(make_linear, method=None, max_epochs=2, random_state=0)
        .fit(x + offset, y)
        .predict_proba(x + offset)
        for offset in (0.0, OFFSET)
    ]
    np.testing.assert_allclose(*probabilities, rtol=0, atol=1e-4)
    unscaled = AugmentedClassifier(make_linear, method=None, standardise=False, max_epochs=1)
    with pytest.warns(UserWarning, match="`X`: an offset .* in 24 of 24 windows"):
        unscaled.fit(x + OFFSET, y)
