"""Every way to train uses the labels after label maps.

Training windows show the left class only, so that whatever a model knows about the right class it
has learned from mirrored windows.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
import torch
from mirrored import mirrored_windows
from torch import nn

import cadda
from cadda import AugmentedClassifier, Policy, PolicySpec, Windows
from cadda.api.prepare import make_problem
from cadda.policies.schedule import PolicySchedule, Segment
from cadda.testing.planted import planted_network
from cadda.training import TrainingSettings
from cadda.training.batched import train_stacked

EXCHANGED = PolicySpec.from_text("channel_symmetry p=0.5 -> {left: right, right: left}")
CLASS_WISE = PolicySpec.from_text(
    "[left]\nchannel_symmetry p=0.5 -> right\n[right]\nchannel_symmetry p=0.5 -> left"
)
TRAIN = mirrored_windows(128)[torch.arange(0, 128, 2)]
VALID = mirrored_windows(32, seed=1)
SETTINGS = TrainingSettings(max_epochs=12, batch_size=16)


def accuracy(policy: PolicySpec | PolicySchedule | None, **changes: object) -> float:
    settings = asdict(SETTINGS) | changes
    fitted = cadda.fit(TRAIN, VALID, model=planted_network, policy=policy, **settings)
    return cadda.evaluate(fitted.model, VALID).balanced_accuracy


def test_without_the_map_there_is_nothing_to_learn() -> None:
    assert accuracy(None) == accuracy(PolicySpec.from_text("channel_symmetry p=0.5")) == 0.5


@pytest.mark.parametrize("copies", [0, 2])
def test_copies(copies: int) -> None:
    assert accuracy(EXCHANGED, copies=copies) == 1


def test_class_wise() -> None:
    assert accuracy(CLASS_WISE) == 1


def test_schedule() -> None:
    kept = PolicySpec.from_text("time_reverse p=0.5")
    schedule = PolicySchedule((Segment(2, kept), Segment(18, EXCHANGED)))
    assert accuracy(schedule, max_epochs=20) == 1


def test_stacked() -> None:
    problem = make_problem(TRAIN, VALID, model=planted_network)
    policies = [Policy(EXCHANGED, problem.pool), None]
    mirrored, plain = train_stacked(problem, [SETTINGS] * 2, policies)
    assert not isinstance(mirrored, Exception)
    assert not isinstance(plain, Exception)
    assert mirrored.best.valid_balanced_accuracy == 1
    assert plain.best.valid_balanced_accuracy == 0.5


def test_images() -> None:
    """A bright corner turned by half a turn is in the other corner: a 6 becomes a 9."""
    generator = torch.Generator().manual_seed(0)
    x = 0.3 * torch.randn(96, 8, 8, generator=generator)
    y = torch.tensor([0] * 64 + [0, 1] * 16)
    x[y == 0, :3, :3] += 1
    x[y == 1, -3:, -3:] += 1
    images = Windows(
        x,
        y,
        subject=[f"s{i // 16}" for i in range(96)],
        sfreq=1,
        ch_names=[str(i) for i in range(8)],
        class_names=["6", "9"],
    )
    train, valid = images[torch.arange(64)], images[torch.arange(64, 96)]
    policy = PolicySpec.from_text("rotation_180 p=0.5 -> {6: 9, 9: 6}")

    def linear(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(n_channels * n_times, n_classes))

    fitted = cadda.fit(train, valid, model=linear, policy=policy, max_epochs=12)
    assert cadda.evaluate(fitted.model, valid).balanced_accuracy == 1


@pytest.mark.parametrize(
    ("left", "right"), [("left", "right"), (3, 7), (np.int64(0), np.int64(1))]
)
def test_classifier_for_scikit_learn(left: str | int, right: str | int) -> None:
    """Class names of a policy are the labels as text; right windows are only noise here."""
    noise = 0.3 * np.random.default_rng(0).normal(size=(8, 2, 200)).astype(np.float32)
    x = np.concatenate([TRAIN.x.numpy(), noise])
    labels = np.array([left] * len(TRAIN) + [right] * len(noise))
    scores = []
    for text in ("channel_symmetry p=0.5", EXCHANGED.to_text()):
        policy = text.replace("left", str(left)).replace("right", str(right))
        classifier = AugmentedClassifier(
            planted_network,
            policy=PolicySpec.from_text(policy),
            ch_names=["C3", "C4"],
            standardise=False,
            max_epochs=12,
            random_state=0,
        )
        classifier.fit(x, labels)
        scores.append(classifier.score(VALID.x.numpy(), np.array([left, right])[VALID.y]))
    assert scores[0] < 0.6
    assert scores[1] > 0.9
