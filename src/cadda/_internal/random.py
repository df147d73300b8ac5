"""Random numbers without global state: named streams from one seed, draws from a generator."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock

import torch
from torch import Generator, Tensor

from cadda._internal.validation import check_seed

__all__ = ["GLOBAL_GENERATORS", "Seeds", "Streams", "normal", "seeded", "uniform"]


@dataclass(frozen=True)
class Seeds:
    """Independent random streams, each a function of one seed, a name and some indices.

    A stream does not depend on which other streams were asked for, nor in which order, so the same
    work gets the same numbers in one process or in eight.

    Examples
    --------
    >>> once, again = (Seeds(0).stream("draws", fold=2) for _ in range(2))
    >>> bool(torch.rand(1, generator=once) == torch.rand(1, generator=again))
    True
    """

    seed: int

    def __post_init__(self) -> None:
        check_seed(self.seed)

    def integer(self, name: str, **indices: int) -> int:
        """Return the seed of a stream, in [0, 2**63); indices are such as ``fold=2``."""
        key = json.dumps([self.seed, name, indices], sort_keys=True).encode()
        return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") >> 1

    def stream(
        self, name: str, *, device: torch.device | str = "cpu", **indices: int
    ) -> Generator:
        """Return a new generator at the beginning of a stream."""
        return Generator(device=device).manual_seed(self.integer(name, **indices))


@dataclass(frozen=True)
class Streams:
    """Generators for the draws of a policy: decisions on the CPU, all other numbers on the device.

    How many windows get an operation decides the shapes of tensors, so that decisions made on a
    GPU would have to be waited for. On a CPU both are the same generator.
    """

    decisions: Generator
    numbers: Generator

    @classmethod
    def of(cls, seeds: Seeds, name: str, device: torch.device, **indices: int) -> Streams:
        """Return new generators at the beginning of a named stream."""
        seed = seeds.integer(name, **indices)
        numbers = Generator(device=device).manual_seed(seed)
        is_host = device.type == "cpu"
        return cls(numbers if is_host else Generator().manual_seed(seed), numbers)


GLOBAL_GENERATORS = RLock()
"""Held by the thread that uses torch's global generators."""


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's global generators, for modules that take no generator, such as dropout.

    Their states are restored afterwards, except that of MPS, which torch cannot fork. Other
    threads wait.
    """
    forked = torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])
    with GLOBAL_GENERATORS, forked:
        # Not torch.manual_seed: without a GPU, every call of it keeps a traceback for later.
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        elif device.type == "mps":
            torch.mps.manual_seed(seed)
        yield


def uniform(
    shape: tuple[int, ...] | torch.Size, like: Tensor, generator: Generator | None
) -> Tensor:
    """Draw from U(0, 1), the open interval, with the dtype and on the device of ``like``.

    The numbers are never exactly 0 or 1, so that their logarithms are finite. Without a
    ``generator`` they come from torch's global one.
    """
    device = like.device if generator is None else generator.device
    sample = torch.rand(shape, dtype=like.dtype, device=device, generator=generator)
    margin = torch.finfo(like.dtype).eps
    return sample.clamp_(margin, 1 - margin).to(like.device)


def normal(
    shape: tuple[int, ...] | torch.Size, like: Tensor, generator: Generator | None
) -> Tensor:
    """Draw from N(0, 1) with the dtype and on the device of ``like``; see `uniform`."""
    device = like.device if generator is None else generator.device
    sample = torch.randn(shape, dtype=like.dtype, device=device, generator=generator)
    return sample.to(like.device)
