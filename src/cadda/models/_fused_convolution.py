"""Convolution, ReLU and max-pooling over time in one layer, computed in the faster of two ways."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["PooledConvolution"]

MOST_BLOCKS = 2**15
"""Pools computed at once: arrays above about 32 MB are reallocated in every step."""


class PooledConvolution(nn.Conv1d):
    """Convolve over time, keep what is positive, and take the maximum of each ``pool`` samples.

    The convolution keeps the length. On a CPU it is not followed by pooling: convolving with
    ``pool`` shifted copies of each filter at every ``pool``-th sample and taking the maximum over
    the copies is the same, but one well-shaped matrix product instead of a thin convolution. Its
    gradient is that of one copy in ``pool``, which costs almost nothing.
    """

    def __init__(self, in_features: int, n_filters: int, kernel: int, pool: int) -> None:
        super().__init__(in_features, n_filters, kernel)
        self.bias: nn.Parameter
        self.pool = pool
        # An even kernel cannot be centred: one sample less on the left keeps the length.
        self.margin = ((kernel - 1) // 2, kernel // 2)

    def forward(self, x: Tensor) -> Tensor:
        """Filter and pool signals."""
        is_mixed = torch.is_autocast_enabled("cpu")
        return self.fused(x) if x.device.type == "cpu" and not is_mixed else self.plain(x)

    def plain(self, x: Tensor) -> Tensor:
        """Filter and pool one after the other; see `forward`."""
        filtered = functional.conv1d(functional.pad(x, self.margin), self.weight, self.bias)
        return functional.max_pool1d(functional.relu(filtered), self.pool)

    def fused(self, x: Tensor) -> Tensor:
        """Filter and pool by one matrix product; see `forward`."""
        filters = self._shifted_filters()
        n_blocks = x.shape[-1] // self.pool + filters.shape[2] - 1
        before = self.margin[0]
        after = n_blocks * self.pool - before - x.shape[-1]
        blocks = functional.pad(x.mT, (0, 0, before, after)).reshape(len(x), n_blocks, -1)
        needs_gradient = torch.is_grad_enabled() and (x.requires_grad or filters.requires_grad)
        strongest = _differentiable if needs_gradient else _strongest
        parts = [
            strongest(part, filters)
            for part in torch.split(blocks, max(1, MOST_BLOCKS // n_blocks))
        ]
        return functional.relu(torch.cat(parts) + self.bias).mT

    def _shifted_filters(self) -> Tensor:
        """Return each filter at all shifts, (pool, n_filters, n_blocks, pool · in_features).

        A filter with zeros behind it, one more than fill the blocks, repeated and cut into rows
        that are one sample shorter than this period, moves on by one sample from row to row.
        """
        n_filters, _, kernel = self.weight.shape
        n_blocks = 1 + math.ceil((kernel - 1) / self.pool)
        length = n_blocks * self.pool
        period = functional.pad(self.weight.mT, (0, 0, 0, length + 1 - kernel))
        cut = period.repeat(1, self.pool, 1)[:, : self.pool * length]
        return cut.reshape(n_filters, self.pool, n_blocks, -1).transpose(0, 1)


class _StrongestProduct(torch.autograd.Function):
    """Multiply signals with all shifts of each filter and keep the largest product of a filter.

    Takes signals as blocks of one pool each, (n, n_pools + n_blocks − 1, width), and filters of
    shape (pool, n_filters, n_blocks, width). Gives the products, (n, n_pools, n_filters), and
    which shift of which filter each one is of. Only these have a gradient, so that going
    backward takes sums of a few rows, which `embedding_bag` is made for, and no matrix product.
    Since that has no forward mode, a second derivative can be had by going backward over backward
    or backward over forward, not forward over backward.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(blocks: Tensor, filters: Tensor) -> tuple[Tensor, Tensor]:
        pool, n_filters = filters.shape[:2]
        products = _products(blocks, filters)
        # With the filters last this is the layout for which pooling has a fast kernel.
        images = products.reshape(-1, 1, pool, n_filters).permute(0, 3, 1, 2)
        strongest, shift = functional.max_pool2d(images, (1, pool), return_indices=True)
        shape = (*products.shape[:2], n_filters)
        chosen = shift.reshape(shape).int() * n_filters
        return strongest.reshape(shape), chosen + torch.arange(n_filters, dtype=torch.int32)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.bags = None
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs, output[1])
        ctx.save_for_forward(*inputs, output[1])

    @staticmethod
    def jvp(ctx: Any, blocks_slope: Tensor, filters_slope: Tensor) -> tuple[Tensor, None]:
        blocks, filters, chosen = ctx.saved_tensors
        slope = _products(blocks_slope, filters) + _products(blocks, filters_slope)
        return slope.gather(-1, chosen.long()), None

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: None) -> tuple[Tensor | None, Tensor | None]:
        blocks, filters, chosen = ctx.saved_tensors
        of_blocks, of_filters = None, None
        if ctx.needs_input_grad[0]:
            of_rows = functional.embedding_bag(
                chosen.flatten(0, 1),
                filters.flatten(0, 1).flatten(1),
                per_sample_weights=gradient.flatten(0, 1),
                mode="sum",
            )
            parts = of_rows.view(*chosen.shape[:2], *filters.shape[2:]).unbind(2)
            of_blocks = torch.zeros_like(blocks)
            for start, part in enumerate(parts):
                of_blocks[:, start : start + chosen.shape[1]] += part
        if ctx.needs_input_grad[1]:
            # Another gradient of the same graph needs the bags again; but second derivatives need
            # a graph of their own, and tensors of torch.func must not outlive its transforms.
            is_kept = not (torch.is_grad_enabled() or torch._C._are_functorch_transforms_active())
            bags = (ctx.bags if is_kept else None) or _bags(blocks, filters, chosen)
            ctx.bags = bags if is_kept else None
            order, row, rows, starts = bags
            of_filters = functional.embedding_bag(
                row,
                rows,
                starts,
                per_sample_weights=gradient.flatten().index_select(0, order),
                mode="sum",
            ).view_as(filters)
        return of_blocks, of_filters


def _differentiable(blocks: Tensor, filters: Tensor) -> Tensor:
    # torch has no types for `apply`.
    largest: Tensor = _StrongestProduct.apply(blocks, filters)[0]  # type: ignore[no-untyped-call]
    return largest


def _strongest(blocks: Tensor, filters: Tensor) -> Tensor:
    """Compute the largest product of each filter as `_StrongestProduct` does, in half the time."""
    pool, n_filters = filters.shape[:2]
    products = _products(blocks, filters)
    while pool > 1:
        half = pool // 2
        rest = products[..., 2 * half * n_filters :]
        first, second = products[..., : 2 * half * n_filters].chunk(2, -1)
        products = torch.maximum(first, second)
        # An odd one out waits for the next round.
        products = torch.cat([products, rest], -1) if pool % 2 else products
        pool -= half
    return products


def _rows(blocks: Tensor, filters: Tensor) -> Tensor:
    """Lay out what each product needs, (n · n_pools, n_blocks · width)."""
    n_blocks, width = filters.shape[2:]
    return blocks.flatten(1).unfold(1, n_blocks * width, width).flatten(0, 1)


def _bags(blocks: Tensor, filters: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
    """Sort products by filter: their order, and the arguments of `embedding_bag` for their sums.

    These are the row of each product, all rows, and where the products of each filter begin.
    """
    order, starts = _grouped(chosen.flatten(), filters.shape[0] * filters.shape[1])
    return order, order // filters.shape[1], _rows(blocks, filters), starts


def _grouped(label: Tensor, n_labels: int) -> tuple[Tensor, Tensor]:
    """Return the order that sorts labels, and where each of them begins in it.

    NumPy sorts 16-bit integers by radix, up to 20 times as fast as torch.
    """
    is_plain = not (torch._C._are_functorch_transforms_active() or torch.compiler.is_compiling())
    if is_plain and n_labels <= 2**16:
        values = label.numpy()
        order = torch.from_numpy(values.astype(np.uint16).argsort(kind="stable"))
        counts = torch.from_numpy(np.bincount(values, minlength=n_labels))
        return order, counts.cumsum(0) - counts
    ordered, order = label.sort(stable=True)
    return order, torch.searchsorted(ordered, torch.arange(n_labels, dtype=label.dtype))


def _products(blocks: Tensor, filters: Tensor) -> Tensor:
    """Multiply signals with filters, (n, n_pools, pool · n_filters)."""
    # As an image with the samples of a block for channels: no row is copied for its neighbours.
    images, kernels = blocks.mT.unsqueeze(2), filters.flatten(0, 1).mT.unsqueeze(2)
    return functional.conv2d(images, kernels).squeeze(2).mT
