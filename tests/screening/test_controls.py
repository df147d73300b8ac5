"""The destructive controls destroy what they should, and nothing else."""

from __future__ import annotations

import pytest
import torch

from cadda.operations.base import Operation
from cadda.operations.catalogue import CATALOGUE
from cadda.screening.controls import BlockShuffle, WhiteNoise, destructive_controls
from cadda.testing import OperationContract


class TestWhiteNoise(OperationContract):
    def make_operation(self) -> Operation:
        return WhiteNoise()


class TestBlockShuffle(OperationContract):
    def make_operation(self) -> Operation:
        return BlockShuffle(100.0)


class TestBlockShuffleOfShortWindows(OperationContract):
    n_times = 9

    def make_operation(self) -> Operation:
        return BlockShuffle(100.0)


def test_white_noise_keeps_the_power_of_each_channel_and_nothing_else(
    generator: torch.Generator,
) -> None:
    power = torch.tensor([1.0, 25.0, 0.01])
    slow = torch.sin(torch.arange(4000) / 50).expand(8, 3, 4000) * power.sqrt()[:, None]
    noise = WhiteNoise()(slow, generator=generator)
    ratio = noise.square().mean(-1) / slow.square().mean(-1)
    assert ratio.sub(1).abs().max() < 0.12
    spectrum = torch.fft.rfft(noise / noise.std(-1, keepdim=True)).abs().square().mean((0, 1))
    # White: a tenth of the frequencies has a tenth of the power.
    assert float(spectrum[:200].sum() / spectrum.sum()) == pytest.approx(0.1, abs=0.01)
    assert torch.corrcoef(torch.stack([noise[0, 0], slow[0, 0]]))[0, 1].abs() < 0.06


def test_a_flat_channel_stays_flat_with_a_finite_derivative() -> None:
    x = torch.zeros(2, 1, 50, requires_grad=True)
    result = WhiteNoise()(x)
    result.sum().backward()
    assert result.abs().max() < 1e-15
    assert x.grad is not None
    assert bool(x.grad.isfinite().all())


@pytest.mark.parametrize("n_times", [200, 207])
def test_blocks_change_places_whole_and_with_all_channels(
    n_times: int, generator: torch.Generator
) -> None:
    x = torch.arange(float(n_times)).expand(5, 2, n_times).clone()
    result = BlockShuffle(100.0)(x, generator=generator)
    assert torch.equal(result[:, 0], result[:, 1])
    assert torch.equal(result[..., 200:], x[..., 200:])
    blocks = result[:, 0, :200].reshape(5, 20, 10)
    assert bool((blocks.diff(dim=-1) == 1).all())
    assert torch.equal(blocks[..., 0].sort(1).values, x[:, 0, :200:10])
    assert len({tuple(row.tolist()) for row in blocks[..., 0]}) == 5


def test_controls_are_not_in_the_catalogue() -> None:
    names = {control.name for control in destructive_controls(100.0)}
    assert len(names) == 2
    assert not names & set(CATALOGUE)
