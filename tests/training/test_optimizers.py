"""Optimizers by name and from functions: their steps, their names in files, their checkpoints."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from problems import tensor_problem
from pydantic import TypeAdapter
from torch import nn

from cadda.exceptions import TrainingError
from cadda.training import Fitted, Problem, TrainingSettings, train
from cadda.training.batched import train_stacked
from cadda.training.optimizers import OPTIMIZERS, name_of
from cadda.training.step import make_optimizer

X = torch.randn(12, 2, 8, generator=torch.Generator().manual_seed(0))
Y = torch.arange(12) % 2
SETTINGS = TrainingSettings(max_epochs=3, batch_size=12, lr=0.05)


def linear(seed: int) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Flatten(), nn.Linear(16, 2))


def problem(*, valid: torch.Tensor = X) -> Problem:
    return tensor_problem((X, Y), (valid, Y), ("a", "b"), linear)


def by_hand(optimizer: torch.optim.Optimizer, model: nn.Module, n_epochs: int) -> nn.Module:
    """Take steps on all windows at once, as a user would."""
    for _ in range(n_epochs):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(X), Y).backward()
        optimizer.step()
    return model


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([value.flatten() for value in model.state_dict().values()])


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("adam", partial(torch.optim.Adam, lr=0.05)),
        ("adamw", partial(torch.optim.AdamW, lr=0.05)),
        ("nadam", partial(torch.optim.NAdam, lr=0.05)),
        ("radam", partial(torch.optim.RAdam, lr=0.05)),
        ("sgd", partial(torch.optim.SGD, lr=0.05, momentum=0.9)),
    ],
)
def test_steps_are_those_of_torch(name: str, make: partial[torch.optim.Optimizer]) -> None:
    """The windows come in another order, which only rounding sees."""
    expected = linear(0)
    by_hand(make(expected.parameters()), expected, 3)
    for optimizer in (name, make):
        fitted = train(problem(), replace(SETTINGS, optimizer=optimizer, weight_decay=None))
        assert fitted.best_epoch == 3
        torch.testing.assert_close(weights(fitted.model), weights(expected))


def test_a_plain_step_in_closed_form() -> None:
    start = linear(0)
    nn.functional.cross_entropy(start(X), Y).backward()
    expected = torch.cat([(p - 0.1 * p.grad).flatten() for p in start.parameters()])
    settings = replace(SETTINGS, max_epochs=1, optimizer=lambda p: torch.optim.SGD(p, lr=0.1))
    torch.testing.assert_close(weights(train(problem(), settings).model), expected)


def test_weight_decay_is_that_of_the_optimizer_unless_given() -> None:
    assert TrainingSettings().weight_decay == 0
    assert TrainingSettings(optimizer="adamw").weight_decay == 0.01
    assert TrainingSettings(optimizer="adamw", weight_decay=0).weight_decay == 0
    for name in OPTIMIZERS:
        made = make_optimizer([torch.zeros(1)], TrainingSettings(optimizer=name, weight_decay=0.5))
        assert made.defaults["weight_decay"] == 0.5


def test_files_have_the_name_of_a_function() -> None:
    adapter = TypeAdapter(TrainingSettings)
    own = TrainingSettings(optimizer=partial(torch.optim.SGD, lr=0.1))
    name = "custom:torch.optim.sgd.SGD(lr=0.1)"
    assert name_of(own.optimizer) == name
    read = adapter.validate_json(adapter.dump_json(own))
    assert read.optimizer == name
    with pytest.raises(ValueError, match="is a function; pass the function itself"):
        train(problem(), read)


@pytest.mark.parametrize(
    ("optimizer", "error", "message"),
    [
        (None, ValueError, "^`optimizer` must be one of adam, .* or a function .*got None"),
        (
            torch.optim.SGD([torch.zeros(1)], lr=0.1),
            ValueError,
            "^`optimizer` must be a name or a function of the parameters, such as `lambda",
        ),
        ("adamv", ValueError, r"adam, adamw, .* or a function .*\(did you mean `adam`\?\), got"),
        (lambda _: None, TypeError, "`optimizer` must make a torch optimizer, got NoneType"),
    ],
)
def test_what_is_no_optimizer(optimizer: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        train(problem(), TrainingSettings(optimizer=optimizer))


@pytest.mark.parametrize("other", ["adam", "sgd"])
def test_a_checkpoint_of_another_optimizer_is_not_resumed(other: str, tmp_path: Path) -> None:
    first = {"adam": "sgd", "sgd": "adam"}[other]
    train(problem(), replace(SETTINGS, optimizer=first), checkpoint=tmp_path / "checkpoint.pt")
    with pytest.raises(TrainingError, match="another training run: `optimizer` was"):
        train(problem(), replace(SETTINGS, optimizer=other), checkpoint=tmp_path / "checkpoint.pt")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_stacked_models_are_trained_as_alone(name: str) -> None:
    """Members that stop earlier leave the others with their own memory of earlier steps."""
    settings = TrainingSettings(max_epochs=12, patience=2, batch_size=5, lr=0.3, optimizer=name)
    every = [replace(settings, seed=seed) for seed in range(4)]
    noise = torch.randn(X.shape, generator=torch.Generator().manual_seed(1))
    work = problem(valid=X + 2 * noise)
    stacked = train_stacked(work, every, [None] * 4)
    lengths = set()
    for own, fitted in zip(every, stacked, strict=True):
        assert isinstance(fitted, Fitted)
        alone = train(work, own)
        lengths.add(len(alone.history))
        assert len(fitted.history) == len(alone.history)
        torch.testing.assert_close(weights(fitted.model), weights(alone.model))
    assert len(lengths) > 1


def test_functions_are_not_stacked() -> None:
    own = replace(SETTINGS, optimizer=torch.optim.SGD)
    with pytest.raises(ValueError, match="`optimizer` must be a name where models are stacked"):
        train_stacked(problem(), [own, own], [None, None])
