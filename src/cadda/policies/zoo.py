"""The zoo: named policies that need no search."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from cadda._internal.text import did_you_mean
from cadda.operations.label_maps import plain_name
from cadda.operations.pool import OperationPool
from cadda.policies.spec.entries import ALL_CLASSES, Stage, Subpolicy
from cadda.policies.spec.model import PolicySpec

__all__ = ["PREFIX", "ZOO", "ZooPolicy", "find_zoo_policy", "is_zoo_name"]

PREFIX = "zoo:"
"""What the name of a policy of the zoo begins with, where a policy file may be given, too."""

_SWAP = "channel_symmetry p=0.5 -> {left: right, right: left}"
_SIDE = re.compile(r"(?<![a-z])(left|right)(?![a-z])", re.IGNORECASE)
_OTHER_SIDE = {"left": "right", "Left": "Right", "LEFT": "RIGHT"}
_OTHER_SIDE |= {right: left for left, right in _OTHER_SIDE.items()}


@dataclass(frozen=True)
class ZooPolicy:
    """A policy that is known to suit a task.

    Parameters
    ----------
    name : str
        Name, without the prefix ``zoo:``.
    task : str
        What it is for.
    text : str
        The policy in its short form. In label maps, ``left`` and ``right`` stand for two classes
        whose names differ in that only.
    source : str
        Who proposed its operations.
    classes : tuple of str
        Classes of the task, of which at least two must be among those of the data for the policy
        to be a candidate of a race; empty if it is for any.
    evidence : str
        What it gained in the kept results of the benchmarks; empty if it was not measured yet.
    """

    name: str
    task: str
    text: str
    source: str
    classes: tuple[str, ...] = ()
    evidence: str = ""

    @property
    def full_name(self) -> str:
        """Name with the prefix ``zoo:``."""
        return f"{PREFIX}{self.name}"

    def spec(self, class_names: Sequence[str] | None = None) -> PolicySpec:
        """Return the policy for some classes.

        Parameters
        ----------
        class_names : sequence of str | None
            Classes of the windows; None for the classes ``left`` and ``right``.

        Returns
        -------
        PolicySpec
            The policy. `ValueError` is raised if it does not suit the classes.
        """
        spec = PolicySpec.from_text(self.text)
        if class_names is None or not spec.label_maps:
            return spec
        mapping = _exchanged_sides(class_names)
        if not mapping:
            raise ValueError(
                f"`{self.full_name}` must be for windows with two classes whose names differ "
                "in left and right only, such as left_fist and right_fist, got "
                f"{list(class_names)}."
            )
        return _with_label_map(spec, mapping)

    @property
    def is_general(self) -> bool:
        """Whether the policy is for windows of any classes."""
        return not self.classes and not self.spec().label_maps

    def suits(self, pool: OperationPool) -> bool:
        """Return whether the policy is made for the operations and classes of a pool.

        Parameters
        ----------
        pool : OperationPool
            The operations, with the classes of the windows.

        Returns
        -------
        bool
            Whether a race should try it.
        """
        names, spec = pool.class_names, self.spec()
        if not {plain_name(name) for name in pool.names}.issuperset(spec.operations_used):
            return False
        if spec.label_maps and not _exchanged_sides(names):
            return False
        known = {name.lower() for name in self.classes}
        return not known or len(known.intersection(map(str.lower, names))) > 1


def _exchanged_sides(class_names: Sequence[str]) -> dict[str, str]:
    """Return the label map that exchanges left and right; empty without two such classes.

    Classes of both sides or of neither, such as ``feet``, are kept: mirrored, they stay the same.
    """
    mirrored = {
        name: _SIDE.sub(lambda side: _OTHER_SIDE.get(side[0], side[0]), name)
        for name in class_names
    }
    mapping = {name: other for name, other in mirrored.items() if other in mirrored}
    return mapping if any(name != other for name, other in mapping.items()) else {}


def _with_label_map(spec: PolicySpec, mapping: dict[str, str]) -> PolicySpec:
    """Return a policy for all classes in which each label map is another one."""

    def mapped(stage: Stage) -> Stage:
        return tuple(
            entry.model_copy(update={"label_map": mapping}) if entry.label_map else entry
            for entry in stage
        )

    subpolicies = tuple(
        Subpolicy(weight=row.weight, stages=tuple(map(mapped, row.stages)))
        for row in spec.policy[ALL_CLASSES]
    )
    return PolicySpec(policy={ALL_CLASSES: subpolicies})


_POLICIES = (
    ZooPolicy(
        name="left-right",
        task="left against right side of the body, such as imagined fists",
        text=_SWAP,
        source="channel symmetry: Deiss 2018",
        evidence="imagined fists, 10 draws: 0.557 → 0.667 with 4 training subjects, "
        "0.683 → 0.718 with 12",
    ),
    ZooPolicy(
        name="left-right-strong",
        task="left against right side of the body, with stronger augmentation",
        text=f"{_SWAP}\n> time_mask p=0.5 m=0..1 > channel_dropout p=0.5 m=0..0.5",
        source="channel symmetry: Deiss 2018; time mask: Cheng 2020; dropout: Saeed 2021",
        evidence="gain over no augmentation, 3 draws: imagined fists +0.085, "
        "executed fists +0.076, simulated motor imagery +0.107",
    ),
    ZooPolicy(
        name="sleep",
        task="sleep stages",
        text="ft_surrogate p=0.5 m=0..1 > time_reverse p=0.5 > sign_flip p=0.5",
        source="FT surrogate: Schwabedal 2019; time reverse, sign flip: Rommel 2022",
        classes=("W", "N1", "N2", "N3", "R"),
        evidence="gain over no augmentation, 3 draws: simulated sleep +0.060, DREAM sleep +0.039",
    ),
    ZooPolicy(
        name="gentle",
        task="any: operations that nearly always keep the class",
        text="gaussian_noise p=0.5 m=0..0.5 > time_mask p=0.5 m=0..0.5\n"
        "> rotation_x p=0.5 m=0..0.2 | rotation_y p=0.5 m=0..0.2 | rotation_z p=0.5 m=0..0.2",
        source="noise: Wang 2018; time mask: Cheng 2020; rotations: Krell 2017",
        evidence="gain over no augmentation, 3 draws: imagined fists +0.022, "
        "executed fists +0.015, imagined fists or feet −0.007, mental arithmetic or rest +0.009, "
        "simulated motor imagery +0.028",
    ),
)

ZOO: dict[str, ZooPolicy] = {policy.name: policy for policy in _POLICIES}
"""Every policy of the zoo by its name."""


def is_zoo_name(name: str | os.PathLike[str]) -> bool:
    """Return whether a name is one of the zoo, not that of a file."""
    return os.fspath(name).startswith(PREFIX)


def find_zoo_policy(name: str | os.PathLike[str]) -> ZooPolicy:
    """Return a policy of the zoo by its name, with or without the prefix."""
    key = os.fspath(name).removeprefix(PREFIX)
    if key not in ZOO:
        raise ValueError(
            f"unknown policy {key!r} of the zoo{did_you_mean(key, ZOO)}; there are "
            f"{', '.join(ZOO)}."
        )
    return ZOO[key]
