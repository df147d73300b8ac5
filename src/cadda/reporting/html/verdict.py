"""The result of a run in one sentence that claims no more than was measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from cadda._internal.statistics import Estimate
from cadda.reporting.html.intervals import Judgement
from cadda.reporting.html.record import RunRecord
from cadda.reporting.html.words import count, measured, number, signed

__all__ = ["FEWEST_SUBJECTS", "Verdict", "verdict_of"]

FEWEST_SUBJECTS = 6
"""With fewer, even a gain for every single one comes by chance more often than one time in 20."""

Kind = Literal["gain", "loss", "undecided", "too few", "no comparison"]


@dataclass(frozen=True)
class Verdict:
    """What came out.

    Parameters
    ----------
    kind : 'gain' | 'loss' | 'undecided' | 'too few' | 'no comparison'
        Whether the policy helped.
    headline : str
        In a few words.
    sentence : str
        With all numbers.
    caution : str
        What the numbers do not say.
    """

    kind: Kind
    headline: str
    sentence: str
    caution: str


def verdict_of(record: RunRecord, judgement: Judgement) -> Verdict:
    """Say whether the policy helped, if that can be said.

    Parameters
    ----------
    record : RunRecord
        The run.
    judgement : Judgement
        Its scores.

    Returns
    -------
    Verdict
        What came out.
    """
    scores = judgement.accuracy
    reached = f"balanced accuracy of {measured(scores.predicted, number)}"
    where = f"on {count(len(judgement.subjects), 'unseen subject')}"
    if scores.difference is None or scores.without is None:
        return Verdict(
            "no comparison",
            f"Balanced accuracy {number(scores.predicted.value)} {where}",
            f"{_what_was_done(record)} reaches a {reached} {where}.",
            _caution(judgement) + _missing(record),
        )
    kind = _kind(scores.difference, len(judgement.subjects))
    difference = measured(scores.difference, signed)
    return Verdict(
        kind,
        _headline(kind, scores.difference, judgement),
        f"{_what_was_done(record)} reaches a {reached} {where}, and of "
        f"{measured(scores.without, number)} without augmentation: a difference of {difference}, "
        f"{_judged(kind, judgement)}.",
        _caution(judgement),
    )


def _kind(difference: Estimate, n_subjects: int) -> Kind:
    if n_subjects < FEWEST_SUBJECTS:
        return "too few"
    if difference.low > 0:
        return "gain"
    return "loss" if difference.high < 0 else "undecided"


def _headline(kind: Kind, difference: Estimate, judgement: Judgement) -> str:
    size = number(abs(difference.value))
    if kind == "gain":
        return f"The policy helps: balanced accuracy rises by {size}"
    if kind == "loss":
        return f"The policy harms: balanced accuracy falls by {size}"
    if kind == "undecided":
        return "No gain that could be told from chance"
    change = "higher" if difference.value > 0 else "lower"
    measured = f"Balanced accuracy {size} {change}" if size != number(0) else "No difference"
    n = len(judgement.subjects)
    few = "one test subject is" if n == 1 else f"{n} test subjects are"
    return f"{measured} with the policy; {few} too few to judge"


def _judged(kind: Kind, judgement: Judgement) -> str:
    with_policy, without = judgement.by_subject
    n, better = len(with_policy), int((with_policy > without).sum())
    some = f"higher for {better} of {n} subjects"
    return {
        "gain": f"a gain ({some})",
        "loss": f"a loss ({some})",
        "undecided": f"which cannot be told from chance ({some})",
        "too few": f"{some}; with fewer than {FEWEST_SUBJECTS} it cannot be told from chance",
        "no comparison": "",
    }[kind]


def _what_was_done(record: RunRecord) -> str:
    name, model = PurePath(record.data_name).name, record.config.get("model")
    if record.kind == "search":
        method = record.config["method"]
        way = "class by class" if record.config["classwise"] else "for all classes together"
        end = (
            "found"
            if record.search_moved
            else "began with (its search ended before the policy moved)"
        )
        return (
            f"With the augmentation that the method {method} {end} {way} on {name}, the model "
            f"{model}, trained from scratch,"
        )
    model = record.config["settings"]["model"]
    how = "without augmentation" if record.policy is None else "with the given policy"
    return f"The model {model}, trained {how} on {name},"


def _caution(judgement: Judgement) -> str:
    drawn = f"the {judgement.n_units} test {judgement.unit}"
    if judgement.unit == "windows":
        return (
            f"95% intervals in brackets, from drawing {drawn} anew: there is only one test "
            "subject, so they say nothing about other people."
        )
    few = " So few make it rough." if judgement.n_units < FEWEST_SUBJECTS else ""
    return (
        f"95% intervals in brackets, from drawing {drawn} anew.{few} This is one split and one "
        "training of each model; another seed would give other numbers."
    )


def _missing(record: RunRecord) -> str:
    if record.policy is None:
        return ""
    way = "search with --baseline" if record.kind == "search" else "train again without --policy"
    return f" What the policy contributes is not known: {way} to compare."
