"""Operations on the time course."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from cadda._internal.random import normal, uniform
from cadda.operations.base import Draw, Operation
from cadda.signal.relaxation import smooth_box, smooth_boxes
from cadda.signal.temporal import read_at, shift_in_time

__all__ = ["GaussianNoise", "MaskEncoding", "TimeMask", "TimeReverse", "TimeShift", "TimeWarp"]


class TimeReverse(Operation):
    """Play the window backwards."""

    name = "time_reverse"
    has_magnitude = False

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x.flip(-1)


@dataclass(frozen=True)
class GaussianNoise(Operation):
    """Add white noise n of standard deviation σ = µ · ``max_sigma``: x + σ n.

    Parameters
    ----------
    max_sigma : float
        σ at magnitude 1, in the unit of the windows, which should be standardised.
    """

    name = "gaussian_noise"
    max_sigma: float = 0.2

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {"noise": normal(x.shape, x, generator)}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        sigma = self.max_sigma * magnitude
        return torch.addcmul(x, sigma[:, None, None], draw["noise"])


@dataclass(frozen=True)
class TimeMask(Operation):
    """Smoothly set a stretch of Δt = µ · ``max_length`` seconds to zero in all channels.

    Its middle is drawn uniformly over the window. The edges are sigmoids of ``steepness`` λ; a
    stretch of 0.1 s or longer reaches zero in its middle.

    Parameters
    ----------
    sfreq : float
        Sampling rate in Hz.
    max_length : float
        Δt at magnitude 1, in seconds.
    steepness : float
        λ in 1/s. The paper's 1000 has no unit; 300/s takes an edge from 10 % to 90 % in 15 ms.
    """

    name = "time_mask"
    sfreq: float
    max_length: float = 1.0
    steepness: float = 300.0

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {"middle": uniform((len(x),), x, generator)}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        n_times = x.shape[-1]
        time = torch.arange(n_times, dtype=x.dtype, device=x.device) / self.sfreq
        middle = draw["middle"] * (n_times / self.sfreq)
        masked = smooth_box(time, middle, self.max_length * magnitude, self.steepness)
        return x * (1 - masked)[:, None, :]


@dataclass(frozen=True)
class MaskEncoding(Operation):
    """Smoothly set several segments, together µ · ``max_share`` of the window, to zero.

    All have the same length and never overlap: points are drawn in what is left of the window
    without the segments, and a segment is inserted at each.

    Parameters
    ----------
    sfreq : float
        Sampling rate in Hz.
    max_share : float
        Share of the window at magnitude 1, in %.
    n_segments : int
        Number of segments.
    steepness : float
        Steepness of the edges in 1/s; see `TimeMask`.
    """

    name = "mask_encoding"
    sfreq: float
    max_share: float = 30.0
    n_segments: int = 3
    steepness: float = 300.0

    def __post_init__(self) -> None:
        if not 0 < self.max_share <= 100:
            raise ValueError(
                f"`max_share` must be above 0 and at most 100 %, got {self.max_share:g}."
            )

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {"place": uniform((len(x), self.n_segments), x, generator).sort(dim=1).values}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        n_times = x.shape[-1]
        share = (self.max_share / 100 * magnitude)[:, None]
        width = share * n_times / self.n_segments
        order = torch.arange(self.n_segments, dtype=x.dtype, device=x.device)
        start = draw["place"] * (1 - share) * n_times + order * width
        masked = smooth_boxes(start, start + width, n_times, self.steepness / self.sfreq)
        return x * (1 - masked)[:, None, :]


@dataclass(frozen=True)
class TimeShift(Operation):
    """Move a window in time by δ drawn from ±µ · ``max_shift`` seconds.

    What is missing at one end is filled with the mirrored signal.

    Parameters
    ----------
    sfreq : float
        Sampling rate in Hz.
    max_shift : float
        Largest δ at magnitude 1, in seconds.
    """

    name = "time_shift"
    sfreq: float
    max_shift: float = 0.5

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {"share": 2 * uniform((len(x),), x, generator) - 1}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return shift_in_time(x, self.max_shift * self.sfreq * magnitude * draw["share"])


@dataclass(frozen=True)
class TimeWarp(Operation):
    """Play a window faster and slower in turn, at 1 ± µ · ``max_change`` times its speed.

    The speed goes through one period of a cosine, from a phase that is drawn, so that its mean is
    1 and both ends stay where they are.

    Parameters
    ----------
    max_change : float
        Largest change of the speed at magnitude 1, in %; less than 100.
    """

    name = "time_warp"
    max_change: float = 30.0

    def __post_init__(self) -> None:
        if not 0 < self.max_change < 100:
            raise ValueError(
                f"`max_change` must be between 0 and 100 %, got {self.max_change:g}: time cannot "
                "go backwards."
            )

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {"phase": uniform((len(x),), x, generator)}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        period = max(x.shape[-1] - 1, 1)
        sample = torch.arange(x.shape[-1], dtype=x.dtype, device=x.device)
        phase = 2 * math.pi * draw["phase"][:, None]
        wave = torch.sin(2 * math.pi / period * sample + phase) - torch.sin(phase)
        ahead = (self.max_change / 100 * magnitude)[:, None] * period / (2 * math.pi)
        return read_at(x, (sample + ahead * wave).clamp(0, period))
