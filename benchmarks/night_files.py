"""Nights as long as those of Sleep Physionet, simulated and written as EDF files.

To simulate a night takes seconds, so that only a few are: the others begin at another window of
one of them, have another amplitude and white noise of their own. They are different to a reader, a
filter and a cache, but they are no other subjects: they tell about speed and memory only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from cadda._internal.random import Seeds
from cadda.data.simulation.edf_export import write_edf
from cadda.data.simulation.nights import Night, simulate_night

__all__ = ["N_NIGHTS", "N_WINDOWS", "write_nights"]

N_NIGHTS, N_WINDOWS = 153, 850
"""Nights of Sleep Physionet, and windows of 30 s in each of them."""
N_SIMULATED = 5
NOISE = 2e-6
"""Standard deviation of the noise of a night that is not simulated, in volts."""


def write_nights(
    n_nights: int,
    folder: Path,
    *,
    n_windows: int = N_WINDOWS,
    simulate: Callable[..., Night] = simulate_night,
) -> None:
    """Write nights with the names of Sleep Physionet, two for each subject."""
    for number, night in enumerate(_nights(n_nights, n_windows, simulate)):
        subject, second = divmod(number, 2)
        # `write_edf` numbers subjects, not their nights.
        for path in write_edf([night], folder / "draft")[0]:
            path.rename(folder / path.name.replace("SC4001", f"SC4{subject:02d}{second + 1}"))
    (folder / "draft").rmdir()


def _nights(n_nights: int, n_windows: int, simulate: Callable[..., Night]) -> Iterator[Night]:
    kept: list[Night] = []
    for number in range(n_nights):
        if number < N_SIMULATED:
            kept.append(simulate(number, n_windows=n_windows))
            yield kept[-1]
        else:
            yield _variation(kept[number % N_SIMULATED], number)


def _variation(night: Night, number: int) -> Night:
    """Begin a night at another window, scale it, and add noise."""
    rng = np.random.default_rng(Seeds(0).integer("variation of a night", number=number))
    first = int(rng.integers(1, len(night.stages)))
    n_times = night.volts.shape[1] // len(night.stages)
    volts = np.roll(night.volts, -first * n_times, axis=1) * rng.uniform(0.8, 1.25)
    noise = NOISE * rng.standard_normal(volts.shape)
    return replace(night, volts=volts + noise, stages=np.roll(night.stages, -first))
