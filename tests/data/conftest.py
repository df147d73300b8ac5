"""Recordings that the tests write themselves, and a cache of their own."""

from __future__ import annotations

import datetime
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import edfio
import numpy as np
import pytest
from losses import Losses

from cadda import DataWarning

START = datetime.time(22, 0, 0)

WriteEdf = Callable[..., Path]
WriteNight = Callable[..., Path]


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that no other test sees."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("CADDA_CACHE", str(folder))
    return folder


@pytest.fixture
def losses() -> Iterator[Losses]:
    """Warnings of lost data, instead of showing them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        yield Losses(caught)


@pytest.fixture
def shared_data() -> Path:
    """Real recordings: CADDA_TEST_DATA, or the folder beside the repository."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("CADDA_TEST_DATA", beside))
    if not folder.is_dir():
        pytest.skip("real recordings are not here; set CADDA_TEST_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def write_edf() -> WriteEdf:
    """Write an EDF file from signals in microvolts and (onset, duration, text)."""

    def write(
        path: Path,
        signals: dict[str, np.ndarray],
        sfreq: float | Sequence[float] = 100.0,
        annotations: Sequence[tuple[float, float | None, str]] = (),
        start: datetime.time = START,
    ) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        rates = [sfreq] * len(signals) if isinstance(sfreq, float | int) else sfreq
        channels = [
            edfio.EdfSignal(
                values,
                sampling_frequency=rate,
                label=label,
                physical_dimension="uV",
                physical_range=(-300, 300),
            )
            for (label, values), rate in zip(signals.items(), rates, strict=True)
        ]
        notes = [edfio.EdfAnnotation(*note) for note in annotations]
        edf = edfio.Edf(channels, annotations=notes, starttime=start)
        edf.write(path)
        return path

    return write


@pytest.fixture(scope="session")
def write_night(write_edf: WriteEdf) -> WriteNight:
    """Write a recording and its hypnogram, named as in Sleep Physionet or MASS."""

    def write(
        folder: Path,
        name: str = "SC4001",
        stages: Sequence[str] = ("W", "1", "2", "3", "4", "R") * 2,
        *,
        sfreq: float = 100.0,
        channels: Sequence[str] | None = None,
        seconds: float | None = None,
        seed: int = 0,
    ) -> Path:
        rng = np.random.default_rng(seed)
        is_mass = "-" in name
        if channels is None:
            channels = (
                [f"EEG {c}-CLE" for c in ("C3", "C4", "F3", "F4", "O1", "O2", "Pz")]
                if is_mass
                else ["EEG Fpz-Cz", "EEG Pz-Oz", "EOG horizontal"]
            )
        n_times = round(sfreq * (30 * len(stages) if seconds is None else seconds))
        signals = {c: np.clip(20 * rng.standard_normal(n_times), -250, 250) for c in channels}
        psg = folder / (f"{name} PSG.edf" if is_mass else f"{name}E0-PSG.edf")
        hypnogram = folder / (f"{name} Base.edf" if is_mass else f"{name}EC-Hypnogram.edf")
        write_edf(psg, signals, sfreq)
        texts = [stage if " " in stage else f"Sleep stage {stage}" for stage in stages]
        write_edf(hypnogram, {}, annotations=[(30 * i, 30, t) for i, t in enumerate(texts)])
        return psg

    return write
