"""The readers on real recordings, where these are at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cadda import operation_pool
from cadda.data.datasets.mnist import read_mnist
from cadda.data.io.edf import read_edf_header
from cadda.data.io.read import read_windows
from cadda.exceptions import DataError

MOTOR = """
files = '{folder}/S*.edf'
subject = '(S\\d+)R\\d+'
seconds = 4.0
channels = ["C3", "Cz", "C4"]
[classes]
T1 = "left"
T2 = "right"
"""


def test_sleep_epochs(shared_data: Path) -> None:
    windows = read_windows(shared_data / "sleep-epo.fif.gz", subject="subject")
    assert windows.class_names == ("W", "N1", "N2", "N3", "R")
    assert windows.class_counts().tolist() == [96, 76, 105, 5, 26]
    assert windows.x.shape == (308, 4, 3000)
    assert len(windows.subjects) == 28
    np.testing.assert_allclose(windows.x.std(-1, correction=0), 1, rtol=1e-4)
    without = read_windows(shared_data / "sleep-epo.fif.gz", min_windows=20, channels=["Pz-Oz"])
    assert without.class_names == ("W", "N1", "N2", "R")
    assert without.n_channels == 1


def test_motor_imagery_epochs(shared_data: Path) -> None:
    windows = read_windows(shared_data / "motor-imagery-epo.fif.gz")
    assert windows.class_counts().tolist() == [1367, 1333]
    assert len(windows.subjects) == 60
    assert windows.positions is not None
    assert not operation_pool(windows).left_out


def test_annotated_recordings(shared_data: Path, tmp_path: Path) -> None:
    mapping = tmp_path / "motor.toml"
    mapping.write_text(MOTOR.format(folder=shared_data / "edf"))
    windows = read_windows(mapping)
    assert windows.class_counts().tolist() == [69, 66]
    assert windows.subjects == ["S001", "S002", "S003"]
    assert len(set(windows.recording)) == 9
    assert windows.x.shape == (135, 3, 640)


def test_recordings_without_annotations(shared_data: Path, tmp_path: Path) -> None:
    mapping = tmp_path / "dream.toml"
    text = MOTOR.format(folder=shared_data / "edf").replace("/S*.edf", "/subject*.edf")
    mapping.write_text(text.replace("(S\\d+)R\\d+", "(subject\\d+)_"))
    with pytest.raises(DataError, match=r"no file has one of the annotations \['T1', 'T2'\]"):
        read_windows(mapping)
    header = read_edf_header(shared_data / "edf" / "subject010_REM.edf")
    assert len(header.labels) == 63
    assert set(header.sfreqs) == {400.0}


def test_mnist(shared_data: Path) -> None:
    windows = read_mnist(shared_data / "mnist", parts=["test"], digits=[4, 6, 9])
    assert windows.class_counts().tolist() == [982, 958, 1009]
    # A four is dark at the edge and bright in the middle.
    assert float(windows.x[:, 0].mean()) < 0.01 < float(windows.x[:, 14].mean())
