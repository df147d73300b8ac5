"""A policy in braindecode's loader, where braindecode can be imported."""

from __future__ import annotations

import torch
from torch.utils.data import TensorDataset

from cadda import Policy, PolicySpec, operation_pool


def test_policy_as_transforms_of_the_augmented_loader(augmentation) -> None:
    pool = operation_pool(sfreq=100, ch_names=["C3", "C4"], class_names=["left", "right"])
    spec = PolicySpec.from_text("[left]\nsign_flip p=1\n[right]\nchannel_symmetry p=1")
    x, y = torch.randn(8, 2, 50), torch.tensor([0, 1] * 4)
    loader = augmentation.AugmentedDataLoader(
        TensorDataset(x, y), transforms=Policy(spec, pool), batch_size=8
    )
    ((result, labels),) = list(loader)
    assert torch.equal(labels, y)
    assert torch.equal(result[y == 0], -x[y == 0])
    assert torch.equal(result[y == 1], x[y == 1].flip(1))


def test_the_loader_returns_the_labels_after_label_maps(augmentation) -> None:
    pool = operation_pool(sfreq=100, ch_names=["C3", "C4"], class_names=["left", "right", "rest"])
    spec = PolicySpec.from_text("channel_symmetry p=1 -> {left: right, right: left}")
    x, y = torch.randn(9, 2, 50), torch.tensor([0, 1, 2] * 3)
    loader = augmentation.AugmentedDataLoader(
        TensorDataset(x, y), transforms=Policy(spec, pool), batch_size=9
    )
    ((result, labels),) = list(loader)
    assert labels.tolist() == [1, 0, 2] * 3
    assert torch.equal(result[y < 2], x[y < 2].flip(1))
    assert torch.equal(result[y == 2], x[y == 2])


def test_no_augmentation(augmentation) -> None:
    pool = operation_pool(sfreq=100, ch_names=["C3", "C4"])
    x, y = torch.randn(8, 2, 50), torch.tensor([0, 1] * 4)
    loader = augmentation.AugmentedDataLoader(
        TensorDataset(x, y), transforms=Policy(PolicySpec.none(), pool), batch_size=8
    )
    ((result, labels),) = list(loader)
    assert torch.equal(result, x)
    assert torch.equal(labels, y)
