"""Counting the moments at which Python would wait for a GPU, on a machine that has none.

Tensors that would be on the GPU are marked: those that are given, random numbers of marked
generators, and all that is computed from them. Python waits where such a tensor is read, copied to
the CPU, or decides the shape of another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Generator, Tensor
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._pytree import tree_leaves

import cadda
from cadda._internal.random import Seeds, Streams
from cadda.training.augmenter import Augmenter
from cadda.training.problem import Problem

GRADIENT = ("searchers.gradient.bilevel", "searchers.gradient.policy_optimizer")
READS = {
    *("item", "tolist", "numpy", "cpu", "nonzero", "is_nonzero", "__bool__", "__float__"),
    *("__int__", "__index__", "__array__", "__contains__", "masked_select", "equal", "allclose"),
    *("unique", "_unique2", "unique_consecutive", "bincount", "histc", "argwhere"),
}
"""Names of functions whose result is on the CPU or has a shape that depends on values."""


class HostReads(TorchFunctionMode):
    """Count reads of marked tensors in `counts`, by the name of the function.

    With ``transfers``, all that is moved to a device is marked, too.
    """

    def __init__(self, *, transfers: bool = False) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.transfers = transfers
        self._generators: list[torch.Generator] = []

    def mark(self, *tensors: Any) -> None:
        """Pretend that tensors are on the GPU."""
        for tensor in tensors:
            tensor.is_remote = True

    def mark_generator(self, generator: torch.Generator) -> torch.Generator:
        """Pretend that what a generator draws is on the GPU."""
        self._generators.append(generator)
        return generator

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        leaves = tree_leaves((args, kwargs))
        is_remote = any(getattr(leaf, "is_remote", False) for leaf in leaves)
        is_remote |= any(leaf is generator for leaf in leaves for generator in self._generators)
        if is_remote:
            name = (resolve_name(func) or func.__name__).split(".")[-1]
            if name in READS or _selects_by_mask(name, args) or _repeats_unknown(name, kwargs):
                self.counts[name] += 1
        result = func(*args, **kwargs)
        if is_remote and func is Tensor.cpu:
            return result.clone()  # not marked
        if self.transfers and func is Tensor.to and any(_is_device(leaf) for leaf in leaves):
            is_remote, result = True, result.clone()
        if is_remote:
            changed = args[0] if func is Tensor.__setitem__ else result
            self.mark(*(leaf for leaf in tree_leaves(changed) if isinstance(leaf, Tensor)))
        return result


def _is_device(leaf: Any) -> bool:
    return isinstance(leaf, torch.device)


def _selects_by_mask(name: str, args: tuple[Any, ...]) -> bool:
    if name not in ("__getitem__", "__setitem__"):
        return False
    return any(
        isinstance(leaf, Tensor) and leaf.dtype is torch.bool for leaf in tree_leaves(args[1])
    )


def _repeats_unknown(name: str, kwargs: dict[str, Any]) -> bool:
    return name == "repeat_interleave" and "output_size" not in kwargs


@contextmanager
def counted_reads(
    remote: Iterable[Tensor], monkeypatch: pytest.MonkeyPatch, *, transfers: bool = False
) -> Iterator[Counter[str]]:
    """Count what would wait for a GPU that has some tensors, and gets batches to compute with."""
    reads = HostReads(transfers=transfers)
    reads.mark(*remote)
    stream = Seeds.stream

    def marked_stream(seeds: Seeds, name: str, *, device: Any = "cpu", **indices: int) -> Any:
        made = stream(seeds, name, device=device, **indices)
        # A device is given where numbers are for tensors on it.
        return reads.mark_generator(made) if isinstance(device, torch.device) else made

    def streams(seeds: Seeds, name: str, device: torch.device, **indices: int) -> Streams:
        pair = (Generator().manual_seed(seeds.integer(name, **indices)) for _ in range(2))
        made = Streams(*pair)
        reads.mark_generator(made.numbers)
        return made

    def augment(augmenter: Augmenter, x: Tensor, y: Tensor, draws: Streams) -> Any:
        reads.mark(x)
        return call(augmenter, x, y, draws)

    call = Augmenter.__call__
    monkeypatch.setattr(Seeds, "stream", marked_stream)
    monkeypatch.setattr(Streams, "of", streams)
    monkeypatch.setattr(Augmenter, "__call__", augment)
    for name in ("training_batch", "validation_batch"):
        monkeypatch.setattr(Problem, name, _marking(getattr(Problem, name), reads))
    for module in ("policies.relaxed.base", *GRADIENT):
        monkeypatch.setattr(f"cadda.{module}.is_asynchronous", lambda device: True)
    with reads:
        yield reads.counts


def _marking(method: Any, reads: HostReads) -> Any:
    def marked(*args: Any) -> Any:
        made = method(*args)
        reads.mark(*made)
        return made

    return marked


def noise_of_two(n_windows: int, n_times: int, class_names: list[str]) -> list[cadda.Windows]:
    """Make windows of two subjects, for training and for validation."""
    return [
        cadda.Windows(
            torch.randn(n_windows, 2, n_times, generator=torch.Generator().manual_seed(seed)),
            torch.arange(n_windows) % len(class_names),
            subject=[f"{seed}"] * n_windows,
            sfreq=100.0,
            ch_names=["C3", "C4"],
            class_names=class_names,
        )
        for seed in range(2)
    ]
