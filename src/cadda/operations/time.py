"""Operations on the time course."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from cadda._internal.random import normal, uniform
from cadda.operations.base import Draw, Operation
from cadda.signal.relaxation import smooth_box

__all__ = ["GaussianNoise", "TimeMask", "TimeReverse"]


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
