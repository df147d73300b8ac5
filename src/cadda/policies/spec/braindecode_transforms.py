"""Transforms of braindecode as a policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec.entries import ALL_CLASSES, StageEntry, Subpolicy
from cadda.policies.spec.model import PolicySpec

__all__ = ["policy_from_braindecode"]

Settings = dict[str, float | bool | str]

_TOLERANCE_DB = 0.05
"""Difference between the gains up and down that is rounding, in dB."""


class Counterpart(NamedTuple):
    """The operation of a transform: its strength in the unit of the catalogue, its settings."""

    operation: str
    strength: Callable[[Any, float | None], float] | None = None  # None has the largest, or none
    settings: Callable[[Any], Settings] = lambda _: {}


def _attribute(transform: Any, name: str) -> float:
    """Return a number of a transform; raise if it cannot be a strength."""
    value = float(getattr(transform, name))
    if not 0 <= value < math.inf:
        raise ValueError(f"`{name}` of {_kind(transform)} must be 0 or more, got {value:g}.")
    return value


def _kind(transform: Any) -> str:
    return type(transform).__name__


def _seconds(transform: Any, sfreq: float | None) -> float:
    if sfreq is None:
        raise ValueError(
            "`sfreq` must be given: SmoothTimeMask has a length in samples, time_mask in seconds."
        )
    return _attribute(transform, "mask_len_samples") / sfreq


def _decibels(transform: Any, _: float | None) -> float:
    """Return the largest gain of an interval of factors, which must be symmetric in decibels."""
    low, high = map(float, transform.scale)
    gains = [20 * math.log10(factor) for factor in (low, high) if 0 < factor < math.inf]
    if len(gains) < 2 or abs(sum(gains)) > _TOLERANCE_DB or gains[1] < 0:
        raise ValueError(
            "`interval` of AmplitudeScale must be (1 / a, a) with a of 1 or more, as gains of "
            f"amplitude_scale are symmetric in decibels, got ({low:g}, {high:g})."
        )
    return gains[1]


def _value(name: str, factor: float = 1.0) -> Callable[[Any, float | None], float]:
    return lambda transform, _: factor * _attribute(transform, name)


COUNTERPARTS: Mapping[str, Counterpart] = {
    "TimeReverse": Counterpart("time_reverse"),
    "SignFlip": Counterpart("sign_flip"),
    "FTSurrogate": Counterpart(
        "ft_surrogate",
        _value("phase_noise_magnitude", 360),
        lambda transform: {"independent_channels": True} if transform.channel_indep else {},
    ),
    "FrequencyShift": Counterpart(
        "frequency_shift", _value("max_delta_freq"), lambda _: {"symmetric": True}
    ),
    # A class of code that `to_braindecode` writes.
    "UpwardFrequencyShift": Counterpart("frequency_shift", _value("max_delta_freq")),
    "BandstopFilter": Counterpart("bandstop", _value("bandwidth")),
    "SmoothTimeMask": Counterpart("time_mask", _seconds),
    "GaussianNoise": Counterpart("gaussian_noise", _value("std")),
    "ChannelsDropout": Counterpart("channel_dropout", _value("p_drop", 100)),
    "ChannelsShuffle": Counterpart("channel_shuffle", _value("p_shuffle", 100)),
    "ChannelsSymmetry": Counterpart("channel_symmetry"),
    **{
        f"Sensors{axis.upper()}Rotation": Counterpart(f"rotation_{axis}", _value("max_degrees"))
        for axis in "xyz"
    },
    "AmplitudeScale": Counterpart("amplitude_scale", _decibels),
    "ChannelsReref": Counterpart("re_reference"),
    "MaskEncoding": Counterpart(
        "mask_encoding",
        _value("mask_ratio", 100),
        lambda transform: {"n_segments": int(transform.n_segments)},
    ),
    "SegmentationReconstruction": Counterpart(
        "segment_recombination",
        settings=lambda transform: {"n_segments": int(transform.n_segments)},
    ),
}
"""What transforms are in cadda, by the names of their classes."""


def policy_from_braindecode(transform: Any, *, sfreq: float | None = None) -> PolicySpec:
    """Make a policy of transforms of braindecode.

    Operations do what the transforms do, but for the differences that
    `coming from braindecode <../from-braindecode.html>`__ lists.

    Parameters
    ----------
    transform : Transform | Compose | sequence of Transform
        A transform, or several that are applied one after the other; a ``Compose`` can have
        others.
    sfreq : float | None
        Sampling rate in Hz, which the policy keeps; needed for ``SmoothTimeMask``, which counts
        samples.

    Returns
    -------
    PolicySpec
        One subpolicy with a stage for each transform. A strength above the largest of an operation
        becomes a setting of it.
    """
    if sfreq is not None and not 0 < sfreq < math.inf:
        raise ValueError(f"`sfreq` must be a positive number in Hz or None, got {sfreq!r}.")
    transforms = [item for item in _flatten(transform) if _kind(item) != "IdentityTransform"]
    if not transforms:
        return PolicySpec.none()
    settings: dict[str, Settings] = {}
    stages = tuple((_entry(item, sfreq, settings),) for item in transforms)
    subpolicies = (Subpolicy(stages=stages),)
    return PolicySpec(policy={ALL_CLASSES: subpolicies}, operations=settings, sfreq=sfreq)


def _flatten(transform: Any) -> list[Any]:
    """Return the transforms of a list or of a `Compose`, which can have others, in a row."""
    listed = getattr(transform, "transforms", transform)
    if not isinstance(listed, list | tuple):
        return [listed]
    return [part for item in listed for part in _flatten(item)]


def _entry(transform: Any, sfreq: float | None, settings: dict[str, Settings]) -> StageEntry:
    """Return the entry of a transform, and put the settings of its operation among others."""
    name = _kind(transform)
    if name not in COUNTERPARTS:
        raise ValueError(
            f"`transform` must have a counterpart in cadda, got {name}; there are "
            f"{', '.join(COUNTERPARTS)}."
        )
    operation, strength, find_settings = COUNTERPARTS[name]
    own, info = find_settings(transform), CATALOGUE[operation]
    magnitude = 1.0 if info.has_magnitude else None
    if strength is not None:
        wanted = strength(transform, sfreq)
        magnitude = min(wanted / info.full, 1.0)
        if wanted > info.full and info.full_setting:
            own = own | {info.full_setting: wanted}
    if settings.setdefault(operation, own) != own:
        raise ValueError(
            f"`transform` must have one kind of {name}, as an operation has the same settings "
            f"everywhere in a policy, got {settings[operation]} and {own}."
        )
    return StageEntry(
        operation=operation, probability=float(transform.probability), magnitude=magnitude
    )
