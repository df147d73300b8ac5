"""Fetching imagined fists, with a fetcher that needs no network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest

from cadda.data.datasets.eegbci import fetch_imagined_fists
from cadda.data.io.read import read_windows
from cadda.exceptions import DataError

WriteEdf = Callable[..., Path]

CHANNELS = ("Fc3.", "Fc4.", "C3..", "Cz..", "C4..", "Cp3.", "Cp4.", "Pz..", "Oz..")
EVENTS = [(0.0, 4.1, "T0"), (4.1, 4.1, "T2"), (8.2, 4.1, "T0"), (12.3, 4.1, "T1")]


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch, write_edf: WriteEdf) -> list[Path]:
    """Put files where MNE's fetcher puts them, and return the list of those that it was asked."""
    rng, files = np.random.default_rng(0), []

    def load_data(subjects: list[int], runs: list[int], **arguments: Any) -> list[Path]:
        # Otherwise MNE would ask the user whether to remember the folder.
        assert arguments["update_path"] is False
        root = Path(arguments["path"], "MNE-eegbci-data/files/eegmmidb/1.0.0")
        names = [
            f"S{subject:03d}/S{subject:03d}R{run:02d}.edf" for subject in subjects for run in runs
        ]
        for name in names:
            signals = {label: 20 * rng.standard_normal(160 * 20) for label in CHANNELS}
            files.append(write_edf(root / name, signals, 160.0, annotations=EVENTS))
        return [root / name for name in names]

    monkeypatch.setattr(mne.datasets.eegbci, "load_data", load_data)
    return files


def test_windows_of_imagined_fists(tmp_path: Path, fetched: list[Path]) -> None:
    seen: list[tuple[int, int, str]] = []
    mapping = fetch_imagined_fists([2, 1, 2], tmp_path, on_progress=lambda *at: seen.append(at))
    assert [path.stem for path in fetched] == [
        f"S00{s}R{r}" for s in "12" for r in ("04", "08", "12")
    ]
    assert seen == [(0, 2, "subject 1"), (1, 2, "subject 2"), (2, 2, "")]
    # In other runs, the same annotations have another meaning.
    (fetched[0].parent / "S001R14.edf").write_bytes(fetched[0].read_bytes())
    windows = read_windows(mapping)
    assert windows.subjects == ["001", "002"]
    assert windows.class_names == ("left_fist", "right_fist")
    assert windows.y.tolist() == [1, 0] * 6
    assert windows.x.shape == (12, 8, 400)
    assert (windows.sfreq, windows.ch_names[0]) == (100, "FC3")


@pytest.mark.parametrize(
    ("subjects", "got"), [([0, 3], r"\[0\]"), ([110], r"\[110\]"), ([], "none")]
)
def test_subjects_that_do_not_exist(subjects: list[int], got: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"`subjects` .* from 1 to 109, got {got}\."):
        fetch_imagined_fists(subjects, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_without_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load_data(*_: object, **__: object) -> None:
        raise OSError("Name or service not known")

    monkeypatch.setattr(mne.datasets.eegbci, "load_data", load_data)
    message = r"cannot download subject 1 \(.*not known\); 0 of 2 subjects are complete\. Call"
    with pytest.raises(DataError, match=message):
        fetch_imagined_fists([1, 2], tmp_path)
    assert list(tmp_path.iterdir()) == []
