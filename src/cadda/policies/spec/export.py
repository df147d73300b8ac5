"""Policies as Python code for braindecode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from types import MappingProxyType
from typing import NamedTuple

from cadda.operations.base import Settings
from cadda.operations.catalogue import CATALOGUE, OperationInfo
from cadda.operations.label_maps import plain_name
from cadda.policies.spec.entries import ALL_CLASSES, Stage, Subpolicy
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.summary import OperationUse, mean_uses

__all__ = ["braindecode_differences", "to_braindecode"]

UPWARD_SHIFT = '''class UpwardFrequencyShift(FrequencyShift):
    """Shifts frequencies up only, as cadda does unless `symmetric` is true."""

    def get_augmentation_params(self, *batch):
        params = super().get_augmentation_params(*batch)
        if "delta_freq" in params:
            params["delta_freq"] = params["delta_freq"].abs()
        return params


'''


class Transform(NamedTuple):
    """A transform of braindecode: arguments from the physical strength, and what differs."""

    name: str
    arguments: Callable[[float], str]
    differs: str = ""
    # Settings of the operation, and the arguments of the transform that these are.
    settings: Mapping[str, str] = MappingProxyType({})
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
        "FTSurrogate",
        lambda degrees: f"phase_noise_magnitude={degrees / 360:g}",
        settings={"independent_channels": "channel_indep"},
    ),
    "frequency_shift": Transform(
        "FrequencyShift", lambda hertz: f"sfreq=SFREQ, max_delta_freq={hertz:g}"
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
        settings={"n_segments": "n_segments"},
        since=(1, 0),
    ),
    "segment_recombination": Transform(
        "SegmentationReconstruction",
        lambda _: "",
        "always all segments, some of the window itself; windows change places in the batch",
        settings={"n_segments": "n_segments"},
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
    labels. `braindecode_differences` lists all that is not the same, and
    `cadda.policies.standalone.to_torch` writes code that does exactly the same.

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
    used = [item for item in TRANSFORMS.values() if f"{item.name}(" in code]
    names = sorted({"Compose", *(item.name for item in used)})
    header = f"# A cadda policy as transforms of braindecode{_needed_version(used)}.\n"
    if spec.label_maps:
        header += (
            "# cadda.Policy changes labels, too, and is a transform for AugmentedDataLoader.\n"
        )
    header += "from braindecode.augmentation import (\n"
    header += "".join(f"    {name},\n" for name in names) + ")\n\n"
    header += f"\n{UPWARD_SHIFT}" if "UpwardFrequencyShift(" in code else ""
    header += _constant("SFREQ", "sfreq", spec.sfreq if sfreq is None else sfreq, code)
    channels = spec.ch_names if ch_names is None else ch_names
    header += _constant("CH_NAMES", "ch_names", None if channels is None else list(channels), code)
    return f"{header}{code}"


def braindecode_differences(spec: PolicySpec) -> tuple[str, ...]:
    """Return how the code of `to_braindecode` differs from the policy.

    Parameters
    ----------
    spec : PolicySpec
        The policy.

    Returns
    -------
    tuple of str
        Clauses without a full stop; empty for code that does the same.

    Examples
    --------
    >>> braindecode_differences(PolicySpec.from_text("sign_flip p=0.5 > time_mask p=0.5 m=1"))
    ('time_mask: smoother edges, and the gap is always inside the window',)
    """
    found = [difference for row in spec.rows for difference in _row_differences(spec, row)]
    if spec.is_classwise:
        found.insert(0, "`transform` is a dict by class, each item for windows of its class only")
    return tuple(dict.fromkeys(found))


def _row_differences(spec: PolicySpec, row: str) -> Iterator[str]:
    """Yield what differs for windows of a class."""
    uses, is_exact = _uses(spec.policy[row], row)
    if not is_exact:
        of_class = "" if row == ALL_CLASSES else f"{row}: "
        yield f"{of_class}of a draw among operations, {_shares(spec.policy[row], uses)}"
    for name, use in uses:
        missing = _why_missing(name)
        notes = f"left out, {missing}" if missing else _notes(name, use, spec.operations)
        if notes:
            yield f"{name}: {notes}"


def _why_missing(name: str) -> str:
    """Return why there is no transform for an operation; empty if there is one."""
    if name != plain_name(name):
        return "transforms of braindecode keep the labels"
    return "" if name in TRANSFORMS else "braindecode has no such transform"


def _shares(subpolicies: Sequence[Subpolicy], uses: Sequence[tuple[str, OperationUse]]) -> str:
    """Return how many windows the policy and the transforms change."""
    total = sum(subpolicy.weight for subpolicy in subpolicies)
    unchanged = sum(
        subpolicy.weight / total * prod(map(_skipped, subpolicy.stages))
        for subpolicy in subpolicies
    )
    there = prod(1 - use.probability for name, use in uses if not _why_missing(name))
    return (
        f"which changes {1 - unchanged:.0%} of the windows, each is applied independently, which "
        f"changes {1 - there:.0%}"
    )


def _skipped(stage: Stage) -> float:
    """Compute the probability that a stage applies nothing."""
    total = sum(entry.weight for entry in stage)
    return 1 - sum(entry.weight / total * entry.probability for entry in stage)


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
    uses, is_exact = _uses(spec.policy[row], row)
    if not uses:
        yield "    # No augmentation."
    if not is_exact:
        yield f"    # Approximation: of a draw, {_shares(spec.policy[row], uses)}."
    for name, use in uses:
        missing = _why_missing(name)
        if missing:
            yield f"    # {name}: {'left out, ' * (name != plain_name(name))}{missing}"
            continue
        notes = _notes(name, use, spec.operations)
        yield f"    {_call(name, use, spec.operations)}," + (f"  # {notes}" if notes else "")
    yield "]" if row == ALL_CLASSES else "],"


def _call(name: str, use: OperationUse, settings: Mapping[str, Settings]) -> str:
    """Return the code that makes a transform."""
    transform, given = TRANSFORMS[name], settings.get(name, {})
    info = CATALOGUE[name].with_settings(given)
    full = info.full * (use.magnitude or 0.0)
    arguments = [f"{use.probability:g}", transform.arguments(full)]
    for setting, argument in transform.settings.items():
        value = given.get(setting, getattr(info.operation, setting))
        arguments.append("" if value is False else f"{argument}={value}")
    upward = "Upward" * (name == "frequency_shift" and given.get("symmetric") is not True)
    return f"{upward}{transform.name}({', '.join(filter(None, arguments))})"


def _notes(name: str, use: OperationUse, settings: Mapping[str, Settings]) -> str:
    """Return what differs between an operation and its transform."""
    transform, given = TRANSFORMS[name], settings.get(name, {})
    info = CATALOGUE[name].with_settings(given)
    exported = {info.full_setting, "symmetric", *transform.settings}
    changed = info.changed_settings(given).items()
    lost = (f"without {key}={value}" for key, value in changed if key not in exported)
    return "; ".join(filter(None, [transform.differs, _lost_range(info, use), *lost]))


def _lost_range(info: OperationInfo, use: OperationUse) -> str:
    """Return what random magnitudes, which braindecode does not have, are replaced by."""
    if use.magnitudes is None or use.magnitudes[0] == use.magnitudes[1]:
        return ""
    return f"random in cadda, {info.describe(use.magnitudes)}; here the mean"


def _uses(
    subpolicies: tuple[Subpolicy, ...], row: str
) -> tuple[list[tuple[str, OperationUse]], bool]:
    """Return the operations to apply one after the other, and whether that is the policy."""
    if not subpolicies:
        return [], True
    if len(subpolicies) == 1 and all(len(stage) == 1 for stage in subpolicies[0].stages):
        entries = [stage[0] for stage in subpolicies[0].stages]
        return [(e.choice, OperationUse(e.probability, e.magnitudes)) for e in entries], True
    uses = [
        (name, replace(use, probability=round(use.probability, 4)))
        for name, use in mean_uses(subpolicies, row).items()
        if use.probability > 0
    ]
    return uses, False
