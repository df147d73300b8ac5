"""Channel names as people write them."""

from __future__ import annotations

import mne
import numpy as np
import pytest

from cadda.data.channels import electrodes, measured_positions, resolve_montage


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("C3", ("C3",)),
        ("c3", ("C3",)),
        ("EEG C3", ("C3",)),
        ("EEG C3-REF", ("C3",)),
        ("EEG C3-LE", ("C3",)),
        ("EEG C3-CLE", ("C3",)),
        ("eeg fpz-cz", ("Fpz", "Cz")),
        ("Fpz-Cz", ("Fpz", "Cz")),
        ("C3-A2", ("C3", "A2")),
        ("C3A2", ("C3", "A2")),
        ("C4:M1", ("C4", "M1")),
        ("F3/M2", ("F3", "M2")),
        ("Fc5.", ("FC5",)),
        ("C3..", ("C3",)),
        ("FP1", ("Fp1",)),
        ("T3", ("T3",)),
        ("EOG horizontal", ()),
        ("ECG", ()),
        ("E12", ()),
        ("", ()),
    ],
)
def test_names(name: str, expected: tuple[str, ...]) -> None:
    assert electrodes(name) == expected


def test_positions_are_around_the_centre_of_the_head() -> None:
    names = ["Fpz", "Oz", "T7", "T8", "Cz"]
    front, back, left, right, top = resolve_montage(names).positions
    assert front[1] > 0.06 > -0.06 > back[1]
    assert right[0] > 0.06 > -0.06 > left[0]
    assert top[2] > 0.07
    radii = np.linalg.norm(resolve_montage(names).positions, axis=1)
    assert np.ptp(radii) < 0.02


def test_derivation_is_where_its_first_electrode_is() -> None:
    montage = resolve_montage(["Fpz-Cz", "Fpz", "ECG"])
    np.testing.assert_array_equal(montage.positions[0], montage.positions[1])
    assert np.isnan(montage.positions[2]).all()


@pytest.mark.parametrize(
    ("names", "partner"),
    [
        (["C3", "Cz", "C4"], (2, 1, 0)),
        (["c3", "C4"], (1, 0)),
        (["Fpz", "Pz"], (0, 1)),
        (["EEG Fpz-Cz", "EEG Pz-Oz"], (0, 1)),
        (["Fpz-Cz", "Pz-Oz", "C3-A2", "C4-A1"], (0, 1, 3, 2)),
        (["C3-A2", "C4-A2"], (1, 0)),
        (["F3-C3", "F4-C4", "O1-A2"], (1, 0, 2)),
        (["FC1", "FC2", "FFC1h", "FFC2h"], (1, 0, 3, 2)),
        (["P9", "P10", "T7", "T8"], (1, 0, 3, 2)),
        (["C3", "ECG"], (0, 1)),
        (["Fc3.", "Fc4."], (1, 0)),
    ],
)
def test_partners(names: list[str], partner: tuple[int, ...]) -> None:
    assert resolve_montage(names).partner == partner


def test_channels_that_have_neither_partner_nor_position() -> None:
    montage = resolve_montage(["C3", "E1-C3", "Cz", "F3", "C4", "STATUSX", "Fpz-Cz"])
    assert montage.n_pairs == 1
    assert montage.unpaired == (1, 3, 5)
    assert montage.unlocated == (1, 5)


def test_the_midline_of_a_net_is_where_it_has_no_side() -> None:
    net = mne.channels.make_standard_montage("GSN-HydroCel-32")
    info = mne.create_info(net.ch_names, 100.0, "eeg").set_montage(net)
    montage = resolve_montage(net.ch_names, measured_positions(info))
    middle = [i for i, own in enumerate(montage.is_midline) if own]
    assert middle
    assert np.abs(montage.positions[middle, 0]).max() < 0.01
    assert not set(middle) & set(montage.unpaired)


def test_net_without_standard_names_is_paired_by_position() -> None:
    net = mne.channels.make_standard_montage("GSN-HydroCel-32")
    info = mne.create_info(net.ch_names, 100.0, "eeg").set_montage(net)
    montage = resolve_montage(net.ch_names, measured_positions(info))
    assert np.isfinite(montage.positions).all()
    paired = [i for i, other in enumerate(montage.partner) if i != other]
    assert len(paired) >= 24
    for i in paired:
        image = montage.positions[i] * (-1, 1, 1)
        assert np.linalg.norm(montage.positions[montage.partner[i]] - image) < 0.02


def test_positions_of_the_recording_come_first() -> None:
    info = mne.create_info(["C3", "C4", "EMG"], 100.0, "eeg")
    own = mne.channels.make_dig_montage(
        {"C3": [-0.05, 0, 0.1], "C4": [0.05, 0, 0.1]}, coord_frame="head"
    )
    info.set_montage(own, on_missing="ignore")
    measured = measured_positions(info)
    assert measured is not None
    assert np.isnan(measured[2]).all()
    moved = resolve_montage(info.ch_names, measured).positions
    np.testing.assert_allclose(moved[0], [-0.05, 0, 0.06])
    assert np.isnan(moved[2]).all()


def test_no_positions_at_all() -> None:
    assert measured_positions(mne.create_info(["C3"], 100.0, "eeg")) is None
