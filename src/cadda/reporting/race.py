"""The record of a race between augmentation policies: candidates, their gains and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cadda._internal.files import JsonRecord

__all__ = ["COVERAGE", "CandidateRow", "CandidateStatus", "RaceFacts", "RaceVerdict"]

COVERAGE = 0.9
"""Coverage of the intervals of a race."""

CandidateStatus: TypeAlias = Literal["racing", "dropped", "chosen"]


@dataclass(frozen=True)
class CandidateRow:
    """A candidate of a race.

    Parameters
    ----------
    name : str
        Name of the candidate, such as ``"time_mask, strong"``.
    policy : str
        The policy in its short form.
    gains : tuple of float
        Gain over no augmentation in each block: by how much the logarithm of the validation loss
        is lower, from the same initial weights and batches.
    gain : float
        Mean of these gains.
    error : float | None
        Standard error of the mean; None for a single block.
    accuracy_gain : float
        Mean gain in balanced accuracy on the validation subjects.
    accuracy_low : float | None
        Lower end of its 90 % interval over subjects; None if there are too few.
    accuracy_high : float | None
        Upper end of its 90 % interval over subjects.
    status : 'racing' | 'dropped' | 'chosen'
        What became of it.
    reason : str
        Why it was dropped; empty otherwise.
    """

    name: str
    policy: str
    gains: tuple[float, ...]
    gain: float
    error: float | None
    accuracy_gain: float
    accuracy_low: float | None
    accuracy_high: float | None
    status: CandidateStatus
    reason: str = ""

    @property
    def n_blocks(self) -> int:
        """Number of blocks in which it was trained."""
        return len(self.gains)


@dataclass(frozen=True)
class RaceVerdict:
    """What the chosen policy gains on new subjects, from blocks that had no part in the choice.

    Parameters
    ----------
    candidate : str
        Name of the best candidate.
    gain : float
        Its gain in balanced accuracy over no augmentation.
    low : float | None
        Lower end of the 90 % interval over subjects; None if there are too few.
    high : float | None
        Upper end of the interval.
    n_blocks : int
        Number of blocks.
    n_subjects : int
        Number of subjects.
    is_gain : bool
        Whether the gain can be told from none; if not, the policy is no augmentation.
    sentence : str
        All of this in a sentence.
    """

    candidate: str
    gain: float
    low: float | None
    high: float | None
    n_blocks: int
    n_subjects: int
    is_gain: bool
    sentence: str


@dataclass(frozen=True)
class RaceFacts(JsonRecord):
    """A race, as far as it has come.

    Parameters
    ----------
    candidates : tuple of CandidateRow
        All candidates, those still in the race first, the best first.
    chosen : str
        Name of the candidate that is the answer so far.
    verdict : RaceVerdict | None
        What it gains; None before the blocks that decide.
    n_runs : int
        Number of training runs.
    seconds : float
        Time that they took.
    """

    candidates: tuple[CandidateRow, ...]
    chosen: str
    verdict: RaceVerdict | None
    n_runs: int
    seconds: float

    @property
    def runs_per_minute(self) -> float:
        """Training runs per minute."""
        return 60 * self.n_runs / self.seconds if self.seconds else 0.0
