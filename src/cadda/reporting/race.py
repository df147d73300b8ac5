"""The record of a race between augmentation policies: candidates, their gains and the verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from itertools import accumulate
from typing import Any, Literal, TypeAlias

from cadda._internal.files import JsonRecord
from cadda._internal.frames import make_frame
from cadda._internal.notebook import Html, block, paragraph, table
from cadda.policies.spec.model import PolicySpec

__all__ = [
    "COVERAGE",
    "CandidateRow",
    "CandidateStatus",
    "RaceFacts",
    "RaceVerdict",
    "candidate_table",
]

COVERAGE = 0.9
"""Coverage of the intervals of a race."""

CandidateStatus: TypeAlias = Literal["racing", "dropped", "measured", "chosen"]
"""A candidate is measured in blocks that had no part in the choice, and chosen if it gains."""


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
        Lower end of its 90 % interval over subjects and training runs; None if there are too few.
    accuracy_high : float | None
        Upper end of its 90 % interval over subjects and training runs.
    status : 'racing' | 'dropped' | 'chosen'
        Whether it is still in the race.
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

    @property
    def is_dropped(self) -> bool:
        """Whether it was dropped."""
        return self.status == "dropped"

    @property
    def running_gains(self) -> tuple[float, ...]:
        """Mean of the gains up to each block."""
        return tuple(total / n for n, total in enumerate(accumulate(self.gains), start=1))


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
        Lower end of the 90 % interval over subjects and training runs; None if there are too few.
    high : float | None
        Upper end of the interval.
    n_blocks : int
        Number of blocks.
    n_subjects : int
        Number of subjects.
    is_gain : bool
        Whether the gain is distinguishable from none; if not, the policy is no augmentation.
    sentence : str
        All of this in a sentence.
    is_decided : bool
        Whether enough was measured for an answer.
    """

    candidate: str
    gain: float
    low: float | None
    high: float | None
    n_blocks: int
    n_subjects: int
    is_gain: bool
    sentence: str
    is_decided: bool = True


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
    def sentence(self) -> str:
        """The verdict, or that there is none yet."""
        if self.verdict is not None:
            return self.verdict.sentence
        return f"The race ended before the gain of {self.chosen} was measured."

    @property
    def is_decided(self) -> bool:
        """Whether enough was measured for an answer."""
        return self.verdict is not None and self.verdict.is_decided

    @property
    def survivors(self) -> tuple[CandidateRow, ...]:
        """Candidates that were not dropped, the best first."""
        return tuple(row for row in self.candidates if not row.is_dropped)

    @property
    def dropped(self) -> tuple[CandidateRow, ...]:
        """Candidates that were dropped."""
        return tuple(row for row in self.candidates if row.is_dropped)

    @property
    def decision(self) -> RaceVerdict | None:
        """The verdict, if a candidate was measured in blocks that had no part in the choice."""
        measured = [row.name for row in self.candidates if row.status in ("measured", "chosen")]
        is_measured = self.verdict is not None and self.verdict.candidate in measured
        return self.verdict if is_measured else None

    @property
    def runner_up(self) -> CandidateRow | None:
        """The best candidate with augmentation and a gain, if the answer is none; else None."""
        rows = [row for row in self.candidates if row.gain > 0 and row.policy.strip() != "none"]
        if any(row.name == self.chosen for row in rows):
            return None
        measured = None if self.verdict is None else self.verdict.candidate
        return next((row for row in rows if row.name == measured), rows[0] if rows else None)

    @property
    def operations(self) -> dict[str, CandidateRow]:
        """What each operation gains on its own, the best first.

        Keys are operations, with their label map if they have one; values are the best of the
        candidates that apply no other operation.
        """
        best: dict[str, CandidateRow] = {}
        for row in sorted(self.candidates, key=lambda row: -row.gain):
            entries = PolicySpec.from_text(row.policy, known=None).entries
            if len(entries) == 1 and row.gains:
                best.setdefault(entries[0].choice, row)
        return best

    def to_frame(self) -> Any:
        """Return the candidates as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per candidate, with the columns of `cadda.CandidateRow`; ``n_blocks`` in place
            of the gain in each block.
        """
        rows = [asdict(row) | {"n_blocks": row.n_blocks} for row in self.candidates]
        names = [field.name for field in fields(CandidateRow)]
        names[names.index("gains")] = "n_blocks"
        return make_frame(rows, names)

    def _repr_html_(self) -> str:
        return block("Race between policies", paragraph(self.sentence), candidate_table(self))

    @property
    def runs_per_minute(self) -> float:
        """Training runs per minute."""
        return 60 * self.n_runs / self.seconds if self.seconds else 0.0


def candidate_table(facts: RaceFacts) -> Html:
    """Return the candidates as a table of a notebook."""
    return table(
        ("candidate", "blocks", "log loss ± error", "balanced accuracy", ""),
        map(_cells, facts.candidates),
        f"gains over no augmentation, with {COVERAGE:.0%} intervals over subjects and runs",
    )


def _cells(row: CandidateRow) -> tuple[str, ...]:
    error = "" if row.error is None else f" ± {row.error:.3f}"
    ends = (row.accuracy_low, row.accuracy_high)
    interval = "" if None in ends else " [{:+.3f} to {:+.3f}]".format(*ends)
    return (
        row.name,
        str(row.n_blocks),
        f"{row.gain:+.3f}{error}",
        f"{row.accuracy_gain:+.3f}{interval}",
        row.reason or ("" if row.status == "racing" else row.status),
    )
