"""The headline claims no more than the evidence supports."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from races import made_up_race

from cadda import PolicySpec
from cadda._internal.statistics import MIN_SUBJECTS
from cadda.policies.spec.leakage import trace_operations
from cadda.policies.spec.summary import class_revealing_operations
from cadda.reporting.html.formatting import count, duration
from cadda.reporting.html.scores import score_predictions
from cadda.reporting.html.verdict import Verdict, make_verdict
from cadda.reporting.records import (
    DataFacts,
    Predictions,
    RunRecord,
    SearchCurves,
    SearchFacts,
    SplitSettings,
    Versions,
)
from cadda.training import TrainingSettings

NAMES = ("a", "b")


def record(
    n_subjects: int,
    right: float,
    right_without: float | None,
    *,
    is_search: bool = True,
    spread: float = 0.0,
) -> RunRecord:
    """Each subject has 20 windows, and a share of right predictions that varies."""
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
    policy = PolicySpec.from_text("sign_flip p=0.5")
    split = SplitSettings(0.2, 0.2, 0)
    search = SearchFacts("cadda", classwise=True, seed=0, operations=("sign_flip",), curves=None)
    return RunRecord(
        source="folder/night.npz",
        reading=None,
        model="chambon2018",
        training=TrainingSettings(),
        search=search if is_search else None,
        data=DataFacts(100.0, 100, ("C3",), NAMES, {}, split, {}),
        predictions=predictions,
        policy=policy,
        schedule=None,
        learning=(),
        seconds={},
        examples=None,
        versions=Versions("1", "3", "2", "linux"),
        sessions=(),
        event_warnings=(),
        config="{}",
    )


def verdict_of(given: RunRecord) -> Verdict:
    return make_verdict(given, score_predictions(given.predictions, given.data.class_names))


def varied(right: list[float], right_without: list[float]) -> RunRecord:
    """Return a record with these shares of right predictions, one for each subject."""
    given = record(len(right), 0.5, 0.5)
    place = (np.arange(20) // 2 + 0.5) / 10
    truth = given.predictions.truth
    models = (
        np.where((place < np.array(shares)[:, None]).ravel(), truth, 1 - truth)
        for shares in (right, right_without)
    )
    names = ("predicted", "without_augmentation")
    predictions = replace(given.predictions, **dict(zip(names, models, strict=True)))
    return replace(given, predictions=predictions)


@pytest.mark.parametrize(
    ("left_warmup", "text"), [(False, "cadda started from"), (True, "found by cadda")]
)
def test_policy_of_a_warmup_was_not_found(left_warmup: bool, text: str) -> None:
    number, table = np.arange(1.0, 6), np.zeros((5, 2, 1))
    curves = SearchCurves(
        "epoch", number, number, None, np.arange(5), table, table, table, table, (), left_warmup
    )
    given = record(8, 0.8, 0.6)
    assert given.search is not None
    given = replace(given, search=replace(given.search, curves=curves))
    assert text in verdict_of(given).sentence


@pytest.mark.parametrize(
    ("given", "kind", "headline", "words"),
    [
        (
            record(8, 0.8, 0.6),
            "gain",
            "The policy helps: balanced accuracy increases by 0.200",
            "0.800 on 8 unseen subjects, compared with 0.600",
        ),
        (
            record(8, 0.5, 0.7),
            "loss",
            "The policy hurts: balanced accuracy decreases by 0.200",
            "a difference of −0.200, a loss (higher for 0 of 8 subjects)",
        ),
        (
            record(8, 0.7, 0.6, spread=0.2),
            "undecided",
            "No significant gain",
            "not distinguishable from chance (higher for 4 of 8 subjects)",
        ),
        (
            varied([0.9] * 3 + [0.5] * 3, [0.5] * 6),
            "inconsistent",
            "Balanced accuracy 0.200 higher on average, but not consistently across subjects",
            "which is not consistent across subjects (higher for 3 of 6 subjects)",
        ),
        (
            varied([0.1] * 5 + [0.6], [0.5] * 6),
            "inconsistent",
            "Balanced accuracy 0.317 lower on average, but not consistently across subjects",
            "(higher for 1 of 6 subjects)",
        ),
        (
            varied([0.7] * 9 + [0.4], [0.5] * 10),
            "gain",
            "The policy helps: balanced accuracy increases by 0.170",
            "a gain (higher for 9 of 10 subjects)",
        ),
        (
            record(4, 0.8, 0.6),
            "too few",
            "Balanced accuracy 0.200 higher with the policy; 4 test subjects are too few for",
            "higher for 4 of 4 subjects; with fewer than 6 it is not distinguishable",
        ),
        (
            record(5, 0.6, 0.6),
            "too few",
            "No difference with the policy; 5 test subjects are too few for",
            "a difference of +0.000",
        ),
        (
            record(1, 0.6, 0.8),
            "too few",
            "Balanced accuracy 0.200 lower with the policy; one test subject is too few for",
            "on 1 unseen subject, compared",
        ),
        (
            record(8, 0.8, None),
            "no comparison",
            "Balanced accuracy 0.800 on 8 unseen subjects",
            "With the class-wise policy found by cadda on night.npz, the model chambon2018",
        ),
    ],
)
def test_verdicts(given: RunRecord, kind: str, headline: str, words: str) -> None:
    verdict = verdict_of(given)
    assert verdict.kind == kind
    assert verdict.headline.startswith(headline)
    assert words in verdict.sentence


def test_no_augmentation() -> None:
    searched = replace(record(8, 0.6, None), policy=PolicySpec.none())
    assert verdict_of(searched).headline == "No augmentation: the search found nothing better"
    assert verdict_of(searched).sentence.startswith(
        "The model chambon2018, trained from scratch without augmentation, as cadda chose on "
        "night.npz, reaches a balanced accuracy of 0.600"
    )
    trained = replace(record(8, 0.6, None, is_search=False), policy=PolicySpec.none())
    assert "trained without augmentation on night.npz" in verdict_of(trained).sentence
    assert "effect of the policy" not in verdict_of(trained).caution


def test_cautions() -> None:
    def caution(given: RunRecord) -> str:
        return verdict_of(given).caution

    assert "bootstrap intervals over 20 test windows" in caution(record(1, 0.8, 0.6))
    assert "nothing about other people" in caution(record(1, 0.8, 0.6))
    assert "too narrow with so few" in caution(record(4, 0.8, 0.6))
    assert "so few" not in caution(record(8, 0.8, 0.6))
    assert "search with `baseline`" in caution(record(8, 0.8, None))
    assert "train without the policy" in caution(record(8, 0.8, None, is_search=False))


def test_a_race_that_measured_too_little_recommends_nothing() -> None:
    race = made_up_race(is_gain=False)
    assert race.verdict is not None
    undecided = replace(race, verdict=replace(race.verdict, is_decided=False))
    given = replace(record(8, 0.7, None), policy=PolicySpec.none(), race=undecided)
    assert verdict_of(given).headline == "Undecided: too little was measured"


def test_a_race_without_a_gain_recommends_no_augmentation() -> None:
    race = made_up_race(is_gain=False)
    given = replace(record(8, 0.7, None), policy=PolicySpec.none(), race=race)
    verdict = verdict_of(given)
    assert verdict.headline == "No augmentation recommended"
    assert race.verdict is not None
    assert verdict.sentence == (
        f"{race.verdict.sentence} The model chambon2018, trained from scratch without "
        "augmentation, as cadda chose on night.npz, reaches a balanced accuracy of 0.700 on 8 "
        "unseen subjects."
    )


@pytest.mark.parametrize(
    ("given", "headline"),
    [
        (
            record(8, 0.8, 0.6),
            "Augmentation recommended: expected gain in balanced accuracy +0.062",
        ),
        (record(8, 0.7, 0.6, spread=0.2), "Augmentation recommended: expected gain"),
        (record(8, 0.5, 0.7), "Conflicting results: gain in balanced accuracy +0.062 in the race"),
    ],
)
def test_a_race_with_a_gain(given: RunRecord, headline: str) -> None:
    alone, race = verdict_of(given), made_up_race()
    verdict = verdict_of(replace(given, race=race))
    assert verdict.headline.startswith(headline)
    assert verdict.sentence == f"{race.sentence} {alone.sentence}"


def test_a_race_without_a_decision_leaves_it_to_the_test() -> None:
    given = record(8, 0.8, 0.6)
    verdict = verdict_of(replace(given, race=replace(made_up_race("time_mask"), verdict=None)))
    assert verdict.headline == verdict_of(given).headline
    assert verdict.sentence.startswith(
        "The race ended before the gain of time_mask was measured. With the class-wise policy"
    )


def test_min_subjects_is_where_a_sign_test_can_be_significant() -> None:
    """If chance decides for each subject, all agree in 2 of 2^n cases."""
    assert min(n for n in range(1, 20) if 2 / 2**n <= 0.05) == MIN_SUBJECTS


def test_operations_that_reveal_a_class() -> None:
    spec = PolicySpec.from_text(
        "[W]\nchannel_dropout p=0.9 m=1 > sign_flip p=0.7\n"
        "[N2]\nsign_flip p=0.8 > channel_dropout p=0.2 m=0.5\n[R]\nsign_flip p=0.6"
    )
    (text,) = class_revealing_operations(trace_operations(spec))
    assert text.startswith(
        "channel_dropout changes 90% of the windows of W, but 0% of those of R, which tells 0.55 "
        "bits about the class"
    )
    for_all = PolicySpec.from_text("sign_flip p=1")
    assert class_revealing_operations(trace_operations(for_all)) == ()


def test_formatting() -> None:
    assert count(1, "window") == "1 window"
    assert count(12_345, "window") == "12\u202f345 windows"
    assert duration(0.25) == "0.25 s"
    assert duration(59.7) == "1 min 0 s"
