"""What a race or a comparison concludes, in a sentence."""

from __future__ import annotations

from dataclasses import replace

from cadda._internal.statistics import Estimate
from cadda._internal.text import plural, quote
from cadda.reporting.race import COVERAGE, RaceVerdict
from cadda.searchers.race.candidates import Level
from cadda.searchers.race.paired import AccuracyGain
from cadda.searchers.race.race import Entrant, Race

__all__ = ["describe_choice", "describe_no_choice", "make_verdict", "with_interval"]

MIN_DEGREES = 2
"""Degrees of freedom below which an interval is too wide to suspect the model."""

MIN_COMPARED = 2
"""Blocks without which no difference has an error."""

CEILING = 0.99
"""Balanced accuracy above which gains cannot be seen."""


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
        f"{with_interval(gain.interval)} balanced accuracy on new subjects, measured in "
        f"{plural(n_blocks, 'block')} that had no part in the choice, over "
        f"{plural(gain.n_subjects, 'subject')}"
    )
    sentence = describe_choice(
        winner.candidate.name, winner.candidate.level, measured, is_gain=gain.is_gain
    )
    is_gain = gain.is_gain and winner.candidate.level > Level.DUPLICATES
    sentence += _chance_warning(race, winner if is_gain else race.none) or _ceiling_note(race)
    return _verdict(winner, gain, n_blocks, sentence, is_gain=is_gain)


def _chance_warning(race: Race, entrant: Entrant) -> str:
    """Return that the model is at chance, where that is known, as a further sentence."""
    measured = race.balanced_accuracy(entrant)
    accuracy = measured.interval
    chance = 1 / len(next(iter(race.n_windows.values())))
    if not accuracy.is_bounded or measured.degrees < MIN_DEGREES or accuracy.low > chance:
        return ""
    return (
        f" The model itself is not distinguishable from chance: balanced accuracy "
        f"{accuracy.value:.3f}, {100 * COVERAGE:g} % interval {max(accuracy.low, 0.0):.3f} to "
        f"{accuracy.high:.3f}, chance {chance:.3f}; check data, labels and model first."
    )


def _ceiling_note(race: Race) -> str:
    """Return that nothing is left to gain, where it is so, as a further sentence."""
    accuracy = race.balanced_accuracy(race.none).interval.value
    if accuracy < CEILING:
        return ""
    return f" There is hardly anything to gain: without augmentation it is {accuracy:.3f}."


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
    if closest.n_blocks < MIN_COMPARED:
        sentence = (
            f"Undecided: {plural(closest.n_blocks, 'block')} of training runs cannot show what "
            "augmentation gains, so the policy is none."
        )
        verdict = _verdict(closest, gain, closest.n_blocks, sentence, is_gain=False)
        return replace(verdict, is_decided=False)
    measured = (
        f"{with_interval(gain.interval)} balanced accuracy in "
        f"{plural(closest.n_blocks, 'block')}, over {plural(gain.n_subjects, 'subject')}"
    )
    sentence = describe_no_choice(closest.candidate.name, measured)
    sentence += _chance_warning(race, race.none) or _ceiling_note(race)
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


def describe_choice(name: str, level: Level, measured: str, *, is_gain: bool) -> str:
    """Word the gain of the simplest candidate that is as good as the best."""
    if level == Level.DUPLICATES:
        return (
            "No policy is better than more steps without augmentation: train without it, with "
            f"more `patience` ({quote(name)}: {measured})."
        )
    if is_gain:
        return f"Use {quote(name)}: {measured}."
    return (
        f"Train without augmentation: the best, {quote(name)}, is not distinguishable from it: "
        f"{measured}."
    )


def describe_no_choice(closest: str, measured: str) -> str:
    """Word that no augmentation is as good as the best."""
    return (
        "Train without augmentation: nothing is better by more than one standard error. The "
        f"closest is {quote(closest)}: {measured}."
    )


def with_interval(gain: Estimate) -> str:
    """Return such as ``"+0.031 (90 % interval +0.012 to +0.050)"``."""
    if not gain.is_bounded:
        return f"{gain.value:+.3f}"
    interval = f"{gain.low:+.3f} to {gain.high:+.3f}"
    return f"{gain.value:+.3f} ({100 * COVERAGE:g} % interval {interval})"
