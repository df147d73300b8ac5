"""Simulated nights as EDF files, named and annotated like those of Sleep Physionet and MASS."""

from __future__ import annotations

import datetime
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.files import make_folder, write_bytes_atomically
from cadda._internal.optional import import_optional
from cadda.data.io.hypnogram import STAGES, Annotation
from cadda.data.simulation.hypnogram import WINDOW_SECONDS
from cadda.data.simulation.nights import Night

__all__ = ["write_edf"]

_LIGHTS_OFF = datetime.datetime(2000, 1, 1, 23, 0)


@dataclass(frozen=True)
class _Style:
    """How a database writes its nights; file names are formatted with a number."""

    signals: str
    hypnogram: str
    first: int
    max_nights: int
    label: str
    sfreq: float
    one_per_window: bool
    has_stage_4: bool


_STYLES = {
    "physionet": _Style(
        signals="SC4{:02d}1E0-PSG.edf",
        hypnogram="SC4{:02d}1EC-Hypnogram.edf",
        first=0,
        max_nights=100,
        label="EEG {}",
        sfreq=100.0,
        one_per_window=False,
        has_stage_4=True,
    ),
    "mass": _Style(
        signals="01-03-{:04d} PSG.edf",
        hypnogram="01-03-{:04d} Base.edf",
        first=1,
        max_nights=9999,
        label="EEG {}-CLE",
        sfreq=256.0,
        one_per_window=True,
        has_stage_4=False,
    ),
}


def write_edf(nights: Iterable[Night], folder: str | os.PathLike[str]) -> list[tuple[Path, Path]]:
    """Write each night as a pair of EDF files, one with the signals and one with the hypnogram.

    Nights of the montage ``"physionet"`` become files such as ``SC4001E0-PSG.edf`` and
    ``SC4001EC-Hypnogram.edf``, those of ``"mass"`` files such as ``01-03-0001 PSG.edf`` at 256 Hz
    and ``01-03-0001 Base.edf``, numbered in order. Return the pairs of paths.
    """
    edfio = import_optional("edfio", "writing EDF files", "edf-export")
    target = make_folder(folder)
    written = []
    for count, night in enumerate(nights):
        style = _STYLES[night.montage]
        if count >= style.max_nights:
            raise ValueError(
                f"`nights` must be at most {style.max_nights} of the montage {night.montage!r}: "
                "file names have no room for more. Write them to several folders."
            )
        number = count + style.first
        pair = target / style.signals.format(number), target / style.hypnogram.format(number)
        recording = edfio.Recording(startdate=_LIGHTS_OFF.date())
        patient = edfio.Patient(code=night.subject)
        about = {"recording": recording, "patient": patient, "starttime": _LIGHTS_OFF.time()}
        _write(edfio.Edf(_signals(edfio, night, style), **about), pair[0])
        stages = [
            edfio.EdfAnnotation(stage.onset, stage.duration, stage.text)
            for stage in _hypnogram(night, style)
        ]
        _write(edfio.Edf([], annotations=stages, **about), pair[1])
        written.append(pair)
    return written


def _write(edf: Any, path: Path) -> None:
    content = io.BytesIO()
    edf.write(content)
    write_bytes_atomically(path, content.getbuffer())


def _signals(edfio: Any, night: Night, style: _Style) -> list[Any]:
    microvolts = _resampled(night.volts, night.sfreq, style.sfreq) * 1e6
    signals = []
    for name, values in zip(night.ch_names, microvolts, strict=True):
        limit = float(np.ceil(np.abs(values).max()))
        signals.append(
            edfio.EdfSignal(
                values,
                style.sfreq,
                label=style.label.format(name),
                physical_dimension="uV",
                physical_range=(-limit, limit),
                transducer_type="simulated",
            )
        )
    return signals


def _resampled(signals: NDArray[np.float64], sfreq: float, wanted: float) -> NDArray[np.float64]:
    """Interpolate to a higher sampling rate in the Fourier domain."""
    if wanted == sfreq:
        return signals
    n_times = round(signals.shape[1] * wanted / sfreq)
    return np.asarray(np.fft.irfft(np.fft.rfft(signals), n=n_times) * (wanted / sfreq))


def _hypnogram(night: Night, style: _Style) -> list[Annotation]:
    """Annotate the stages, per window or per sequence of windows of one stage."""
    texts = _scored(night, style)
    lengths = [1] * len(texts)
    if not style.one_per_window:
        runs = [(text, len(list(group))) for text, group in groupby(texts)]
        texts, lengths = [text for text, _ in runs], [length for _, length in runs]
    ends = np.cumsum(lengths) * WINDOW_SECONDS
    return [
        Annotation(float(end - length * WINDOW_SECONDS), length * WINDOW_SECONDS, text)
        for text, length, end in zip(texts, lengths, ends, strict=True)
    ]


def _scored(night: Night, style: _Style) -> Sequence[str]:
    codes = np.array(["W", "1", "2", "3", "R"])[night.stages]
    deep = night.stages == STAGES.index("N3")
    if style.has_stage_4 and deep.any():
        spread = night.volts[0].reshape(len(deep), -1).std(axis=1)
        codes[deep & (spread > np.median(spread[deep]))] = "4"
    return [f"Sleep stage {code}" for code in codes]
