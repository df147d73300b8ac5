"""Preprocessing of signals: filters, sampling rate, baseline and rejection by amplitude."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field

from cadda._internal.limits import MAX_SECONDS
from cadda._internal.validation import (
    Pair,
    Positive,
    SamplingRate,
    split_commas,
    validated_dataclass,
)
from cadda.exceptions import DataError

__all__ = [
    "MIN_TRANSITION",
    "Preprocessing",
    "describe_defaults",
    "describe_filters",
    "describe_preprocessing",
    "exceeds",
    "filter_reach",
    "filter_signal",
    "fit_lowpass",
    "reach_in_samples",
    "sampling_ratio",
    "warn_of_long_filter",
]

_logger = logging.getLogger(__name__)

_NOTCH_TRANSITION = 0.5
"""Width of the transition bands of MNE's notch filter in Hz."""

MIN_TRANSITION = 1.0
"""Narrowest transition band of the default low-pass in Hz; a narrower one takes a long filter."""

_FIR_FACTOR = 3.3
"""Length of MNE's filters in seconds times the width of the transition band in Hz."""


def _read_reference(value: Any) -> Any:
    """Read ``average``, ``mastoids``, or names of channels, also as text with commas."""
    if isinstance(value, str) and value in ("average", "mastoids"):
        return value
    names = split_commas(value)
    if not isinstance(names, list | tuple) or not names or not all(names):
        raise ValueError("must be 'average', 'mastoids' or names of channels")
    return tuple(names)


def _check_frequencies(frequencies: tuple[float, ...]) -> tuple[float, ...]:
    if not frequencies:
        raise ValueError("must have at least one frequency")
    return frequencies


def _check_baseline(baseline: tuple[float, float]) -> tuple[float, float]:
    if not baseline[0] < baseline[1]:
        raise ValueError("must be a start and a later end, in seconds")
    return baseline


def _check_volts(amplitude: float) -> float:
    if amplitude >= 0.1:
        raise ValueError("must be in volts, such as 150e-6")
    return amplitude


Frequencies: TypeAlias = Annotated[
    tuple[Positive, ...], BeforeValidator(split_commas), AfterValidator(_check_frequencies)
]
Reference: TypeAlias = Annotated[str | tuple[str, ...], BeforeValidator(_read_reference)]
Baseline: TypeAlias = Annotated[Pair, AfterValidator(_check_baseline)]
Offset: TypeAlias = Annotated[
    Annotated[float, Field(allow_inf_nan=False)], Field(ge=-MAX_SECONDS, le=MAX_SECONDS)
]
Amplitude: TypeAlias = Annotated[Positive, AfterValidator(_check_volts)]


@validated_dataclass
class Preprocessing:
    """What is done to a recording before it is cut; the defaults are those of the paper.

    Filters are MNE's, with zero phase and MNE's lengths.

    Parameters
    ----------
    lowpass : float | None
        Upper edge of the pass band in Hz; None does not filter.
    transition : float
        Width of the transition band above it in Hz.
    sfreq : float | None
        Sampling rate to resample to in Hz; None keeps that of the recording.
    seconds : float
        Length of a window.
    highpass : float | None
        Lower edge of the pass band in Hz; None does not filter.
    notch : sequence of float | None
        Frequencies in Hz to remove, such as those of the mains.
    reference : "average" | "mastoids" | sequence of str | None
        ``"average"`` subtracts the mean of all good EEG channels of the recording,
        ``"mastoids"`` that of M1 and M2, A1 and A2, or TP9 and TP10, names of channels the mean of
        these; None keeps the reference.
    offset : float
        Start of a window after its annotation in seconds.
    baseline : tuple of float | None
        Start and end, in seconds after the annotation, of the time whose mean is subtracted from
        each channel of the window.
    reject : float | None
        Drop windows with a larger peak-to-peak amplitude in any channel, in volts, after
        filtering.
    """

    lowpass: Positive | None = 30.0
    transition: Positive = 7.0
    sfreq: SamplingRate | None = None
    seconds: Annotated[Positive, Field(le=MAX_SECONDS)] = 30.0
    highpass: Positive | None = None
    notch: Frequencies | None = None
    reference: Reference | None = None
    offset: Offset = 0.0
    baseline: Baseline | None = None
    reject: Amplitude | None = None

    def rate(self, sfreq: float) -> float:
        """Return the sampling rate of the windows.

        Parameters
        ----------
        sfreq : float
            Sampling rate of the recording in Hz.

        Returns
        -------
        float
            Sampling rate in Hz.
        """
        return sfreq if self.sfreq is None else float(self.sfreq)

    @property
    def filters(self) -> dict[str, float | None]:
        """Edges of the pass band, as arguments of `cadda.read_windows` in Hz."""
        edges = {"highpass": self.highpass, "lowpass": self.lowpass}
        return edges if self.lowpass is None else {**edges, "transition": self.transition}

    def extent(self) -> tuple[float, float]:
        """Return what is read for a window, from its start on.

        Returns
        -------
        first, last : float
            In seconds; the baseline may be before or after the window.
        """
        if self.baseline is None:
            return 0.0, self.seconds
        begin, end = self.baseline
        return min(0.0, begin - self.offset), max(self.seconds, end - self.offset)


def describe_filters(filters: Mapping[str, float | None]) -> str:
    """Return such as ``"highpass=4, lowpass=38, transition=7"``."""
    given = filters.items()
    return ", ".join(f"{name}={'None' if edge is None else f'{edge:g}'}" for name, edge in given)


def describe_preprocessing(preprocessing: Preprocessing | None) -> str:
    """Return what is done to the signals, in one line."""
    if preprocessing is None:
        return "none, signals as in the source"
    return ", ".join(_steps(preprocessing))


def describe_defaults(preprocessing: Preprocessing, length: str | None = None) -> str:
    """Return what is done to recordings without options; `length` is that of windows."""
    if length is None:
        length = f"windows of {preprocessing.seconds:g} s"
    return f"{describe_preprocessing(preprocessing)}, {length}"


def _steps(preprocessing: Preprocessing) -> Iterator[str]:
    highpass, lowpass = preprocessing.highpass, preprocessing.lowpass
    yield "no high-pass" if highpass is None else f"high-pass {highpass:g} Hz"
    yield "no low-pass" if lowpass is None else f"low-pass {lowpass:g} Hz"
    if preprocessing.notch is not None:
        yield f"notch {', '.join(f'{frequency:g}' for frequency in preprocessing.notch)} Hz"
    if preprocessing.reference is None:
        yield "reference as recorded"
    elif preprocessing.reference == "average":
        yield "average reference"
    elif preprocessing.reference == "mastoids":
        yield "reference at the mastoids"
    else:
        yield f"reference {', '.join(preprocessing.reference)}"
    if preprocessing.sfreq is not None:
        yield f"resampled to {preprocessing.sfreq:g} Hz"
    if preprocessing.baseline is not None:
        begin, end = preprocessing.baseline
        yield f"baseline {begin:g} to {end:g} s"
    if preprocessing.reject is not None:
        yield f"windows above {1e6 * preprocessing.reject:g} µV rejected"


def sampling_ratio(sfreq: float, rate: float) -> Fraction:
    """Return new samples per old one; over a day, the error is below a millisecond."""
    return Fraction(rate / sfreq).limit_denominator(20_000)


def filter_reach(preprocessing: Preprocessing) -> float:
    """Return how many seconds on each side a filtered sample depends on: half of each filter."""
    widths = []
    if preprocessing.lowpass is not None or preprocessing.highpass is not None:
        lower = preprocessing.transition
        if preprocessing.highpass is not None:
            lower = min(lower, _highpass_transition(preprocessing.highpass))
        widths.append(lower)
    if preprocessing.notch is not None:
        widths.append(_NOTCH_TRANSITION)
    return sum(_FIR_FACTOR / 2 / width for width in widths)


def reach_in_samples(preprocessing: Preprocessing, sfreq: float) -> int:
    """Return how many samples on each side of a window it depends on, at most."""
    reach = math.ceil(filter_reach(preprocessing) * sfreq)
    rate = preprocessing.rate(sfreq)
    if not _is_decimated(preprocessing, sfreq):
        # The resampler has ten samples of the lower rate on each side.
        reach += math.ceil(10 * max(1.0, sfreq / rate))
    # A new sample is at most one step of the new rate from the old one.
    return reach + (0 if rate == sfreq else math.ceil(sfreq / rate))


def warn_of_long_filter(preprocessing: Preprocessing, seconds: float, where: str) -> None:
    """Warn if a filter is longer than the epochs, of `seconds`, that it is applied to."""
    lowpass, highpass, notch = preprocessing.lowpass, preprocessing.highpass, preprocessing.notch
    widths = {
        "lowpass": None if lowpass is None else preprocessing.transition,
        "highpass": None if highpass is None else _highpass_transition(highpass),
        "notch": None if notch is None else _NOTCH_TRANSITION,
    }
    lengths = {name: _FIR_FACTOR / width for name, width in widths.items() if width}
    longest = max(lengths, key=lambda name: lengths[name], default=None)
    if longest is not None and lengths[longest] > seconds:
        _logger.warning(
            "%s: the filter of `%s` has %.2g s, longer than the epochs of %.2g s, which it "
            "distorts; filter the continuous recording before epoching.",
            where,
            longest,
            lengths[longest],
            seconds,
        )


def fit_lowpass(preprocessing: Preprocessing, sfreq: float, where: str) -> Preprocessing:
    """Return preprocessing whose default low-pass is possible at a sampling rate, or is left out.

    Close to half the sampling rate and above, there is hardly anything to remove.
    """
    lowpass, nyquist = preprocessing.lowpass, sfreq / 2
    if lowpass is None or lowpass + preprocessing.transition <= nyquist:
        return preprocessing
    if lowpass + MIN_TRANSITION > nyquist:
        _logger.warning(
            "%s has %g Hz: the default low-pass of %g Hz is left out.", where, sfreq, lowpass
        )
        return replace(preprocessing, lowpass=None)
    _logger.warning(
        "%s has %g Hz: the transition band of the default low-pass is %g Hz instead of %g Hz.",
        where,
        sfreq,
        nyquist - lowpass,
        preprocessing.transition,
    )
    return replace(preprocessing, transition=nyquist - lowpass)


def filter_signal(
    signal: NDArray[np.float64],
    sfreq: float,
    preprocessing: Preprocessing,
    where: str,
    *,
    pad: Literal["reflect_limited", "edge"] = "reflect_limited",
) -> NDArray[np.float64]:
    """Filter and resample signals along their last axis, perhaps in place.

    MNE pads recordings by reflection, and epochs by their first and last values.
    """
    import mne

    _check_edges(preprocessing, sfreq, where)
    if preprocessing.notch is not None:
        frequencies = np.array(preprocessing.notch)
        signal = mne.filter.notch_filter(signal, sfreq, frequencies, copy=False, verbose="error")
    highpass, lowpass = preprocessing.highpass, preprocessing.lowpass
    if highpass is not None or lowpass is not None:
        signal = mne.filter.filter_data(
            signal,
            sfreq,
            highpass,
            lowpass,
            h_trans_bandwidth=preprocessing.transition,
            pad=pad,
            copy=False,
            verbose="error",
        )
    return _resampled(signal, sfreq, preprocessing)


def exceeds(x: NDArray[np.floating], reject: float | None) -> NDArray[np.bool_]:
    """Return which windows have a larger peak-to-peak amplitude in any channel."""
    if reject is None:
        return np.zeros(len(x), dtype=bool)
    return np.asarray((np.ptp(x, axis=-1) > reject).any(axis=-1))


def _resampled(
    signal: NDArray[np.float64], sfreq: float, preprocessing: Preprocessing
) -> NDArray[np.float64]:
    import mne

    ratio = sampling_ratio(sfreq, preprocessing.rate(sfreq))
    if _is_decimated(preprocessing, sfreq):
        return signal[..., :: ratio.denominator]
    # Whole steps, or the resampler would take the odd length for another ratio.
    rest = -signal.shape[-1] % ratio.denominator
    signal = np.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, rest)], mode="edge")
    resampled = mne.filter.resample(
        signal, up=float(ratio), down=1.0, method="polyphase", verbose="error"
    )
    return np.asarray(resampled)


def _is_decimated(preprocessing: Preprocessing, sfreq: float) -> bool:
    """Check whether every n-th sample is kept: nothing above the new Nyquist frequency remains."""
    rate = preprocessing.rate(sfreq)
    ratio = sampling_ratio(sfreq, rate)
    highest = (preprocessing.lowpass or sfreq) + preprocessing.transition
    return ratio.numerator == 1 and (ratio == 1 or highest <= rate / 2)


def _highpass_transition(highpass: float) -> float:
    """Return the width that MNE chooses for the transition band."""
    return min(max(0.25 * highpass, 2.0), highpass)


def _check_edges(preprocessing: Preprocessing, sfreq: float, where: str) -> None:
    highpass, lowpass = preprocessing.highpass, preprocessing.lowpass
    transition, nyquist = preprocessing.transition, sfreq / 2
    if lowpass is not None and lowpass + transition > nyquist:
        raise DataError(
            f"`lowpass` and `transition` together must be below half the sampling rate, but "
            f"{where} has {sfreq:g} Hz and they are {lowpass:g} and {transition:g} Hz; choose a "
            "lower `lowpass` or `transition`, or `lowpass=None` for no filter."
        )
    if highpass is not None and highpass >= (lowpass or nyquist):
        raise DataError(
            f"`highpass` must be below {'half the sampling rate' if lowpass is None else ''}"
            f"{'' if lowpass is None else '`lowpass`'}, {lowpass or nyquist:g} Hz, "
            f"got {highpass:g} Hz."
        )
    highest = max(preprocessing.notch or (0.0,))
    if highest + 1 > nyquist:
        raise DataError(
            f"`notch` must be below half the sampling rate, but {where} has {sfreq:g} Hz and "
            f"`notch` is {highest:g} Hz."
        )
