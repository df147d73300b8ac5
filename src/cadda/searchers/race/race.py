"""The course of a race: who is trained next, who is dropped, who is chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from cadda._internal.statistics import Numbers, mean_with_error
from cadda.exceptions import TrainingError
from cadda.reporting.race import CandidateRow, CandidateStatus
from cadda.searchers.race.blocks import Block, RunScore, make_block, n_rotation
from cadda.searchers.race.candidates import Candidate
from cadda.searchers.race.paired import (
    AccuracyGain,
    accuracy_gain,
    is_worse,
    loss_gains,
    within_one_error,
)
from cadda.searchers.race.run_log import parse_score
from cadda.searchers.race.settings import RaceSettings
from cadda.training.checkpoint import State

__all__ = ["Entrant", "Race"]

MIN_BLOCKS = 3
"""Blocks before a candidate can be dropped."""

N_STEPS = 2
"""Blocks that each further generation adds."""

N_FINALISTS = 3
"""Candidates that get the most blocks: those between which the choice is made."""

Phase = Literal["candidates", "combinations", "classes", "finalists", "decision"]
PHASES: tuple[Phase, ...] = ("candidates", "combinations", "classes", "finalists", "decision")


@dataclass(eq=False)
class Entrant:
    """A candidate in a race."""

    candidate: Candidate
    scores: list[RunScore] = field(default_factory=list)  # of blocks 0, 1, …
    decisive: list[RunScore] = field(default_factory=list)  # of blocks without part in the choice
    dropped: str = ""  # why

    @property
    def n_blocks(self) -> int:
        """Number of blocks that count for the choice."""
        return len(self.scores)

    def state_dict(self) -> State:
        """Return what `from_state` makes the same entrant of."""
        return {
            **self.candidate.state_dict(),
            "scores": [asdict(score) for score in self.scores],
            "decisive": [asdict(score) for score in self.decisive],
            "dropped": self.dropped,
        }

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Make the entrant that `state_dict` was called of."""
        return cls(
            Candidate.from_state(state),
            [parse_score(score) for score in state["scores"]],
            [parse_score(score) for score in state["decisive"]],
            state["dropped"],
        )


class Race:
    """Decides from the scores of training runs alone, so that every engine gives the same race."""

    def __init__(
        self,
        subjects: Mapping[str, NDArray[np.int64]],
        settings: RaceSettings,
        candidates: Sequence[Candidate],
    ) -> None:
        self.n_windows = dict(subjects)  # of each class, by subject
        self.settings = settings
        self.entrants = [Entrant(candidate) for candidate in candidates]
        self.phase: Phase = "candidates"
        self.winner: Entrant | None = None
        self.n_decisive = settings.n_decisive

    @property
    def none(self) -> Entrant:
        """No augmentation, which everything is compared with."""
        return self.entrants[0]

    @property
    def alive(self) -> list[Entrant]:
        """Candidates that have not been dropped."""
        return [entrant for entrant in self.entrants if not entrant.dropped]

    @property
    def n_target(self) -> int:
        """Number of blocks of each candidate at the end of the phase."""
        return self.settings.n_blocks + N_STEPS * PHASES[:-1].index(self.phase)

    @property
    def first_decisive(self) -> int:
        """Number of the first block that has no part in the choice."""
        turn = n_rotation(len(self.n_windows))
        last = self.settings.n_blocks + N_STEPS * len(PHASES[:-1])
        return -(-last // turn) * turn

    def block(self, number: int) -> Block:
        """Return a block by its number."""
        return make_block(tuple(sorted(self.n_windows)), number, self.settings.seed)

    def next_runs(self, n_blocks: int = 1) -> list[tuple[Entrant, Block]]:
        """Return the training runs that come next; none at the end of a phase.

        They are of one block, or of `n_blocks` in the decision, in which nothing depends on
        earlier blocks.
        """
        if self.phase == "decision":
            if self.winner is None:
                return []
            n_done = len(self.none.decisive)
            numbers = range(n_done, min(n_done + n_blocks, self.n_decisive))
            blocks = [self.block(self.first_decisive + number) for number in numbers]
            return [(entrant, block) for block in blocks for entrant in (self.none, self.winner)]
        number = self._n_common
        if number >= self.n_target:
            return []
        block = self.block(number)
        return [(entrant, block) for entrant in self.alive if entrant.n_blocks == number]

    def tell(self, runs: Sequence[tuple[Entrant, Block]], scores: Sequence[RunScore]) -> None:
        """Take the scores of the training runs, and drop candidates that are worse."""
        for (entrant, _), score in zip(runs, scores, strict=True):
            if score.failure is not None and entrant is self.none:
                raise TrainingError(f"training without augmentation failed: {score.failure}.")
            part = entrant.decisive if self.phase == "decision" else entrant.scores
            part.append(score)
            if score.failure is not None:
                entrant.dropped = f"training failed: {score.failure}"
        if self.phase == "decision":
            return
        self._drop_worse()
        # Those that joined now have as many blocks as the others had when they were selected.
        if self.phase != "candidates" and self._n_common == MIN_BLOCKS:
            self._drop_surplus(self.settings.n_survivors)

    def join(self, phase: Phase, candidates: Sequence[Candidate]) -> None:
        """Begin the next phase, with the survivors and with new candidates."""
        n_kept = self.settings.n_survivors
        self._drop_surplus(min(n_kept, N_FINALISTS) if phase == "finalists" else n_kept)
        known = {entrant.candidate.name for entrant in self.entrants}
        self.entrants += [Entrant(item) for item in candidates if item.name not in known]
        self.phase = phase

    def decide(self, n_blocks: int | None = None) -> None:
        """Choose the simplest candidate that is as good as the best, and measure its gain.

        ``n_blocks`` is the number of blocks for that; None for that of the settings.
        """
        chosen = self.simplest()
        self.winner = chosen if chosen is not self.none else None
        self.phase = "decision"
        self.n_decisive = self.settings.n_decisive if n_blocks is None else n_blocks

    def ranked(self) -> list[Entrant]:
        """Return candidates that have not been dropped, by mean gain, the best first."""
        trained = [entrant for entrant in self.alive if entrant.n_blocks]
        return sorted(trained, key=lambda entrant: -float(self.gains(entrant).mean()))

    def simplest(self) -> Entrant:
        """Return the simplest candidate within one standard error of the best."""
        full = max(entrant.n_blocks for entrant in self.alive)
        complete = [entrant for entrant in self.ranked() if entrant.n_blocks == full]
        if full < 2:
            return self.none
        close = within_one_error(self._table(complete, full))
        best = [entrant for entrant, is_close in zip(complete, close, strict=True) if is_close]
        return min(best, key=lambda entrant: entrant.candidate.complexity)

    def gains(self, entrant: Entrant) -> Numbers:
        """Return the gains of a candidate over no augmentation, block by block."""
        return loss_gains(entrant.scores, self.none.scores)

    def accuracy_gain(self, entrant: Entrant, *, decisive: bool = False) -> AccuracyGain:
        """Return the gain of a candidate in balanced accuracy."""
        mine, plain = (
            (each.decisive if decisive else each.scores) for each in (entrant, self.none)
        )
        start, n = self.first_decisive if decisive else 0, min(len(mine), len(plain))
        blocks = [self.block(start + i) for i in range(n)]
        return accuracy_gain(mine[:n], plain[:n], blocks, self.n_windows)

    def balanced_accuracy(self, entrant: Entrant) -> AccuracyGain:
        """Return the balanced accuracy of a candidate, with its error."""
        start = self.first_decisive
        numbers = [*range(entrant.n_blocks), *(start + i for i in range(len(entrant.decisive)))]
        scores = [*entrant.scores, *entrant.decisive]
        nothing = [
            replace(score, correct=tuple((0,) * len(row) for row in score.correct))
            for score in scores
        ]
        return accuracy_gain(scores, nothing, [self.block(i) for i in numbers], self.n_windows)

    @property
    def n_missing(self) -> int | None:
        """Training runs until the end; None as long as further candidates may join."""
        if self.phase == "candidates":
            return None
        n_decisive = self.n_decisive
        if self.phase == "decision":
            return 0 if self.winner is None else 2 * (n_decisive - len(self.none.decisive))
        now = sum(max(0, self.n_target - entrant.n_blocks) for entrant in self.alive)
        n_steps = N_STEPS * (PHASES.index("finalists") - PHASES.index(self.phase))
        return now + n_steps * (1 + N_FINALISTS) + 2 * n_decisive

    def rows(self) -> tuple[CandidateRow, ...]:
        """Return what is known of all candidates: those in the race first, the best first."""
        dropped = [item for item in self.entrants if item.dropped and item.scores]
        dropped.sort(key=lambda item: (-item.n_blocks, -float(np.mean(self.gains(item)))))
        return tuple(map(self._row, [*self.ranked(), *dropped]))

    def _row(self, entrant: Entrant) -> CandidateRow:
        status: CandidateStatus = "dropped" if entrant.dropped else "racing"
        if self.phase == "decision" and entrant is self.winner:
            status = "measured"
        finite = [gain for gain in self.gains(entrant).tolist() if math.isfinite(gain)]
        value, error = mean_with_error(finite) if finite else (0.0, math.nan)
        failed = any(score.failure for score in entrant.scores)
        accuracy = None if failed else self.accuracy_gain(entrant)
        interval = None if accuracy is None else accuracy.interval
        is_bounded = interval is not None and interval.is_bounded
        return CandidateRow(
            name=entrant.candidate.name,
            policy=entrant.candidate.policy.to_text().rstrip(),
            gains=tuple(finite),
            gain=value,
            error=error if math.isfinite(error) else None,
            accuracy_gain=0.0 if accuracy is None else accuracy.value,
            accuracy_low=interval.low if interval is not None and is_bounded else None,
            accuracy_high=interval.high if interval is not None and is_bounded else None,
            status=status,
            reason=entrant.dropped,
        )

    def state_dict(self) -> State:
        """Return what `load_state_dict` continues from."""
        return {
            "phase": self.phase,
            "winner": None if self.winner is None else self.entrants.index(self.winner),
            "n_decisive": self.n_decisive,
            "entrants": [entrant.state_dict() for entrant in self.entrants],
        }

    def load_state_dict(self, state: State) -> None:
        """Continue a race that `state_dict` was called of."""
        self.phase, self.n_decisive = state["phase"], int(state["n_decisive"])
        self.entrants = [Entrant.from_state(item) for item in state["entrants"]]
        self.winner = None if state["winner"] is None else self.entrants[state["winner"]]

    @property
    def _n_common(self) -> int:
        """Number of blocks that all candidates in the race have."""
        return min(entrant.n_blocks for entrant in self.alive)

    def _table(self, entrants: Sequence[Entrant], n_blocks: int) -> Numbers:
        return np.stack([self.gains(entrant)[:n_blocks] for entrant in entrants])

    def _drop_worse(self) -> None:
        """Drop candidates that are worse than the best in the same blocks."""
        newest = self._n_common
        if newest < MIN_BLOCKS:
            return
        # Those that joined late are compared with the others in the blocks that all have.
        worse = is_worse(self._table(self.alive, newest))
        best = max(self.alive, key=lambda entrant: float(self.gains(entrant)[:newest].mean()))
        for entrant, is_out in zip(self.alive, worse, strict=True):
            if is_out and entrant is not self.none:
                entrant.dropped = f"worse than {best.candidate.name} after {newest} blocks"

    def _drop_surplus(self, n_kept: int) -> None:
        """Keep the candidates that are best in the blocks that all have, and none."""
        n_common = self._n_common
        others = [entrant for entrant in self.alive if entrant is not self.none]
        others.sort(key=lambda entrant: -float(self.gains(entrant)[:n_common].mean()))
        for entrant in others[n_kept:]:
            entrant.dropped = f"not among the best {n_kept} after {n_common} blocks"
