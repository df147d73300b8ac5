"""Operations on channels against what they promise."""

from __future__ import annotations

import mne
import numpy as np
import pytest
import torch
from scipy import stats

from cadda import operation_pool
from cadda.data.channels import resolve_montage
from cadda.operations.space import (
    AmplitudeScale,
    ChannelDropout,
    ChannelShuffle,
    ChannelSymmetry,
    ReReference,
    RotationX,
    SignFlip,
)


def test_sign_flip() -> None:
    x = torch.randn(2, 3, 4)
    assert torch.equal(SignFlip()(x), -x)


@pytest.mark.parametrize("magnitude", [0.1, 0.5, 1.0])
def test_dropout_rate(magnitude: float, generator: torch.Generator) -> None:
    x = torch.ones(5000, 6, 4)
    result = ChannelDropout()(x, magnitude, generator=generator)
    assert torch.equal(result, result[..., :1].expand_as(x))
    assert set(result.unique().tolist()) <= {0.0, 1.0}
    # All six would be dropped with probability µ⁶; then one of them stays.
    assert (result == 0).float().mean() == pytest.approx(magnitude - magnitude**6 / 6, abs=0.01)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("n_channels", [1, 2, 5])
def test_dropout_never_silences_a_window(
    n_channels: int,
    relaxed: bool,
    generator: torch.Generator,
) -> None:
    operation = ChannelDropout(relaxed=relaxed)
    x = torch.randn(2000, n_channels, 4, generator=generator)
    draw = operation.draw(x, generator=generator)
    unchanged = (operation.transform(x, 1.0, draw) == x).all(-1)
    assert (unchanged.sum(1) == 1).all()
    # Any channel may be the one: each in a share 1 / C of the windows, within 4 standard errors.
    share = unchanged.float().mean(0)
    error = (share.mean() * (1 - share.mean()) / len(x)).sqrt()
    assert ((share - 1 / n_channels).abs() <= 4 * error + 1e-7).all()


def test_dropout_is_as_before_unless_all_channels_were_drawn() -> None:
    """Numbers above µ are kept, as the formula of the operation says."""
    x = torch.randn(3, 2, 4)
    keep = torch.tensor([[0.6, 0.2], [0.1, 0.3], [0.9, 0.8]])
    result = ChannelDropout().transform(x, 0.5, {"keep": keep})
    expected = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert torch.equal(result, x * expected[:, :, None])


@pytest.mark.parametrize("n_channels", [2, 6])
@pytest.mark.parametrize("magnitude", [0.3, 0.6, 1.0])
def test_shuffle_rate(magnitude: float, n_channels: int, generator: torch.Generator) -> None:
    """Of k selected channels all but one move on average: E[moved] = E[max(k − 1, 0)]."""
    x = torch.arange(float(n_channels))[None, :, None].expand(20_000, n_channels, 3)
    result = ChannelShuffle()(x, magnitude, generator=generator)
    assert torch.equal(result.sort(1).values, x)
    moved = (result != x)[..., 0].float().sum(1).mean()
    expected = n_channels * magnitude - 1 + (1 - magnitude) ** n_channels
    assert moved == pytest.approx(expected, abs=0.05)


def test_hard_values_do_not_depend_on_whether_gradients_are_wanted(
    generator: torch.Generator,
) -> None:
    x = torch.randn(50, 6, 20, generator=generator)
    for operation in (ChannelDropout(), ChannelShuffle()):
        draw = operation.draw(x, generator=generator)
        magnitude = torch.full((50,), 0.5, requires_grad=True)
        with_gradient = operation.transform(x, magnitude, draw)
        assert with_gradient.requires_grad
        assert torch.equal(with_gradient.detach(), operation.transform(x, 0.5, draw))


@pytest.mark.parametrize("operation", [ChannelDropout(), ChannelShuffle()])
def test_slope_says_that_more_changes_more(
    operation: ChannelDropout | ChannelShuffle, generator: torch.Generator
) -> None:
    """The mean soft slope of ‖x' − x‖² has the size of the true one, by finite differences."""
    x = torch.randn(20_000, 6, 5, generator=generator, dtype=torch.float64)
    draw = operation.draw(x, generator=generator)
    magnitude = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    change = (operation.transform(x, magnitude, draw) - x).square().sum((1, 2)).mean()
    (slope,) = torch.autograd.grad(change, magnitude)
    low, high = (
        float((operation.transform(x, m, draw) - x).square().sum((1, 2)).mean())
        for m in (0.45, 0.55)
    )
    true = (high - low) / 0.1
    assert 0.5 * true < slope < 1.5 * true


def test_slope_of_shuffle_vanishes_where_channels_are_equal(generator: torch.Generator) -> None:
    """Shuffling channels that carry the same signal does nothing, and the slope says so."""
    x = torch.randn(100, 1, 20, generator=generator).expand(100, 6, 20)
    magnitude = torch.full((100,), 0.5, requires_grad=True)
    result = ChannelShuffle()(x, magnitude, generator=generator)
    (slope,) = torch.autograd.grad(result.square().sum() + result.sum(), magnitude)
    assert slope.abs().max() == 0


def test_symmetry_is_an_involution_that_swaps_sides() -> None:
    names = ["C3", "Cz", "C4", "O2", "O1", "F3"]
    partner = resolve_montage(names).partner
    assert partner == (2, 1, 0, 4, 3, 5)
    operation = ChannelSymmetry(partner)
    x = torch.randn(3, 6, 10)
    assert torch.equal(operation(operation(x)), x)
    assert torch.equal(operation(x)[:, 0], x[:, 2])
    assert torch.equal(operation(x)[:, 5], x[:, 5])


def test_symmetry_refuses_what_is_no_pairing() -> None:
    with pytest.raises(ValueError, match="`partner` must pair the channels"):
        ChannelSymmetry((1, 2, 0))


def test_other_channels_are_refused() -> None:
    pool = operation_pool(sfreq=100, ch_names=["C3", "C4", "O1"])
    for name in ("channel_symmetry", "rotation_x"):
        with pytest.raises(ValueError, match=f"3 channels that `{name}` was made for, got 2"):
            pool[name](torch.zeros(1, 2, 10), 0.5)


def test_rotation_angle_is_drawn_from_both_sides(generator: torch.Generator) -> None:
    operation = RotationX(np.eye(3))
    share = operation.draw(torch.zeros(20_000, 3, 2), generator=generator)["share"]
    assert -1 < share.min() < -0.99
    assert 0.99 < share.max() < 1
    assert abs(float(share.mean())) < 0.02


def test_gains_are_in_decibels_and_different_for_each_channel(generator: torch.Generator) -> None:
    x = torch.ones(4000, 2, 3)
    gain = 20 * AmplitudeScale()(x, 0.5, generator=generator)[..., 0].double().log10()
    for channel in gain.T:
        assert stats.kstest(channel.numpy(), stats.uniform(-3, 6).cdf).pvalue > 1e-3
    assert abs(float(torch.corrcoef(gain.T)[0, 1])) < 0.05


def test_twenty_decibels_are_a_factor_of_ten() -> None:
    draw = {"share": torch.tensor([[1.0, -1.0]])}
    scaled = AmplitudeScale(max_gain=20.0).transform(torch.ones(1, 2, 3), 1.0, draw)
    torch.testing.assert_close(scaled[0, :, 0], torch.tensor([10.0, 0.1]))


def test_full_re_reference_is_that_of_mne(generator: torch.Generator) -> None:
    names = ["C3", "C4", "F3", "F4", "O1", "O2"]
    x = torch.randn(6, 6, 50, generator=generator, dtype=torch.float64)
    result = ReReference().transform(x, 1.0, {"channel": torch.arange(6)})
    info = mne.create_info(names, 100.0, "eeg")
    for window, name, ours in zip(x, names, result, strict=True):
        raw = mne.io.RawArray(window.numpy(), info, verbose="error")
        raw.set_eeg_reference([name], verbose="error")
        np.testing.assert_allclose(ours.numpy(), raw.get_data(), atol=1e-12)


def test_every_channel_becomes_the_reference_equally_often(generator: torch.Generator) -> None:
    channel = ReReference().draw(torch.zeros(6000, 6, 1), generator=generator)["channel"]
    assert stats.chisquare(torch.bincount(channel, minlength=6).numpy()).pvalue > 1e-3


def test_part_of_the_reference_is_subtracted(generator: torch.Generator) -> None:
    x = torch.randn(1, 6, 50, generator=generator)
    result = ReReference().transform(x, 0.25, {"channel": torch.tensor([2])})
    torch.testing.assert_close(result, x - 0.25 * x[:, 2:3])
