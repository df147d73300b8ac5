"""Every setting of the preprocessing against MNE's own calls on the whole recording."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest

from cadda.data.io import cutting
from cadda.data.io.cache import cache_entries
from cadda.data.io.preprocess import Preprocessing, describe_preprocessing
from cadda.data.io.read import read_windows
from cadda.exceptions import DataError

NAMES = ["Fz", "C3", "Cz", "C4", "M1", "M2"]
ONSETS = [1.0, 14.0, 27.5, 60.0, 88.25, 110.0]


@pytest.fixture
def raw() -> mne.io.RawArray:
    """Two minutes with drifts, at 200 Hz."""
    rng = np.random.default_rng(0)
    data = 1e-5 * rng.standard_normal((6, 24_000))
    data += 1e-6 * np.cumsum(rng.standard_normal((6, 24_000)), axis=1)
    made = mne.io.RawArray(data, mne.create_info(NAMES, 200.0, "eeg"), verbose="error")
    made.set_annotations(mne.Annotations(ONSETS, 4.0, ["a", "b"] * 3))
    return made


def by_mne(raw: mne.io.BaseRaw, *, offset: float = 0.0, **settings: Any) -> np.ndarray:
    events, ids = mne.events_from_annotations(raw, regexp="^[ab]$", verbose="error")
    epochs = mne.Epochs(
        raw,
        events,
        ids,
        tmin=min(offset, -0.5),
        tmax=offset + 3.0 - 1 / raw.info["sfreq"],
        **{"baseline": None, "preload": True, "verbose": "error", **settings},
    )
    return epochs.crop(tmin=offset).get_data(["C3", "Cz", "C4"])


def ours(raw: mne.io.BaseRaw, **settings: Any) -> np.ndarray:
    given = {"lowpass": None, "window_seconds": 3.0, "standardise": None, **settings}
    return read_windows(raw, channels=["C3", "Cz", "C4"], **given).x.numpy()


@pytest.mark.parametrize("piece", [1, 1 << 20])
@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"highpass": 4.0}, [("filter", (4.0, None), {})]),
        ({"highpass": 0.5}, [("filter", (0.5, None), {})]),
        (
            {"highpass": 1.0, "lowpass": 40.0},
            [("filter", (1.0, 40.0), {"h_trans_bandwidth": 7.0})],
        ),
        ({"notch": 50}, [("notch_filter", (50.0,), {})]),
        ({"notch": [25.0, 50.0]}, [("notch_filter", ([25.0, 50.0],), {})]),
        (
            {"notch": 50.0, "highpass": 2.0, "lowpass": 30.0, "reference": "average"},
            [
                ("set_eeg_reference", ("average",), {}),
                ("notch_filter", (50.0,), {}),
                ("filter", (2.0, 30.0), {"h_trans_bandwidth": 7.0}),
            ],
        ),
        ({"reference": "average"}, [("set_eeg_reference", ("average",), {})]),
        ({"reference": ["M1", "m2"]}, [("set_eeg_reference", (["M1", "M2"],), {})]),
        ({"reference": "M1"}, [("set_eeg_reference", (["M1"],), {})]),
    ],
)
def test_filters_and_reference(
    raw: mne.io.RawArray,
    monkeypatch: pytest.MonkeyPatch,
    piece: int,
    settings: dict[str, Any],
    steps: list[tuple[str, Any, dict[str, Any]]],
) -> None:
    monkeypatch.setattr(cutting, "_PIECE_SAMPLES", piece)
    x = ours(raw, **settings)
    expected = raw.copy()
    for name, arguments, options in steps:
        getattr(expected, name)(*arguments, **options, verbose="error")
    np.testing.assert_allclose(x, by_mne(expected), rtol=1e-4, atol=2e-10)


@pytest.mark.parametrize("piece", [1, 1 << 20])
@pytest.mark.parametrize(
    ("offset", "baseline"),
    [(0.0, (-0.5, 0.0)), (0.0, (0.0, 1.0)), (-0.3, (-0.3, 0.0)), (0.7, (-0.5, 0.2))],
)
def test_baseline(
    raw: mne.io.RawArray,
    monkeypatch: pytest.MonkeyPatch,
    piece: int,
    offset: float,
    baseline: tuple[float, float],
) -> None:
    monkeypatch.setattr(cutting, "_PIECE_SAMPLES", piece)
    x = ours(raw, offset=offset, baseline_seconds=baseline)
    np.testing.assert_allclose(
        x, by_mne(raw, offset=offset, baseline=baseline), rtol=1e-4, atol=1e-10
    )


def test_windows_whose_baseline_was_not_recorded_are_left_out(raw: mne.io.RawArray) -> None:
    assert len(ours(raw)) == 6
    assert len(ours(raw, baseline_seconds=(-2.0, 0.0))) == 5
    assert len(ours(raw, baseline_seconds=(0.0, 10.5))) == 5


def test_rejection_by_amplitude(raw: mne.io.RawArray) -> None:
    peak_to_peak = np.ptp(by_mne(raw), axis=-1).max(axis=-1)
    for limit in sorted(peak_to_peak)[4:]:
        reject = {"eeg": limit * (1 + 1e-6)}
        expected = by_mne(raw, reject=reject, reject_tmin=0.0, picks=["C3", "Cz", "C4"])
        x = ours(raw, reject=limit * (1 + 1e-6), min_windows=0)
        np.testing.assert_allclose(x, expected, rtol=1e-5)
    with pytest.raises(DataError, match="5 windows exceed `reject`, and the others are of one"):
        ours(raw, reject=sorted(peak_to_peak)[1] * 0.999)
    with pytest.raises(DataError, match=r"6 of 6 windows exceed `reject`.* higher `reject`"):
        ours(raw, reject=1e-9)


def test_amplitudes_are_those_after_filtering(raw: mne.io.RawArray) -> None:
    drifting = raw.copy()
    drifting._data += 1e-3 * np.linspace(0, 1, raw.n_times)
    drifting._data[:, 6000:6100] += 1e-3
    arguments = {"highpass": 4.0, "reject": 4e-4}
    assert len(ours(drifting, **arguments)) == len(ours(raw, **arguments)) - 1 == 5


@pytest.mark.parametrize(("sfreq", "tolerance"), [(128.0, 1e-5), (100.0, 0.02)])
def test_baseline_and_rate(raw: mne.io.RawArray, sfreq: float, tolerance: float) -> None:
    """At half the rate, every second sample is taken, where MNE filters once more."""
    settings = {"highpass": 2.0, "lowpass": 30.0, "baseline_seconds": (-0.5, 0.0)}
    x = ours(raw, sfreq=sfreq, **settings)
    assert x.shape[-1] == round(3 * sfreq)
    filtered = raw.copy().filter(2.0, 30.0, h_trans_bandwidth=7.0, verbose="error")
    whole = by_mne(
        filtered.resample(sfreq, method="polyphase", verbose="error"), baseline=(-0.5, 0.0)
    )
    assert np.abs(x - whole).max() < tolerance * np.abs(whole).max()


def test_average_reference_of_the_good_channels_only(raw: mne.io.RawArray) -> None:
    raw.info["bads"] = ["Fz", "M1"]
    x = ours(raw, reference="average")
    expected = raw.copy().set_eeg_reference("average", verbose="error")
    np.testing.assert_allclose(x, by_mne(expected), rtol=1e-5, atol=1e-12)
    raw.info["bads"] = [name for name in NAMES if name != "Cz"]
    with pytest.raises(DataError, match=r"`reference`='average' needs .* two .* has \['Cz'\]"):
        ours(raw, reference="average")


def test_reference_at_the_mastoids(raw: mne.io.RawArray) -> None:
    x = ours(raw, reference="mastoids")
    expected = raw.copy().set_eeg_reference(["M1", "M2"], verbose="error")
    np.testing.assert_allclose(x, by_mne(expected), rtol=1e-5, atol=1e-12)
    ears = raw.copy().rename_channels({"M1": "TP9", "M2": "TP10"})
    np.testing.assert_array_equal(ours(ears, reference="mastoids"), x)
    none = raw.copy().rename_channels({"M1": "Oz"})
    with pytest.raises(DataError, match=r"needs one of the pairs M1 and M2, .* has 'Fz'"):
        ours(none, reference="mastoids")


def test_reference_that_is_not_there(raw: mne.io.RawArray) -> None:
    with pytest.raises(DataError, match=r"`reference` must be .* no 'M3'; did you mean"):
        ours(raw, reference=["M1", "M3"])


def test_the_reference_itself_is_left_out(
    raw: mne.io.RawArray, caplog: pytest.LogCaptureFixture
) -> None:
    """It is zero, as MNE has it; the others are MNE's."""
    expected = raw.copy().set_eeg_reference(["Cz"], verbose="error")
    assert not expected.get_data("Cz").any()
    given = {"lowpass": None, "highpass": None, "standardise": None, "reference": "Cz"}
    events, ids = mne.events_from_annotations(raw, verbose="error")
    times = {"tmin": 0, "tmax": 3.0 - 1 / 200, "baseline": None, "preload": True}
    epochs = mne.Epochs(raw, events, ids, **times, verbose="error")
    truth = mne.Epochs(expected, events, ids, **times, verbose="error")
    several = {"subject": ["a", "b"]}
    for source, options in (
        (raw, {"window_seconds": 3.0}),
        ([raw, raw.copy()], {"window_seconds": 3.0, **several}),
        (epochs, {}),
        ([epochs, epochs], several),
    ):
        caplog.clear()
        windows = read_windows(source, **given, **options)
        assert windows.ch_names == ("Fz", "C3", "C4", "M1", "M2")
        values = truth.get_data(list(windows.ch_names))
        np.testing.assert_allclose(windows.x[: len(values)], values, rtol=1e-5, atol=1e-12)
        told = [text for text in caplog.messages if "Cz is the only channel of `ref" in text]
        assert len(told) == 1
    caplog.clear()
    assert read_windows(epochs, **given, channels=["C3", "M2"]).ch_names == ("C3", "M2")
    assert not caplog.messages
    with pytest.raises(DataError, match="`channels` must not have Cz, as it is the only channel"):
        read_windows(epochs, **given, channels=["C3", "Cz"])
    with pytest.raises(DataError, match=r"`reference` must leave a channel, but .* has Cz only"):
        read_windows(raw.copy().pick(["Cz"]), **given)


def test_epochs(raw: mne.io.RawArray) -> None:
    events, ids = mne.events_from_annotations(raw, verbose="error")
    epochs = mne.Epochs(
        raw, events, ids, tmin=-0.5, tmax=4.0, baseline=None, preload=True, verbose="error"
    )
    before = epochs.get_data(copy=True)
    expected = epochs.copy().set_eeg_reference("average", verbose="error")
    expected.filter(4.0, None, verbose="error").apply_baseline((-0.5, 0.0), verbose="error")
    expected.pick(["C4", "C3"])
    limit = sorted(np.ptp(expected.get_data(), axis=-1).max(axis=-1))[-1] * 0.999
    windows = read_windows(
        epochs,
        channels=["C4", "C3"],
        reference="average",
        highpass=4.0,
        baseline_seconds=(-0.5, 0.0),
        reject=limit,
        standardise=None,
    )
    expected.drop_bad({"eeg": limit}, verbose="error")
    assert len(expected) == 5
    np.testing.assert_allclose(windows.x, expected.get_data(), rtol=1e-4, atol=1e-10)
    # The epochs of the user are as they were.
    np.testing.assert_array_equal(epochs.get_data(), before)
    slower = read_windows(epochs, lowpass=30.0, sfreq=100.0, standardise=None)
    filtered = epochs.copy().filter(None, 30.0, h_trans_bandwidth=7.0, verbose="error")
    np.testing.assert_allclose(
        slower.x[:, :, :450], filtered.get_data()[:, :, :900:2], rtol=1e-4, atol=1e-10
    )
    assert slower.sfreq == 100
    with pytest.raises(DataError, match=r"`baseline` must be within .* from -0.5 to 4 s"):
        read_windows(epochs, baseline_seconds=(-1.0, 0.0))
    for name in ("window_seconds", "offset"):
        with pytest.raises(ValueError, match=f"`{name}` is for recordings; epochs have their"):
            read_windows(epochs, **{name: 1.0})


def test_arrays_are_not_preprocessed(raw: mne.io.RawArray) -> None:
    windows = read_windows(raw)
    with pytest.raises(ValueError, match="`highpass` is for recordings and epochs, not for"):
        read_windows(windows, highpass=4.0)
    filtered = read_windows(windows.to_epochs(), highpass=4.0)
    assert len(filtered) == len(windows)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"highpass": 0}, "`highpass` must be above 0, got 0"),
        ({"highpass": True}, "`highpass` must be a number, got True"),
        ({"notch": []}, r"`notch` must have at least one frequency, got \[\]"),
        ({"notch": "fifty"}, "`notch.*` must be a valid number, got 'fifty'"),
        ({"reference": []}, "`reference` must be 'average', 'mastoids' or names of channels, got"),
        ({"window_seconds": 0}, "`window_seconds` must be above 0, got 0"),
        ({"baseline_seconds": (0.0, 0.0)}, "`baseline_seconds` must be a start and a later end"),
        ({"baseline_seconds": 1}, "`baseline_seconds` must be two numbers"),
        ({"reject": 150}, "`reject` must be in volts, such as 150e-6, got 150"),
        ({"offset": float("nan")}, "`offset` must be a finite number"),
    ],
)
def test_refuses(raw: mne.io.RawArray, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ours(raw, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"highpass": 40.0, "lowpass": 30.0}, "`highpass` must be below `lowpass`, 30 Hz, got 40"),
        ({"highpass": 100.0}, "`highpass` must be below half the sampling rate, 100 Hz, got 100"),
        ({"notch": [50.0, 99.5]}, "`notch` must be below half .* 200 Hz and `notch` is 99.5 Hz"),
    ],
)
def test_edges_fit_the_sampling_rate(
    raw: mne.io.RawArray, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        ours(raw, **settings)


def test_settings_as_text() -> None:
    """As on the command line."""
    settings = Preprocessing(
        lowpass="none", notch="50, 100", reference="M1,M2", baseline="-0.2,0", reject="150e-6"
    )
    assert settings == Preprocessing(
        lowpass=None,
        notch=(50.0, 100.0),
        reference=("M1", "M2"),
        baseline=(-0.2, 0.0),
        reject=1.5e-4,
    )
    assert Preprocessing(reference="average").reference == "average"
    assert Preprocessing(reference="none").reference is None


def test_description() -> None:
    assert describe_preprocessing(None) == "none, signals as in the source"
    usual = Preprocessing()
    assert describe_preprocessing(usual) == "no high-pass, low-pass 30 Hz, reference as recorded"
    everything = Preprocessing(
        highpass=0.5,
        lowpass=None,
        notch=50,
        reference=["M1", "M2"],
        sfreq=100,
        baseline=(-0.2, 0),
        reject=150e-6,
    )
    assert describe_preprocessing(everything) == (
        "high-pass 0.5 Hz, no low-pass, notch 50 Hz, reference M1, M2, resampled to 100 Hz, "
        "baseline -0.2 to 0 s, windows above 150 µV rejected"
    )


SETTINGS = [
    {"lowpass": 25.0},
    {"transition": 5.0},
    {"sfreq": 100.0},
    {"seconds": 2.5},
    {"highpass": 1.0},
    {"notch": 50.0},
    {"reference": "average"},
    {"reference": ["M1"]},
    {"reference": ["M2"]},
    {"offset": 0.25},
    {"baseline": (-0.5, 0.0)},
    {"baseline": (-0.5, -0.25)},
    {"reject": 7e-5},
]


def test_every_setting_has_entries_of_its_own_in_the_cache(
    raw: mne.io.RawArray, tmp_path: Path
) -> None:
    """Nothing stale is returned, whatever was read before; the same settings are a hit."""
    path = tmp_path / "a_raw.fif"
    raw.save(path, verbose="error")
    usual = Preprocessing(seconds=3.0)
    assert {name for settings in SETTINGS for name in settings} == set(vars(usual))
    truth = {}
    for settings in [{}, *SETTINGS]:
        preprocessing = replace(usual, **settings)
        arguments = {"preprocessing": preprocessing, "standardise": None, "min_windows": 0}
        fresh = read_windows(path, cache=False, **arguments)
        n_before = len(cache_entries())
        np.testing.assert_array_equal(read_windows(path, **arguments).x, fresh.x)
        n_after = len(cache_entries())
        assert n_after == n_before + 2
        np.testing.assert_array_equal(read_windows(path, **arguments).x, fresh.x)
        assert len(cache_entries()) == n_after
        truth[str(settings)] = fresh.x.numpy().tobytes()
    assert len(set(truth.values())) == len(truth)


def test_bad_channels_that_change_the_reference_are_a_miss(
    raw: mne.io.RawArray, tmp_path: Path
) -> None:
    path = tmp_path / "a_raw.fif"
    arguments = {"channels": ["C3", "C4"], "reference": "average", "standardise": None}
    raw.save(path, verbose="error")
    before = read_windows(path, **arguments)
    raw.info["bads"] = ["Fz"]
    raw.save(path, overwrite=True, verbose="error")
    after = read_windows(path, **arguments)
    np.testing.assert_array_equal(after.x, read_windows(path, cache=False, **arguments).x)
    assert not np.array_equal(after.x, before.x)


@pytest.mark.parametrize(
    "settings",
    [{"lowpass": 30.0, "transition": 2.0}, {"highpass": 0.5}, {"notch": 40.0}, {"lowpass": 30.0}],
)
@pytest.mark.parametrize("seconds", [0.4, 1.0, 3.0, 8.0])
def test_filters_longer_than_epochs(
    settings: dict[str, float], seconds: float, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning, where MNE has one."""
    rng = np.random.default_rng(0)
    info = mne.create_info(["C3", "C4"], 200.0, "eeg")
    data = 1e-5 * rng.standard_normal((4, 2, round(200 * seconds)))
    events = np.column_stack([np.arange(4), np.zeros(4, int), [1, 2, 1, 2]])
    epochs = mne.EpochsArray(data, info, events, event_id={"a": 1, "b": 2}, verbose="error")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        if "notch" in settings:
            mne.filter.notch_filter(data, 200.0, settings["notch"], verbose="warning")
        else:
            mne.filter.filter_data(
                data,
                200.0,
                settings.get("highpass"),
                settings.get("lowpass"),
                h_trans_bandwidth=settings.get("transition", 7.0),
                verbose="warning",
            )
    is_long = any("longer than the signal" in str(warning.message) for warning in found)
    read_windows(epochs, **settings)
    ours = [text for text in caplog.messages if "filter the continuous recording" in text]
    assert bool(ours) == is_long
    assert all(f"longer than the epochs of {seconds:.2g} s" in text for text in ours)


def make_slow(sfreq: float) -> mne.io.RawArray:
    rng = np.random.default_rng(0)
    info = mne.create_info(["C3", "C4"], sfreq, "eeg")
    raw = mne.io.RawArray(
        1e-5 * rng.standard_normal((2, round(60 * sfreq))), info, verbose="error"
    )
    return raw.set_annotations(mne.Annotations([10.0, 30.0], 2.0, ["a", "b"]))


def test_default_lowpass_of_slow_recordings(caplog: pytest.LogCaptureFixture) -> None:
    for sfreq, settings in (
        (64.0, {"lowpass": 30.0, "transition": 2.0}),
        (61.0, {"lowpass": None}),  # a transition band of 0.5 Hz would take a filter of 6.6 s
        (60.0, {"lowpass": None}),
    ):
        raw = make_slow(sfreq)
        windows = read_windows(raw, standardise=None)
        expected = raw.copy()
        if settings["lowpass"]:
            expected.filter(None, 30.0, h_trans_bandwidth=2.0, verbose="error")
        at = [round(10 * sfreq), round(30 * sfreq)]
        truth = [expected.get_data()[:, start : start + round(2 * sfreq)] for start in at]
        np.testing.assert_allclose(windows.x, truth, rtol=1e-4, atol=1e-10)
    assert "raw-1 has 64 Hz: the transition band of the default low-pass is 2 Hz" in caplog.text
    assert "raw-1 has 60 Hz: the default low-pass of 30 Hz is left out." in caplog.messages


def test_given_lowpass_of_slow_recordings(tmp_path: Path) -> None:
    make_slow(64.0).save(tmp_path / "a_raw.fif", verbose="error")
    message = r"lower `lowpass` or `transition`, or `lowpass=None` for no filter\.$"
    with pytest.raises(DataError, match=message):
        read_windows(tmp_path / "a_raw.fif", lowpass=30.0)
    mapping = tmp_path / "mapping.toml"
    classes = '[classes]\na = "a"\nb = "b"\n'
    mapping.write_text(f"seconds = 2.0\nlowpass = 30.0\n{classes}")
    with pytest.raises(DataError, match=message):
        read_windows(mapping)
    mapping.write_text(f"seconds = 2.0\n{classes}")
    assert len(read_windows(mapping)) == 2
