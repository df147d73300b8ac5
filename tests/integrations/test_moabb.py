"""Windows to and from paradigms of MOABB, and a classifier as a pipeline of its evaluations."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest

import cadda

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip(
        "moabb", reason="MOABB is not installed; `make test-braindecode` installs it"
    )

pytestmark = pytest.mark.filterwarnings("ignore")

CHANNELS = ["C3", "Cz", "C4"]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MOABB stores its folders in MNE's configuration, which is that of the user."""
    monkeypatch.setenv("_MNE_FAKE_HOME_DIR", str(tmp_path))
    monkeypatch.setenv("MNE_DATA", str(tmp_path))
    monkeypatch.setenv("MOABB_RESULTS", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def make_dataset() -> Any:
    """Two subjects with two sessions of two runs each."""
    from moabb.datasets.fake import FakeDataset

    events = ["left_hand", "right_hand"]
    return FakeDataset(
        events, n_subjects=2, n_sessions=2, n_runs=2, n_events=6, duration=40, sfreq=64, seed=0
    )


def get_data(name: str = "LeftRightImagery", **arguments: Any) -> tuple[Any, Any, Any]:
    from moabb import paradigms

    paradigm = getattr(paradigms, name)(fmax=30.0, resample=50.0)
    with mne.use_log_level("error"):
        return paradigm.get_data(make_dataset(), **arguments)


@pytest.mark.parametrize("name", ["LeftRightImagery", "MotorImagery"])
def test_arrays_of_a_paradigm(name: str) -> None:
    x, y, metadata = get_data(name)
    windows = cadda.windows_from_moabb(x, y, metadata, sfreq=50.0, ch_names=CHANNELS)
    np.testing.assert_array_equal(windows.x, x.astype(np.float32))
    assert windows.class_names == ("left_hand", "right_hand")
    assert [windows.class_names[label] for label in windows.y.tolist()] == y.tolist()
    assert windows.subjects == ["1", "2"]
    expected = [f"{row.session}/{row.run}" for row in metadata.itertuples()]
    assert windows.recording.tolist() == expected
    assert len(set(expected)) == 4


def test_epochs_of_a_paradigm() -> None:
    """Arrays of MOABB are in microvolts, its epochs in volts."""
    x, y, metadata = get_data()
    epochs, *others = get_data(return_epochs=True)
    windows = cadda.windows_from_moabb(epochs, *others)
    np.testing.assert_allclose(1e6 * windows.x, x, rtol=1e-5, atol=1e-4)
    assert windows.sfreq == 50.0
    assert windows.ch_names == tuple(CHANNELS)
    assert windows.positions is not None
    again = cadda.windows_from_moabb(x, y, metadata, sfreq=50.0, ch_names=CHANNELS)
    assert windows.y.tolist() == again.y.tolist()
    assert windows.recording.tolist() == again.recording.tolist()


def test_there_and_back() -> None:
    x, y, metadata = get_data()
    windows = cadda.windows_from_moabb(x, y, metadata, sfreq=50.0, ch_names=CHANNELS)
    again_x, again_y, again = cadda.windows_to_moabb(windows)
    np.testing.assert_array_equal(again_x, x.astype(np.float32))
    assert again_y.tolist() == y.tolist()
    for column in ("subject", "session", "run"):
        assert again[column].astype(str).tolist() == metadata[column].astype(str).tolist()


@pytest.mark.parametrize("name", ["WithinSessionEvaluation", "CrossSubjectEvaluation"])
def test_classifier_as_a_pipeline(name: str, tmp_path: Path) -> None:
    from moabb import evaluations
    from moabb.paradigms import LeftRightImagery

    classifier = cadda.AugmentedClassifier(
        policy=cadda.PolicySpec.from_text("sign_flip p=0.5 > time_mask p=0.5 m=0.5"),
        sfreq=50.0,
        ch_names=CHANNELS,
        max_epochs=2,
        random_state=0,
    )
    evaluation = getattr(evaluations, name)(
        paradigm=LeftRightImagery(fmax=30.0, resample=50.0),
        datasets=[make_dataset()],
        hdf5_path=str(tmp_path),
        random_state=0,
    )
    with mne.use_log_level("error"):
        table = evaluation.process({"cadda": classifier})
    assert sorted({str(subject) for subject in table["subject"]}) == ["1", "2"]
    assert table["score"].between(0.0, 1.0).all()


def test_code_of_the_documentation() -> None:
    page = Path(__file__).parents[2] / "docs" / "my-data-is-moabb.md"
    blocks = re.findall(r"^```none\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    names: dict[str, Any] = {}
    with mne.use_log_level("error"):
        for block in blocks:
            exec(compile(block, page.name, "exec"), names)  # noqa: S102
    assert names["windows"].subjects == ["1", "2", "3"]
    assert len(names["scores"]) == 6
