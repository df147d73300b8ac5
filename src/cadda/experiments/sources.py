"""Where the windows of a study come from, and what tells them from others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from cadda.data.simulation.nights import Night, nights_to_windows, simulate_nights
from cadda.data.windows import Windows
from cadda.runs.folder import digest_of

__all__ = ["DataInfo", "Reader", "describe", "is_simulated", "simulate"]

MONTAGES = {"simulated": "physionet", "simulated-mass": "mass"}
"""Names of simulated data, and the montages that they have."""

Reader: TypeAlias = Callable[[str | Windows], Windows]
"""Reads a path, or selects from windows, as the user's options say."""


def is_simulated(data: str) -> bool:
    """Say whether a name is one of simulated data.

    Parameters
    ----------
    data : str
        What the user gave.

    Returns
    -------
    bool
        False for paths.
    """
    return data in MONTAGES


def simulate(
    data: str,
    n_subjects: int,
    n_windows: int,
    *,
    seed: int,
    on_progress: Callable[[int, int, str], None],
) -> Windows:
    """Simulate sleep.

    Parameters
    ----------
    data : str
        ``"simulated"`` or ``"simulated-mass"``.
    n_subjects : int
        Number of subjects.
    n_windows : int
        Windows of each.
    seed : int
        Same seed, same bytes.
    on_progress : callable
        Called with the number of subjects done, their total and a name.

    Returns
    -------
    Windows
        What `cadda.simulate_sleep` gives.
    """

    def reported() -> Iterator[Night]:
        on_progress(0, n_subjects, "sleep")
        nights = simulate_nights(n_subjects, n_windows, montage=MONTAGES[data], seed=seed)
        for done, night in enumerate(nights, start=1):
            yield night
            on_progress(done, n_subjects, night.subject)

    return nights_to_windows(reported())


@dataclass(frozen=True)
class DataInfo:
    """What is known of data without having them.

    Parameters
    ----------
    name : str
        What they are called: a simulation, or the name of a file or folder.
    summary : str
        What they hold, in a line.
    digest : str
        Number of the content.
    sfreq : float
        Sampling rate in Hz.
    ch_names : tuple of str
        Names of the channels.
    class_names : tuple of str
        Names of the classes.
    """

    name: str
    summary: str
    digest: str
    sfreq: float
    ch_names: tuple[str, ...]
    class_names: tuple[str, ...]

    def that_matters(self) -> dict[str, Any]:
        """Give what results depend on.

        Returns
        -------
        dict of str to object
            All but the name and the summary.
        """
        plain = asdict(self)
        del plain["name"], plain["summary"]
        return plain


def describe(windows: Windows, name: str, summary: str) -> DataInfo:
    """Say what tells windows from others.

    Parameters
    ----------
    windows : Windows
        The windows.
    name : str
        What they are called.
    summary : str
        What they hold, in a line.

    Returns
    -------
    DataInfo
        Plain values.
    """
    return DataInfo(
        name=name,
        summary=summary,
        digest=digest_of(windows),
        sfreq=windows.sfreq,
        ch_names=windows.ch_names,
        class_names=windows.class_names,
    )
