"""The one table of names, units and references of the operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["CATALOGUE", "EEG_OPERATIONS", "IMAGE_OPERATIONS", "REFERENCES", "Entry"]

Domain = Literal["time", "frequency", "space", "image"]


@dataclass(frozen=True)
class Entry:
    """One operation in words and units.

    Parameters
    ----------
    name : str
        Name in files, commands and pools.
    domain : 'time' | 'frequency' | 'space' | 'image'
        Where the operation acts.
    summary : str
        What it does to a window.
    references : tuple of str
        Who proposed it for such signals: keys of `REFERENCES`.
    quantity : str
        What the magnitude sets; empty for an operation without magnitude.
    full : float
        Value of that quantity at magnitude 1.
    unit : str
        Unit of that quantity.
    """

    name: str
    domain: Domain
    summary: str
    references: tuple[str, ...]
    quantity: str = ""
    full: float = 0.0
    unit: str = ""

    @property
    def has_magnitude(self) -> bool:
        """Whether the strength of the operation can be set."""
        return bool(self.quantity)

    def describe(self, magnitude: float | None) -> str:
        """Say a magnitude in physical units.

        Parameters
        ----------
        magnitude : float | None
            Magnitude in [0, 1].

        Returns
        -------
        str
            Such as ``"shift < 2.5 Hz"``; empty for an operation without magnitude.
        """
        if magnitude is None or not self.has_magnitude:
            return ""
        gap = "" if self.quantity.endswith("±") else " "
        return f"{self.quantity}{gap}{self.amount(magnitude, 3)}"

    def amount(self, magnitude: float, digits: int = 2) -> str:
        """Say a magnitude as a number with its unit.

        Parameters
        ----------
        magnitude : float
            Magnitude in [0, 1].
        digits : int
            Digits that count.

        Returns
        -------
        str
            Such as ``"2.5 Hz"``.
        """
        space = "" if self.unit in ("", "°", "%") else " "
        return f"{float(f'{magnitude * self.full:.{digits}g}'):g}{space}{self.unit}"


REFERENCES = {
    "Rommel 2022": "Rommel, Moreau, Paillard & Gramfort, CADDA: Class-wise automatic "
    "differentiable data augmentation for EEG signals, ICLR 2022",
    "Schwabedal 2019": "Schwabedal, Snyder, Cakmak, Nemati & Clifford, Addressing class imbalance "
    "in classification problems of noisy signals by using Fourier transform surrogates, 2019",
    "Mohsenvand 2020": "Mohsenvand, Izadi & Maes, Contrastive representation learning for "
    "electroencephalogram classification, ML4H 2020",
    "Cheng 2020": "Cheng, Goh, Dogrusoz, Tuzel & Azemi, Subject-aware contrastive learning for "
    "biosignals, 2020",
    "Wang 2018": "Wang, Zhong, Peng, Jiang & Liu, Data augmentation for EEG-based emotion "
    "recognition with deep convolutional neural networks, MMM 2018",
    "Saeed 2021": "Saeed, Grangier, Pietquin & Zeghidour, Learning from heterogeneous EEG signals "
    "with differentiable channel reordering, ICASSP 2021",
    "Deiss 2018": "Deiss, Biswal, Jin, Sun, Westover & Sun, HAMLET: interpretable human and "
    "machine co-learning technique, 2018",
    "Krell 2017": "Krell & Kim, Rotational data augmentation for electroencephalographic data, "
    "EMBC 2017",
    "Krizhevsky 2012": "Krizhevsky, Sutskever & Hinton, ImageNet classification with deep "
    "convolutional neural networks, NeurIPS 2012",
}
"""Full references by their short names."""

_MASKING = ("Mohsenvand 2020", "Cheng 2020")

CATALOGUE: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("time_reverse", "time", "plays the window backwards", ("Rommel 2022",)),
        Entry("sign_flip", "space", "inverts the polarity of all channels", ("Rommel 2022",)),
        Entry(
            "ft_surrogate",
            "frequency",
            "draws Fourier phases anew, keeps the amplitudes",
            ("Schwabedal 2019",),
            "phase <",
            360.0,
            "°",
        ),
        Entry(
            "frequency_shift",
            "frequency",
            "moves all frequencies up",
            ("Rommel 2022",),
            "shift <",
            5.0,
            "Hz",
        ),
        Entry(
            "bandstop",
            "frequency",
            "removes a narrow frequency band",
            _MASKING,
            "band",
            2.0,
            "Hz",
        ),
        Entry(
            "time_mask",
            "time",
            "sets a short stretch to zero",
            _MASKING,
            "gap",
            1.0,
            "s",
        ),
        Entry(
            "gaussian_noise",
            "time",
            "adds white noise",
            ("Wang 2018",),
            "noise σ =",
            0.2,
            "",
        ),
        Entry(
            "channel_dropout",
            "space",
            "sets random channels to zero",
            ("Saeed 2021",),
            "each channel",
            100.0,
            "%",
        ),
        Entry(
            "channel_shuffle",
            "space",
            "permutes random channels",
            ("Saeed 2021",),
            "each channel",
            100.0,
            "%",
        ),
        Entry(
            "channel_symmetry",
            "space",
            "swaps the two sides of the head",
            ("Deiss 2018",),
        ),
        Entry(
            "rotation_x",
            "space",
            "turns the sensors as in nodding",
            ("Krell 2017",),
            "angle ±",
            30.0,
            "°",
        ),
        Entry(
            "rotation_y",
            "space",
            "turns the sensors as in tilting the head",
            ("Krell 2017",),
            "angle ±",
            30.0,
            "°",
        ),
        Entry(
            "rotation_z",
            "space",
            "turns the sensors as in shaking the head",
            ("Krell 2017",),
            "angle ±",
            30.0,
            "°",
        ),
        Entry("horizontal_flip", "image", "swaps left and right", ("Krizhevsky 2012",)),
        Entry("vertical_flip", "image", "swaps top and bottom", ("Krizhevsky 2012",)),
        Entry("rotation_90", "image", "turns a quarter to the left", ("Rommel 2022",)),
        Entry("rotation_180", "image", "turns upside down", ("Rommel 2022",)),
    )
}
"""Every operation by name."""

EEG_OPERATIONS = tuple(name for name, entry in CATALOGUE.items() if entry.domain != "image")
"""Names of the thirteen EEG operations."""

IMAGE_OPERATIONS = tuple(name for name, entry in CATALOGUE.items() if entry.domain == "image")
"""Names of the four image operations."""
