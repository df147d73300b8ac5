"""Projectors are applied as MNE applies them, whatever windows are read from."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest

from cadda.data.io import cutting
from cadda.data.io.cache import cache_entries
from cadda.data.io.read import read_windows
from cadda.exceptions import DataError

NAMES = ["C3", "C4", "Cz", "Pz", "Fz", "EOG1"]
TYPES = ["eeg"] * 5 + ["eog"]
PICKS = ["C3", "Pz", "C4"]


def make_raw(seed: int = 0, bads: tuple[str, ...] = ()) -> mne.io.RawArray:
    """A minute at 100 Hz with an average reference and a spatial pattern to be projected out."""
    rng = np.random.default_rng(seed)
    data = 1e-5 * rng.standard_normal((6, 6000)) + 3e-5 * rng.standard_normal(6000)
    info = mne.create_info(NAMES, 100.0, TYPES)
    raw = mne.io.RawArray(data, info, verbose="error")
    raw.set_annotations(mne.Annotations(np.arange(2, 56, 5.0), 4.0, ["a", "b"] * 5 + ["a"]))
    raw.info["bads"] = list(bads)
    pattern = rng.standard_normal(5)
    content = {
        "nrow": 1,
        "ncol": 5,
        "row_names": None,
        "col_names": NAMES[:5],
        "data": pattern[None] / np.linalg.norm(pattern),
    }
    blink = mne.Projection(active=False, kind=1, desc="blink", data=content)
    raw.set_eeg_reference("average", projection=True, verbose="error")
    return raw.add_proj(blink, verbose="error")


def make_epochs(raw: mne.io.BaseRaw, *, proj: Any = True) -> mne.Epochs:
    events, ids = mne.events_from_annotations(raw, {"a": 1, "b": 2}, verbose="error")
    limits = {"tmin": 0.0, "tmax": 3.99, "baseline": None}
    return mne.Epochs(raw, events, ids, proj=proj, **limits, verbose="error")


def read(source: Any, **options: Any) -> np.ndarray:
    given = {"channels": PICKS, "lowpass": None, "highpass": None, "standardise": None}
    return read_windows(source, **{**given, **options}).x.numpy()


@pytest.mark.parametrize("bads", [(), ("Cz",), ("Pz",)])
def test_the_same_trials_are_the_same_numbers(tmp_path: Path, bads: tuple[str, ...]) -> None:
    raw = make_raw(bads=bads)
    before = raw.get_data()
    raw.save(tmp_path / "a_raw.fif", verbose="error")
    for name, proj in (("applied", True), ("delayed", "delayed"), ("stored", False)):
        make_epochs(raw, proj=proj).save(tmp_path / f"{name}-epo.fif", verbose="error")
    truth = make_epochs(raw).get_data(PICKS)
    applied = raw.copy().apply_proj(verbose="error")
    np.testing.assert_allclose(truth, make_epochs(applied).get_data(PICKS), atol=1e-15)
    assert np.abs(truth - make_epochs(raw, proj=False).get_data(PICKS)).max() > 1e-5
    sources = [
        raw,
        applied,
        mne.io.read_raw_fif(tmp_path / "a_raw.fif", verbose="error"),
        mne.io.read_raw_fif(tmp_path / "a_raw.fif", verbose="error").apply_proj(verbose="error"),
        tmp_path / "a_raw.fif",
        *(make_epochs(raw, proj=proj) for proj in (True, False, "delayed")),
        make_epochs(raw, proj=False).load_data(),
        *(tmp_path / f"{name}-epo.fif" for name in ("applied", "delayed", "stored")),
    ]
    for source in sources:
        np.testing.assert_allclose(read(source), truth, rtol=1e-5, atol=1e-11)
    np.testing.assert_array_equal(raw.get_data(), before)


def test_before_filter_and_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a piece at a time."""
    raw = make_raw()
    monkeypatch.setattr(cutting, "_PIECE_SAMPLES", 1)
    settings = {"highpass": 4.0, "reference": ["Cz", "Fz"]}
    expected = raw.copy().apply_proj(verbose="error")
    expected.set_eeg_reference(["Cz", "Fz"], verbose="error").filter(4.0, None, verbose="error")
    windows = read(raw, **settings)
    signal = expected.get_data(PICKS)
    truth = [signal[:, first : first + 400] for first in range(200, 5600, 500)]
    np.testing.assert_allclose(windows, truth, rtol=1e-4, atol=1e-10)


def test_channels_without_a_part_in_projectors_are_as_recorded() -> None:
    raw = make_raw()
    recorded = make_epochs(raw, proj=False).get_data(["EOG1"])
    np.testing.assert_allclose(read(raw, channels=["EOG1"]), recorded, rtol=1e-6)


def notes_of(source: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read(source)
    texts = [str(warning.message) for warning in caught]
    return [text for text in texts if text.startswith("projectors")]


def test_it_is_noted_once() -> None:
    raw = make_raw()
    (note,) = notes_of(raw)
    assert note == (
        "projectors are applied, as MNE does to epochs: 'Average EEG reference', 'blink'; to keep "
        "signals as they were recorded, remove them in MNE (`del_proj`)"
    )
    other = make_raw(1).del_proj()
    (note,) = notes_of([raw, make_raw(2), other])
    assert note.startswith("projectors of 2 of 3 recordings are applied")
    (note,) = notes_of([make_epochs(raw, proj=False), make_epochs(other)])
    assert note.startswith("projectors of 1 of 2 recordings are applied")
    for applied in (other, make_epochs(raw), raw.copy().apply_proj(verbose="error")):
        assert notes_of(applied) == []


def test_bad_windows_are_those_of_the_recording() -> None:
    """The average reference hides a flat channel; NaN is in all channels that need it."""
    flat, missing = make_raw(), make_raw()
    flat._data[0, 700:1100] = 0.0
    missing._data[2, 700] = np.nan
    for source in (flat, make_epochs(flat, proj=False)):
        with pytest.raises(DataError, match=r"1 of 11 windows have NaN or a flat channel, C3 \(1"):
            read(source)
    for source in (missing, make_epochs(missing, proj=False)):
        with pytest.raises(DataError, match=r"1 of 11 windows .*, C3 \(1\), Pz \(1\), C4 \(1\)"):
            read(source)


def test_the_cache_tells_signals_with_projectors_from_others(tmp_path: Path) -> None:
    path, raw = tmp_path / "a_raw.fif", make_raw()
    raw.save(path, verbose="error")
    projected = read(path)
    np.testing.assert_array_equal(read(path), projected)
    n_entries = len(cache_entries())
    raw.del_proj().save(path, overwrite=True, verbose="error")
    recorded = read(path)
    assert np.abs(recorded - projected).max() > 1e-5
    assert len(cache_entries()) == n_entries + 2
