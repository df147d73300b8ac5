"""A policy that changes while a model trains."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cadda._internal.files import write_text_atomically
from cadda._internal.text import short_reason
from cadda.exceptions import PolicyFileError
from cadda.operations.pool import OperationPool
from cadda.policies.policy import Policy
from cadda.policies.spec.json import readable_json
from cadda.policies.spec.model import PolicySpec

__all__ = ["PolicySchedule", "ScheduledPolicy", "Segment", "build_policy", "load_policy"]

FORMAT = "cadda-schedule"
VERSION = 1


@dataclass(frozen=True)
class Segment:
    """Some epochs with the same policy.

    Parameters
    ----------
    n_epochs : int
        How many epochs.
    policy : PolicySpec
        What to apply in them.
    """

    n_epochs: int
    policy: PolicySpec

    def __post_init__(self) -> None:
        if not isinstance(self.n_epochs, int) or self.n_epochs < 1:
            raise ValueError(f"`n_epochs` must be an integer of at least 1, got {self.n_epochs}.")


@dataclass(frozen=True)
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

    segments: tuple[Segment, ...]

    def __post_init__(self) -> None:
        if not self.segments:
            raise ValueError("`segments` must hold at least one segment, got none.")

    @property
    def last(self) -> PolicySpec:
        """The policy at the end."""
        return self.segments[-1].policy

    def at_epoch(self, epoch: int) -> PolicySpec:
        """Give the policy of one epoch.

        Parameters
        ----------
        epoch : int
            Number of the epoch, from 1.

        Returns
        -------
        PolicySpec
            The policy.
        """
        return self.segments[self.segment_at(epoch)].policy

    def segment_at(self, epoch: int) -> int:
        """Say which segment an epoch is in.

        Parameters
        ----------
        epoch : int
            Number of the epoch, from 1.

        Returns
        -------
        int
            Number of the segment, from 0.
        """
        for number, segment in enumerate(self.segments):
            epoch -= segment.n_epochs
            if epoch <= 0:
                return number
        return len(self.segments) - 1

    def to_dict(self) -> dict[str, Any]:
        """Give the schedule as plain data.

        Returns
        -------
        dict
            Content of a schedule file.
        """
        segments = [
            {"n_epochs": one.n_epochs, "policy": one.policy.model_dump(mode="json")}
            for one in self.segments
        ]
        return {"format": FORMAT, "version": VERSION, "segments": segments}

    def to_json(self) -> str:
        """Give the content of a schedule file.

        Returns
        -------
        str
            JSON with one entry of a stage per line.
        """
        return readable_json(self.to_dict()) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schedule as readable JSON, in one step.

        Parameters
        ----------
        path : path-like
            Where to write.
        """
        write_text_atomically(path, self.to_json())

    @classmethod
    def from_dict(
        cls, data: dict[str, Any], *, known: Collection[str] | None = ()
    ) -> PolicySchedule:
        """Make a schedule from parsed JSON.

        Parameters
        ----------
        data : dict
            Content of a schedule file.
        known : collection of str | None
            Names of operations that are allowed beside cadda's own; None allows any.

        Returns
        -------
        PolicySchedule
            The validated schedule. Anything wrong raises `PolicyFileError`.
        """
        if data.get("version") != VERSION:
            raise PolicyFileError(f"`version` must be {VERSION}, got {data.get('version')!r}.")
        try:
            return cls(
                tuple(
                    Segment(one["n_epochs"], PolicySpec.from_dict(one["policy"], known=known))
                    for one in data["segments"]
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            raise PolicyFileError(
                "`segments` must be a list with `n_epochs` and `policy` in each item: "
                f"{type(error).__name__}, {error}"
            ) from error


class ScheduledPolicy:
    """Runs a schedule: gives training the policy of each epoch.

    Parameters
    ----------
    schedule : PolicySchedule
        What to apply when.
    pool : OperationPool
        The operations, made for the windows that will come.
    """

    def __init__(self, schedule: PolicySchedule, pool: OperationPool) -> None:
        self.schedule = schedule
        self._policies = [Policy(segment.policy, pool) for segment in schedule.segments]

    def at_epoch(self, epoch: int) -> Policy:
        """Give the policy of one epoch.

        Parameters
        ----------
        epoch : int
            Number of the epoch, from 1.

        Returns
        -------
        Policy
            What augments its batches.
        """
        return self._policies[self.schedule.segment_at(epoch)]


def build_policy(
    policy: PolicySpec | PolicySchedule, pool: OperationPool
) -> Policy | ScheduledPolicy:
    """Turn plain data into something that augments batches.

    Parameters
    ----------
    policy : PolicySpec | PolicySchedule
        What to apply.
    pool : OperationPool
        The operations, made for the windows that will come.

    Returns
    -------
    Policy | ScheduledPolicy
        What training takes.
    """
    if isinstance(policy, PolicySchedule):
        return ScheduledPolicy(policy, pool)
    return Policy(policy, pool)


def load_policy(
    path: str | os.PathLike[str], *, known: Collection[str] | None = ()
) -> PolicySpec | PolicySchedule:
    """Read a file that holds a policy or a schedule of policies.

    Parameters
    ----------
    path : path-like
        A JSON file, or a policy in short form in a ``.txt`` file.
    known : collection of str | None
        Names of operations that are allowed beside cadda's own; None allows any.

    Returns
    -------
    PolicySpec | PolicySchedule
        What the file says it holds; anything wrong raises `PolicyFileError`.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        data = None
    # What is not a schedule is read as a policy, whose errors name the place.
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        return PolicySpec.load(path, known=known)
    try:
        return PolicySchedule.from_dict(data, known=known)
    except PolicyFileError as error:
        raise PolicyFileError(f"{path}: {short_reason(error)}.") from error
