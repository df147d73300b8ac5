"""Fetching, with a fetcher that needs no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mne
import pytest

from cadda.data.datasets.sleep_physionet import available_nights, fetch_sleep_physionet
from cadda.exceptions import DataError


def test_all_nights_of_sleep_physionet() -> None:
    nights = available_nights(range(83))
    assert len(nights) == 153
    assert len({subject for subject, _ in nights}) == 78
    assert available_nights([13, 13], [2, 1]) == [(13, 1)]


@pytest.mark.parametrize(
    ("subjects", "recordings", "message"),
    [
        ([83], [1], r"`subjects` must be numbers from 0 to 82, got \[83\]"),
        ([], [1], "`subjects` must be numbers from 0 to 82, got none"),
        ([0], [3], r"`recordings` must be 1, 2 or both, got \[3\]"),
        ([0], [], r"`recordings` must be 1, 2 or both, got \[\]"),
        ([39], [1, 2], r"`subjects` must have at least one night: \[39, 68, 69, 78, 79\] do not"),
        ([13], [2], r"the nights \[\(13, 2\), \(36, 1\), \(52, 1\)\] were lost"),
    ],
)
def test_refuses(subjects: list[int], recordings: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fetch_sleep_physionet(subjects, recordings)


class Fetcher:
    """Does what MNE's fetcher does, up to a night that fails."""

    def __init__(self, folder: Path, error: Exception | None = None) -> None:
        self.folder, self.error, self.fetched = folder, error, 0

    def __call__(self, **arguments: Any) -> list[list[str]]:
        assert arguments["on_missing"] == "ignore"
        (subject,), (night,) = arguments["subjects"], arguments["recording"]
        if subject == 2 and self.error is not None:
            raise self.error
        stem = f"SC4{subject:02d}{night}E"
        pair = [self.folder / f"{stem}0-PSG.edf", self.folder / f"{stem}C-Hypnogram.edf"]
        for path in pair:
            self.fetched += not path.exists()
            path.touch()
        return [[str(path) for path in pair]]


@pytest.fixture
def fetcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fetcher:
    one = Fetcher(tmp_path)
    monkeypatch.setattr(mne.datasets.sleep_physionet.age, "fetch_data", one)
    return one


def test_progress_and_pairs(tmp_path: Path, fetcher: Fetcher) -> None:
    seen: list[tuple[int, int, str]] = []
    pairs = fetch_sleep_physionet([0, 1], [1], on_progress=lambda *step: seen.append(step))
    assert [psg.name for psg, _ in pairs] == ["SC4001E0-PSG.edf", "SC4011E0-PSG.edf"]
    assert pairs[0][1].name == "SC4001EC-Hypnogram.edf"
    assert seen == [(0, 2, "night 1 of subject 0"), (1, 2, "night 1 of subject 1"), (2, 2, "")]


class ConnectionError(Exception):
    """As network libraries call theirs."""


def test_a_failure_keeps_what_is_complete_and_can_be_resumed(fetcher: Fetcher) -> None:
    fetcher.error = ConnectionError("HTTPSConnectionPool(…)\nmany lines")
    with pytest.raises(
        DataError,
        match=r"night 1 of subject 2 \(no connection to physionet.org\); "
        r"4 of 6 nights are complete",
    ):
        fetch_sleep_physionet([0, 1, 2])
    assert fetcher.fetched == 8
    fetcher.error = None
    assert len(fetch_sleep_physionet([0, 1, 2])) == 6
    assert fetcher.fetched == 12


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(28, "No space left on device"), r"\(No space left on device\)"),
        (ValueError("SHA1 hash of downloaded file does not match"), "ValueError: SHA1 hash"),
    ],
)
def test_other_failures(fetcher: Fetcher, error: Exception, reason: str) -> None:
    fetcher.error = error
    with pytest.raises(DataError, match=reason):
        fetch_sleep_physionet([2])
