"""Windows to and from what MOABB passes around; braindecode: tests/integrations."""

from __future__ import annotations

from typing import Any

import mne
import numpy as np
import pytest

import cadda
from cadda.exceptions import DataError

X = np.random.default_rng(0).standard_normal((6, 2, 50))
Y = np.array(["right_hand", "left_hand"] * 3)
METADATA: dict[str, Any] = {
    "subject": [1, 1, 1, 2, 2, 2],
    "session": ["0train", "0train", "1test"] * 2,
    "run": ["0", "1", "0"] * 2,
}


def test_from_moabb() -> None:
    windows = cadda.windows_from_moabb(X, Y, METADATA, sfreq=250, ch_names=["C3", "C4"])
    np.testing.assert_array_equal(windows.x, X.astype(np.float32))
    assert windows.class_names == ("left_hand", "right_hand")
    assert windows.y.tolist() == [1, 0] * 3
    assert windows.subject.tolist() == ["1"] * 3 + ["2"] * 3
    assert windows.recording.tolist() == ["0train/0", "0train/1", "1test/0"] * 2
    assert windows.sfreq == 250
    names = ["right_hand", "left_hand"]
    ordered = cadda.windows_from_moabb(
        X, Y, METADATA, sfreq=250, ch_names=["C3", "C4"], class_names=names
    )
    assert ordered.y.tolist() == [0, 1] * 3


def test_from_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(METADATA, index=[5, 4, 3, 2, 1, 0])
    windows = cadda.windows_from_moabb(X, Y, table, sfreq=250, ch_names=["C3", "C4"])
    assert windows.subject.tolist() == ["1"] * 3 + ["2"] * 3


def test_from_epochs_of_moabb() -> None:
    epochs = mne.EpochsArray(X, mne.create_info(["C3", "C4"], 250.0, "eeg"), verbose="error")
    windows = cadda.windows_from_moabb(epochs, Y, METADATA)
    np.testing.assert_array_equal(windows.x, X.astype(np.float32))
    assert (windows.sfreq, windows.ch_names) == (250, ("C3", "C4"))


def test_to_moabb_and_back() -> None:
    pytest.importorskip("pandas")
    first = cadda.simulate_motor_imagery(n_subjects=2, n_windows=4, seed=0)
    x, y, metadata = cadda.windows_to_moabb(first)
    assert list(metadata) == ["subject", "session", "run"]
    assert y.tolist() == [first.class_names[label] for label in first.y.tolist()]
    again = cadda.windows_from_moabb(
        x, y, metadata, sfreq=first.sfreq, ch_names=first.ch_names, class_names=first.class_names
    )
    np.testing.assert_array_equal(again.x, first.x)
    assert again.y.tolist() == first.y.tolist()
    assert again.subject.tolist() == first.subject.tolist()


def test_refuses() -> None:
    with pytest.raises(ValueError, match="`sfreq` and `ch_names` must be given"):
        cadda.windows_from_moabb(X, Y, METADATA)
    arguments: dict[str, Any] = {"sfreq": 250, "ch_names": ["C3", "C4"]}
    with pytest.raises(DataError, match="columns subject, session and run, but not 'run'"):
        cadda.windows_from_moabb(
            X, Y, {k: METADATA[k] for k in ("subject", "session")}, **arguments
        )
    with pytest.raises(ValueError, match=r"`class_names` must name .* not \['right_hand'\]"):
        cadda.windows_from_moabb(X, Y, METADATA, class_names=["left_hand", "feet"], **arguments)
