"""Names of channels as people write them, compared."""

from __future__ import annotations

import pytest

from cadda.data.channels import find_channels, same_channels
from cadda.data.io.sleep_edf import NAMING_SCHEMES
from cadda.data.simulation.nights import simulate_sleep
from cadda.exceptions import DataError


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (["Fpz-Cz", "Pz-Oz"], ["EEG Fpz-Cz", "EEG Pz-Oz"], True),
        (["C3"], ["c3.."], True),
        (["C3"], ["EEG C3-CLE"], True),
        (["C3"], ["C3-A2"], True),
        (["C3-A2"], ["C3"], True),
        (["C3A2"], ["C3:A2"], True),
        (["row 0", "row 1"], ["row 0", "row 1"], True),
        (["EOG left"], ["eog left"], True),
        (["C3-A2"], ["C3-A1"], False),
        (["Fpz-Cz"], ["Fpz"], False),
        (["C3", "C4"], ["C4", "C3"], False),
        (["C3", "C4"], ["C3"], False),
        (["row 0"], ["row 1"], False),
        (["ECG"], ["EMG"], False),
    ],
)
def test_same_channels(first: list[str], second: list[str], expected: bool) -> None:
    assert same_channels(first, second) is expected
    assert same_channels(second, first) is expected


def test_simulated_and_real_nights_have_the_same_names() -> None:
    by_title = {scheme.title: scheme.channels for scheme in NAMING_SCHEMES}
    physionet = simulate_sleep(1, 10).ch_names
    assert physionet == by_title["Sleep Physionet"]
    assert simulate_sleep(1, 10, montage="mass").ch_names == by_title["MASS"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("M1", "it has 'O1', 'O2', 'C3', 'VEOGL'."),
        ("O3", "did you mean 'O2' or 'O1'?"),
        ("VEOGR", "did you mean 'VEOGL'?"),
    ],
)
def test_suggestions_share_the_letters(name: str, hint: str) -> None:
    with pytest.raises(DataError) as error:
        find_channels([name], ["O1", "O2", "C3", "VEOGL"], "a.edf")
    assert str(error.value).endswith(hint)
