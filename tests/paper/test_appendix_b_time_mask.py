r"""Appendix B, the smooth time mask (not numbered).

.. math:: \sigma^\pm(t) = \frac{1}{1 + \exp(-\lambda (t - t_\text{cut} \pm \Delta t / 2))}, \qquad
          x'(t) = x(t) \big(1 - \sigma^+(t) + \sigma^-(t)\big)

where Δt = µ · 1 s.

**λ has no unit in the paper.** We take times in seconds and λ in 1/s; a mask of 0.1 s or longer
reaches zero in its middle.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import expit

from cadda import OperationPool


@pytest.mark.parametrize("magnitude", [0.1, 0.5, 1.0])
def test_against_numpy(magnitude: float, pool: OperationPool, generator: torch.Generator) -> None:
    operation, n_times = pool["time_mask"], 300
    x = torch.randn(20, 6, n_times, generator=generator, dtype=torch.float64)
    draw = operation.draw(x, generator=generator)
    (u,) = draw.values()
    steepness = float(operation.settings["steepness"])
    time = np.arange(n_times) / pool.sfreq
    from_cut = time - u.numpy()[:, None] * n_times / pool.sfreq
    plus, minus = (expit(steepness * (from_cut + s * magnitude / 2)) for s in (1, -1))
    expected = x.numpy() * (1 - plus + minus)[:, None]
    np.testing.assert_allclose(operation.transform(x, magnitude, draw), expected, atol=1e-10)


def test_a_tenth_of_a_second_reaches_zero(pool: OperationPool) -> None:
    x, middle = torch.ones(1, 6, 300), 150
    masked = pool["time_mask"].transform(x, 0.1, {"middle": torch.tensor([0.5])})
    assert masked[0, :, middle].abs().max() < 1e-5
    assert masked[0, :, [middle - 10, middle + 10]].sub(1).abs().max() < 1e-5
