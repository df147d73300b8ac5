"""Operations that take something from other windows of the same class."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from cadda._internal.random import uniform
from cadda.operations.base import Batch, Draw, Operation
from cadda.signal.relaxation import relaxed_bernoulli, straight_through_bernoulli

__all__ = ["SegmentRecombination", "draw_partners"]


@dataclass(frozen=True)
class SegmentRecombination(Operation):
    """Replace each segment of a window, with probability µ, by that of another of its class.

    Windows are cut into segments of equal length; each is taken, at the same time of the window,
    from a window of the batch that is drawn for it. A window that is the only one of its class in
    the batch does not change. Which segments are replaced is hard in the forward pass; the
    derivative in µ is that of a relaxed Bernoulli variable.

    Parameters
    ----------
    n_segments : int
        Number of segments.
    temperature : float
        Temperature of the relaxed variable.
    relaxed : bool
        Whether to use the relaxed variable in the forward pass as well, which blends.
    """

    name = "segment_recombination"
    needs_labels = True
    n_segments: int = 8
    temperature: float = 0.1
    relaxed: bool = False

    def sample_group(self, batch: Batch, windows: Tensor, generator: Generator | None) -> Draw:
        x = batch.x.detach()
        partner = draw_partners(batch, windows, self.n_segments, generator)
        others = zip(partner.T, x.tensor_split(self.n_segments, dim=-1), strict=True)
        return {
            "take": uniform(partner.shape, x, generator),
            "other": torch.cat([part.index_select(0, index) for index, part in others], dim=-1),
        }

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        probability, uniform = magnitude[:, None], draw["take"]
        if self.relaxed:
            _, take = relaxed_bernoulli(probability, uniform, self.temperature)
        else:
            take = straight_through_bernoulli(probability, uniform, self.temperature)
        return torch.lerp(x, draw["other"], self._over_time(take, x)[:, None, :])

    def _over_time(self, values: Tensor, x: Tensor) -> Tensor:
        """Repeat a value per segment, (n_windows, n_segments), for its samples."""
        segments = torch.arange(x.shape[-1], device=x.device).tensor_split(self.n_segments)
        lengths = torch.tensor([len(part) for part in segments], device=x.device)
        return values.repeat_interleave(lengths, dim=1, output_size=x.shape[-1])


def draw_partners(
    batch: Batch, windows: Tensor, n_partners: int, generator: Generator | None
) -> Tensor:
    """Draw, for some windows, others that have from the beginning the class that these have now.

    Parameters
    ----------
    batch : Batch
        The batch, with labels.
    windows : Tensor
        Indices of the windows, shape (n_group,).
    n_partners : int
        Number of partners of each window, drawn independently of each other.
    generator : torch.Generator | None
        Source of randomness; None takes torch's global one.

    Returns
    -------
    Tensor
        Indices in the batch, (n_group, n_partners), never those of the windows themselves, unless
        there is no other of the class.
    """
    assert batch.y is not None  # noqa: S101
    assert batch.label is not None  # noqa: S101
    by_class, order = batch.y.sort(stable=True)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device)
    wanted = batch.label[windows]
    first = torch.searchsorted(by_class, wanted)
    is_own = batch.y[windows] == wanted
    size = torch.searchsorted(by_class, wanted, right=True) - first
    n_others = (size - is_own.long())[:, None]
    share = uniform((len(windows), n_partners), batch.x, generator)
    # Rounding must not reach the next class.
    chosen = torch.minimum((share * n_others).long(), n_others - 1)
    own = (rank[windows] - first)[:, None]
    chosen = chosen + (is_own[:, None] & (chosen >= own)).long()
    partner = order[(first[:, None] + chosen).clamp(0, len(order) - 1)]
    return torch.where(n_others > 0, partner, windows[:, None])
