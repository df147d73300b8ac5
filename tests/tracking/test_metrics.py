"""Events as numbers for experiment trackers."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cadda.searchers.events import (
    RaceRound,
    Retrained,
    SearchEnd,
    SearchEpoch,
    SearchStart,
    TrialEnd,
)
from cadda.tracking.metrics import EventMetrics, Metrics
from cadda.training.progress import EpochEnd, TrainingEnd

EPOCH = EpochEnd(3, 10, 0.5, 0.6, 0.7, is_best=True)
LOSSES = {"train_loss": 0.5, "valid_loss": 0.6, "valid_balanced_accuracy": 0.7}
TABLE = ((0.1, 0.2), (0.3, 0.4))
TABLES: dict[str, Any] = {"share": TABLE, "probability": TABLE, "magnitude": TABLE}


def start(**changes: Any) -> SearchStart:
    arguments: dict[str, Any] = {
        **{"method": "adda", "classwise": True, "n_epochs": 10, "epoch": 0},
        **{"operations": ("sign_flip", "swap (a ↔ b)"), "class_names": ("N2", "R & W")},
        **{"log10_policies": None, "warnings": ()},
    }
    return SearchStart(**arguments | changes)


def retrained(epoch: int) -> Retrained:
    return Retrained(epoch, 0.9, 0.8, True, 1.0, 2.0, (0.5,), (0.6,))  # noqa: FBT003


def test_training() -> None:
    metrics = EventMetrics()
    assert metrics(EPOCH) == [Metrics("training", 3, LOSSES)]
    assert metrics(TrainingEnd(3, 3, stopped_early=False)) == []


def test_models_of_a_search_are_counted() -> None:
    metrics = EventMetrics()
    groups = [
        found.group
        for event in (start(), EPOCH, retrained(0), EPOCH, retrained(10), SearchEnd(10, 10, 1.0))
        for found in metrics(event)
    ]
    assert groups == ["retraining_0", "retrained", "retraining_1", "retrained"]
    values = {"valid_loss": 0.9, "valid_balanced_accuracy": 0.8}
    assert metrics(retrained(7)) == [Metrics("retrained", 7, values)]


@pytest.mark.parametrize("reward", [None, 0.25])
def test_epochs_of_a_search(reward: float | None) -> None:
    metrics = EventMetrics()
    metrics(start())
    event = SearchEpoch(
        *(2, 10, 0.5, 0.6, 0.7, reward, 0.9), applied=TABLE, **TABLES, seconds=1.0, warnings=()
    )
    search, applied = metrics(event)
    expected = LOSSES | {"entropy": 0.9} | ({} if reward is None else {"reward": reward})
    assert search == Metrics("search", 2, expected)
    assert applied.values == {
        "N2/sign_flip": 0.1,
        "N2/swap_a_b": 0.2,
        "R_W/sign_flip": 0.3,
        "R_W/swap_a_b": 0.4,
    }


@pytest.mark.parametrize("value", [None, math.nan, 0.3])
def test_trials_that_failed_have_no_value(value: float | None) -> None:
    metrics = EventMetrics()
    metrics(start(classwise=False))
    event = TrialEnd(
        *(4, 9, value, False, None), applied=TABLE[:1], **TABLES, trial_seconds=2.0, seconds=9.0
    )
    search, applied = metrics(event)
    known = {} if value is None or math.isnan(value) else {"value": value}
    assert search == Metrics("search", 4, {"trial_seconds": 2.0} | known)
    assert applied.values == {"sign_flip": 0.1, "swap_a_b": 0.2}


def test_candidates_that_are_in_the_race() -> None:
    event = RaceRound(
        n_runs=12, max_runs=40, phase="candidates",
        names=("time_mask, strong", "swap -> p=0.5", "none", "bad", "new"),
        n_blocks=(2, 2, 2, 1, 0), gains=(0.1, 0.2, 0.0, -1.0, 0.0),
        errors=(None,) * 5, accuracy_gains=(0.01, 0.02, 0.0, -0.5, 0.0),
        statuses=("racing", "measured", "racing", "dropped", "racing"), reasons=("",) * 5,
        seconds=3,
    )  # fmt: skip
    gain, accuracy = EventMetrics()(event)
    assert gain == Metrics(
        "gain", 12, {"time_mask_strong": 0.1, "swap_to_p_0.5": 0.2, "none": 0.0}
    )
    assert accuracy.group == "accuracy_gain"
    assert accuracy.values["swap_to_p_0.5"] == 0.02
