"""Operations on the spectrum."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Generator, Tensor

from cadda._internal.random import uniform
from cadda.operations.base import Draw, Operation
from cadda.signal.spectral import rotate_phases, shift_frequencies, stop_band

__all__ = ["Bandstop", "FTSurrogate", "FrequencyShift"]


@dataclass(frozen=True)
class FTSurrogate(Operation):
    """Add to each Fourier phase a number drawn from [0, ``max_phase`` · µ), keep the amplitudes.

    The paper multiplies by exp(2πi Δφ) with Δφ up to 2πµ, one 2π too many; here it is exp(i Δφ).

    Parameters
    ----------
    max_phase : float
        Largest phase at magnitude 1, in degrees.
    independent_channels : bool
        Whether each channel gets phases of its own. Shared phases keep what the channels have to
        do with each other.
    """

    name = "ft_surrogate"
    max_phase: float = 360.0
    independent_channels: bool = False

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        n_times = x.shape[-1]
        n_phases = x.shape[1] if self.independent_channels else 1
        phase = uniform((len(x), n_phases, n_times // 2 + 1), x, generator)
        phase[..., 0] = 0
        if n_times % 2 == 0:
            phase[..., -1] = 0
        return {"phase": phase}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        largest = math.radians(self.max_phase) * magnitude
        return rotate_phases(x, largest[:, None, None] * draw["phase"])


@dataclass(frozen=True)
class FrequencyShift(Operation):
    """Move all frequencies of a window by Δf drawn from [0, ``max_shift`` · µ).

    Parameters
    ----------
    sfreq : float
        Sampling rate in Hz.
    max_shift : float
        Largest Δf at magnitude 1, in Hz.
    symmetric : bool
        Whether to draw from both directions, (−``max_shift`` · µ, ``max_shift`` · µ). What a shift
        downwards pushes below 0 Hz comes back as a positive frequency.
    """

    name = "frequency_shift"
    sfreq: float
    max_shift: float = 5.0
    symmetric: bool = False

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        share = uniform((len(x),), x, generator)
        return {"share": 2 * share - 1 if self.symmetric else share}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return shift_frequencies(x, self.max_shift * magnitude * draw["share"], self.sfreq)


@dataclass(frozen=True)
class Bandstop(Operation):
    """Remove a band of µ · ``max_width`` Hz whose middle is drawn from (0, Nyquist).

    The paper designs an FIR filter per window and cannot differentiate it. This is a zero-phase
    notch in the frequency domain with sigmoid edges, which can.

    Parameters
    ----------
    sfreq : float
        Sampling rate in Hz.
    max_width : float
        Width of the band at magnitude 1, in Hz.
    edge : float
        Softness of the edges in Hz.
    """

    name = "bandstop"
    sfreq: float
    max_width: float = 2.0
    edge: float = 0.1

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {"middle": uniform((len(x),), x, generator)}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        middle = draw["middle"] * (self.sfreq / 2)
        return stop_band(x, middle, self.max_width * magnitude, self.sfreq, self.edge)
