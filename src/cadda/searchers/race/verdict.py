"""What a race concludes, in a sentence."""

from __future__ import annotations

from cadda._internal.statistics import Estimate
from cadda.reporting.race import COVERAGE, RaceVerdict
from cadda.searchers.race.candidates import Level
from cadda.searchers.race.paired import AccuracyGain
from cadda.searchers.race.race import Entrant, Race

__all__ = ["make_verdict"]


def make_verdict(race: Race) -> RaceVerdict | None:
    """Return the gain of the candidate that was chosen, or why there is none; None before that."""
    if race.phase != "decision":
        return None
    winner = race.winner
    if winner is None:
        return _nothing_is_better(race)
    if not winner.decisive or winner.dropped:
        return None
    gain = race.accuracy_gain(winner, decisive=True)
    n_blocks = len(winner.decisive)
    measured = (
        f"{_with_interval(gain.interval)} balanced accuracy on new subjects, measured in "
        f"{n_blocks} blocks of {gain.n_subjects} subjects that had no part in the choice"
    )
    name = winner.candidate.name
    if winner.candidate.level == Level.DUPLICATES:
        sentence = (
            "No policy is better than more steps without augmentation: train without it, with "
            f"more `patience` ({name}: {measured})."
        )
    elif gain.is_gain:
        sentence = f"Use {name}: {measured}."
    else:
        sentence = (
            f"The best candidate, {name}, is not distinguishable from no augmentation: {measured}."
        )
    is_gain = gain.is_gain and winner.candidate.level > Level.DUPLICATES
    return _verdict(winner, gain, n_blocks, sentence, is_gain=is_gain)


def _nothing_is_better(race: Race) -> RaceVerdict | None:
    others = [entrant for entrant in race.ranked() if entrant is not race.none]
    closest = (
        others[0]
        if others
        else max(
            (entrant for entrant in race.entrants[1:] if _is_scored(entrant)),
            key=lambda entrant: float(race.gains(entrant).mean()),
            default=None,
        )
    )
    if closest is None:
        return None
    gain = race.accuracy_gain(closest)
    sentence = (
        "Train without augmentation: no candidate is better by more than one standard error. The "
        f"closest is {closest.candidate.name}: {_with_interval(gain.interval)} balanced accuracy "
        f"in {closest.n_blocks} blocks of {gain.n_subjects} subjects."
    )
    return _verdict(closest, gain, closest.n_blocks, sentence, is_gain=False)


def _is_scored(entrant: Entrant) -> bool:
    return bool(entrant.scores) and all(score.failure is None for score in entrant.scores)


def _verdict(
    entrant: Entrant, gain: AccuracyGain, n_blocks: int, sentence: str, *, is_gain: bool
) -> RaceVerdict:
    interval = gain.interval
    return RaceVerdict(
        candidate=entrant.candidate.name,
        gain=gain.value,
        low=interval.low if interval.is_bounded else None,
        high=interval.high if interval.is_bounded else None,
        n_blocks=n_blocks,
        n_subjects=gain.n_subjects,
        is_gain=is_gain,
        sentence=sentence,
    )


def _with_interval(gain: Estimate) -> str:
    if not gain.is_bounded:
        return f"{gain.value:+.3f}"
    return f"{gain.value:+.3f} ({COVERAGE:.0%} interval {gain.low:+.3f} to {gain.high:+.3f})"
