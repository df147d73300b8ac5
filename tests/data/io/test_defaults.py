"""Default filters by task, against MNE's own filters."""

from __future__ import annotations

import warnings
from pathlib import Path

import mne
import numpy as np
import pytest

import cadda
from cadda.data.io.options import ReadOptions
from cadda.data.io.preprocess import Preprocessing
from cadda.data.io.read import read_windows
from cadda.data.io.read_result import read_with_quality
from cadda.exceptions import DataWarning

ONSETS = [5.0, 15.0, 25.0, 35.0]


def make_raw(*texts: str, sfreq: float = 100.0) -> mne.io.RawArray:
    """Forty-five seconds of white noise with two annotations of each text in turn."""
    signals = 2e-5 * np.random.default_rng(0).standard_normal((2, round(45 * sfreq)))
    raw = mne.io.RawArray(signals, mne.create_info(["C3", "C4"], sfreq, "eeg"), verbose="error")
    return raw.set_annotations(mne.Annotations(ONSETS, 4.0, [*texts, *texts]))


def filtered(
    raw: mne.io.RawArray, highpass: float | None, lowpass: float | None, transition: float = 7.0
) -> np.ndarray:
    """Return the annotated windows after MNE's filter of the whole recording."""
    made = raw.copy().filter(highpass, lowpass, h_trans_bandwidth=transition, verbose="error")
    rate = raw.info["sfreq"]
    starts = [round(onset * rate) for onset in ONSETS]
    return np.stack([made.get_data(start=at, stop=at + round(4 * rate)) for at in starts])


def close(windows: np.ndarray, expected: np.ndarray) -> bool:
    return np.allclose(windows, expected, rtol=1e-5, atol=1e-11)


def test_movement_is_filtered_from_4_to_38_hz() -> None:
    raw = make_raw("left_hand", "right_hand")
    with pytest.warns(DataWarning, match=r"high-pass of 4 Hz; keep it with `highpass=None`"):
        windows = read_windows(raw, standardise=None)
    assert close(windows.x, filtered(raw, 4.0, 38.0))


def test_other_tasks_are_filtered_as_in_the_paper() -> None:
    raw = make_raw("standard", "target")
    result = read_with_quality(raw, ReadOptions(standardise=None))
    assert close(result.windows.x, filtered(raw, None, 30.0))
    assert result.defaults.startswith("no high-pass, low-pass 30 Hz")


@pytest.mark.parametrize(
    ("settings", "highpass", "lowpass"),
    [
        ({"highpass": None}, None, 38.0),
        ({"highpass": 1.0}, 1.0, 38.0),
        ({"lowpass": 20.0}, 4.0, 20.0),
        ({"lowpass": 3.0}, None, 3.0),  # slow activity alone is asked for
    ],
)
def test_what_is_given_comes_before_the_task(
    settings: dict[str, float | None], highpass: float | None, lowpass: float
) -> None:
    raw = make_raw("left", "right")
    result = read_with_quality(raw, ReadOptions(standardise=None, settings=settings))
    assert close(result.windows.x, filtered(raw, highpass, lowpass))
    # Defaults are what would be done without options.
    assert result.defaults.startswith("high-pass 4 Hz, low-pass 38 Hz")


def test_preprocessing_as_a_whole_is_that_of_no_task() -> None:
    raw = make_raw("left", "right")
    preprocessing = Preprocessing(seconds=4.0)
    result = read_with_quality(raw, ReadOptions(standardise=None, preprocessing=preprocessing))
    assert close(result.windows.x, filtered(raw, None, 30.0))


def test_the_task_is_that_of_the_selected_classes() -> None:
    raw = make_raw("left", "right")
    raw.set_annotations(raw.annotations + mne.Annotations([10.0, 20.0], 4.0, ["rest", "task"]))
    result = read_with_quality(raw, ReadOptions(classes=["rest", "task"]))
    assert (result.task, result.preprocessing) == ("other", Preprocessing(seconds=4.0))


def test_low_sampling_rate() -> None:
    """Between 38 and 40 Hz, a transition band of 2 Hz is possible."""
    raw = make_raw("left", "right", sfreq=80.0)
    result = read_with_quality(raw, ReadOptions(standardise=None))
    assert close(result.windows.x, filtered(raw, 4.0, 38.0, transition=2.0))


def test_keys_of_a_mapping_file_come_before_the_task(tmp_path: Path) -> None:
    raw = make_raw("T1", "T2")
    raw.save(tmp_path / "a_raw.fif", verbose="error")
    classes = "[classes]\nT1 = 'left'\nT2 = 'right'"
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(f"seconds = 4.0\n{classes}")
    assert close(read_windows(mapping, standardise=None).x, filtered(raw, 4.0, 38.0))
    mapping.write_text(f"seconds = 4.0\nhighpass = false\nlowpass = 25.0\n{classes}")
    result = read_with_quality(mapping, ReadOptions(standardise=None))
    assert close(result.windows.x, filtered(raw, None, 25.0))
    told = "with those of the mapping file, no high-pass, low-pass 25 Hz"
    assert result.defaults.startswith(told)


@pytest.mark.parametrize(
    ("sfreq", "resampled", "highpass", "lowpass"),
    [
        (64.0, None, 4.0, 30.0),  # as for others: 38 Hz is above half the rate
        (100.0, 70.0, 4.0, 30.0),
        (8.0, None, None, None),
        (100.0, 6.0, None, 30.0),
    ],
)
def test_filters_that_a_sampling_rate_does_not_allow(
    sfreq: float, resampled: float | None, highpass: float | None, lowpass: float | None
) -> None:
    settings = {} if resampled is None else {"sfreq": resampled}
    raw = make_raw("left", "right", sfreq=sfreq)
    result = read_with_quality(raw, ReadOptions(standardise=None, settings=settings))
    assert result.preprocessing is not None
    assert (result.preprocessing.highpass, result.preprocessing.lowpass) == (highpass, lowpass)


def test_windows_have_their_filters() -> None:
    raw = make_raw("left", "right")
    filters = {"highpass": 4.0, "lowpass": 38.0, "transition": 7.0}
    windows = read_windows(raw)
    assert windows.filters == filters
    assert (
        windows[:2].standardised().filters
        == read_windows(windows, classes=["right", "left"]).filters
        == filters
    )
    epochs = windows.to_epochs()
    assert read_windows(epochs).filters == {"highpass": None, "lowpass": None}
    assert read_windows(epochs, highpass=1.0).filters == {"highpass": 1.0, "lowpass": None}
    assert cadda.simulate_sleep(n_subjects=2, n_windows=10).filters is None


def test_evaluate_warns_of_other_filters() -> None:
    raws = [make_raw("left", "right") for _ in range(3)]
    windows = read_windows(raws, subject=["a", "b", "c"])
    parts = [windows.of_subjects([name]) for name in "abc"]
    fitted = cadda.fit(*parts[:2], model="shallow", max_epochs=1, progress=False)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        cadda.evaluate(fitted, parts[2])
        assert not any("filters" in str(warning.message) for warning in shown)
    other = read_windows(raws, subject=["a", "b", "c"], highpass=None).of_subjects(["c"])
    with pytest.warns(UserWarning, match=r"highpass=4, .* these have highpass=None, lowpass=38"):
        cadda.evaluate(fitted, other)
