"""Spectra of two subjects, and the frequency shift that makes one more like the other.

Figure 1 of the paper: the peaks of N2 differ between people, by less than shifts of 5 Hz.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pydantic import Field
from scipy.signal import find_peaks

from cadda._internal.limits import MAX_COUNT
from cadda._internal.validation import Pair, check_sfreq
from cadda.data.windows import Windows
from cadda.drawing.panels import panel_grid
from cadda.experiments.study import (
    JobResult,
    Names,
    Record,
    ResultTable,
    Study,
    StudyConfig,
    StudyJob,
)
from cadda.signal.spectral import decibel, power_spectrum, segment_length, shift_frequencies

__all__ = ["FrequencyShiftConfig", "FrequencyShiftStudy"]

PROMINENCE = 4.0
"""Minimum prominence of a peak, in standard errors of the spectrum."""
AROUND = 1.0
"""Spectra are compared from this far below the lower peak to this far above the higher, in Hz."""
MARGIN = 6.0
"""Spectra are drawn this far beyond the band of the peaks, in Hz."""
SECONDS_PER_WINDOW = 0.001
COLOURS = ("#0b63b0", "#c4541a")

Spectrum = NDArray[np.float64]


class FrequencyShiftConfig(StudyConfig):
    """Settings of the study."""

    class_name: str = "N2"
    """Class whose windows are analysed."""
    subjects: Names | None = Field(None, min_length=2, max_length=2)
    """The two subjects; none: those whose peaks are farthest apart."""
    peak_band: Pair = (11.0, 16.0)
    """Band of the peaks in Hz, by default that of sleep spindles."""
    min_windows: int = Field(5, ge=1, le=MAX_COUNT)
    """Minimum number of windows of the class per subject."""


class FrequencyShiftJob(StudyJob):
    """Compare two subjects in one channel."""

    channel: str


class FrequencyShiftResult(JobResult):
    """Peaks and spectra of two subjects, and of the first shifted to the second."""

    class_name: str
    subjects: tuple[str, str]
    n_windows: tuple[int, int]
    peaks: tuple[float, float]
    """In Hz."""
    n_peaks: int
    """Number of subjects with a clear peak."""
    shift: float
    """In Hz."""
    distances: tuple[float, float]
    """Between the spectra, before and after the shift, in dB."""
    frequency: tuple[float, ...]
    spectra: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]
    """Of the first subject, the second, and the first shifted, in dB."""


Records = Sequence[Record[FrequencyShiftJob, FrequencyShiftResult]]


class FrequencyShiftStudy(Study[FrequencyShiftConfig, FrequencyShiftJob, FrequencyShiftResult]):
    """One job per channel."""

    config_type = FrequencyShiftConfig
    job_type = FrequencyShiftJob
    result_type = FrequencyShiftResult
    scales: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "quick": {"n_subjects": 4, "n_windows": 40},
        "cpu": {"n_subjects": 24, "n_windows": 100},
        "paper": {"n_subjects": 83, "n_windows": 900},
    }

    def jobs(self, config: FrequencyShiftConfig, windows: Windows) -> list[FrequencyShiftJob]:
        if config.class_name not in windows.class_names:
            raise ValueError(
                f"`class_name` must be one of {', '.join(windows.class_names)}, got "
                f"{config.class_name!r}."
            )
        low, high = config.peak_band
        nyquist = check_sfreq(windows.sfreq, "this study") / 2
        if not 0 < low < high < nyquist:
            raise ValueError(
                f"`peak_band` must increase from above 0 to below {nyquist:g} Hz, half "
                f"the sampling rate, got {low:g} to {high:g}."
            )
        _of_subjects(config, windows)
        return [FrequencyShiftJob(channel=name) for name in windows.ch_names]

    def expected_seconds(
        self, config: FrequencyShiftConfig, windows: Windows, job: FrequencyShiftJob
    ) -> float:
        return SECONDS_PER_WINDOW * len(windows)

    def run(
        self, config: FrequencyShiftConfig, windows: Windows, job: FrequencyShiftJob
    ) -> FrequencyShiftResult:
        channel = windows.ch_names.index(job.channel)
        sfreq = check_sfreq(windows.sfreq, "this study")
        signals = {name: x[:, channel] for name, x in _of_subjects(config, windows).items()}
        spectra = {name: _spectrum(x, sfreq)[1] for name, x in signals.items()}
        frequency, _ = _spectrum(next(iter(signals.values())), sfreq)
        candidates = {
            name: _peak(frequency, power, _error(signals[name], sfreq), config.peak_band)
            for name, power in spectra.items()
        }
        peaks = {name: peak for name, peak in candidates.items() if peak is not None}
        first, second = _pair(peaks, job.channel, config)
        shift = peaks[second] - peaks[first]
        shifts = torch.full((len(signals[first]),), shift)
        shifted = shift_frequencies(signals[first][:, None], shifts, sfreq)[:, 0]
        _, moved = _spectrum(shifted, sfreq)
        low, high = peaks[first] - AROUND, peaks[second] + AROUND
        compared = (frequency >= low) & (frequency <= high)
        shown = frequency <= config.peak_band[1] + MARGIN
        before, target = spectra[first], spectra[second]
        return FrequencyShiftResult(
            class_name=config.class_name,
            subjects=(first, second),
            n_windows=(len(signals[first]), len(signals[second])),
            peaks=(peaks[first], peaks[second]),
            n_peaks=len(peaks),
            shift=shift,
            distances=(_distance(before, target, compared), _distance(moved, target, compared)),
            frequency=frequency[shown].tolist(),
            spectra=tuple(power[shown].round(3).tolist() for power in (before, target, moved)),
        )

    def table(self, records: Records) -> ResultTable:
        results = [(record.job.channel, record.result) for record in records]
        name = results[0][1].class_name
        return ResultTable(
            f"Peaks of {name} in two subjects, and the effect of shifting the first to the second",
            (
                *("channel", "first", "second", "peak 1 (Hz)", "peak 2 (Hz)", "shift (Hz)"),
                *("before (dB)", "after (dB)"),
            ),
            tuple(
                (channel, *result.subjects, *result.peaks, result.shift, *result.distances)
                for channel, result in results
            ),
            "Before and after: standard deviation of the difference between the spectra, from "
            f"{AROUND:g} Hz below the lower peak to {AROUND:g} Hz above the higher one.",
        )

    def figure(self, records: Records) -> Figure:
        channels = [f"{record.job.channel}, {record.result.class_name}" for record in records]
        figure, panels = panel_grid(channels, "frequency (Hz)", n_columns=3, size=(4.4, 3.4))
        # What a shift leaves empty below it would set the scale.
        levels = [power for record in records for power in record.result.spectra[:2]]
        lowest, highest = min(map(min, levels)), max(map(max, levels))
        for axes, record in zip(panels, records, strict=True):
            _draw(axes, record.result)
        panels[0].set_ylim(lowest - 3, highest + 3)
        figure.supylabel("mean power density (dB)", fontsize=10)
        return figure


def _draw(axes: Axes, result: FrequencyShiftResult) -> None:
    """Draw the spectra of one channel, with their peaks."""
    frequency, names = result.frequency, [_label(name) for name in result.subjects]
    for name, spectrum, peak, colour in zip(
        names, result.spectra, result.peaks, COLOURS, strict=False
    ):
        axes.plot(frequency, spectrum, color=colour, label=f"{name}, peak at {peak:.1f} Hz")
        axes.plot(peak, np.interp(peak, frequency, spectrum), "o", color=colour)
    label = f"{names[0]} shifted by {result.shift:.1f} Hz"
    axes.plot(frequency, result.spectra[2], color=COLOURS[0], linestyle=":", label=label)
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.3)
    axes.margins(x=0)


def _label(subject: str) -> str:
    """Name a subject so that a number is not taken for a quantity."""
    return f"subject {subject}" if subject.isdecimal() else subject


def _of_subjects(config: FrequencyShiftConfig, windows: Windows) -> dict[str, torch.Tensor]:
    """Return the windows of the class by subject, of subjects with enough of them."""
    chosen = windows.y == windows.class_names.index(config.class_name)
    unknown = [name for name in config.subjects or () if name not in windows.subjects]
    if unknown:
        raise ValueError(
            f"`subjects` must be two of {', '.join(windows.subjects[:5])}, …, got {unknown[0]!r}."
        )
    by_subject = {}
    for name in config.subjects or windows.subjects:
        x = windows.x[chosen & torch.from_numpy(windows.subject == name)]
        if len(x) >= config.min_windows:
            by_subject[name] = x
    if len(by_subject) < 2:
        raise ValueError(
            f"two subjects must have at least {config.min_windows} windows of "
            f"{config.class_name} (`min_windows`), but {len(by_subject)} has."
        )
    return by_subject


def _spectrum(x: torch.Tensor, sfreq: float) -> tuple[Spectrum, Spectrum]:
    """Compute frequencies, and the mean power density of windows of one channel in dB."""
    frequency, power = power_spectrum(x, sfreq)
    return frequency, decibel(power.mean(0))


def _error(x: torch.Tensor, sfreq: float) -> float:
    """Compute the standard error of a spectrum in dB; each power is exponentially distributed."""
    n_segments = len(x) * (2 * x.shape[-1] // segment_length(x.shape[-1], sfreq) - 1)
    return float(10 / np.log(10) / np.sqrt(n_segments))


def _peak(
    frequency: Spectrum, spectrum: Spectrum, error: float, band: tuple[float, float]
) -> float | None:
    """Find the most prominent peak in a band, between the frequencies of the spectrum."""
    places, properties = find_peaks(spectrum, prominence=PROMINENCE * error)
    # The summit of the parabola through three values.
    before, top, after = (spectrum[places + i] for i in (-1, 0, 1))
    offset = (before - after) / (2 * (before - 2 * top + after))
    summit = frequency[places] + offset * (frequency[1] - frequency[0])
    inside = (summit >= band[0]) & (summit <= band[1])
    if not inside.any():
        return None
    return float(summit[inside][np.argmax(properties["prominences"][inside])])


def _pair(peaks: dict[str, float], channel: str, config: FrequencyShiftConfig) -> tuple[str, str]:
    """Choose the subjects with the lowest and the highest peak."""
    if len(peaks) < 2:
        low, high = config.peak_band
        raise ValueError(
            f"two subjects must have a clear peak between {low:g} and {high:g} Hz (`peak_band`) "
            f"in {channel}, but {len(peaks)} has."
        )
    return min(peaks, key=peaks.__getitem__), max(peaks, key=peaks.__getitem__)


def _distance(first: Spectrum, second: Spectrum, compared: NDArray[np.bool_]) -> float:
    """Compute the deviation between spectra in dB, whatever their level."""
    return float((first - second)[compared].std())
