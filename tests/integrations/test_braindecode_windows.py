"""Windows to and from data sets of braindecode."""

from __future__ import annotations

from typing import Any

import mne
import numpy as np
import pytest

import cadda
from cadda.exceptions import DataError

pytest.importorskip("braindecode")
pytest.importorskip("pandas")


def recording_class() -> Any:
    """Return the data set of a recording, which has another name in braindecode 1.x."""
    from braindecode import datasets

    return getattr(datasets, "RawDataset", None) or datasets.BaseDataset


def make_dataset(*, use_mne_epochs: bool, mapping: dict[str, int] | None = None) -> Any:
    """Three recordings of two people."""
    from braindecode.datasets import BaseConcatDataset
    from braindecode.preprocessing import create_windows_from_events

    rng = np.random.default_rng(0)
    recordings = []
    for subject in ("anna", "anna", "boris"):
        info = mne.create_info(["C3", "C4"], sfreq=50, ch_types="eeg")
        raw = mne.io.RawArray(1e-5 * rng.standard_normal((2, 1000)), info, verbose="error")
        texts = ["left", "right", "left", "right", "left"]
        raw.set_annotations(mne.Annotations(np.arange(0, 20, 4), 2.0, texts))
        recordings.append(recording_class()(raw, {"subject": subject, "age": 30}))
    with mne.use_log_level("error"):
        return create_windows_from_events(
            BaseConcatDataset(recordings),
            mapping=mapping,
            preload=True,
            # Braindecode cuts from Raw itself, unless it has to select.
            picks=["C3", "C4"] if use_mne_epochs else None,
        )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use_mne_epochs", [False, True])
def test_from_braindecode(use_mne_epochs: bool) -> None:
    dataset = make_dataset(use_mne_epochs=use_mne_epochs, mapping={"right": 3, "left": 7})
    windows = cadda.windows_from_braindecode(dataset)
    assert windows.class_names == ("right", "left")
    assert windows.y.tolist() == [1, 0, 1, 0, 1] * 3
    assert windows.subjects == ["anna", "boris"]
    assert windows.recording.tolist() == ["0"] * 5 + ["1"] * 5 + ["2"] * 5
    assert (windows.sfreq, windows.ch_names) == (50.0, ("C3", "C4"))
    for i in range(len(dataset)):
        np.testing.assert_array_equal(windows.x[i], dataset[i][0])
    alone = cadda.windows_from_braindecode(dataset.datasets[2], class_names=["r", "l"])
    np.testing.assert_array_equal(alone.x, windows.x[10:])
    assert alone.class_names == ("r", "l")
    aged = cadda.windows_from_braindecode(dataset, subject="age")
    assert aged.subjects == ["30"]


@pytest.mark.filterwarnings("ignore")
def test_there_and_back() -> None:
    first = cadda.simulate_motor_imagery(n_subjects=3, n_windows=6, seed=0)
    dataset = cadda.windows_to_braindecode(first)
    assert len(dataset) == len(first)
    assert [part.description["subject"] for part in dataset.datasets] == first.subjects
    for i in (0, 7, 17):
        x, y, _ = dataset[i]
        np.testing.assert_allclose(x, first.x[i], rtol=1e-6)
        assert y == first.y[i]
    again = cadda.windows_from_braindecode(dataset)
    np.testing.assert_allclose(again.x, first.x, rtol=1e-6)
    assert again.y.tolist() == first.y.tolist()
    assert again.subject.tolist() == first.subject.tolist()
    assert again.class_names == first.class_names


@pytest.mark.filterwarnings("ignore")
def test_mne_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    windows = cadda.simulate_motor_imagery(n_subjects=3, n_windows=6, seed=0)
    with mne.use_log_level("info"):
        cadda.windows_to_braindecode(windows)
    assert capfd.readouterr() == ("", "")


@pytest.mark.filterwarnings("ignore")
def test_loader_of_braindecode() -> None:
    from braindecode.augmentation import AugmentedDataLoader, SignFlip

    first = cadda.simulate_motor_imagery(n_subjects=3, n_windows=6, seed=0)
    dataset = cadda.windows_to_braindecode(first)
    loader = AugmentedDataLoader(dataset, transforms=SignFlip(probability=1.0), batch_size=18)
    x, y, _ = next(iter(loader))
    np.testing.assert_allclose(x, -first.x, rtol=1e-6)
    assert y.tolist() == first.y.tolist()


@pytest.mark.filterwarnings("ignore")
def test_refuses() -> None:
    dataset, kind = make_dataset(use_mne_epochs=False), recording_class()
    with pytest.raises(DataError, match=r"there is \['subject', 'age'\], not 'person'"):
        cadda.windows_from_braindecode(dataset, subject="person")
    with pytest.raises(TypeError, match=rf"`dataset` must have windows, .* got {kind.__name__}"):
        cadda.windows_from_braindecode(kind(dataset.datasets[0].raw, {"subject": "a"}))
    dataset.datasets[0].y = [0.5] * 5
    with pytest.raises(DataError, match="`dataset` must have one integer target per window"):
        cadda.windows_from_braindecode(dataset)
