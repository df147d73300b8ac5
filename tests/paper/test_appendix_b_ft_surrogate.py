r"""Appendix B, the Fourier transform surrogate (not numbered).

.. math:: F(\text{FTSurrogate}(x))[f] = F(x)[f] \cdot \exp(2\pi i \Delta\varphi), \qquad
          \Delta\varphi = 2\pi\mu u, \quad u \sim U[0, 1)

**One 2π too many.** With both, phases go round 2π times at µ = 1. We take :math:`\exp(i
\Delta\varphi)`; DC and, for an even number of samples, Nyquist stay, so that the result is real.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import kstest

from cadda import OperationPool


@pytest.mark.parametrize("n_times", [100, 101])
@pytest.mark.parametrize("magnitude", [0.3, 1.0])
def test_against_numpy(
    n_times: int, magnitude: float, pool: OperationPool, generator: torch.Generator
) -> None:
    operation = pool["ft_surrogate"]
    x = torch.randn(200, 6, n_times, generator=generator, dtype=torch.float64)
    draw = operation.draw(x, generator=generator)
    result = operation.transform(x, magnitude, draw)
    before, after = np.fft.rfft(x), np.fft.rfft(result)
    turn = after / before
    np.testing.assert_allclose(np.abs(turn), 1, atol=1e-8)
    kept = [0, -1] if n_times % 2 == 0 else [0]
    np.testing.assert_allclose(turn[..., kept], 1, atol=1e-8)
    (u,) = draw.values()
    np.testing.assert_allclose(
        turn, np.broadcast_to(np.exp(2j * np.pi * magnitude * u.numpy()), turn.shape), atol=1e-8
    )
    drawn = u[:, 0, 1:-1].flatten().numpy()
    assert kstest(drawn, "uniform").pvalue > 1e-3
