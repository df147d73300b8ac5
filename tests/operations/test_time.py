"""Operations on the time course against what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from cadda.operations.time import (
    GaussianNoise,
    MaskEncoding,
    TimeMask,
    TimeReverse,
    TimeShift,
    TimeWarp,
)


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


@pytest.mark.parametrize("n_segments", [1, 3, 7])
@pytest.mark.parametrize("magnitude", [0.5, 1.0])
def test_mask_encoding_masks_its_share_in_separate_segments(
    magnitude: float, n_segments: int, generator: torch.Generator
) -> None:
    x = torch.ones(300, 2, 3000)
    # Steep edges, so that segments are zero from end to end.
    operation = MaskEncoding(100.0, n_segments=n_segments, steepness=1e5)
    kept = operation(x, magnitude, generator=generator)
    assert torch.equal(kept[:, 0], kept[:, 1])
    assert kept.min() >= -1e-6
    masked = (1 - kept[:, 0]).mean(1)
    torch.testing.assert_close(
        masked, torch.full_like(masked, 0.3 * magnitude), rtol=0, atol=0.5 * n_segments / 3000
    )
    starts = (kept[:, 0] < 0.5).int().diff(dim=1, prepend=torch.zeros(300, 1).int()) == 1
    assert int(starts.sum(1).max()) == n_segments
    assert starts.sum(1).float().mean() > 0.95 * n_segments


def test_a_segment_is_anywhere_inside_the_window(generator: torch.Generator) -> None:
    operation = MaskEncoding(100.0, n_segments=1)
    masked = (1 - operation(torch.ones(20_000, 1, 600), 1.0, generator=generator)).mean((0, 1))
    length, total = 1.8, 6.0
    time = torch.arange(600) / 100
    covered = time.clamp_max(total - length) - (time - length).clamp_min(0)
    torch.testing.assert_close(masked, covered / (total - length), atol=0.015, rtol=0)


def test_time_shift_is_the_same_for_all_channels_and_in_both_directions(
    generator: torch.Generator,
) -> None:
    x = torch.zeros(500, 2, 400)
    x[..., 200] = 1
    moved = TimeShift(100.0)(x, 0.8, generator=generator)
    assert torch.equal(moved[:, 0], moved[:, 1])
    seconds = (moved[:, 0].argmax(1) - 200) / 100
    assert stats.kstest(seconds.numpy(), stats.uniform(-0.405, 0.81).cdf).pvalue > 1e-3


def test_time_shift_of_a_known_share() -> None:
    time = torch.arange(1000, dtype=torch.float64) / 100
    x = torch.sin(2 * math.pi * 3 * time).expand(1, 1, 1000)
    draw = {"share": torch.tensor([-0.4], dtype=torch.float64)}
    earlier = TimeShift(100.0).transform(x, 0.5, draw)
    expected = torch.sin(2 * math.pi * 3 * (time + 0.1))
    torch.testing.assert_close(earlier[0, 0, 50:-50], expected[50:-50], atol=1e-3, rtol=0)


def test_time_warp_changes_the_speed_as_promised() -> None:
    # A ramp shows which time is played when.
    x = torch.arange(1001, dtype=torch.float64).expand(4, 1, 1001)
    draw = {"phase": torch.tensor([0.0, 0.25, 0.5, 0.9], dtype=torch.float64)}
    played = TimeWarp().transform(x, 0.5, draw)[:, 0]
    # Interpolation has only three neighbours between the last two samples of either end.
    speed = played.diff(dim=1)[:, 2:-2]
    torch.testing.assert_close(speed.amax(1), torch.full((4,), 1.15).double(), atol=1e-3, rtol=0)
    torch.testing.assert_close(speed.amin(1), torch.full((4,), 0.85).double(), atol=1e-3, rtol=0)
    assert torch.equal(played[:, 0], torch.zeros(4).double())
    torch.testing.assert_close(played[:, -1], torch.full((4,), 1000.0).double())
    fastest = speed.argmax(1).numpy() / 1000
    np.testing.assert_allclose(
        np.cos(2 * np.pi * fastest + 2 * np.pi * draw["phase"].numpy()), 1, atol=1e-3
    )


def test_time_warp_plays_a_rhythm_faster_and_slower() -> None:
    time = torch.arange(3000, dtype=torch.float64) / 100
    x = torch.sin(2 * math.pi * 4 * time).expand(1, 1, 3000)
    draw = {"phase": torch.zeros(1, dtype=torch.float64)}
    warped = TimeWarp(max_change=25.0).transform(x, 1.0, draw)[0, 0]
    crossings = (warped[:-1] < 0) & (warped[1:] >= 0)
    # Fastest at both ends, slowest in the middle: mean speeds over a tenth of the window.
    mean = 0.25 * math.sin(0.2 * math.pi) / (0.2 * math.pi)
    for part, hertz in ((slice(0, 300), 4 * (1 + mean)), (slice(1350, 1650), 4 * (1 - mean))):
        assert int(crossings[part].sum()) == pytest.approx(3 * hertz, abs=1)


@pytest.mark.parametrize("max_change", [0.0, 100.0, 120.0])
def test_time_does_not_go_backwards(max_change: float) -> None:
    with pytest.raises(ValueError, match="`max_change` must be between 0 and 100 %"):
        TimeWarp(max_change=max_change)
