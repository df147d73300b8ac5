"""A policy inside DataLoader workers: other noise in every worker and every epoch."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from cadda import Policy, PolicySpec, operation_pool


class Augmented(Dataset[torch.Tensor]):
    """Sixteen windows of zeros, each augmented when it is asked for."""

    def __init__(self) -> None:
        pool = operation_pool(sfreq=100, ch_names=["C3", "C4"])
        self.policy = Policy(PolicySpec.from_text("gaussian_noise p=1 m=1"), pool)

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.policy(torch.zeros(1, 2, 50))[0][0]


@pytest.mark.parametrize("persistent", [False, True])
def test_no_noise_is_ever_repeated(persistent: bool) -> None:
    loader = DataLoader(
        Augmented(),
        batch_size=4,
        num_workers=2,
        persistent_workers=persistent,
        generator=torch.Generator().manual_seed(0),
        multiprocessing_context="fork",
    )
    epochs = [torch.cat(list(loader)) for _ in range(2)]
    windows = torch.cat(epochs)
    assert len(windows.flatten(1).unique(dim=0)) == 32


def test_the_same_seed_gives_the_same_noise_again() -> None:
    def run() -> torch.Tensor:
        generator = torch.Generator().manual_seed(0)
        loader = DataLoader(
            Augmented(), num_workers=2, generator=generator, multiprocessing_context="fork"
        )
        return torch.cat(list(loader))

    assert torch.equal(run(), run())
