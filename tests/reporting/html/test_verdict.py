"""The sentence at the top says no more than was measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cadda import PolicySpec
from cadda.reporting.html.intervals import judge
from cadda.reporting.html.policy_view import lonely_operations
from cadda.reporting.html.record import DataFacts, Predictions, RunRecord, SearchCurves
from cadda.reporting.html.verdict import FEWEST_SUBJECTS, verdict_of
from cadda.reporting.html.words import count, duration

NAMES = ("a", "b")


def record(
    n_subjects: int,
    right: float,
    right_without: float | None,
    *,
    kind: str = "search",
    spread: float = 0.0,
) -> RunRecord:
    """Each subject has 20 windows, and a share of right predictions that scatters."""
    n = 20 * n_subjects
    truth = np.arange(n) % 2
    scatter = spread * np.where(np.arange(n_subjects) % 2, 1, -1).repeat(20)

    def predicted(share: float, sign: int) -> np.ndarray:
        place = (np.arange(n) % 20 // 2 + 0.5) / 10
        return np.where(place < share + sign * scatter, truth, 1 - truth)

    subject = np.repeat([f"s{i}" for i in range(n_subjects)], 20)
    predictions = Predictions(
        subject=subject,
        recording=subject,
        position=np.arange(n) % 20,
        truth=truth,
        predicted=predicted(right, 1),
        without_augmentation=None if right_without is None else predicted(right_without, -1),
    )
    config = {
        "data": {"name": "folder/night.npz"} if kind == "search" else "folder/night.npz",
        "method": "cadda",
        "classwise": True,
        "model": "chambon2018",
        "settings": {"model": "chambon2018"},
    }
    policy = PolicySpec.from_text("sign_flip p=0.5")
    data = DataFacts(100.0, 100, ("C3",), NAMES, {}, {}, {})
    return RunRecord(*(kind, config, data, predictions, policy, None, None, (), {}, None, (), ()))


@pytest.mark.parametrize(("n_epochs", "words"), [(5, "cadda began with (its"), (6, "cadda found")])
def test_what_never_moved_was_not_found(n_epochs: int, words: str) -> None:
    numbers = np.arange(1.0, n_epochs + 1)
    curves = SearchCurves("epoch", numbers, numbers, None, {}, ())
    given = record(8, 0.8, 0.6)
    settings = {**given.config, "settings": {"warmup_epochs": 5}}
    given = replace(given, search=curves, config=settings)
    judgement = judge(given.predictions, given.data.class_names)
    assert words in verdict_of(given, judgement).sentence


@pytest.mark.parametrize(
    ("given", "kind", "headline", "words"),
    [
        (
            record(8, 0.8, 0.6),
            "gain",
            "The policy helps: balanced accuracy rises by 0.200",
            "0.800 on 8 unseen subjects, and of 0.600",
        ),
        (
            record(8, 0.5, 0.7),
            "loss",
            "The policy harms: balanced accuracy falls by 0.200",
            "a difference of −0.200, a loss (higher for 0 of 8 subjects)",
        ),
        (
            record(8, 0.7, 0.6, spread=0.2),
            "undecided",
            "No gain that could be told from chance",
            "which cannot be told from chance (higher for 4 of 8 subjects)",
        ),
        (
            record(4, 0.8, 0.6),
            "too few",
            "Balanced accuracy 0.200 higher with the policy; 4 test subjects are too few to judge",
            "higher for 4 of 4 subjects; with fewer than 6 it cannot be told from chance",
        ),
        (
            record(5, 0.6, 0.6),
            "too few",
            "No difference with the policy; 5 test subjects are too few to judge",
            "a difference of +0.000",
        ),
        (
            record(1, 0.6, 0.8),
            "too few",
            "Balanced accuracy 0.200 lower with the policy; one test subject is too few to judge",
            "on 1 unseen subject, and",
        ),
        (
            record(8, 0.8, None),
            "no comparison",
            "Balanced accuracy 0.800 on 8 unseen subjects",
            "the method cadda found class by class on night.npz, the model chambon2018",
        ),
    ],
)
def test_verdicts(given: RunRecord, kind: str, headline: str, words: str) -> None:
    verdict = verdict_of(given, judge(given.predictions, NAMES))
    assert verdict.kind == kind
    assert verdict.headline == headline
    assert words in verdict.sentence


def test_cautions() -> None:
    def caution(given: RunRecord) -> str:
        return verdict_of(given, judge(given.predictions, NAMES)).caution

    assert "drawing the 20 test windows anew" in caution(record(1, 0.8, 0.6))
    assert "nothing about other people" in caution(record(1, 0.8, 0.6))
    assert "So few make it rough." in caution(record(4, 0.8, 0.6))
    assert "So few" not in caution(record(8, 0.8, 0.6))
    assert "search with --baseline" in caution(record(8, 0.8, None))
    assert "train again without --policy" in caution(record(8, 0.8, None, kind="training"))


def test_fewest_subjects_is_where_the_sign_test_begins_to_tell() -> None:
    """If chance decides for each subject, all agree in 2 of 2^n cases."""
    assert min(n for n in range(1, 20) if 2 / 2**n <= 0.05) == FEWEST_SUBJECTS


def test_operations_that_give_a_class_away() -> None:
    spec = PolicySpec.from_text(
        "[W]\nchannel_dropout p=0.9 m=1 > sign_flip p=0.9\n"
        "[N2]\nsign_flip p=0.8 > channel_dropout p=0.2 m=0.5\n[R]\nsign_flip p=0.1"
    )
    (text,) = lonely_operations(spec)
    assert text.startswith("channel_dropout changes 90% of the windows of W, but at most 20% of")
    assert lonely_operations(PolicySpec.from_text("sign_flip p=1")) == []


def test_words() -> None:
    assert count(1, "window") == "1 window"
    assert count(12_345, "window") == "12\u202f345 windows"
    assert duration(0.25) == "0.25 s"
    assert duration(59.7) == "1 min 0 s"
