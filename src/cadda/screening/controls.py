"""Operations that destroy a window: a helpful operation must be better.

A model that begins to overfit is over-confident, and whatever makes it less so lowers its
validation loss, noise included. These controls show how much of a reward comes from that alone.
They are no augmentations, so neither the catalogue nor any pool has them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from cadda._internal.random import normal, uniform
from cadda.operations.base import Draw, Operation

__all__ = ["BlockShuffle", "WhiteNoise", "destructive_controls"]

BLOCK_SECONDS = 0.1
MIN_BLOCKS = 4
"""Smallest number of blocks that a window is split into."""


class WhiteNoise(Operation):
    """Replace the signal by white noise of the power of each channel."""

    name = "white_noise"
    has_magnitude = False

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        return {"noise": normal(x.shape, x, generator)}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        power = x.square().mean(-1, keepdim=True)
        # The square root of 0 has no derivative.
        return power.clamp_min(torch.finfo(x.dtype).tiny).sqrt() * draw["noise"]


@dataclass(frozen=True)
class BlockShuffle(Operation):
    """Split the window into short blocks and join them in random order.

    All channels share the order. What is left over at the end, shorter than a block, stays there.
    """

    name = "block_shuffle"
    has_magnitude = False
    sfreq: float  # in Hz
    seconds: float = BLOCK_SECONDS  # shorter if a window would have fewer than `MIN_BLOCKS`

    def sample(self, x: Tensor, generator: Generator | None) -> Draw:
        n_blocks = x.shape[-1] // self._length(x)
        return {"order": uniform((len(x), n_blocks), x, generator).argsort(1)}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        length, order = self._length(x), draw["order"]
        inside = torch.arange(length, device=x.device)
        source = (order[:, :, None] * length + inside).flatten(1)
        rest = torch.arange(source.shape[1], x.shape[-1], device=x.device)
        index = torch.cat([source, rest.expand(len(x), -1)], 1)
        return x.gather(-1, index[:, None].expand_as(x))

    def _length(self, x: Tensor) -> int:
        return max(1, min(round(self.seconds * self.sfreq), x.shape[-1] // MIN_BLOCKS))


def destructive_controls(sfreq: float) -> tuple[Operation, ...]:
    """Make the controls: white noise of the same power, and blocks of 0.1 s in random order."""
    return WhiteNoise(), BlockShuffle(sfreq)
