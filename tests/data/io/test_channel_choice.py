"""Which channels of a recording are used by default."""

from __future__ import annotations

import logging

import mne
import numpy as np
import pytest

from cadda.data.channels import resolve_montage
from cadda.data.io.read import read_windows

BIOSEMI = [f"{plug}{pin}" for plug in "ABCD" for pin in range(1, 33)]
EGI = [*(f"E{i}" for i in range(1, 17)), "Cz"]


def make_raw(names: list[str]) -> mne.io.RawArray:
    rng = np.random.default_rng(0)
    info = mne.create_info(names, 100.0, "eeg")
    raw = mne.io.RawArray(2e-5 * rng.standard_normal((len(names), 1000)), info, verbose="error")
    return raw.set_annotations(mne.Annotations([1, 4], 2.0, ["left", "right"]))


@pytest.mark.parametrize(
    ("names", "used"),
    [
        (BIOSEMI, BIOSEMI),
        (EGI, EGI),
        (["C3", "C4", "E7", "VEOG"], ["C3", "C4"]),
        (["C3", "EOG1", "EOG2", "chin EMG", "ECG", "Resp"], ["C3"]),
        (["ch1", "ch2", "ECG"], ["ch1", "ch2"]),
    ],
)
def test_default_channels(names: list[str], used: list[str]) -> None:
    assert read_windows(make_raw(names), subject=["a"]).ch_names == tuple(used)


def test_every_channel_of_a_type_on_request() -> None:
    names = ["C3", "C4", "E7", "VEOG"]
    windows = read_windows(make_raw(names), subject=["a"], channels=["eeg"])
    assert windows.ch_names == tuple(names)


@pytest.mark.parametrize(("names", "named"), [(["C3", "C4", "E7", "VEOG"], "E7"), (EGI, "")])
def test_channels_that_are_left_out_are_named(
    names: list[str], named: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="cadda"):
        read_windows(make_raw(names), subject=["a"], highpass=1.0)
    said = [text for text in caplog.messages if "10-20" in text]
    assert [f"are not used: {named};" in text for text in said] == [True] * bool(named)


def test_pins_of_a_biosemi_cap_are_no_electrodes() -> None:
    """C3 of a cap with 128 channels is pin 3 of plug C, right of the midline."""
    montage = resolve_montage(BIOSEMI)
    assert np.isnan(montage.positions).all()
    assert montage.partner == tuple(range(len(BIOSEMI)))
    assert resolve_montage(["C3", "C4", "A1"]).partner == (1, 0, 2)
