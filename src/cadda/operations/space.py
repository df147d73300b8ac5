"""Operations on channels and sensors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from cadda._internal.random import uniform
from cadda.operations.base import Constant, Draw, Operation
from cadda.signal.relaxation import (
    bernoulli,
    relaxed_bernoulli,
    straight_through_bernoulli,
)
from cadda.signal.spatial import (
    permute_channels,
    permute_selected,
    rotate_sensors,
    rotation_harmonics,
)

__all__ = [
    "AmplitudeScale",
    "ChannelDropout",
    "ChannelShuffle",
    "ChannelSymmetry",
    "ReReference",
    "RotationX",
    "RotationY",
    "RotationZ",
    "SensorRotation",
    "SignFlip",
]


class SignFlip(Operation):
    """Turn the sign of all channels."""

    name = "sign_flip"
    has_magnitude = False

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return -x


@dataclass(frozen=True)
class AmplitudeScale(Operation):
    """Amplify or attenuate each channel by a gain drawn from ±µ · ``max_gain`` decibels.

    Parameters
    ----------
    max_gain : float
        Largest gain at magnitude 1, in dB; 6 dB is a factor of 2.
    """

    name = "amplitude_scale"
    max_gain: float = 6.0

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {"share": 2 * uniform(x.shape[:2], x, generator) - 1}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        gain = self.max_gain * magnitude[:, None] * draw["share"]
        return x * torch.exp(math.log(10) / 20 * gain)[:, :, None]


@dataclass(frozen=True)
class ReReference(Operation):
    """Subtract from all channels the share µ of one of them, which is drawn.

    At magnitude 1 that channel is the new reference and becomes zero.
    """

    name = "re_reference"

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {"channel": (uniform((len(x),), x, generator) * x.shape[1]).long()}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        window = torch.arange(len(x), device=x.device)
        reference = x[window, draw["channel"]]
        return torch.addcmul(x, magnitude[:, None, None], reference[:, None, :], value=-1)


@dataclass(frozen=True)
class ChannelDropout(Operation):
    """Set each channel to zero with probability µ, but never all channels of a window.

    The channel that would be dropped last as µ grows always stays, so that of C channels each is
    dropped with probability µ − µ^C / C. What is kept is a hard 0 or 1 in the forward pass; the
    derivative in µ is that of a relaxed Bernoulli variable with probability 1 − µ.

    Parameters
    ----------
    temperature : float
        Temperature of the relaxed variable.
    relaxed : bool
        Whether to use the relaxed variable in the forward pass as well, which blends.
    """

    name = "channel_dropout"
    temperature: float = 0.1
    relaxed: bool = False

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {"keep": uniform(x.shape[:2], x, generator)}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        probability, uniform = 1 - magnitude[:, None], draw["keep"]
        if self.relaxed:
            _, keep = relaxed_bernoulli(probability, uniform, self.temperature)
        else:
            keep = straight_through_bernoulli(probability, uniform, self.temperature)
        last = uniform.argmax(1, keepdim=True)
        return x * keep.scatter(1, last, 1.0)[:, :, None]


@dataclass(frozen=True)
class ChannelShuffle(Operation):
    """Select each channel with probability µ and permute the selected channels.

    With s = 1 for a selected channel, the result is x + s (x_permuted − x), where s is hard in
    the forward pass and relaxed in the backward pass. So the derivative in µ compares a channel
    with what would take its place and shows whether shuffling hurts, which a straight-through
    estimator on the permutation matrix, as in the paper, does not.

    Parameters
    ----------
    temperature : float
        Temperature of the relaxed selection.
    relaxed : bool
        Whether to use the relaxed selection in the forward pass as well, which blends.
    """

    name = "channel_shuffle"
    temperature: float = 0.1
    relaxed: bool = False

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {
            "select": uniform(x.shape[:2], x, generator),
            "order": uniform(x.shape[:2], x, generator),
        }

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        probability = magnitude[:, None]
        selected = bernoulli(probability, draw["select"])
        permutation = permute_selected(selected, draw["order"])
        if not (self.relaxed or probability.requires_grad):
            return permute_channels(x, permutation)
        _, soft = relaxed_bernoulli(probability, draw["select"], self.temperature)
        # A channel that was not selected is compared with what a shuffle of all would put there.
        everything = draw["order"].argsort(dim=1)
        other = permute_channels(x, torch.where(selected, permutation, everything))
        if self.relaxed:
            return x + soft[:, :, None] * (other - x)
        gradient_only = (soft - soft.detach())[:, :, None] * (other - x)
        return permute_channels(x, permutation) + gradient_only


@dataclass(frozen=True, eq=False)
class ChannelSymmetry(Operation):
    """Swap the left and the right side of the head.

    Parameters
    ----------
    partner : tuple of int
        For each channel, the index of the channel on the other side; a channel of the midline is
        its own partner.
    """

    name = "channel_symmetry"
    has_magnitude = False
    partner: tuple[int, ...]

    def __post_init__(self) -> None:
        mirrored_twice = [self.partner[other] for other in self.partner]
        if mirrored_twice != list(range(len(self.partner))):
            raise ValueError(
                "`partner` must pair the channels: the partner of a channel's partner is that "
                f"channel itself, got {self.partner}."
            )

    def check(self, x: Tensor) -> None:
        super().check(x)
        _check_n_channels(x, len(self.partner), self.name)

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x.index_select(1, self._index.like(x))

    @cached_property
    def _index(self) -> Constant:
        return Constant(torch.tensor(self.partner))


@dataclass(frozen=True, eq=False)
class SensorRotation(Operation):
    """Turn the sensors by ψ drawn from ±µ · ``max_angle`` and interpolate the signals there.

    Interpolation is by spherical splines without smoothing, so that no rotation is the identity.
    All that does not depend on ψ is computed once.

    Parameters
    ----------
    positions : array of shape (n_channels, 3)
        Sensors around the centre of the head, x to the right, y to the front, z up; NaN where
        unknown. Channels without a position do not change.
    max_angle : float
        Largest angle at magnitude 1, in degrees.
    """

    axis: ClassVar[Literal["x", "y", "z"]]
    positions: NDArray[np.float64]
    max_angle: float = 30.0

    def check(self, x: Tensor) -> None:
        super().check(x)
        _check_n_channels(x, len(self.positions), self.name)

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {"share": 2 * uniform((len(x),), x, generator) - 1}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        angle = math.radians(self.max_angle) * magnitude * draw["share"]
        return rotate_sensors(x, angle, self._harmonics.like(x))

    @cached_property
    def _harmonics(self) -> Constant:
        return Constant(torch.from_numpy(rotation_harmonics(self.positions, self.axis)))


class RotationX(SensorRotation):
    """Turn the sensors about the axis through the ears; see `SensorRotation`."""

    name = "rotation_x"
    axis = "x"


class RotationY(SensorRotation):
    """Turn the sensors about the axis through the nose; see `SensorRotation`."""

    name = "rotation_y"
    axis = "y"


class RotationZ(SensorRotation):
    """Turn the sensors about the vertical axis; see `SensorRotation`."""

    name = "rotation_z"
    axis = "z"


def _check_n_channels(x: Tensor, n_channels: int, name: str) -> None:
    if x.shape[1] != n_channels:
        raise ValueError(
            f"`x` must have the {n_channels} channels that `{name}` was made for, "
            f"got {x.shape[1]}; make a pool for these windows."
        )
