"""Searches on images: the operations do what they say, and differences are paired by seed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from scipy.stats import ttest_rel

import cadda

ROOT = Path(__file__).parents[1]
NAMES = ("benchmarks", "benchmarks.images", "benchmarks.image_operations", "benchmarks.records")
MAGNITUDE = torch.tensor([0.4, 0.4])
SIGN = {"sign": torch.tensor([1.0, -1.0])}


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT)
    yield importlib.import_module("benchmarks.images")
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.fixture
def operations(images: ModuleType) -> ModuleType:
    return sys.modules["benchmarks.image_operations"]


@pytest.fixture
def x() -> torch.Tensor:
    return torch.rand(2, 28, 28, generator=torch.Generator().manual_seed(0))


def test_images_move_by_whole_pixels(operations: ModuleType, x: torch.Tensor) -> None:
    """A magnitude of 5 pixels: those that come in are black."""
    magnitude = torch.full((2,), 5 / (0.45 * 28))
    sideways = operations.TranslateX().apply(x, magnitude, SIGN)
    assert torch.allclose(sideways[0, :, :-5], x[0, :, 5:], atol=1e-5)
    assert sideways[0, :, -5:].abs().max() < 1e-5
    assert torch.allclose(sideways[1, :, 5:], x[1, :, :-5], atol=1e-5)
    down = operations.TranslateY().apply(x.mT, magnitude, SIGN).mT
    assert torch.allclose(down, sideways, atol=1e-6)


def test_a_quarter_turn(
    operations: ModuleType, x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations.Rotate, "largest", np.pi / 2)
    turned = operations.Rotate().apply(x, torch.ones(2), SIGN)
    assert torch.allclose(turned[0], x[0].rot90(1), atol=1e-4)
    assert torch.allclose(turned[1], x[1].rot90(-1), atol=1e-4)


def test_rows_move_in_proportion_to_their_height(operations: ModuleType) -> None:
    """A vertical line becomes one with the slope of the shear."""
    line = torch.zeros(2, 28, 28)
    line[:, :, 13:15] = 0.5
    place = torch.arange(28) - 13.5
    sheared = operations.ShearX().apply(line, MAGNITUDE, SIGN)
    centre = (sheared * place).sum(-1) / sheared.sum(-1)
    assert torch.allclose(centre[0], -0.3 * 0.4 * place, atol=1e-4)
    assert torch.allclose(centre[1], 0.3 * 0.4 * place, atol=1e-4)
    across = operations.ShearY().apply(line.mT, MAGNITUDE, SIGN).mT
    assert torch.allclose(across, sheared, atol=1e-5)


def test_magnitudes_have_an_effect_and_a_gradient(operations: ModuleType, x: torch.Tensor) -> None:
    pool = operations.digit_pool()
    assert set(pool.names) == {*operations.GEOMETRIC, *operations.WRONG}
    for operation in pool.select(operations.GEOMETRIC):
        assert torch.allclose(operation.apply(x, torch.zeros(2), SIGN), x, atol=1e-5)
        magnitude = MAGNITUDE.double().requires_grad_()
        assert torch.autograd.gradcheck(
            lambda m, o=operation: o.apply(x.double(), m, SIGN).square().sum((1, 2)), magnitude
        )
    inverted = operations.Invert().apply(x, MAGNITUDE, {})
    assert torch.allclose(inverted + x, torch.ones_like(x))


def digits() -> cadda.Windows:
    parts = np.repeat(["train", "train", "test"], 80)
    return cadda.Windows(
        np.random.default_rng(0).random((240, 28, 28)),
        np.tile(np.arange(4), 60),
        subject=[f"{part}-{i // 40}" for i, part in enumerate(parts)],
        recording=parts,
        sfreq=1.0,
        ch_names=[f"row {i}" for i in range(28)],
        class_names=["4", "6", "8", "9"],
    )


def test_a_search_on_images(images: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    windows = digits()
    halves = windows[windows.recording == "train"], windows[windows.recording == "test"]
    monkeypatch.setattr(images, "read", lambda folder: halves)
    train, valid, test = images.parts(Path(), seed=0)
    assert train.class_counts().tolist() == valid.class_counts().tolist() == [10] * 4
    assert not set(train.subjects) & set(valid.subjects)
    assert set(test.recording) == {"test"}
    policy, rewards = images.search(images.FASTER, train, valid, seed=0, n_epochs=3)
    assert len(rewards) == 3
    assert set(policy.operation_names) == set(images.digit_pool().names)


def test_differences_are_paired_by_seed(images: ModuleType) -> None:
    values, reference = np.array([0.8, 0.85, 0.83]), np.array([0.75, 0.82, 0.84])
    difference = images.paired_difference(values, reference)
    expected = ttest_rel(values, reference).confidence_interval(0.95)
    assert difference.value == pytest.approx(0.07 / 3)
    assert (difference.low, difference.high) == pytest.approx(tuple(expected))
    records = [
        {"condition": condition, "seed": seed, "accuracy": seed + i / 10}
        for i, condition in enumerate(images.CONDITIONS)
        for seed in ((2, 0, 1) if condition != "dada" else (0, 2))
    ]
    found = images.accuracies(records)
    assert found["dada"].tolist() == pytest.approx([0.3, 2.3])
    assert found["none"].tolist() == [0, 2]


def test_the_critic_is_compared_at_the_end(images: ModuleType) -> None:
    record = {"condition": images.FASTER, "rewards_at_start": [0, -2, -4], "rewards": [0, 1, -2]}
    assert images.shrunk([record, {"condition": "none"}], n_epochs=2) == [(3.0, 0.5)]
