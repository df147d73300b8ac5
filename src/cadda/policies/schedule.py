"""A policy that changes while a model trains."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import accumulate
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue, ValidationError

from cadda._internal.files import write_text_atomically
from cadda._internal.frames import make_frame
from cadda._internal.limits import parse_json
from cadda._internal.text import describe_error, short_reason
from cadda._internal.validation import Count, validated_dataclass
from cadda.exceptions import PolicyFileError
from cadda.operations.pool import OperationPool
from cadda.policies.policy import Policy
from cadda.policies.spec.entries import check_not_empty, file_content
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.notebook import COLUMNS, policy_rows
from cadda.policies.spec.text import check_known, read_json, readable_json, unique_keys
from cadda.policies.zoo import find_zoo_policy, is_zoo_name

__all__ = [
    "PolicySchedule",
    "ScheduledPolicy",
    "Segment",
    "build_policy",
    "load_policy",
    "policies_of",
]

FORMAT: Literal["cadda-schedule"] = "cadda-schedule"


@validated_dataclass
class Segment:
    """Some epochs with the same policy.

    Parameters
    ----------
    n_epochs : int
        Number of epochs.
    policy : PolicySpec
        What to apply in them.
    """

    n_epochs: Count
    policy: PolicySpec


@validated_dataclass
class PolicySchedule:
    """Policies one after the other; the last one stays until training ends.

    Parameters
    ----------
    segments : tuple of Segment
        What to apply, in the order of the epochs.

    Examples
    --------
    >>> early, late = (PolicySpec.from_text(f"time_reverse p={p}") for p in (0.1, 0.5))
    >>> schedule = PolicySchedule((Segment(3, early), Segment(3, late)))
    >>> schedule.at_epoch(4) == late == schedule.last
    True
    """

    segments: Annotated[tuple[Segment, ...], AfterValidator(check_not_empty)]

    @property
    def last(self) -> PolicySpec:
        """The policy at the end."""
        return self.segments[-1].policy

    def at_epoch(self, epoch: int) -> PolicySpec:
        """Return the policy of an epoch.

        Parameters
        ----------
        epoch : int
            Number of the epoch, from 1.

        Returns
        -------
        PolicySpec
            The policy.
        """
        return self.segments[self._segment_at(epoch)].policy

    def map(self, change: Callable[[PolicySpec], PolicySpec]) -> PolicySchedule:
        """Change the policy of every segment.

        Parameters
        ----------
        change : callable
            Maps a policy to another one.

        Returns
        -------
        PolicySchedule
            The new schedule.
        """
        return PolicySchedule(
            tuple(Segment(segment.n_epochs, change(segment.policy)) for segment in self.segments)
        )

    def __repr__(self) -> str:
        first = accumulate((segment.n_epochs for segment in self.segments), initial=1)
        return "\n".join(
            f"# from epoch {epoch} on\n{segment.policy!r}"
            for epoch, segment in zip(first, self.segments, strict=False)
        )

    def to_frame(self) -> Any:
        """Return what the policies do as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per segment, class and operation: ``first_epoch``, from 1, and ``n_epochs`` of
            the segment, then the columns of `PolicySpec.to_frame`.
        """
        first = accumulate((segment.n_epochs for segment in self.segments), initial=1)
        rows = (
            {"first_epoch": epoch, "n_epochs": segment.n_epochs, **row}
            for epoch, segment in zip(first, self.segments, strict=False)
            for row in policy_rows(segment.policy)
        )
        return make_frame(rows, ("first_epoch", "n_epochs", *COLUMNS))

    def _segment_at(self, epoch: int) -> int:
        """Return the index of the segment that an epoch, counted from 1, is in."""
        for index, segment in enumerate(self.segments):
            epoch -= segment.n_epochs
            if epoch <= 0:
                return index
        return len(self.segments) - 1

    def to_dict(self) -> dict[str, JsonValue]:
        """Return the content of a schedule file as plain data."""
        return file_content(_File(segments=self.segments))

    def to_json(self) -> str:
        """Return the content of a schedule file."""
        return readable_json(self.to_dict()) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schedule as readable JSON, atomically.

        Parameters
        ----------
        path : path-like
            Where to write.
        """
        write_text_atomically(path, self.to_json())

    @classmethod
    def from_dict(
        cls, data: Mapping[str, JsonValue], *, known: Collection[str] | None = ()
    ) -> PolicySchedule:
        """Make a schedule from parsed JSON.

        Parameters
        ----------
        data : mapping
            Content of a schedule file.
        known : collection of str | None
            Names of operations that are allowed beside cadda's own; None allows any.

        Returns
        -------
        PolicySchedule
            The validated schedule. Anything wrong raises `PolicyFileError`.
        """
        try:
            file = _File.model_validate_json(json.dumps(data))
        except ValidationError as error:
            text = describe_error(error, noun="field of a schedule file")
            raise PolicyFileError(f"{text}.") from error
        for i, segment in enumerate(file.segments):
            check_known(segment.policy, known, ("segments", i, "policy"))
        return cls(file.segments)


class _File(BaseModel):
    """Content of a schedule file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal["cadda-schedule"] = FORMAT
    version: Literal[1] = 1
    segments: Annotated[tuple[Segment, ...], AfterValidator(check_not_empty)]


class ScheduledPolicy:
    """Runs a schedule on windows, with the operations of a pool."""

    def __init__(self, schedule: PolicySchedule, pool: OperationPool) -> None:
        self.schedule, self.pool = schedule, pool
        self._policies = [Policy(segment.policy, pool) for segment in schedule.segments]

    @property
    def is_classwise(self) -> bool:
        """Whether each class has a policy of its own in some epoch."""
        return any(policy.is_classwise for policy in self._policies)

    def at_epoch(self, epoch: int) -> Policy:
        """Return what augments the batches of an epoch, counted from 1."""
        return self._policies[self.schedule._segment_at(epoch)]


def build_policy(
    policy: PolicySpec | PolicySchedule, pool: OperationPool
) -> Policy | ScheduledPolicy:
    """Return what training takes: a policy, or one that changes with the epochs."""
    if isinstance(policy, PolicySchedule):
        return ScheduledPolicy(policy, pool)
    return Policy(policy, pool)


def policies_of(policy: PolicySpec | PolicySchedule) -> tuple[PolicySpec, ...]:
    """Return a policy, or all policies of a schedule."""
    if isinstance(policy, PolicySchedule):
        return tuple(segment.policy for segment in policy.segments)
    return (policy,)


def load_policy(
    path: str | os.PathLike[str],
    *,
    known: Collection[str] | None = (),
    class_names: Sequence[str] | None = None,
) -> PolicySpec | PolicySchedule:
    """Read a file that has a policy, in JSON, YAML or as short form in ``.txt``, or a schedule.

    ``"zoo:NAME"`` is a policy of the zoo, for the classes ``class_names``.
    """
    if is_zoo_name(path):
        return find_zoo_policy(path).spec(class_names)
    try:
        text = read_json(path)
        data = parse_json(text)
    except (OSError, ValueError, PolicyFileError):
        data = None
    # What is not a schedule is read as a policy, whose errors name the place.
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        return PolicySpec.load(path, known=known)
    try:
        json.loads(text, object_pairs_hook=unique_keys)
        return PolicySchedule.from_dict(data, known=known)
    except PolicyFileError as error:
        raise PolicyFileError(f"{path}: {short_reason(error)}.") from error
