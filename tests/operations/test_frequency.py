"""Spectral operations against closed forms and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.signal import hilbert

from cadda.operations.frequency import Bandstop, FrequencyShift, FTSurrogate

SFREQ = 100.0


def sine(frequency: float, n_times: int = 3000, phase: float = 0.3) -> torch.Tensor:
    time = torch.arange(n_times, dtype=torch.float64) / SFREQ
    return torch.sin(2 * np.pi * frequency * time + phase)[None, None]


def peak(x: torch.Tensor) -> float:
    spectrum = torch.fft.rfft(x.flatten() * torch.hann_window(x.numel(), dtype=x.dtype))
    return float(spectrum.abs().argmax()) * SFREQ / x.numel()


@pytest.mark.parametrize("n_times", [3000, 3001])
@pytest.mark.parametrize("independent", [False, True])
def test_ft_surrogate_keeps_every_amplitude(
    n_times: int, independent: bool, generator: torch.Generator
) -> None:
    x = torch.randn(8, 3, n_times, generator=generator)
    result = FTSurrogate(independent_channels=independent)(x, 1.0, generator=generator)
    before, after = torch.fft.rfft(x.double()).abs(), torch.fft.rfft(result.double()).abs()
    assert ((after - before).abs() / before.amax(-1, keepdim=True)).max() < 1e-4
    strong = before > 0.1 * before.mean()
    assert ((after - before).abs()[strong] / before[strong]).max() < 1e-4
    assert not torch.allclose(result, x, atol=0.5)


def test_ft_surrogate_adds_the_phase_that_was_drawn(generator: torch.Generator) -> None:
    x = torch.randn(4, 2, 101, generator=generator, dtype=torch.float64)
    operation = FTSurrogate()
    draw = operation.draw(x, generator=generator)
    ratio = torch.fft.rfft(operation.transform(x, 0.25, draw)) / torch.fft.rfft(x)
    expected = torch.exp(0.25j * 2 * np.pi * draw["phase"])
    torch.testing.assert_close(ratio, expected.expand_as(ratio))
    assert draw["phase"].max() > 0.99
    assert draw["phase"].min() == 0


def test_ft_surrogate_shares_phases_unless_told_otherwise(generator: torch.Generator) -> None:
    x = torch.randn(4, 1, 200, generator=generator).expand(4, 3, 200)
    shared = FTSurrogate()(x, 1.0, generator=generator)
    torch.testing.assert_close(shared[:, 0], shared[:, 2])
    own = FTSurrogate(independent_channels=True)(x, 1.0, generator=generator)
    assert (own[:, 0] - own[:, 2]).abs().max() > 0.5


@pytest.mark.parametrize("frequency", [4.0, 10.0, 21.3])
@pytest.mark.parametrize("share", [0.2, 0.9])
def test_frequency_shift_moves_a_peak_by_the_shift(frequency: float, share: float) -> None:
    draw = {"share": torch.tensor([share], dtype=torch.float64)}
    shifted = FrequencyShift(SFREQ).transform(sine(frequency), 0.8, draw)
    assert peak(shifted) == pytest.approx(frequency + 5 * 0.8 * share, abs=SFREQ / 3000)


@pytest.mark.parametrize("n_times", [500, 501])
def test_frequency_shift_agrees_with_scipy(n_times: int, generator: torch.Generator) -> None:
    x = torch.randn(4, 2, n_times, generator=generator, dtype=torch.float64)
    operation = FrequencyShift(SFREQ)
    draw = operation.draw(x, generator=generator)
    shift = (5 * 0.6 * draw["share"]).numpy()[:, None, None]
    time = np.arange(n_times) / SFREQ
    expected = np.real(hilbert(x.numpy()) * np.exp(2j * np.pi * shift * time))
    result = operation.transform(x, 0.6, draw)
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-10)
    single = operation.transform(x.float(), 0.6, {"share": draw["share"].float()})
    np.testing.assert_allclose(single.numpy(), expected, atol=1e-3)


def test_frequency_shift_range(generator: torch.Generator) -> None:
    x = torch.zeros(20_000, 1, 2)
    one_sided = FrequencyShift(SFREQ).draw(x, generator=generator)["share"]
    assert 0 < one_sided.min() < 0.01 < 0.99 < one_sided.max() < 1
    two_sided = FrequencyShift(SFREQ, symmetric=True).draw(x, generator=generator)["share"]
    assert -1 < two_sided.min() < -0.99
    assert abs(float(two_sided.mean())) < 0.02


def gain_in_db(operation: Bandstop, centre: float, frequency: torch.Tensor) -> torch.Tensor:
    """Measure the gain at whole numbers of cycles per window with white noise."""
    x = torch.randn(1, 1, 3000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    draw = {"middle": torch.tensor([centre / (SFREQ / 2)], dtype=torch.float64)}
    gain = torch.fft.rfft(operation.transform(x, 1.0, draw)) / torch.fft.rfft(x)
    bins = (frequency * 3000 / SFREQ).round().long()
    return 20 * torch.log10(gain.abs().flatten()[bins].clamp_min(1e-12))


@pytest.mark.parametrize("centre", [0.5, 1.0, 3.3, 10.0, 24.98, 37.5, 49.0, 49.9])
def test_bandstop_depth_and_width(centre: float) -> None:
    operation = Bandstop(SFREQ)
    middle = torch.tensor([centre])
    assert gain_in_db(operation, centre, middle).max() < -40
    frequency = torch.arange(1501) * SFREQ / 3000
    outside = frequency[(frequency - centre).abs() > 1 + 2]
    assert gain_in_db(operation, centre, outside).abs().max() < 0.5
    nearer = frequency[(frequency - centre).abs() > 1.5]
    assert gain_in_db(operation, centre, nearer).abs().max() < 0.5


def test_bandstop_has_zero_phase(generator: torch.Generator) -> None:
    x = torch.randn(16, 2, 1000, generator=generator, dtype=torch.float64)
    gain = torch.fft.rfft(Bandstop(SFREQ)(x, 0.7, generator=generator)) / torch.fft.rfft(x)
    assert gain.imag.abs().max() < 1e-9
    assert gain.real.min() > -1e-9


def test_bandstop_removes_a_sine_in_its_band_and_keeps_one_outside() -> None:
    x = sine(10.0) + sine(20.0)
    draw = {"middle": torch.tensor([10.0 / 50], dtype=torch.float64)}
    torch.testing.assert_close(
        Bandstop(SFREQ).transform(x, 1.0, draw), sine(20.0), atol=1e-3, rtol=0
    )


def test_bandstop_centre_covers_everything_below_nyquist(generator: torch.Generator) -> None:
    middle = Bandstop(SFREQ).draw(torch.zeros(20_000, 1, 2), generator=generator)["middle"]
    assert 0 < middle.min() < 0.01 < 0.99 < middle.max() < 1
