"""Policies to train with: their files, and whether they fit the windows."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

from cadda._internal.user_warnings import warn_user
from cadda.data.windows import Windows
from cadda.exceptions import PolicyFileError
from cadda.operations.base import Settings
from cadda.operations.pool import OperationPool
from cadda.policies.fitting import UNFIT, complete_settings
from cadda.policies.policy import Policy
from cadda.policies.schedule import PolicySchedule, load_policy, policies_of
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.text import OWN_OPERATIONS, is_text
from cadda.policies.zoo import PREFIX, ZOO, is_zoo_name
from cadda.runs.policy_files import is_edited
from cadda.training.augmenter import AugmentFunction

__all__ = [
    "AS_OPERATIONS",
    "PolicyLike",
    "check_classes",
    "check_policy",
    "classes_of",
    "is_short_form",
    "policy_named",
    "read_policy",
    "with_operation_settings",
]

PolicyLike: TypeAlias = (
    PolicySpec | PolicySchedule | Policy | AugmentFunction | str | os.PathLike[str] | None
)

IN_POOL = (
    "; pass operations of your own in the `pool` of `cadda.fit`: "
    'cadda.operation_pool(train, operations=["all", "module:Class"])'
)
_PROBABILITY = re.compile(r"\sp\s*=")
"""What each operation of a policy in short form has."""

AS_OPERATIONS = "; pass operations of your own as `operations`, such as module:Class"


def read_policy(
    path: str | os.PathLike[str],
    known: Collection[str] = (),
    class_names: Sequence[str] | None = None,
    way_out: str = IN_POOL,
) -> PolicySpec | PolicySchedule:
    """Read a policy file to train with, a policy in short form, or take one of the zoo.

    What is both, such as ``none``, is the file if there is one. `known` are operations that are
    not of cadda, `class_names` are the classes of the windows, and `way_out` is where the user can
    pass such operations.
    """
    try:
        if is_short_form(path):
            return PolicySpec.from_text(os.fspath(path), known=known)
        if not is_zoo_name(path) and is_edited(path):
            warn_user(
                f"{path} was changed after its run wrote it: what it says of its origin, such as "
                "scores, is of the policy before."
            )
        return load_policy(path, known=known, class_names=class_names)
    except PolicyFileError as error:
        text = str(error).replace(OWN_OPERATIONS, way_out)
        if os.fspath(path) in ZOO:
            text = f"{text.removesuffix('.')}; did you mean {PREFIX}{os.fspath(path)}?"
        raise PolicyFileError(text) from error


def is_short_form(path: str | os.PathLike[str]) -> bool:
    """Check whether this is a policy in short form, of which there is no file."""
    text = os.fspath(path)
    try:
        has_file = Path(text).exists()
    except (OSError, ValueError):  # too long, or with a null character
        has_file = False
    # A text with a mistake is no file either: its own message says what is wrong.
    is_short = _PROBABILITY.search(text) is not None or is_text(PolicySpec, text)
    return not has_file and not is_zoo_name(text) and is_short


def with_operation_settings(
    policy: PolicySpec | PolicySchedule, settings: Mapping[str, Settings], pool: OperationPool
) -> PolicySpec | PolicySchedule:
    """Return a policy with the settings of a pool, except where it has its own.

    A warning names operations whose own settings differ from those that were asked for, and those
    that the policy does not use.
    """
    specs = list(policies_of(policy))
    stored = {name: own for spec in specs for name, own in spec.operations.items()}
    for name in sorted(
        settings.keys() - {name for spec in specs for name in spec.operations_used}
    ):
        warn_user(f"the policy does not use {name}: `operation_settings` of it have no effect.")
    for name in sorted(settings.keys() & stored.keys()):
        own = {key: stored[name][key] for key in settings[name] if key in stored[name]}
        if own and own != settings[name]:
            warn_user(
                f"the policy has its own settings of {name}, {own}, which are used instead of "
                "`operation_settings`; change them in its file."
            )
    complete = partial(complete_settings, pool=pool)
    return policy.map(complete) if isinstance(policy, PolicySchedule) else complete(policy)


@contextmanager
def policy_named(name: str) -> Iterator[None]:
    """Name the file, or the option, in the error of a policy that does not fit the windows."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        for begin, named in (
            (UNFIT, f"{name} does not fit the data: "),
            ("`policy` ", f"{name} "),
        ):
            if text.startswith(begin):
                raise ValueError(named + text.removeprefix(begin)) from error
        raise


def check_policy(policy: object) -> None:
    """Raise if this is nothing that windows can be augmented with."""
    known = isinstance(policy, PolicySpec | PolicySchedule | Policy)
    # A class is callable too.
    if policy is None or known or (callable(policy) and not isinstance(policy, type)):
        return
    kind = policy.__name__ if isinstance(policy, type) else type(policy).__name__
    raise TypeError(
        "`policy` must be a policy, a schedule, the path of a file with either, or a function of "
        f"(x, y), got {kind}{'; pass its `policy`' if hasattr(policy, 'policy') else ''}."
    )


def check_classes(policy: PolicyLike, windows: Windows) -> None:
    """Raise if a policy is for other classes than those of the windows."""
    for names in classes_of(policy):
        if set(names) != set(windows.class_names):
            raise ValueError(
                f"`policy` must be for the classes of the windows, {list(windows.class_names)}, "
                f"got one for {list(names)}."
            )


def classes_of(policy: PolicyLike) -> Iterator[tuple[str, ...]]:
    """Yield the classes of policies that depend on them, of each segment of a schedule."""
    if isinstance(policy, PolicySchedule):
        for segment in policy.segments:
            yield from classes_of(segment.policy)
    elif isinstance(policy, Policy):
        # Its labels are numbers by now, in the order of the pool if the policy has none.
        yield from (names for names in (policy.pool.mapped_classes,) if names)
        yield from classes_of(policy.spec)
    elif isinstance(policy, PolicySpec) and (policy.is_classwise or policy.label_maps):
        yield from (names for names in (policy.class_names,) if names)
