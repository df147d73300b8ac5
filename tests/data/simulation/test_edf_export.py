"""Simulated nights as EDF files, read back with plain MNE."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import mne
import numpy as np
import pytest
import torch

from cadda import CaddaError
from cadda.data.io.read import read_windows
from cadda.data.simulation import edf_export
from cadda.data.simulation.edf_export import write_edf
from cadda.data.simulation.nights import Night, nights_to_windows, simulate_night, simulate_nights

edfio = pytest.importorskip("edfio")


@pytest.fixture(scope="module")
def physionet() -> list[Night]:
    return list(simulate_nights(2, 40))


@pytest.fixture(scope="module")
def mass() -> list[Night]:
    return list(simulate_nights(2, 40, montage="mass"))


def read(psg: Path) -> mne.io.BaseRaw:
    return mne.io.read_raw_edf(psg, preload=True, verbose="error")


def test_names_of_sleep_physionet(physionet: list[Night], tmp_path: Path) -> None:
    pairs = write_edf(physionet, tmp_path / "new")
    assert [(psg.name, hypnogram.name) for psg, hypnogram in pairs] == [
        ("SC4001E0-PSG.edf", "SC4001EC-Hypnogram.edf"),
        ("SC4011E0-PSG.edf", "SC4011EC-Hypnogram.edf"),
    ]
    assert sorted(file for pair in pairs for file in pair) == sorted((tmp_path / "new").iterdir())


def test_signals_come_back(physionet: list[Night], tmp_path: Path) -> None:
    for night, (psg, _) in zip(physionet, write_edf(physionet, tmp_path), strict=True):
        raw = read(psg)
        assert raw.ch_names == ["EEG Fpz-Cz", "EEG Pz-Oz"]
        assert raw.info["sfreq"] == 100
        # Half a step of 16 bits over the range of the channel.
        step = 2 * np.ceil(np.abs(night.volts * 1e6).max(axis=1, keepdims=True)) * 1e-6 / 65535
        assert (np.abs(raw.get_data() - night.volts) <= 0.51 * step).all()
        assert raw.info["subject_info"]["his_id"] == night.subject


def test_hypnogram_of_sleep_physionet(physionet: list[Night], tmp_path: Path) -> None:
    stage_of = {"W": 0, "1": 1, "2": 2, "3": 3, "4": 3, "R": 4}
    for night, (psg, hypnogram) in zip(physionet, write_edf(physionet, tmp_path), strict=True):
        annotations = mne.read_annotations(hypnogram)
        texts = [text.removeprefix("Sleep stage ") for text in annotations.description]
        counts = np.rint(annotations.duration / 30).astype(int)
        np.testing.assert_array_equal(annotations.onset, np.cumsum([0, *counts[:-1]]) * 30)
        np.testing.assert_array_equal(
            np.repeat([stage_of[t] for t in texts], counts), night.stages
        )
        # One annotation for as long as a stage lasts, as in the original.
        assert all(len(list(same)) == 1 for _, same in groupby(texts))
        raw = read(psg).set_annotations(annotations)
        events, _ = mne.events_from_annotations(raw, chunk_duration=30.0, verbose="error")
        assert len(events) == len(night.stages)


def test_stage_4_is_the_deeper_half_of_n3(physionet: list[Night], tmp_path: Path) -> None:
    night = physionet[0]
    ((_, hypnogram),) = write_edf([night], tmp_path)
    annotations = mne.read_annotations(hypnogram)
    counts = np.rint(annotations.duration / 30).astype(int)
    texts = np.repeat(annotations.description, counts)
    spread = night.volts[0].reshape(40, -1).std(axis=1)
    deepest, deep = (texts == f"Sleep stage {code}" for code in (4, 3))
    assert 0 <= deep.sum() - deepest.sum() <= 1
    assert spread[deepest].min() > spread[deep].max()


def test_mass(mass: list[Night], tmp_path: Path) -> None:
    pairs = write_edf(mass, tmp_path)
    assert [(psg.name, base.name) for psg, base in pairs] == [
        ("01-03-0001 PSG.edf", "01-03-0001 Base.edf"),
        ("01-03-0002 PSG.edf", "01-03-0002 Base.edf"),
    ]
    for night, (psg, base) in zip(mass, pairs, strict=True):
        raw = read(psg)
        assert raw.ch_names == [f"EEG {name}-CLE" for name in ("C3", "C4", "F3", "F4", "O1", "O2")]
        assert raw.info["sfreq"] == 256
        # Every other sample is one of the night, but for the rounding.
        assert np.abs(raw.get_data()[:, ::2] - night.volts).max() < 2e-8
        annotations = mne.read_annotations(base)
        expected = [f"Sleep stage {'W123R'[stage]}" for stage in night.stages]
        assert annotations.description.tolist() == expected
        np.testing.assert_array_equal(annotations.onset, 30.0 * np.arange(40))
        np.testing.assert_array_equal(annotations.duration, 30.0)


@pytest.mark.parametrize("montage", ["physionet", "mass"])
def test_reading_gives_the_simulated_windows(
    montage: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    nights = request.getfixturevalue(montage)
    write_edf(nights, tmp_path)
    found, expected = read_windows(tmp_path, cache=False), nights_to_windows(nights)
    assert torch.equal(found.y, expected.y)
    assert found.sfreq == expected.sfreq
    # At the ends of a night, resampling has nothing to go by.
    inner = slice(1, 39)
    torch.testing.assert_close(found.x[inner], expected.x[inner], atol=5e-3, rtol=0)


def test_same_night_same_bytes(physionet: list[Night], tmp_path: Path) -> None:
    once, again = (write_edf(physionet[:1], tmp_path / name)[0] for name in ("a", "b"))
    for file, other in zip(once, again, strict=True):
        assert file.read_bytes() == other.read_bytes()


def test_too_many_nights(
    physionet: list[Night], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert edf_export._STYLES["physionet"].max_nights == 100
    short = replace(edf_export._STYLES["physionet"], max_nights=1)
    monkeypatch.setitem(edf_export._STYLES, "physionet", short)
    with pytest.raises(ValueError, match="`nights` must be at most 1 of the montage 'physionet'"):
        write_edf(physionet, tmp_path)


def test_without_edfio(
    physionet: list[Night], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "edfio", None)
    with pytest.raises(
        CaddaError, match=r"needs the package edfio.*pip install 'cadda\[edf-export\]'"
    ):
        write_edf(physionet, tmp_path)


def test_night_without_deep_sleep(tmp_path: Path) -> None:
    night = simulate_night(0, n_windows=10)
    light = replace(night, stages=np.minimum(night.stages, 2))
    ((_, hypnogram),) = write_edf([light], tmp_path)
    assert not {"Sleep stage 3", "Sleep stage 4"} & set(
        mne.read_annotations(hypnogram).description
    )
