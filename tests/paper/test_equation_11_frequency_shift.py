r"""Equation (11), the frequency shift.

.. math:: \text{FrequencyShift}(x)(t) = \operatorname{Re}\big(x_a(t) \exp(2\pi i \Delta f t)\big),
          \qquad x_a = x + i H[x], \qquad \Delta f = 5 \mu u, \quad u \sim U[0, 1)
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.signal import hilbert
from scipy.stats import kstest

from cadda import OperationPool

MAGNITUDE = 0.6


@pytest.mark.parametrize("n_times", [200, 201])
def test_against_scipy(n_times: int, pool: OperationPool, generator: torch.Generator) -> None:
    operation = pool["frequency_shift"]
    x = torch.randn(4, 6, n_times, generator=generator, dtype=torch.float64)
    magnitude = torch.tensor(MAGNITUDE, dtype=torch.float64, requires_grad=True)
    draw = operation.draw(x, generator=generator)
    (u,) = draw.values()
    time = np.arange(n_times) / pool.sfreq

    def expected(mu: float) -> np.ndarray:
        shift = 5 * mu * u.numpy()[:, None, None]
        return np.real(hilbert(x.numpy()) * np.exp(2j * np.pi * shift * time))

    result = operation.transform(x, magnitude, draw)
    np.testing.assert_allclose(result.detach(), expected(MAGNITUDE), atol=1e-10)
    h = 1e-6
    (slope,) = torch.autograd.grad(result[0].square().sum(), magnitude)
    ahead, behind = (np.sum(expected(MAGNITUDE + d)[0] ** 2) for d in (h, -h))
    assert slope.item() == pytest.approx((ahead - behind) / (2 * h), rel=1e-4)


def test_u_is_uniform(pool: OperationPool, generator: torch.Generator) -> None:
    (u,) = pool["frequency_shift"].draw(torch.zeros(2000, 6, 8), generator=generator).values()
    assert kstest(u.numpy(), "uniform").pvalue > 1e-3
