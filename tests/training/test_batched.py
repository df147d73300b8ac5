"""Models trained as a stack equal models trained one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from problems import tensor_problem
from torch import nn

from cadda.exceptions import TrainingError
from cadda.models.networks import LeNet1
from cadda.operations.pools import image_pool
from cadda.policies.policy import Policy
from cadda.policies.spec.model import PolicySpec
from cadda.training import Fitted, Problem, TrainingSettings, train
from cadda.training.batched import can_stack, train_stacked

CLASS_NAMES = ("a", "b", "c")
TEXTS = (
    None,
    "horizontal_flip p=0.5",
    "vertical_flip p=0.3 > rotation_90 p=0.5",
    "rotation_180 p=1",
)


def images(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Make noisy images with a bright corner that tells the class."""
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 3
    x = torch.randn(n, 16, 16, generator=g)
    for label in range(3):
        x[y == label, label * 5 : label * 5 + 4, :4] += 1.0
    return x, y


def lenet(seed: int) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LeNet1(16, 16, 3)


def test_no_augmentation() -> None:
    settings = [TrainingSettings(max_epochs=3, seed=0)] * 2
    first, second = train_stacked(problem(), settings, [None, policy("none")])
    assert isinstance(first, Fitted)
    assert isinstance(second, Fitted)
    for name, value in first.model.state_dict().items():
        assert torch.equal(value, second.model.state_dict()[name])


def policy(text: str | None) -> Policy | None:
    return None if text is None else Policy(PolicySpec.from_text(text), image_pool())


def problem(make: Callable[[int], nn.Module] = lenet) -> Problem:
    return tensor_problem(images(70, 0), images(50, 1), CLASS_NAMES, make)


def both(settings: TrainingSettings) -> tuple[list[Any], list[Fitted]]:
    # Where copies are added, all must have a policy, so that batches are equally large.
    texts = TEXTS[1:] if settings.copies else TEXTS
    every = [replace(settings, seed=seed) for seed in range(len(texts))]
    stacked = train_stacked(problem(), every, [policy(text) for text in texts])
    alone = [
        train(problem(), one, policy=policy(text)) for one, text in zip(every, texts, strict=True)
    ]
    return stacked, alone


@pytest.mark.parametrize(
    "settings",
    [
        TrainingSettings(max_epochs=5, lr=0.01),
        TrainingSettings(max_epochs=25, patience=2, lr=0.03, class_weights=True),
        TrainingSettings(max_epochs=4, copies=1, weight_decay=0.01, monitor="balanced_accuracy"),
    ],
)
def test_equal_to_one_by_one(settings: TrainingSettings) -> None:
    stacked, alone = both(settings)
    lengths = [len(fitted.history) for fitted in alone]
    if settings.patience == 2:
        # They stop at different times, and those that go on are not disturbed.
        assert len(set(lengths)) > 1
    for fitted, single in zip(stacked, alone, strict=True):
        assert fitted.best_epoch == single.best_epoch
        assert fitted.stopped_early == single.stopped_early
        assert len(fitted.history) == len(single.history)
        for mine, theirs in zip(fitted.history, single.history, strict=True):
            assert mine.train_loss == pytest.approx(theirs.train_loss, rel=1e-4)
            assert mine.valid_loss == pytest.approx(theirs.valid_loss, rel=1e-4)
            assert mine.is_best == theirs.is_best
        for name, value in fitted.model.state_dict().items():
            torch.testing.assert_close(
                value, single.model.state_dict()[name], rtol=1e-3, atol=1e-4
            )


def test_one_that_diverges_does_not_disturb_the_others() -> None:
    def broken(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * torch.nan, y

    settings = [TrainingSettings(max_epochs=3, seed=seed) for seed in range(2)]
    first, second = train_stacked(problem(), settings, [broken, None])
    assert isinstance(first, TrainingError)
    assert "the loss became nan in epoch 1, step 1" in str(first)
    assert isinstance(second, Fitted)
    alone = train(problem(), settings[1])
    assert second.history[-1].valid_loss == pytest.approx(alone.history[-1].valid_loss, rel=1e-4)


def test_what_cannot_be_stacked() -> None:
    assert can_stack(lenet(0))
    noisy = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(256, 3))
    assert not can_stack(noisy)
    assert not can_stack(nn.Sequential(nn.BatchNorm1d(16), nn.Flatten(), nn.Linear(256, 3)))
    with pytest.raises(ValueError, match="`model` must have neither dropout nor buffers"):
        train_stacked(problem(lambda seed: noisy), [TrainingSettings()], [None])
    with pytest.raises(ValueError, match="`settings` must be the same for all models"):
        train_stacked(
            problem(),
            [TrainingSettings(), TrainingSettings(lr=0.1)],
            [None, None],
        )
    with pytest.raises(ValueError, match="`policies` must be given for all models or for none"):
        train_stacked(
            problem(),
            [TrainingSettings(copies=1)] * 2,
            [None, policy("horizontal_flip p=1")],
        )
