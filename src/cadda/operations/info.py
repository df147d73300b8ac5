"""What is known of an operation, and of the sensors that it is made for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cadda._internal.validation import check_sfreq
from cadda.operations.base import Operation, Setting, Settings

__all__ = ["OperationInfo", "Sensors", "needs_sfreq"]

Domain = Literal["time", "frequency", "space", "image"]


@dataclass(frozen=True, eq=False)
class Sensors:
    """Sampling rate and montage of the windows that operations are made for.

    Parameters
    ----------
    rate : float | None
        Sampling rate in Hz, None if it is not known.
    ch_names : sequence of str
        Names of the channels.
    positions : array of shape (n_channels, 3)
        Sensors around the centre of the head; NaN where unknown.
    partner : sequence of int
        For each channel, the index of the channel on the other side of the head.
    """

    rate: float | None
    ch_names: Sequence[str]
    positions: NDArray[np.float64]
    partner: Sequence[int]

    @property
    def sfreq(self) -> float:
        """Sampling rate in Hz, for operations that need it; these are left out where it is not."""
        return check_sfreq(self.rate, "an operation")


@dataclass(frozen=True, kw_only=True)
class OperationInfo:
    """A row of the catalogue.

    Parameters
    ----------
    operation : type
        Class of the operation.
    domain : 'time' | 'frequency' | 'space' | 'image'
        Where the operation acts.
    summary : str
        What it does to a window.
    references : tuple of str
        Who proposed it for such signals: keys of `REFERENCES`.
    in_paper : bool
        Whether the paper searches over it.
    in_default : bool
        Whether it is in a pool that names no operations.
    quantity : str
        What the magnitude sets; empty for an operation without magnitude.
    full : float
        Value of that quantity at magnitude 1.
    full_setting : str
        Setting of the operation that changes ``full``; empty if there is none.
    unit : str
        Unit of that quantity.
    study_magnitudes : mapping of str to float
        Magnitudes that studies use by default, by kind of data.
    make : callable | None
        Makes the operation from `Sensors`; None calls the class without arguments.
    unmet_need : callable | None
        Returns from `Sensors` why the operation cannot be applied with them, an empty string if it
        can; None for an operation that can always be applied.
    """

    operation: type[Operation]
    domain: Domain
    summary: str
    references: tuple[str, ...]
    in_paper: bool
    in_default: bool = True
    quantity: str = ""
    full: float = 0.0
    full_setting: str = ""
    unit: str = ""
    study_magnitudes: Mapping[str, float] = field(default_factory=dict)
    make: Callable[[Sensors], Operation] | None = None
    unmet_need: Callable[[Sensors], str] | None = None

    @property
    def name(self) -> str:
        """Name in files, commands and pools."""
        return self.operation.name

    @property
    def needs_sfreq(self) -> bool:
        """Whether what the operation does depends on the sampling rate."""
        return needs_sfreq(self.operation)

    def missing(self, sensors: Sensors) -> str:
        """Return why the operation cannot be applied to windows, an empty string if it can.

        Parameters
        ----------
        sensors : Sensors
            Sampling rate and montage of the windows.

        Returns
        -------
        str
            The reason.
        """
        if self.needs_sfreq and sensors.rate is None:
            return "it needs the sampling rate, which is not known; pass it in Hz as `sfreq`"
        return "" if self.unmet_need is None else self.unmet_need(sensors)

    @property
    def has_magnitude(self) -> bool:
        """Whether the strength of the operation can be set."""
        return self.operation.has_magnitude

    @property
    def default_settings(self) -> dict[str, Setting]:
        """Settings of the operation in a pool, by name."""
        if not is_dataclass(self.operation):
            return {}
        known = fields(self.operation)
        return {item.name: item.default for item in known if item.default is not MISSING}

    def changed_settings(self, settings: Settings | None) -> dict[str, Setting]:
        """Return those of some settings that are not the default.

        Parameters
        ----------
        settings : mapping of str to (float | bool | str) | None
            Settings by name.

        Returns
        -------
        dict of str to (float | bool | str)
            The others.
        """
        default = self.default_settings
        given = (settings or {}).items()
        return {name: value for name, value in given if value != default.get(name)}

    def with_settings(self, settings: Settings | None) -> OperationInfo:
        """Return the row for an operation with other settings.

        Parameters
        ----------
        settings : mapping of str to (float | bool | str) | None
            Settings by name; those that are not there are the default ones.

        Returns
        -------
        OperationInfo
            The row with what magnitude 1 means then.
        """
        if not settings:
            return self
        full = settings.get(self.full_setting, self.full)
        both = settings.get("symmetric") is True
        quantity = self.quantity.replace("<", "±") if both else self.quantity
        summary = self.summary.replace("up", "up or down") if both else self.summary
        return replace(self, full=float(full), quantity=quantity, summary=summary)

    def describe(self, magnitude: float | tuple[float, float] | None) -> str:
        """Return a magnitude in physical units.

        Parameters
        ----------
        magnitude : float | tuple of float | None
            Magnitude in [0, 1], or the smallest and the largest.

        Returns
        -------
        str
            Such as ``"shift < 2.5 Hz"`` or ``"gap 0 to 2 s"``; empty for an operation without
            magnitude.
        """
        if magnitude is None or not self.has_magnitude:
            return ""
        gap = "" if self.quantity.endswith("±") else " "
        return f"{self.quantity}{gap}{self.amount(magnitude, 3)}"

    def amount(self, magnitude: float | tuple[float, float], digits: int = 2) -> str:
        """Return a magnitude as a number with its unit.

        Parameters
        ----------
        magnitude : float | tuple of float
            Magnitude in [0, 1], or the smallest and the largest.
        digits : int
            Significant digits.

        Returns
        -------
        str
            Such as ``"2.5 Hz"`` or ``"0 to 2.5 Hz"``.
        """
        ends = magnitude if isinstance(magnitude, tuple) else (magnitude,)
        numbers = dict.fromkeys(f"{float(f'{end * self.full:.{digits}g}'):g}" for end in ends)
        space = "" if self.unit in ("", "°", "%") else " "
        return f"{' to '.join(numbers)}{space}{self.unit}"


def needs_sfreq(operation: type[Operation]) -> bool:
    """Return whether operations of a class are made with the sampling rate."""
    return is_dataclass(operation) and any(item.name == "sfreq" for item in fields(operation))
