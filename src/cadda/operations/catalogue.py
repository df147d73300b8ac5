"""All that is known of each operation, in one row: class, units, magnitudes, references."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cadda.operations.frequency import Bandstop, FrequencyShift, FTSurrogate
from cadda.operations.image import HorizontalFlip, Rotation90, Rotation180, VerticalFlip
from cadda.operations.info import OperationInfo, Sensors, needs_sfreq
from cadda.operations.recombination import SegmentRecombination
from cadda.operations.space import (
    AmplitudeScale,
    ChannelDropout,
    ChannelShuffle,
    ChannelSymmetry,
    ReReference,
    RotationX,
    RotationY,
    RotationZ,
    SignFlip,
)
from cadda.operations.time import (
    GaussianNoise,
    MaskEncoding,
    TimeMask,
    TimeReverse,
    TimeShift,
    TimeWarp,
)

__all__ = [
    "CATALOGUE",
    "REFERENCES",
    "OperationInfo",
    "Sensors",
    "needs_sfreq",
    "paper_operations",
]

REFERENCES = {
    "Rommel 2022": "Rommel, Moreau, Paillard & Gramfort, CADDA: Class-wise automatic "
    "differentiable data augmentation for EEG signals, ICLR 2022",
    "Schwabedal 2019": "Schwabedal, Snyder, Cakmak, Nemati & Clifford, Addressing class imbalance "
    "in classification problems of noisy signals by using Fourier transform surrogates, 2019",
    "Mohsenvand 2020": "Mohsenvand, Izadi & Maes, Contrastive representation learning for "
    "electroencephalogram classification, ML4H 2020",
    "Cheng 2020": "Cheng, Goh, Dogrusoz, Tuzel & Azemi, Subject-aware contrastive learning for "
    "biosignals, 2020",
    "Wang 2018": "Wang, Zhong, Peng, Jiang & Liu, Data augmentation for EEG-based emotion "
    "recognition with deep convolutional neural networks, MMM 2018",
    "Saeed 2021": "Saeed, Grangier, Pietquin & Zeghidour, Learning from heterogeneous EEG signals "
    "with differentiable channel reordering, ICASSP 2021",
    "Deiss 2018": "Deiss, Biswal, Jin, Sun, Westover & Sun, HAMLET: interpretable human and "
    "machine co-learning technique, 2018",
    "Krell 2017": "Krell & Kim, Rotational data augmentation for electroencephalographic data, "
    "EMBC 2017",
    "Um 2017": "Um, Pfister, Pichler, Endo, Lang, Hirche, Fietzek & Kulić, Data augmentation of "
    "wearable sensor data for Parkinson's disease monitoring using convolutional neural networks, "
    "ICMI 2017",
    "Ding 2024": "Ding, Liu, Guan & Chen, A novel data augmentation approach using mask encoding "
    "for deep learning-based asynchronous SSVEP-BCI, IEEE Transactions on Neural Systems and "
    "Rehabilitation Engineering, 2024",
    "Lotte 2015": "Lotte, Signal processing approaches to minimize or suppress calibration time "
    "in oscillatory activity-based brain–computer interfaces, Proceedings of the IEEE, 2015",
    "Krizhevsky 2012": "Krizhevsky, Sutskever & Hinton, ImageNet classification with deep "
    "convolutional neural networks, NeurIPS 2012",
}
"""Full references by their short names."""


def _several_channels(sensors: Sensors) -> str:
    if len(sensors.ch_names) < 2:
        return "it needs at least 2 channels, and there is 1"
    return ""


def _unknown(sensors: Sensors) -> str:
    """Return that no sensor is known, the usual reason being that channels were not named."""
    if np.isfinite(sensors.positions).all(axis=1).any():
        return ""
    return (
        f"no electrode is known by the names of the channels, such as {sensors.ch_names[0]!r}; "
        "pass names such as C3 as `ch_names`"
    )


def _partners(sensors: Sensors) -> str:
    if unknown := _unknown(sensors):
        return unknown
    if list(sensors.partner) == list(range(len(sensors.ch_names))):
        return "no channel has a partner on the other side of the head"
    return ""


def _three_positions(sensors: Sensors) -> str:
    if unknown := _unknown(sensors):
        return unknown
    n_known = int(np.isfinite(sensors.positions).all(axis=1).sum())
    if n_known < 3:
        return f"it needs the positions of at least 3 sensors, and {n_known} are known"
    return ""


_MASKING = ("Mohsenvand 2020", "Cheng 2020")

# The study magnitudes are the best that the authors of the paper found on Sleep Physionet and on
# BCI IV 2a. They published them in physical units (Rommel, Paillard, Moreau & Gramfort, Data
# augmentation for learning predictive models on EEG: a systematic comparison, 2022); their masks
# of 2 s and of 1.6 s are cut to our longest, 1 s.
_HALF = {"sleep": 0.5, "motor-imagery": 0.5}
"""Study magnitudes of operations that were not among theirs."""

_ROWS = (
    OperationInfo(
        operation=TimeReverse, domain="time", in_paper=True,
        summary="plays the window backwards",
        references=("Rommel 2022",),
    ),
    OperationInfo(
        operation=SignFlip, domain="space", in_paper=True,
        summary="inverts the polarity of all channels",
        references=("Rommel 2022",),
    ),
    OperationInfo(
        operation=FTSurrogate, domain="frequency", in_paper=True,
        summary="randomises Fourier phases, keeps the amplitudes",
        references=("Schwabedal 2019",),
        quantity="phase <", full=FTSurrogate.max_phase, full_setting="max_phase", unit="°",
        study_magnitudes={"sleep": 0.8, "motor-imagery": 0.9},
    ),
    OperationInfo(
        operation=FrequencyShift, domain="frequency", in_paper=True,
        summary="moves all frequencies up",
        references=("Rommel 2022",),
        quantity="shift <", full=FrequencyShift.max_shift, full_setting="max_shift", unit="Hz",
        study_magnitudes={"sleep": 0.06, "motor-imagery": 0.54},
        make=lambda sensors: FrequencyShift(sensors.sfreq),
    ),
    OperationInfo(
        operation=Bandstop, domain="frequency", in_paper=False,  # not differentiable there
        summary="removes a narrow frequency band",
        references=_MASKING,
        quantity="band", full=Bandstop.max_width, full_setting="max_width", unit="Hz",
        study_magnitudes={"sleep": 0.6, "motor-imagery": 0.2},
        make=lambda sensors: Bandstop(sensors.sfreq),
    ),
    OperationInfo(
        operation=TimeMask, domain="time", in_paper=True,
        summary="sets a short stretch to zero",
        references=_MASKING,
        quantity="gap", full=TimeMask.max_length, full_setting="max_length", unit="s",
        study_magnitudes={"sleep": 1.0, "motor-imagery": 1.0},
        make=lambda sensors: TimeMask(sensors.sfreq),
    ),
    OperationInfo(
        operation=GaussianNoise, domain="time", in_paper=True,
        summary="adds white noise",
        references=("Wang 2018",),
        quantity="noise σ =", full=GaussianNoise.max_sigma, full_setting="max_sigma",
        study_magnitudes={"sleep": 0.6, "motor-imagery": 0.8},
    ),
    OperationInfo(
        operation=ChannelDropout, domain="space", in_paper=True,
        summary="sets random channels to zero",
        references=("Saeed 2021",),
        quantity="each channel", full=100.0, unit="%",
        study_magnitudes={"sleep": 0.4, "motor-imagery": 1.0},
        unmet_need=_several_channels,
    ),
    OperationInfo(
        operation=ChannelShuffle, domain="space", in_paper=True,
        summary="permutes random channels",
        references=("Saeed 2021",),
        quantity="each channel", full=100.0, unit="%",
        study_magnitudes={"sleep": 0.8, "motor-imagery": 0.1},
        unmet_need=_several_channels,
    ),
    OperationInfo(
        operation=ChannelSymmetry, domain="space", in_paper=True,
        summary="swaps the two sides of the head",
        references=("Deiss 2018",),
        make=lambda sensors: ChannelSymmetry(tuple(sensors.partner)),
        unmet_need=_partners,
    ),
    OperationInfo(
        operation=RotationX, domain="space", in_paper=True,
        summary="turns the sensors as in nodding",
        references=("Krell 2017",),
        quantity="angle ±", full=RotationX.max_angle, full_setting="max_angle", unit="°",
        study_magnitudes={"sleep": 0.83, "motor-imagery": 0.1},
        make=lambda sensors: RotationX(sensors.positions),
        unmet_need=_three_positions,
    ),
    OperationInfo(
        operation=RotationY, domain="space", in_paper=True,
        summary="turns the sensors as in tilting the head",
        references=("Krell 2017",),
        quantity="angle ±", full=RotationY.max_angle, full_setting="max_angle", unit="°",
        study_magnitudes={"sleep": 0.3, "motor-imagery": 0.4},
        make=lambda sensors: RotationY(sensors.positions),
        unmet_need=_three_positions,
    ),
    OperationInfo(
        operation=RotationZ, domain="space", in_paper=True,
        summary="turns the sensors as in shaking the head",
        references=("Krell 2017",),
        quantity="angle ±", full=RotationZ.max_angle, full_setting="max_angle", unit="°",
        study_magnitudes={"sleep": 1.0, "motor-imagery": 0.1},
        make=lambda sensors: RotationZ(sensors.positions),
        unmet_need=_three_positions,
    ),
    OperationInfo(
        operation=AmplitudeScale, domain="space", in_paper=False, in_default=False,
        summary="amplifies or attenuates each channel",
        references=("Mohsenvand 2020",),
        quantity="gain ±", full=AmplitudeScale.max_gain, full_setting="max_gain", unit="dB",
        study_magnitudes=_HALF,
    ),
    OperationInfo(
        operation=ReReference, domain="space", in_paper=False, in_default=False,
        summary="subtracts a random channel from all",
        references=("Mohsenvand 2020",),
        quantity="new reference", full=100.0, unit="%",
        study_magnitudes=_HALF,
        unmet_need=_several_channels,
    ),
    OperationInfo(
        operation=TimeShift, domain="time", in_paper=False, in_default=False,
        summary="moves the window in time",
        references=("Mohsenvand 2020",),
        quantity="shift ±", full=TimeShift.max_shift, full_setting="max_shift", unit="s",
        study_magnitudes=_HALF,
        make=lambda sensors: TimeShift(sensors.sfreq),
    ),
    OperationInfo(
        operation=TimeWarp, domain="time", in_paper=False, in_default=False,
        summary="plays parts faster, others slower",
        references=("Um 2017",),
        quantity="speed ±", full=TimeWarp.max_change, full_setting="max_change", unit="%",
        study_magnitudes=_HALF,
    ),
    OperationInfo(
        operation=MaskEncoding, domain="time", in_paper=False, in_default=False,
        summary="sets several segments to zero",
        references=("Ding 2024",),
        quantity="masked", full=MaskEncoding.max_share, full_setting="max_share", unit="%",
        study_magnitudes=_HALF,
        make=lambda sensors: MaskEncoding(sensors.sfreq),
    ),
    OperationInfo(
        operation=SegmentRecombination, domain="time", in_paper=False, in_default=False,
        summary="takes segments from windows of its class",
        references=("Lotte 2015",),
        quantity="each segment", full=100.0, unit="%",
        study_magnitudes=_HALF,
    ),
    OperationInfo(
        operation=HorizontalFlip, domain="image", in_paper=True,
        summary="swaps left and right",
        references=("Krizhevsky 2012",),
    ),
    OperationInfo(
        operation=VerticalFlip, domain="image", in_paper=True,
        summary="swaps top and bottom",
        references=("Krizhevsky 2012",),
    ),
    OperationInfo(
        operation=Rotation90, domain="image", in_paper=True,
        summary="turns a quarter to the left",
        references=("Rommel 2022",),
    ),
    OperationInfo(
        operation=Rotation180, domain="image", in_paper=True,
        summary="turns upside down",
        references=("Rommel 2022",),
    ),
)  # fmt: skip

CATALOGUE: dict[str, OperationInfo] = {row.name: row for row in _ROWS}
"""Every operation by name, in the order of pools."""


def paper_operations(names: Sequence[str]) -> list[str]:
    """Return those of some operations that the paper searches over, in the same order."""
    return [name for name in names if name in CATALOGUE and CATALOGUE[name].in_paper]
