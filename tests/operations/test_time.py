"""Operations on the time course against what they promise."""

from __future__ import annotations

import pytest
import torch
from scipy import stats

from cadda.operations.time import GaussianNoise, TimeMask, TimeReverse


def test_time_reverse_reverses() -> None:
    x = torch.arange(10.0).expand(2, 3, 10)
    assert torch.equal(TimeReverse()(x)[1, 2], torch.arange(9.0, -1, -1))


@pytest.mark.parametrize("magnitude", [0.25, 1.0])
def test_noise_has_the_promised_standard_deviation(
    magnitude: float, generator: torch.Generator
) -> None:
    x = torch.randn(64, 2, 1000, generator=generator)
    noise = (GaussianNoise()(x, magnitude, generator=generator) - x).flatten()
    assert noise.std() == pytest.approx(0.2 * magnitude, rel=0.01)
    sample = noise[:20_000].double().numpy() / (0.2 * magnitude)
    assert stats.kstest(sample, stats.norm.cdf).pvalue > 1e-3


@pytest.mark.parametrize("sfreq", [100.0, 128.0, 500.0])
@pytest.mark.parametrize("seconds", [0.1, 0.3, 1.0])
def test_time_mask_is_zero_in_its_middle_and_untouched_outside(
    seconds: float, sfreq: float
) -> None:
    n_times = round(10 * sfreq)
    x = torch.randn(5, 3, n_times, generator=torch.Generator().manual_seed(0))
    draw = {"middle": torch.tensor([0.1, 0.25, 0.5, 0.732, 0.9])}
    kept = TimeMask(sfreq).transform(x, seconds, draw) / x
    time = torch.arange(n_times) / sfreq
    distance = (time - 10 * draw["middle"][:, None]).abs()[:, None].expand_as(kept)
    # No sample may fall on the very middle, but one is always within half a sample of it.
    assert kept[distance <= 0.5001 / sfreq].abs().max() < 1e-4
    assert (kept[distance > seconds / 2 + 0.05] - 1).abs().max() < 1e-5
    assert kept.amin() >= 0
    removed = (1 - kept).sum(-1) / sfreq
    torch.testing.assert_close(removed, torch.full_like(removed, seconds), rtol=0.08, atol=0)


def test_time_mask_is_shared_by_channels_and_anywhere(generator: torch.Generator) -> None:
    x = torch.ones(4000, 2, 500)
    result = TimeMask(100.0)(x, 1.0, generator=generator)
    assert torch.equal(result[:, 0], result[:, 1])
    masked = (1 - result[:, 0]).mean(0)
    assert masked.min() > 0.08
    assert masked[100:400].std() < 0.02
