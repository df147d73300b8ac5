"""Mixed precision and compiled models: the same training as by hand, weights of 32 bits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from problems import tensor_problem
from torch import nn

from cadda._internal.random import seeded
from cadda.exceptions import TrainingError
from cadda.models.networks import Chambon2018, Shallow
from cadda.training import Problem, TrainingSettings, train
from cadda.training.batched import train_stacked

X = torch.randn(12, 2, 300, generator=torch.Generator().manual_seed(0))
Y = torch.arange(12) % 2
SETTINGS = TrainingSettings(max_epochs=3, batch_size=12, optimizer="sgd", lr=0.05)
# The compiler of torch uses what torch calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
MIXED, COMPILED = replace(SETTINGS, precision="bfloat16"), replace(SETTINGS, compile=True)


def network(seed: int) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Flatten(), nn.Linear(600, 8), nn.Tanh(), nn.Linear(8, 2))


def problem() -> Problem:
    return tensor_problem((X, Y), (X, Y), ("a", "b"), network)


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([value.flatten() for value in model.state_dict().values()])


def test_mixed_precision_is_that_of_autocast() -> None:
    model = network(SETTINGS.seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(X)
        loss = nn.functional.cross_entropy(logits.float(), Y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    fitted = train(problem(), MIXED)
    # Windows come in another order, which only rounding of sums sees.
    assert [epoch.train_loss for epoch in fitted.history] == pytest.approx(losses, abs=1e-3)
    exact = train(problem(), SETTINGS)
    assert weights(fitted.model).dtype is torch.float32
    assert not torch.equal(weights(fitted.model), weights(exact.model))
    torch.testing.assert_close(weights(fitted.model), weights(exact.model), atol=5e-3, rtol=0)


@pytest.mark.parametrize("make", [Chambon2018, Shallow])
@pytest.mark.parametrize("n_channels", [2, 9])
def test_networks_have_close_gradients_in_mixed_precision(
    make: type[Chambon2018 | Shallow], n_channels: int
) -> None:
    x = torch.randn(6, n_channels, 600, generator=torch.Generator().manual_seed(1))
    with seeded(0, x.device):  # the initial weights
        model = make(n_channels, 600, 2, dropout=0.0)
    gradients = []
    for is_mixed in (False, True):
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=is_mixed):
            loss = nn.functional.cross_entropy(model(x).float(), Y[:6])
        loss.backward()
        gradients.append(torch.cat([part.grad.flatten() for part in model.parameters()]))
    assert torch.cosine_similarity(*gradients, dim=0) > 0.97


def test_a_compiled_model_learns_the_same() -> None:
    compiled, eager = train(problem(), COMPILED), train(problem(), SETTINGS)
    torch.testing.assert_close(weights(compiled.model), weights(eager.model))
    assert type(compiled.model) is type(eager.model)


@pytest.mark.parametrize("settings", [MIXED, COMPILED])
def test_a_checkpoint_is_of_one_precision(settings: TrainingSettings, tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.pt"
    train(problem(), replace(SETTINGS, max_epochs=1), checkpoint=file)
    with pytest.raises(TrainingError, match=r"precision|compile"):
        train(problem(), replace(settings, max_epochs=1), checkpoint=file)


@pytest.mark.parametrize("settings", [MIXED, COMPILED])
def test_stacked_models_have_neither(settings: TrainingSettings) -> None:
    with pytest.raises(ValueError, match="`precision` must be float32"):
        train_stacked(problem(), [settings], [None])
