"""Windows near NaN: those that a filter changes are bad, and the others are not changed."""

from __future__ import annotations

from pathlib import Path

import mne
import numpy as np
import pytest
from losses import Losses

from cadda.data.io import cutting
from cadda.data.io.read import read_windows
from cadda.exceptions import DataError

SFREQ, N_TIMES = 100.0, 6000
STARTS = np.arange(1.0, 58.0, 0.5)
GAP = slice(3000, 3050)


def make_raw(fill: float | None = None, channel: int = 0) -> mne.io.RawArray:
    """One minute of three channels, with half a second of one value in a channel."""
    data = 2e-5 * np.random.default_rng(0).standard_normal((3, N_TIMES))
    if fill is not None:
        data[channel, GAP] = fill
    raw = mne.io.RawArray(data, mne.create_info(["C3", "Cz", "C4"], SFREQ, "eeg"), verbose="error")
    texts = [f"t{i}" for i in range(len(STARTS))]
    raw.set_annotations(mne.Annotations(STARTS, 1.0, texts))
    return raw


def classes_left(raw: mne.io.RawArray, **options: object) -> tuple[set[str], np.ndarray]:
    """Windows that are left, which are told apart by classes of their own, and their signals."""
    windows = read_windows(
        raw,
        standardise=None,
        min_windows=0,
        window_seconds=1.0,
        on_bad="drop",
        progress=False,
        **options,
    )
    return {windows.class_names[label] for label in windows.y.tolist()}, windows.x.numpy()


def touching(reach: float, offset: float = 0.0, seconds: float = 1.0) -> set[str]:
    """Windows of which a part overlaps the gap, or is at most `reach` seconds from it."""
    begins = STARTS + offset
    overlap = (begins < GAP.stop / SFREQ + reach) & (begins + seconds > GAP.start / SFREQ - reach)
    return {f"t{i}" for i in np.flatnonzero(overlap)}


FILTERS = [
    {"highpass": None, "lowpass": None},
    {"highpass": None, "lowpass": 30.0},
    {"highpass": 4.0, "lowpass": 38.0},
    {"highpass": 1.0, "lowpass": None},
]


@pytest.mark.parametrize("piece", [1, 1 << 20])
@pytest.mark.parametrize("filters", FILTERS)
def test_windows_in_reach_of_the_filter_are_bad(
    filters: dict[str, float | None], piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half the length of MNE's filter on both sides, and no other window."""
    monkeypatch.setattr(cutting, "_PIECE_SAMPLES", piece)
    every = {f"t{i}" for i in range(len(STARTS))}
    reach = 0.0
    if any(filters.values()):
        taps = mne.filter.create_filter(
            None,
            SFREQ,
            filters["highpass"],
            filters["lowpass"],
            h_trans_bandwidth=7.0,
            verbose="error",
        )
        reach = (len(taps) - 1) / 2 / SFREQ
    left, x = classes_left(make_raw(np.nan), **filters)
    assert left == every - touching(reach)
    # Those that are left do not depend on what was in the gap, as read without NaN.
    for fill in (0.0, 1e-3):
        whole, truth = classes_left(make_raw(fill), **filters)
        assert whole == every
        kept = [i for i in range(len(STARTS)) if f"t{i}" in left]
        np.testing.assert_allclose(x, truth[kept], rtol=1e-4, atol=1e-10)


def test_infinity_counts_as_nan() -> None:
    filters = {"highpass": 4.0, "lowpass": 38.0}
    assert (
        classes_left(make_raw(np.inf), **filters)[0]
        == classes_left(make_raw(np.nan), **filters)[0]
    )


@pytest.mark.parametrize("sfreq", [50.0, 64.0, 128.0])
def test_resampling(sfreq: float) -> None:
    """Windows that are left do not depend on the gap, by either resampler."""
    options = {"highpass": None, "lowpass": 15.0, "sfreq": sfreq}
    left, x = classes_left(make_raw(np.nan), **options)
    assert touching(0.235).isdisjoint(left)
    assert len(left) > len(STARTS) - 12
    _, truth = classes_left(make_raw(1e-3), **options)
    kept = [i for i in range(len(STARTS)) if f"t{i}" in left]
    np.testing.assert_allclose(x, truth[kept], rtol=1e-4, atol=1e-10)


def test_baseline_and_reference() -> None:
    none = {"highpass": None, "lowpass": None}
    every = {f"t{i}" for i in range(len(STARTS))}
    left, x = classes_left(make_raw(np.nan), baseline_seconds=(-1.0, -0.6), **none)
    assert left == every - touching(0.0) - touching(0.0, offset=-1.0, seconds=0.401)
    assert np.isfinite(x).all()
    for reference in ("average", ["C3"]):
        left, x = classes_left(
            make_raw(np.nan), reference=reference, channels=["Cz", "C4"], **none
        )
        assert left == every - touching(0.0)
        assert np.isfinite(x).all()


def test_messages(tmp_path: Path, losses: Losses) -> None:
    """Which channels and recordings, and the way out; the same from files and from the cache."""
    made = [make_raw(), make_raw(np.nan, channel=1)]
    for raw, name in zip(made, ("anna", "boris"), strict=True):
        raw.annotations.description[:] = ["a", "b"] * 57
        raw.save(tmp_path / f"{name}_raw.fif", verbose="error")
    options = {"highpass": 4.0, "lowpass": 38.0, "window_seconds": 1.0}
    n_bad = len(touching(0.83))
    files = sorted(tmp_path.iterdir())
    for source in (made, files, files):
        losses.caught.clear()
        with pytest.raises(
            DataError, match=rf"{n_bad} of 228 windows have NaN or .*, Cz \({n_bad}\); drop them"
        ):
            read_windows(source, **options)
        windows = read_windows(source, on_bad="drop", **options)
        assert len(windows) == 228 - n_bad
        name = "raw-2" if source is made else "boris_raw"
        text = f"{n_bad} of 228 windows have NaN or a flat channel and are not used: {name} ("
        assert any(message.startswith(text) for message in losses.messages)


@pytest.mark.parametrize("picks", [["C3", "Cz"], ["Cz", "C4"]])
def test_epochs_with_nan_in_the_reference(picks: list[str]) -> None:
    raw = make_raw(np.nan)
    events = np.array([[int(SFREQ * start), 0, 1 + i % 2] for i, start in enumerate(STARTS)])
    epochs = mne.Epochs(
        raw, events, {"a": 1, "b": 2}, 0, 0.99, baseline=None, preload=True, verbose="error"
    )
    windows = read_windows(epochs, reference="average", channels=picks, on_bad="drop")
    assert len(windows) == len(STARTS) - len(touching(0.0))


def test_messages_name_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was passed, and not the folder "." or the type of the list."""
    bad = make_raw(np.nan)
    bad.annotations.description[:] = ["a", "b"] * 57
    options = {"window_seconds": 1.0, "progress": False}
    for source in (bad, [bad, bad.copy()]):
        with pytest.raises(DataError, match=r"^RawArray: [0-9]+ of [0-9]+ windows have NaN"):
            read_windows(source, **options)
        with pytest.raises(DataError, match=r"^RawArray: [0-9]+ of [0-9]+ windows exceed"):
            read_windows(source, reject=1e-9, **options)
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        bad.save(f"{name}_raw.fif", verbose="error")
    with pytest.raises(DataError, match=r"^2 files: [0-9]+ of [0-9]+ windows have NaN"):
        read_windows(["a_raw.fif", "b_raw.fif"], **options)
    with pytest.raises(DataError, match=r"^2 files: [0-9]+ of [0-9]+ windows exceed"):
        read_windows(["a_raw.fif", "b_raw.fif"], reject=1e-9, **options)
