"""Power spectra against closed forms."""

import numpy as np
import pytest

from cadda.signal.spectral import decibel, power_spectrum, segment_length


def test_white_noise_has_its_variance_spread_over_all_frequencies():
    x = 3 * np.random.default_rng(0).normal(size=(200, 3000))
    frequency, power = power_spectrum(x, 100.0)
    assert power.shape == (200, len(frequency))
    assert (frequency[0], frequency[-1]) == (0.25, 50.0)
    np.testing.assert_allclose(power.mean(0)[1:-1], 9 / 50, rtol=0.06)


def test_a_sine_has_half_its_squared_amplitude_at_its_frequency():
    time = np.arange(3000) / 100
    frequency, power = power_spectrum(5 + 2 * np.sin(2 * np.pi * 10 * time), 100.0)
    assert frequency[power.argmax()] == 10
    assert power.sum() * frequency[0] == pytest.approx(2**2 / 2)


@pytest.mark.parametrize(("n_times", "length"), [(3000, 400), (800, 400), (300, 150)])
def test_short_signals_have_two_segments_at_least(n_times, length):
    assert segment_length(n_times, 100.0) == length


def test_decibel_of_nothing_is_that_of_the_floor():
    np.testing.assert_allclose(decibel([1.0, 0.01, 0.0], floor=1e-6), [0, -20, -60])
