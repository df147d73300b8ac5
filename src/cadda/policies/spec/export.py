"""Policies as Python code for braindecode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from cadda.operations.catalogue import CATALOGUE, OperationInfo
from cadda.operations.label_maps import plain_name
from cadda.policies.spec.entries import ALL_CLASSES, Subpolicy
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.summary import OperationUse, mean_uses

__all__ = ["not_in_braindecode", "to_braindecode"]


class Transform(NamedTuple):
    """A transform of braindecode: arguments from the physical strength, and what differs."""

    name: str
    arguments: Callable[[float], str]
    differs: str = ""
    settings: tuple[str, ...] = ()  # of the operation that are arguments of the transform
    since: tuple[int, ...] = (0, 8)  # version of braindecode in which it works


def _rotation(axis: str) -> Transform:
    return Transform(
        f"Sensors{axis}Rotation",
        lambda degrees: f"ordered_ch_names=CH_NAMES, max_degrees={degrees:g}",
        "splines are smoothed and use standard positions",
    )


TRANSFORMS = {
    "time_reverse": Transform("TimeReverse", lambda _: ""),
    "sign_flip": Transform("SignFlip", lambda _: ""),
    "ft_surrogate": Transform(
        "FTSurrogate", lambda degrees: f"phase_noise_magnitude={degrees / 360:g}"
    ),
    "frequency_shift": Transform(
        "FrequencyShift",
        lambda hertz: f"sfreq=SFREQ, max_delta_freq={hertz:g}",
        "shifts go up and down",
    ),
    "bandstop": Transform(
        "BandstopFilter",
        lambda hertz: f"sfreq=SFREQ, bandwidth={hertz:g}, max_freq=SFREQ / 2",
        "an FIR filter instead of a zero-phase notch",
    ),
    "time_mask": Transform(
        "SmoothTimeMask",
        lambda seconds: f"mask_len_samples=round({seconds:g} * SFREQ)",
        "smoother edges, and the gap is always inside the window",
    ),
    "gaussian_noise": Transform("GaussianNoise", lambda sigma: f"std={sigma:g}"),
    "channel_dropout": Transform("ChannelsDropout", lambda percent: f"p_drop={percent / 100:g}"),
    "channel_shuffle": Transform(
        "ChannelsShuffle", lambda percent: f"p_shuffle={percent / 100:g}"
    ),
    "channel_symmetry": Transform("ChannelsSymmetry", lambda _: "ordered_ch_names=CH_NAMES"),
    "rotation_x": _rotation("X"),
    "rotation_y": _rotation("Y"),
    "rotation_z": _rotation("Z"),
    "amplitude_scale": Transform(
        "AmplitudeScale",
        lambda decibels: f"interval=({10 ** (-decibels / 20):.4g}, {10 ** (decibels / 20):.4g})",
        "gains are uniform as factors, so that most amplify",
        # Before, it cannot take the random state that transforms have.
        since=(1, 5, 1),
    ),
    "re_reference": Transform(
        "ChannelsReref",
        lambda _: "",
        "always the whole channel; it becomes the old reference instead of zero",
        since=(1, 3),
    ),
    "mask_encoding": Transform(
        "MaskEncoding",
        lambda percent: f"max_mask_ratio={percent / 100:g}",
        "sharp edges; segments may overlap",
        settings=("n_segments",),
        since=(1, 0),
    ),
    "segment_recombination": Transform(
        "SegmentationReconstruction",
        lambda _: "",
        "always all segments, some of the window itself; windows change places in the batch",
        settings=("n_segments",),
        since=(1, 0),
    ),
}


def to_braindecode(
    spec: PolicySpec, *, sfreq: float | None = None, ch_names: Sequence[str] | None = None
) -> str:
    """Return a policy as Python code with braindecode transforms, in a ``Compose``.

    braindecode applies all transforms of a list, one after the other, to windows of all classes.
    What it has no counterpart for is approximated, with a comment beside it: a policy that draws
    among subpolicies becomes one transform per operation, with its overall probability and mean
    magnitude; so does an operation with a random magnitude; a class-wise policy becomes one list
    per class. Operations with a label map are left out, because braindecode's transforms keep the
    labels.

    Parameters
    ----------
    spec : PolicySpec
        The policy.
    sfreq : float | None
        Sampling rate in Hz; by default that of the policy.
    ch_names : sequence of str | None
        Names of the channels; by default those of the policy.

    Returns
    -------
    str
        Code that defines ``transforms``, a list, or a dict of lists by class, and ``transform``,
        the ``Compose`` of it, or a dict of these.

    Examples
    --------
    >>> spec = PolicySpec.from_text("sign_flip p=0.5 > gaussian_noise p=0.3 m=0.5")
    >>> print(to_braindecode(spec).split("transforms = ")[1])
    [
        SignFlip(0.5),
        GaussianNoise(0.3, std=0.1),
    ]
    transform = Compose(transforms)
    <BLANKLINE>
    """
    body = [line for row in spec.rows for line in _row(spec, row)]
    if spec.is_classwise:
        comment = "# braindecode has no class-wise transforms: apply each to its own class.\n"
        code = f"{comment}transforms = {{\n" + "".join(f"    {line}\n" for line in body) + "}\n"
        code += "transform = {name: Compose(items) for name, items in transforms.items()}\n"
    else:
        code = "transforms = " + "".join(f"{line}\n" for line in body)
        code += "transform = Compose(transforms)\n"
    used = [item for item in TRANSFORMS.values() if f"    {item.name}(" in code]
    names = sorted({"Compose", *(item.name for item in used)})
    header = f"# A cadda policy as transforms of braindecode{_needed_version(used)}.\n"
    if spec.label_maps:
        header += (
            "# cadda.Policy changes labels, too, and is a transform for AugmentedDataLoader.\n"
        )
    header += "from braindecode.augmentation import (\n"
    header += "".join(f"    {name},\n" for name in names) + ")\n\n"
    header += _constant("SFREQ", "sfreq", spec.sfreq if sfreq is None else sfreq, code)
    channels = spec.ch_names if ch_names is None else ch_names
    header += _constant("CH_NAMES", "ch_names", None if channels is None else list(channels), code)
    return f"{header}{code}"


def not_in_braindecode(spec: PolicySpec) -> list[str]:
    """Return the operations that `to_braindecode` leaves out."""
    uses = (name for row in spec.rows for name, _ in _uses(spec.policy[row], row)[0])
    return [name for name in dict.fromkeys(uses) if not _has_transform(name)]


def _has_transform(name: str) -> bool:
    """Check for a transform; those of braindecode keep the labels."""
    return name == plain_name(name) and name in TRANSFORMS


def _needed_version(used: Sequence[Transform]) -> str:
    """Return such as ``" 1.3 or newer"``; empty if every version will do."""
    newest = max((item.since for item in used), default=(0, 8))
    return f" {'.'.join(map(str, newest))} or newer" if newest > (0, 8) else ""


def _constant(constant: str, argument: str, value: object, code: str) -> str:
    if constant not in code:
        return ""
    if value is None:
        raise ValueError(
            f"`{argument}` must be given: transforms of this policy need it and the policy file "
            "does not have it."
        )
    return f"{constant} = {value!r}\n"


def _row(spec: PolicySpec, row: str) -> Iterator[str]:
    """Yield the lines of the list of one class."""
    yield "[" if row == ALL_CLASSES else f"{row!r}: ["
    uses, comment = _uses(spec.policy[row], row)
    if comment:
        yield f"    # {comment}"
    for name, use in uses:
        transform = TRANSFORMS.get(name)
        if name != plain_name(name):
            yield f"    # {name}: left out, transforms of braindecode keep the labels"
            continue
        if transform is None:
            yield f"    # {name}: braindecode has no such transform"
            continue
        info = CATALOGUE[name].with_settings(spec.operations.get(name))
        full = info.full * (use.magnitude or 0.0)
        settings = _settings(transform, info, spec.operations.get(name) or {})
        arguments = ", ".join(
            filter(None, [f"{use.probability:g}", transform.arguments(full), *settings])
        )
        notes = "; ".join(filter(None, [transform.differs, _lost_range(info, use)]))
        yield f"    {transform.name}({arguments})," + (f"  # {notes}" if notes else "")
    yield "]" if row == ALL_CLASSES else "],"


def _settings(
    transform: Transform, info: OperationInfo, given: Mapping[str, object]
) -> Iterator[str]:
    """Yield the settings of an operation that are arguments of a transform."""
    for name in transform.settings:
        yield f"{name}={given.get(name, getattr(info.operation, name))}"


def _lost_range(info: OperationInfo, use: OperationUse) -> str:
    """Return what random magnitudes, which braindecode does not have, are replaced by."""
    if use.magnitudes is None or use.magnitudes[0] == use.magnitudes[1]:
        return ""
    return f"random in cadda, {info.describe(use.magnitudes)}; here the mean"


def _uses(
    subpolicies: tuple[Subpolicy, ...], row: str
) -> tuple[list[tuple[str, OperationUse]], str]:
    """Return the operations to apply one after the other, and what is approximated."""
    if not subpolicies:
        return [], "No augmentation."
    if len(subpolicies) == 1 and all(len(stage) == 1 for stage in subpolicies[0].stages):
        entries = [stage[0] for stage in subpolicies[0].stages]
        return [(e.choice, OperationUse(e.probability, e.magnitudes)) for e in entries], ""
    uses = [
        (name, replace(use, probability=round(use.probability, 4)))
        for name, use in mean_uses(subpolicies, row).items()
        if use.probability > 0
    ]
    return uses, (
        "Approximation: the policy draws some of these; here each is applied independently, with "
        "its overall probability and mean magnitude."
    )
