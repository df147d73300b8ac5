"""docs/from-braindecode.md: the table of transforms and operations, both run side by side."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from cadda import OperationPool, operation_pool
from cadda.operations.frequency import FrequencyShift, FTSurrogate

SFREQ = 128.0
CHANNELS = ("F3", "F4", "C3", "C4", "O1", "O2")


@pytest.fixture(scope="module")
def pool() -> OperationPool:
    return operation_pool(sfreq=SFREQ, ch_names=CHANNELS)


@pytest.fixture
def x(generator: torch.Generator) -> Tensor:
    return torch.randn(64, len(CHANNELS), 1024, generator=generator)


def labels(x: Tensor) -> Tensor:
    return torch.zeros(len(x), dtype=torch.long)


def test_what_has_no_draw_is_the_same(augmentation, pool, x) -> None:
    same = {
        "time_reverse": augmentation.TimeReverse(1.0),
        "sign_flip": augmentation.SignFlip(1.0),
        "channel_symmetry": augmentation.ChannelsSymmetry(1.0, list(CHANNELS)),
    }
    for name, transform in same.items():
        assert torch.equal(pool[name](x), transform(x, labels(x))[0]), name


@pytest.mark.parametrize("independent", [False, True])
def test_ft_surrogate_is_the_same_for_the_same_phases(augmentation, x, independent) -> None:
    seed, magnitude = 3, 0.7
    transform = augmentation.FTSurrogate(
        1.0, phase_noise_magnitude=magnitude, channel_indep=independent
    )
    theirs, _ = transform.operation(
        x,
        labels(x),
        phase_noise_magnitude=magnitude,
        channel_indep=independent,
        random_state=np.random.RandomState(seed),
    )
    operation = FTSurrogate(independent_channels=independent)
    phase = torch.zeros_like(operation.draw(x)["phase"])
    # Theirs has no numbers for 0 Hz and the Nyquist frequency.
    shape = (*phase.shape[:2], phase.shape[2] - 2)
    phase[..., 1:-1] = torch.from_numpy(np.random.RandomState(seed).random(shape))
    torch.testing.assert_close(
        operation.transform(x, magnitude, {"phase": phase}), theirs, atol=2e-4, rtol=0
    )


def test_frequency_shift_is_the_same_for_the_same_shift(augmentation, x) -> None:
    # 1024 samples: theirs pads to a power of two.
    operation = FrequencyShift(sfreq=SFREQ, symmetric=True)
    share = torch.linspace(-1, 1, len(x))
    transform = augmentation.FrequencyShift(1.0, SFREQ, max_delta_freq=2.0)
    theirs, _ = transform.operation(x, labels(x), delta_freq=2.0 * share, sfreq=SFREQ)
    ours = operation.transform(x, 2.0 / 5.0, {"share": share})
    torch.testing.assert_close(ours, theirs, atol=2e-3, rtol=0)


def test_shifts_go_as_far_in_both_directions(augmentation, x) -> None:
    transform = augmentation.FrequencyShift(1.0, SFREQ, max_delta_freq=2.0, random_state=0)
    theirs = transform.get_augmentation_params(x, labels(x))["delta_freq"]
    ours = 2.0 * FrequencyShift(sfreq=SFREQ, symmetric=True).draw(x)["share"]
    for shifts in (theirs, ours):
        assert -2 <= shifts.min() < -1.5
        assert 1.5 < shifts.max() <= 2


def test_bandstop_takes_the_same_band(augmentation, pool, x) -> None:
    middle, width = 20.0, 2.0
    transform = augmentation.BandstopFilter(1.0, SFREQ, bandwidth=width, max_freq=60)
    theirs, _ = transform.operation(
        x, labels(x), sfreq=SFREQ, bandwidth=width, freqs_to_notch=np.full(len(x), middle)
    )
    draw = {"middle": torch.full((len(x),), middle / (SFREQ / 2))}
    ours = pool["bandstop"].transform(x, width / 2.0, draw)
    frequency = torch.fft.rfftfreq(x.shape[-1], 1 / SFREQ)
    for result in (ours, theirs):
        ratio = torch.fft.rfft(result).abs().square().mean((0, 1)) / torch.fft.rfft(
            x
        ).abs().square().mean((0, 1))
        assert ratio[(frequency - middle).abs() < 0.3].max() < 0.1
        assert ratio[(frequency - middle).abs() > 3].min() > 0.9


def test_masks_are_as_long(augmentation, pool) -> None:
    flat = torch.ones(200, 1, 1024)
    transform = augmentation.SmoothTimeMask(1.0, mask_len_samples=64, random_state=0)
    theirs, _ = transform(flat, labels(flat))
    middle = torch.linspace(0.2, 0.8, len(flat))
    ours = pool["time_mask"].transform(flat, 64 / SFREQ, {"middle": middle})
    for result in (ours, theirs):
        assert float((1 - result).sum(-1).mean()) == pytest.approx(64, abs=2)


@pytest.mark.parametrize("sigma", [0.05, 0.2])
def test_noise_is_as_strong(augmentation, pool, x, sigma) -> None:
    theirs, _ = augmentation.GaussianNoise(1.0, std=sigma, random_state=0)(x, labels(x))
    ours = pool["gaussian_noise"](x, sigma / 0.2)
    for result in (ours, theirs):
        assert float((result - x).std()) == pytest.approx(sigma, rel=0.02)


def test_channels_are_dropped_as_often(augmentation, pool, generator) -> None:
    x = torch.randn(3000, len(CHANNELS), 8, generator=generator)
    theirs, _ = augmentation.ChannelsDropout(1.0, p_drop=0.3, random_state=0)(x, labels(x))
    ours = pool["channel_dropout"](x, 0.3, generator=generator)
    for result in (ours, theirs):
        share = float((result.abs().amax(-1) < 1e-3).float().mean())
        assert share == pytest.approx(0.3, abs=0.02)


def test_channels_are_shuffled_as_often(augmentation, pool, generator) -> None:
    x = torch.randn(3000, len(CHANNELS), 8, generator=generator)
    theirs, _ = augmentation.ChannelsShuffle(1.0, p_shuffle=0.5, random_state=0)(x, labels(x))
    ours = pool["channel_shuffle"](x, 0.5, generator=generator)
    moved = [
        float(((result - x).abs().amax(-1) > 1e-3).float().mean()) for result in (ours, theirs)
    ]
    assert moved[0] == pytest.approx(moved[1], abs=0.02)


@pytest.mark.filterwarnings("ignore:Montage name:FutureWarning")  # theirs, about MNE
@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_rotations_turn_the_same_way(augmentation, axis, generator) -> None:
    names = ["Fp1", "Fp2", "F7", "F3", "Fz", "F4", "F8", "T7", "C3", "Cz", "C4", "T8"]
    names += ["P7", "P3", "Pz", "P4", "P8", "O1", "O2"]
    operation = operation_pool(sfreq=SFREQ, ch_names=names)[f"rotation_{axis}"]
    kind = getattr(augmentation, f"Sensors{axis.upper()}Rotation")
    transform = kind(1.0, names, max_degrees=15)
    # Fields that rise evenly across the head, which interpolation from few sensors can follow.
    place = torch.nn.functional.normalize(transform.sensors_positions_matrix.float(), dim=0)
    x = torch.einsum("kc,bkt->bct", place, torch.randn(8, 3, 50, generator=generator))
    angle = torch.linspace(-15, 15, len(x))
    parameters = transform.get_augmentation_params(x, labels(x)) | {"angles": angle.double()}
    theirs, _ = transform.operation(x, labels(x), **parameters)
    ours = operation.transform(x, 15 / 30, {"share": angle / 15})
    change, other = (ours - x).flatten(), (theirs - x).flatten()
    correlation = float(torch.corrcoef(torch.stack([change, other]))[0, 1])
    assert correlation > 0.95


def newer(augmentation: ModuleType, name: str) -> Any:
    """Return a transform of braindecode 1.x, or skip."""
    if not hasattr(augmentation, name):
        pytest.skip(f"this version of braindecode has no {name}")
    return getattr(augmentation, name)


def test_gains_have_the_same_range(augmentation, pool, x) -> None:
    transform = newer(augmentation, "AmplitudeScale")(1.0, interval=(0.5, 2), random_state=0)
    theirs = (transform(x, labels(x))[0] / x)[..., 0]
    ours = (pool["amplitude_scale"](x, 1.0) / x)[..., 0]
    for gain in (ours, theirs):
        assert 0.49 < gain.min() < 0.55
        assert 1.8 < gain.max() < 2.01
        assert float(gain.std(1).min()) > 0  # each channel its own


def test_references_are_subtracted_alike(augmentation, pool, x) -> None:
    transform = newer(augmentation, "ChannelsReref")(1.0)
    seed, window = 3, torch.arange(len(x))
    theirs, _ = transform.operation(x, labels(x), random_state=seed)
    channel = np.random.RandomState(seed).randint(0, len(CHANNELS), size=len(x))
    draw = {"channel": torch.from_numpy(channel)}
    ours = pool["re_reference"].transform(x, 1.0, draw)
    # Theirs keeps the old reference in its place.
    assert torch.equal(ours[window, channel], torch.zeros_like(ours[:, 0]))
    torch.testing.assert_close(theirs[window, channel], -x[window, channel])
    theirs[window, channel] = 0
    torch.testing.assert_close(ours, theirs)


def test_as_much_is_masked(augmentation, pool) -> None:
    flat = torch.ones(300, 1, 1024)
    transform = newer(augmentation, "MaskEncoding")(
        1.0, max_mask_ratio=0.15, n_segments=1, random_state=0
    )
    theirs, _ = transform(flat, labels(flat))
    ours = pool["mask_encoding"](flat, 0.15 / 0.3)
    for result in (ours, theirs):
        assert float((1 - result).mean()) == pytest.approx(0.15, abs=0.002)


def test_segments_come_from_the_same_class(augmentation, pool) -> None:
    transform = newer(augmentation, "SegmentationReconstruction")(
        1.0, n_segments=8, random_state=0
    )
    y = torch.arange(60) % 3
    x = torch.arange(60.0)[:, None, None].expand(-1, len(CHANNELS), 1024).clone()
    ours = pool["segment_recombination"](x, 1.0, y=y), y
    for result, label in (ours, transform(x, y)):
        source = result[:, 0].long()
        assert torch.equal(y[source], label[:, None].expand_as(source))
        assert int(source.diff(dim=1).ne(0).sum(1).max()) == 7
