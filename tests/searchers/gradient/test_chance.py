"""When the model of a search is worse than chance."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from problems import tensor_problem
from torch import nn

from cadda.searchers.events import SearchEpoch
from cadda.searchers.gradient.chance import CHANCE_EPOCHS, ChanceLevel

EPOCH = SearchEpoch(
    epoch=10,
    n_epochs=50,
    train_loss=0.1,
    valid_loss=1.75,
    valid_balanced_accuracy=0.49,
    reward=0.1,
    entropy=1.0,
    applied=(),
    share=(),
    probability=(),
    magnitude=(),
    seconds=1.0,
    warnings=(),
)


def level(train: list[int], valid: list[int]) -> ChanceLevel:
    parts = [
        (
            torch.zeros(sum(counts), 1, 8),
            torch.arange(len(counts)).repeat_interleave(torch.tensor(counts)),
        )
        for counts in (train, valid)
    ]
    names = tuple(f"class {i}" for i in range(len(train)))
    return ChanceLevel.of(tensor_problem(*parts, names, lambda _: nn.Identity()))


def why(loss: float, accuracy: float, n_epochs: int = CHANCE_EPOCHS) -> str | None:
    epoch = replace(EPOCH, valid_loss=loss, valid_balanced_accuracy=accuracy)
    return level([20, 20], [50, 50]).why_worse([epoch] * n_epochs)


def test_level_of_equally_frequent_classes() -> None:
    found = level([20, 20], [50, 50])
    assert found.loss == pytest.approx(math.log(2))
    assert found.accuracy == 0.5
    # Half of the windows are right by chance, in each of two groups of 50.
    assert found.error == pytest.approx(math.sqrt(0.25 / 50 + 0.25 / 50) / 2)


def test_level_of_frequent_and_rare_classes() -> None:
    found = level([30, 10], [20, 20])
    assert found.loss == pytest.approx(-(math.log(0.75) + math.log(0.25)) / 2)


def test_error_agrees_with_guessing() -> None:
    generator = torch.Generator().manual_seed(0)
    truth = torch.arange(3).repeat_interleave(torch.tensor([10, 40, 25]))
    guesses = torch.randint(3, (4000, 75), generator=generator)
    recall = torch.stack([(guesses[:, truth == c] == c).double().mean(1) for c in range(3)])
    assert level([5, 5, 5], [10, 40, 25]).error == pytest.approx(
        float(recall.mean(0).std()), rel=0.05
    )


def test_a_model_worse_than_chance_has_no_use() -> None:
    reason = why(1.75, 0.49)
    assert reason is not None
    for number in ("1.75", "0.69", "0.76", "0.49", "0.50 ± 0.05", f"over {CHANCE_EPOCHS} epochs"):
        assert number in reason
    assert reason.endswith(".")


@pytest.mark.parametrize(
    ("loss", "accuracy", "n_epochs"),
    [
        (1.75, 0.49, CHANCE_EPOCHS - 1),  # too few epochs to tell
        (0.72, 0.49, CHANCE_EPOCHS),  # hardly trained
        (1.75, 0.62, CHANCE_EPOCHS),  # too sure, but it tells classes apart
    ],
)
def test_other_models_go_on(loss: float, accuracy: float, n_epochs: int) -> None:
    assert why(loss, accuracy, n_epochs) is None


def test_a_model_that_is_too_sure_gets_a_warning() -> None:
    chance = level([20, 20], [50, 50])
    (warning,) = chance.warnings(1.75, 0.62)
    assert "252 % of that of chance" in warning
    assert chance.warnings(0.7, 0.62) == ()
    assert chance.warnings(1.75, 0.49) == ()
