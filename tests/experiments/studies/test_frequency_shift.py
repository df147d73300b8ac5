"""The frequency shift between two subjects, found in simulated sleep where it is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cadda import Windows, simulate_sleep
from cadda.data.simulation.nights import simulated_subject
from cadda.experiments.studies.frequency_shift import (
    FrequencyShiftConfig,
    FrequencyShiftJob,
    FrequencyShiftStudy,
)
from cadda.experiments.study import Record

STUDY = FrequencyShiftStudy()
CONFIG = FrequencyShiftConfig()


@pytest.fixture(scope="module")
def windows() -> Windows:
    return simulate_sleep(n_subjects=6, n_windows=60)


def tones(frequencies: dict[str, float], n_windows: int = 6) -> Windows:
    """Make subjects with one rhythm each in white noise."""
    generator = torch.Generator().manual_seed(0)
    time = torch.arange(1000) / 100
    x, subjects = [], []
    for name, frequency in frequencies.items():
        phase = 6.28 * torch.rand(n_windows, 1, 1, generator=generator)
        wave = torch.sin(6.283185 * frequency * time + phase)
        x.append(wave + 0.5 * torch.randn(n_windows, 1, 1000, generator=generator))
        subjects += [name] * n_windows
    y = [0, 1] * (len(subjects) // 2)
    names = {"ch_names": ["Cz"], "class_names": ["N2", "other"]}
    return Windows(torch.cat(x), y, subject=subjects, sfreq=100.0, **names)


def test_shift_between_known_rhythms() -> None:
    windows = tones({"a": 13.2, "b": 14.9, "c": 13.9})
    config = FrequencyShiftConfig(min_windows=3)
    (job,) = STUDY.jobs(config, windows)
    result = STUDY.run(config, windows, job)
    assert result.subjects == ("a", "b")
    assert result.peaks == pytest.approx([13.2, 14.9], abs=0.1)
    assert result.shift == pytest.approx(1.7, abs=0.15)
    before, after = result.distances
    assert after < before / 3
    frequency = np.array(result.frequency)
    assert frequency[np.argmax(result.spectra[2])] == pytest.approx(14.9, abs=0.25)


def test_subjects_may_be_named() -> None:
    windows = tones({"a": 13.2, "b": 14.9, "c": 13.9})
    config = FrequencyShiftConfig(min_windows=3, subjects=("c", "b"))
    result = STUDY.run(config, windows, FrequencyShiftJob(channel="Cz"))
    assert result.subjects == ("c", "b")
    assert result.shift == pytest.approx(1.0, abs=0.15)


def test_peaks_are_those_of_the_simulated_sleepers(windows: Windows) -> None:
    """Fast spindles are stronger on these channels."""
    truth = [simulated_subject(i).peaks["fast spindle"] for i in range(6)]
    for job in STUDY.jobs(CONFIG, windows):
        result = STUDY.run(CONFIG, windows, job)
        places = [windows.subjects.index(name) for name in result.subjects]
        assert result.peaks == pytest.approx([truth[i] for i in places], abs=0.5)
        assert result.peaks[1] > result.peaks[0]


def test_table_and_figure(windows: Windows) -> None:
    jobs = STUDY.jobs(CONFIG, windows)
    records = [Record(job, STUDY.run(CONFIG, windows, job)) for job in jobs]
    table = STUDY.table(records)
    assert [row[0] for row in table.rows] == ["Fpz-Cz", "Pz-Oz"]
    for row, record in zip(table.rows, records, strict=True):
        shown = dict(zip(table.columns, row, strict=True))
        assert shown["shift (Hz)"] == record.result.shift
        assert shown["peak 2 (Hz)"] > shown["peak 1 (Hz)"]
    panels = STUDY.figure(records).axes
    assert len(panels) == 2
    for axes, record in zip(panels, records, strict=True):
        spectra = [line for line in axes.lines if len(line.get_ydata()) > 1]
        assert tuple(tuple(line.get_ydata()) for line in spectra) == record.result.spectra
        peaks = [line.get_xdata()[0] for line in axes.lines if len(line.get_ydata()) == 1]
        assert tuple(peaks) == record.result.peaks


def test_subjects_that_are_numbers_are_called_subjects() -> None:
    windows = tones({"16": 13.2, "sub-20": 14.9})
    config = FrequencyShiftConfig(min_windows=3)
    record = Record(
        FrequencyShiftJob(channel="Cz"),
        STUDY.run(config, windows, FrequencyShiftJob(channel="Cz")),
    )
    legend = STUDY.figure([record]).axes[0].get_legend()
    assert legend is not None
    words = [text.get_text().split(",")[0].split(" shifted")[0] for text in legend.get_texts()]
    assert words == ["subject 16", "sub-20", "subject 16"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"class_name": "S2"}, "`class_name` must be one of W, N1, N2, N3, R, got 'S2'"),
        ({"peak_band": (11, 60)}, "`peak_band` must increase from above 0 to below 50 Hz"),
        ({"subjects": ("sub-01", "x")}, r"`subjects` must be two of sub-01, .*, got 'x'"),
        ({"min_windows": 500}, "two subjects must have at least 500 windows of N2"),
    ],
)
def test_mistakes(changes: dict[str, object], message: str, windows: Windows) -> None:
    with pytest.raises(ValueError, match=message):
        STUDY.jobs(CONFIG.model_copy(update=changes), windows)


def test_no_peaks() -> None:
    windows = tones({"a": 5.0, "b": 6.0})
    with pytest.raises(ValueError, match=r"a clear peak between 11 and 16 Hz .* in Cz, but 0 has"):
        STUDY.run(FrequencyShiftConfig(min_windows=3), windows, FrequencyShiftJob(channel="Cz"))
