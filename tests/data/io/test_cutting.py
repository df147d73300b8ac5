"""Preprocessing against MNE on the whole recording, sines with known answers, and memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import mne
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cadda.data.io import cutting
from cadda.data.io.cutting import Recording, cut_recording
from cadda.data.io.preprocess import Preprocessing
from cadda.data.standardise import standardise, standardise_as
from cadda.exceptions import DataError

WriteEdf = Callable[..., Path]


def recording(path: Path, picks: list[str], sfreq: float, starts: list[float]) -> Recording:
    labels = np.zeros(len(starts), dtype=np.int64)
    return Recording(path, tuple(picks), sfreq, np.array(starts, dtype=float), labels, "s", "r")


signals = hnp.arrays(
    np.float32,
    (3, 2, 20),
    elements=st.floats(-1e3, 1e3, width=32, allow_subnormal=False),
)


@given(signals)
def test_standardise_in_closed_form(x: np.ndarray) -> None:
    out = standardise(torch.from_numpy(x.copy())).numpy()
    exact = x.astype(np.float64)
    flat = exact.max(-1) == exact.min(-1)
    assert np.isfinite(out).all()
    assert (out[flat] == 0).all()
    spread = exact.std(-1)[~flat]
    expected = (exact - exact.mean(-1, keepdims=True))[~flat] / spread[:, None]
    np.testing.assert_allclose(out[~flat], expected, rtol=1e-5, atol=1e-5)


@given(st.floats(-1e3, 1e3), st.floats(1e-6, 1e3))
def test_standardise_knows_neither_offset_nor_scale(offset: float, scale: float) -> None:
    x = torch.randn(4, 2, 100, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(standardise(offset + scale * x), standardise(x), rtol=0, atol=1e-6)


def test_standardise_in_place_and_in_chunks() -> None:
    x = torch.randn(200, 1, 30)
    expected = standardise(x)
    assert standardise(x, out=x) is x
    torch.testing.assert_close(x, expected)
    torch.testing.assert_close(x[137:138], standardise(expected[137:138]))


def test_flat_channel_with_an_offset_becomes_zeros() -> None:
    x = torch.full((1, 2, 3000), 0.1)
    x[0, 1] = torch.randn(3000)
    out = standardise(x)
    assert (out[0, 0] == 0).all()
    assert out.isfinite().all()


def test_standardise_recordings_apart() -> None:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((100, 2, 20)) * [[3.0], [50.0]] + 5).astype(np.float32)
    groups = np.array([["a", "1"], ["b", "1"]])[np.arange(100) % 2]
    x[1::2, 0] = 0.1
    standardise_as("recording", x, groups)
    np.testing.assert_allclose(x[::2].mean((0, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(x[::2].std((0, 2)), 1, rtol=1e-5)
    assert (x[1::2, 0] == 0).all()
    # Windows of one recording keep their differences.
    assert x[::2].std(-1).std() > 0.01


@pytest.mark.parametrize("piece", [1, 5000, 1 << 20])
def test_pieces_are_as_if_the_whole_recording_was_filtered(
    tmp_path: Path, write_edf: WriteEdf, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    rng = np.random.default_rng(0)
    names = ["EEG A", "EEG B", "EEG C"]
    path = write_edf(
        tmp_path / "a.edf", {name: 40 * rng.standard_normal(20_000) for name in names}
    )
    starts = [0.0, 7.5, 12.0, 60.0, 155.0, 170.0]
    monkeypatch.setattr(cutting, "_PIECE_SAMPLES", piece)
    one = recording(path, ["EEG C", "EEG A"], 100.0, starts)
    x, quality = cut_recording(one, Preprocessing())
    raw = mne.io.read_raw_edf(path, preload=True, verbose="error")
    raw.filter(None, 30.0, h_trans_bandwidth=7.0, verbose="error")
    whole = raw.get_data(["EEG C", "EEG A"])
    expected = np.stack([whole[:, int(100 * t) : int(100 * t) + 3000] for t in starts])
    np.testing.assert_allclose(x, expected, rtol=1e-5, atol=1e-11)
    assert not quality.bad.any()


@pytest.mark.parametrize("piece", [1, 1 << 20])
@pytest.mark.parametrize(
    ("sfreq", "target"), [(256.0, 128.0), (256.0, 100.0), (100.0, 128.0), (200.0, None)]
)
def test_sines_keep_their_phase_or_vanish(
    tmp_path: Path,
    write_edf: WriteEdf,
    monkeypatch: pytest.MonkeyPatch,
    piece: int,
    sfreq: float,
    target: float | None,
) -> None:
    time = np.arange(round(150 * sfreq)) / sfreq
    slow, fast = np.sin(2 * np.pi * 12.3 * time), np.sin(2 * np.pi * 41.0 * time)
    path = write_edf(tmp_path / "a.edf", {"slow": 100 * slow, "fast": 100 * fast}, sfreq)
    starts = [0.0, 31.25, 62.5, 117.1875]
    monkeypatch.setattr(cutting, "_PIECE_SAMPLES", piece)
    settings = Preprocessing(sfreq=target)
    x, _ = cut_recording(recording(path, ["slow", "fast"], sfreq, starts), settings)
    rate = settings.rate(sfreq)
    assert x.shape == (4, 2, round(30 * rate))
    inside = slice(round(rate), -round(rate))
    for window, start in zip(x, starts, strict=True):
        # Windows begin at the sample that is nearest.
        begin = np.rint(start * rate) / rate
        expected = 1e-4 * np.sin(2 * np.pi * 12.3 * (begin + np.arange(x.shape[-1]) / rate))
        np.testing.assert_allclose(window[0, inside], expected[inside], atol=1e-6)
        assert np.abs(window[1, inside]).max() < 1e-6


def test_without_filter_the_samples_are_those_of_the_file(
    tmp_path: Path, write_edf: WriteEdf
) -> None:
    values = 50 * np.random.default_rng(0).standard_normal(6000)
    path = write_edf(tmp_path / "a.edf", {"Cz": values})
    x, _ = cut_recording(recording(path, ["Cz"], 100.0, [10.0]), Preprocessing(lowpass=None))
    np.testing.assert_allclose(1e6 * x[0, 0], values[1000:4000], atol=0.01)


def test_quality_are_those_of_the_recording_itself(tmp_path: Path, write_edf: WriteEdf) -> None:
    values = 50 * np.random.default_rng(0).standard_normal(12_000)
    values[3000:6000] = 7.0
    clipped = np.clip(values, -60, 60)
    path = write_edf(tmp_path / "a.edf", {"Cz": values, "Pz": clipped + np.arange(12_000) % 2})
    starts = [0.0, 29.0, 30.0, 60.0, 90.0]
    _, quality = cut_recording(recording(path, ["Cz"], 100.0, starts), Preprocessing())
    # A window that is flat but for a second is left to the user, one that is flat is not.
    assert quality.bad.tolist() == [False, False, True, False, False]
    # But it does stay at one value for most of its time.
    assert quality.clipped[[0, 3, 4]].tolist() == [False] * 3
    np.testing.assert_allclose(1e6 * quality.spread[0, 0], values[:3000].std(), rtol=1e-3)
    _, quality = cut_recording(recording(path, ["Pz"], 100.0, starts), Preprocessing())
    assert quality.clipped[[0, 3, 4]].tolist() == [True] * 3


def test_lowpass_must_be_below_nyquist(tmp_path: Path, write_edf: WriteEdf) -> None:
    path = write_edf(tmp_path / "a.edf", {"Cz": np.random.randn(64 * 40)}, 64.0)  # noqa: NPY002
    with pytest.raises(DataError, match=r"below half the sampling rate, but a.edf has 64 Hz"):
        cut_recording(recording(path, ["Cz"], 64.0, [0.0]), Preprocessing())


@pytest.mark.parametrize("name", ["lowpass", "transition", "sfreq", "seconds"])
def test_settings_are_positive(name: str) -> None:
    with pytest.raises(ValueError, match=f"`{name}` must be above 0, got -1"):
        Preprocessing(**{name: -1.0})


def test_memory_of_a_night_is_its_windows_and_little_more(
    tmp_path: Path, write_edf: WriteEdf
) -> None:
    """Four hours of twenty channels, of which two are wanted."""
    rng = np.random.default_rng(0)
    names = [f"EEG {i}" for i in range(20)]
    path = write_edf(tmp_path / "a.edf", {n: 20 * rng.standard_normal(100) for n in names})
    content = path.read_bytes()
    n_header, hours = int(content[184:192]), 4
    with path.open("wb") as file:
        records = str(hours * 3600).ljust(8).encode()
        file.write(content[:236] + records + content[244:n_header])
        for _ in range(hours * 60):
            file.write(content[n_header:] * 60)
    starts = np.arange(0, hours * 3600, 30.0)
    one = recording(path, ["EEG 3", "EEG 13"], 100.0, starts.tolist())
    cut_recording(recording(path, ["EEG 3"], 100.0, [0.0]), Preprocessing())
    tracemalloc.start()
    try:
        x, _ = cut_recording(one, Preprocessing())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert x.shape == (480, 2, 3000)
    whole_file = 20 * hours * 3600 * 100 * 8
    assert peak < x.nbytes + 36e6 < whole_file / 4
