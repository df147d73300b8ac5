"""Training: it learns, stops, keeps the best, resumes to the same bytes, explains failures."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from problems import tensor_problem
from torch import nn

from cadda import Operation, OperationPool, Policy, PolicySpec, StagedPolicy, operation_pool
from cadda.exceptions import ModelError, TrainingError
from cadda.policies.schedule import PolicySchedule, ScheduledPolicy, Segment
from cadda.training import EpochEnd, Problem, Trainer, TrainingEnd, TrainingSettings, train
from cadda.training.augmenter import Augmenter

CLASSES = ("low", "high")
Labelled = tuple[torch.Tensor, torch.Tensor]


def data(n: int = 64, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Make windows that are told apart by their frequency."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 2
    time = torch.arange(64) / 64
    frequency = torch.where(y == 0, 3.0, 9.0)[:, None, None]
    phase = torch.rand(n, 1, 1, generator=generator)
    noise = 0.5 * torch.randn(n, 2, 64, generator=generator)
    return torch.sin(2 * torch.pi * (frequency * time + phase)) + noise, y


def network(seed: int = 0, *, norm: bool = False) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv1d(2, 8, 9),
            nn.BatchNorm1d(8) if norm else nn.Identity(),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
            nn.Flatten(),
            nn.Dropout(0.2),
            nn.Linear(8, 2),
        )


def problem(
    make: Callable[[int], nn.Module] = network,
    train: Labelled | None = None,
    valid: Labelled | None = None,
) -> Problem:
    return tensor_problem(train or data(), valid or data(seed=1), CLASSES, make)


def settings(**changes: object) -> TrainingSettings:
    values = {"max_epochs": 12, "patience": 5, "batch_size": 16, "lr": 1e-2} | changes
    return TrainingSettings(**values)


def test_learns_and_reports() -> None:
    events: list[object] = []
    result = train(problem(), settings(), on_event=events.append)
    assert result.history[-1].train_loss < result.history[0].train_loss
    assert max(event.valid_balanced_accuracy for event in result.history) > 0.9
    assert [type(event) for event in events] == [EpochEnd] * len(result.history) + [TrainingEnd]
    assert not result.model.training


def flat(*, norm: bool) -> nn.Module:
    """Make a network whose batch normalisation sees one value per window."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        parts = [nn.Flatten(), nn.Linear(128, 4), nn.BatchNorm1d(4) if norm else nn.Tanh()]
        return nn.Sequential(*parts, nn.Linear(4, 2))


def sizes_of_batches(make: Callable[[], nn.Module], n: int, **changes: object) -> list[int]:
    """Return how many windows each training step of an epoch has."""
    sizes: list[int] = []

    def counting(seed: int) -> nn.Module:
        del seed
        model = make()
        model.register_forward_pre_hook(
            lambda module, inputs: sizes.append(len(inputs[0])) if module.training else None
        )
        return model

    work = problem(counting, train=data(n))
    Trainer(work, settings(batch_size=16, **changes)).run_epoch()
    return sizes


def test_a_last_batch_of_one_window_joins_another_for_batch_normalisation() -> None:
    work = problem(lambda seed: flat(norm=True), train=data(33))
    assert train(work, settings(max_epochs=2)).history[-1].train_loss > 0
    # The first forward pass is the trial that finds out whether a window alone can be used.
    assert sizes_of_batches(lambda: flat(norm=True), 33) == [1, 16, 17]
    assert sizes_of_batches(lambda: flat(norm=True), 34) == [16, 16, 2]


def test_other_models_keep_a_last_batch_of_one_window() -> None:
    assert sizes_of_batches(lambda: flat(norm=False), 33) == [16, 16, 1]
    # Normalised over time as well, a window has many values.
    assert sizes_of_batches(lambda: network(norm=True), 33) == [1, 16, 16, 1]


def test_the_best_weights_are_kept() -> None:
    x, y = data(seed=1)
    result = train(problem(valid=(x, y)), settings(lr=0.3, max_epochs=8))
    with torch.no_grad():
        loss = nn.functional.cross_entropy(result.model(x), y).item()
    best = min(result.history, key=lambda event: event.valid_loss)
    assert loss == pytest.approx(best.valid_loss, rel=1e-5)
    assert result.best_epoch == best.epoch


@pytest.mark.parametrize("monitor", ["loss", "balanced_accuracy"])
def test_early_stopping(monitor: str) -> None:
    x, y = data(seed=1)
    choice = settings(max_epochs=100, patience=3, monitor=monitor)
    # Validation labels are the wrong way round, so that the better it trains, the worse it is.
    result = train(problem(valid=(x, 1 - y)), choice)
    assert result.stopped_early
    assert len(result.history) == result.best_epoch + 3


def test_same_seed_same_bytes_and_no_global_state() -> None:
    before = torch.random.get_rng_state()
    runs = [train(problem(), settings(seed=s)) for s in (1, 1, 2)]
    assert torch.equal(before, torch.random.get_rng_state())
    first, again, other = (run.model.state_dict() for run in runs)
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not all(torch.equal(first[key], other[key]) for key in first)
    assert runs[0].history == runs[1].history


def policy() -> Policy:
    class Noise(Operation):
        name = "noise"

        def sample(self, x, generator):
            return {"noise": torch.randn(x.shape, generator=generator)}

        def apply(self, x, magnitude, draw):
            return x + magnitude[:, None, None] * draw["noise"]

    return Policy(
        PolicySpec.from_text("noise p=0.5 m=0.3", known=["noise"]), OperationPool([Noise()])
    )


@pytest.mark.parametrize("stop_after", [1, 4, 7])
def test_resumed_training_ends_with_the_same_bytes(stop_after: int, tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    def kill(event: object) -> None:
        if isinstance(event, EpochEnd) and event.epoch == stop_after:
            raise KilledError

    arguments = (problem(lambda seed: network(seed, norm=True)), settings())
    whole = train(*arguments, policy=policy())
    file = tmp_path / "checkpoint.pt"
    with pytest.raises(KilledError):
        train(*arguments, policy=policy(), on_event=kill, checkpoint=file)
    resumed = train(*arguments, policy=policy(), checkpoint=file)
    assert resumed.history == whole.history
    expected = whole.model.state_dict()
    assert all(torch.equal(expected[k], v) for k, v in resumed.model.state_dict().items())
    again = train(*arguments, policy=policy(), checkpoint=file)
    assert again.history == whole.history


def test_checkpoint_of_another_training(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.pt"
    train(problem(), settings(max_epochs=1), checkpoint=file)
    with pytest.raises(TrainingError, match=r"`lr` was 0.01, and is 0.02 now"):
        train(problem(), settings(max_epochs=1, lr=0.02), checkpoint=file)
    for name, other, policy_now in (
        ("windows are", problem(valid=data(seed=2)), None),
        ("windows are", problem(train=data(seed=2)), None),
        ("model is", problem(lambda seed: network(seed + 1)), None),
        ("policy is", problem(), policy()),
        ("policy is", problem(), policy_of(MASKED)),
    ):
        with pytest.raises(TrainingError, match=f"another training run: the {name} not the same"):
            train(other, settings(max_epochs=1), policy=policy_now, checkpoint=file)
    file.write_bytes(b"nonsense")
    with pytest.raises(TrainingError, match="not a checkpoint"):
        train(problem(), settings(), checkpoint=file)


FOLDERS = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "helpers")]


@pytest.mark.parametrize("steps", [(7,), pytest.param((7, 11), marks=pytest.mark.slow)])
def test_killed_process_resumes_to_the_same_bytes(steps: tuple[int, ...], tmp_path: Path) -> None:
    """A real process dies in the middle of an epoch."""
    script = f"""
import os, sys
sys.path[:0] = {FOLDERS!r}
from test_trainer import *
file, steps = Path(sys.argv[1]), [0]
model = network()
def count(module, inputs):
    steps[0] += module.training
    if steps[0] == int(sys.argv[2]):
        os._exit(9)
model.register_forward_pre_hook(count)
train(problem(lambda seed: model), settings(), checkpoint=file)
"""
    file = tmp_path / "killed.pt"
    for step in steps:
        command = [sys.executable, "-c", script, str(file), str(step)]
        killed = subprocess.run(command, capture_output=True, text=True, check=False)
        assert killed.returncode == 9, killed.stderr
    assert file.exists()
    work = problem(lambda seed: network())
    resumed, whole = train(work, settings(), checkpoint=file), train(work, settings())
    assert resumed.history == whole.history
    expected = whole.model.state_dict()
    assert all(torch.equal(expected[k], v) for k, v in resumed.model.state_dict().items())


def test_class_weights_make_rare_classes_count() -> None:
    """The gradient of a constant model is balanced, although one class has a tenth of windows."""
    x, _ = data(110)
    y = (torch.arange(110) < 10).long()
    model = nn.Sequential(nn.Flatten(), nn.Linear(128, 2))
    with torch.no_grad():
        model[1].weight.zero_()
        model[1].bias.zero_()
    once = settings(max_epochs=1, batch_size=110, lr=1e-6, class_weights=True)
    train(problem(lambda seed: model, (x, y), (x, y)), once)
    assert model[1].bias.grad.abs().max() < 1e-6


@pytest.mark.parametrize("copies", [0, 1, 3])
def test_augmented_copies(copies: int) -> None:
    x, y = data(8)
    result, labels = Augmenter(lambda a, b: (-a, b), copies)(x, y, torch.Generator())
    if copies:
        assert torch.equal(result[:8], x)
        assert torch.equal(result[8:], -x.repeat(copies, 1, 1))
        assert torch.equal(labels, y.repeat(1 + copies))
    else:
        assert torch.equal(result, -x)


MASKED = "time_mask p=1 m=1"
POOL = operation_pool(sfreq=64, ch_names=["C3", "C4"], class_names=CLASSES)


def policy_of(text: str) -> Policy:
    return Policy(PolicySpec.from_text(text), POOL)


def test_only_classwise_policies_leave_windows_beside_their_copies() -> None:
    one, by_class = policy_of(MASKED), policy_of(f"[low]\n{MASKED}\n[high]\nsign_flip p=0")
    schedule = ScheduledPolicy(PolicySchedule((Segment(2, by_class.spec),)), POOL)
    learning = StagedPolicy(POOL, class_names=CLASSES)
    policies = (one, by_class, schedule, learning, StagedPolicy(POOL))
    assert [Augmenter(each).copies for each in policies] == [0, 1, 1, 1, 0]
    assert Augmenter(by_class, 0).copies == 0
    assert Augmenter(None, 1).copies == 0
    assert Augmenter(lambda x, y: (x, y)).copies == 0


@pytest.mark.parametrize(("copies", "least", "most"), [(0, 0.0, 0.6), (None, 0.9, 1.0)])
def test_an_operation_does_not_stand_for_a_class(
    copies: int | None, least: float, most: float
) -> None:
    """Where only one class is lifted, the height tells it, and nothing else is learned."""

    def lifted(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.where((y == 0)[:, None, None], x + 5, x), y

    class Lift:
        is_classwise = True
        __call__ = staticmethod(lifted)

    result = train(problem(), settings(copies=copies), policy=Lift())
    best = max(event.valid_balanced_accuracy for event in result.history)
    assert least <= best <= most


def test_policy_is_applied_in_training_only() -> None:
    seen = []

    def watch(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen.append(len(x))
        return x, y

    train(problem(), settings(max_epochs=2), policy=watch)
    assert seen == [16] * 8


def test_nan_names_step_and_operation() -> None:
    class Breaks(Operation):
        name = "breaks"

        def apply(self, x, magnitude, draw):
            return x / 0 * 0

    pool = OperationPool([Breaks()])
    broken = Policy(PolicySpec.from_text("breaks p=1 m=1", known=["breaks"]), pool)
    with pytest.raises(
        TrainingError, match=r"became nan in epoch 1, step 1: window 0 .* not finite after breaks"
    ):
        train(problem(), settings(), policy=broken)
    with pytest.raises(TrainingError, match=r"window 16 of the batch is not finite after breaks"):
        train(problem(), settings(copies=1), policy=broken)


def test_a_model_that_gives_nan_is_not_said_to_diverge() -> None:
    model = network()
    with torch.no_grad():
        next(model.parameters()).fill_(torch.nan)
    with pytest.raises(TrainingError, match=r"NaN or infinite logits .* before any training"):
        train(problem(lambda seed: model), settings())


def test_diverging_training_says_so() -> None:
    with pytest.raises(TrainingError, match="training diverged; try a smaller `lr`"):
        train(problem(), settings(lr=1e30))


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (nn.Sequential(nn.Flatten(), nn.Linear(128, 3)), r"shape \(16, 2\) .* got \(16, 3\)"),
        (nn.Identity(), r"got \(16, 2, 64\)"),
    ],
)
def test_model_of_wrong_shape(model: nn.Module, match: str) -> None:
    model.register_parameter("unused", nn.Parameter(torch.zeros(1)))
    with pytest.raises(ModelError, match=match):
        train(problem(lambda seed: model), settings())
