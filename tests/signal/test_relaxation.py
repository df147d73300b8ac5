"""Relaxed choices against the distributions that they claim to follow."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from cadda.signal.relaxation import (
    conditional_gumbel,
    gumbel,
    relaxed_bernoulli,
    smooth_boxes,
    straight_through,
)

N = 20_000
SIGNIFICANCE = 1e-3


def uniforms(*shape: int, seed: int = 0) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    return torch.rand(shape, generator=g, dtype=torch.float64).clamp(1e-12, 1 - 1e-12)


def test_straight_through_has_one_value_and_the_other_derivative() -> None:
    soft = torch.tensor([0.3, 0.1], requires_grad=True)
    hard = torch.tensor([1.0, 0.0])
    result = straight_through(hard, soft * 2)
    assert torch.equal(result, hard)
    result.sum().backward()
    assert soft.grad is not None
    assert torch.equal(soft.grad, torch.tensor([2.0, 2.0]))


@pytest.mark.parametrize("p", [0.05, 0.5, 0.8])
def test_hard_sample_is_bernoulli(p: float) -> None:
    hard, soft = relaxed_bernoulli(torch.tensor(p, dtype=torch.float64), uniforms(N), 0.1)
    assert stats.binomtest(int(hard.sum()), N, p).pvalue > SIGNIFICANCE
    assert torch.equal(hard, (soft > 0.5).double())


@pytest.mark.parametrize("p", [0.2, 0.7])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_soft_sample_is_binary_concrete(p: float, temperature: float) -> None:
    """logit(soft) · τ − logit(p) is logistic: the definition of the binary Concrete variable."""
    _, soft = relaxed_bernoulli(torch.tensor(p, dtype=torch.float64), uniforms(N), temperature)
    logistic = torch.logit(soft) * temperature - np.log(p / (1 - p))
    assert stats.kstest(logistic.numpy(), stats.logistic.cdf).pvalue > SIGNIFICANCE


def test_certain_and_impossible() -> None:
    edge = torch.tensor([0.0, 1.0], requires_grad=True)
    u = uniforms(N, 2).float().clamp(torch.finfo(torch.float32).eps, 1 - 2**-23)
    hard, soft = relaxed_bernoulli(edge, u, 0.1)
    assert not hard[:, 0].any()
    assert hard[:, 1].all()
    soft.sum().backward()
    assert edge.grad is not None
    assert edge.grad.isfinite().all()


def test_relaxed_bernoulli_derivative() -> None:
    p = torch.tensor([0.2, 0.5, 0.9], dtype=torch.float64, requires_grad=True)
    u = uniforms(3)
    assert torch.autograd.gradcheck(lambda q: relaxed_bernoulli(q, u, 0.5)[1], p)


def test_gumbel_distribution() -> None:
    assert stats.kstest(gumbel(uniforms(N)).numpy(), stats.gumbel_r.cdf).pvalue > SIGNIFICANCE


def test_argmax_of_gumbels_is_categorical() -> None:
    probability = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    choice = (probability.log() + gumbel(uniforms(N, 4))).argmax(-1)
    observed = torch.bincount(choice, minlength=4).numpy()
    assert stats.chisquare(observed, (probability * N).numpy()).pvalue > SIGNIFICANCE


def test_conditional_has_the_given_argmax() -> None:
    log_probability = torch.randn(7, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    choice = torch.arange(7).repeat(1000)
    z = conditional_gumbel(log_probability.double().expand(7000, 7), choice, uniforms(7000, 7))
    assert torch.equal(z.argmax(-1), choice)


def test_conditional_extreme_probabilities_stay_finite() -> None:
    log_probability = torch.tensor([0.0, -80.0, -300.0]).log_softmax(-1).requires_grad_()
    u = torch.tensor([[1e-7, 0.5, 1 - 1e-7], [1 - 1e-7, 1e-7, 0.5]])
    z = conditional_gumbel(log_probability.expand(2, 3), torch.tensor([0, 0]), u)
    z.sum().backward()
    assert z.isfinite().all()
    assert log_probability.grad is not None
    assert log_probability.grad.isfinite().all()


@pytest.mark.parametrize("k", [0, 1, 2])
def test_conditional_given_a_random_choice_is_the_marginal(k: int) -> None:
    """b from the argmax and z̃ | b together have the same law as z itself."""
    probability = torch.tensor([0.15, 0.25, 0.6], dtype=torch.float64)
    z = probability.log() + gumbel(uniforms(N, 3, seed=1))
    again = conditional_gumbel(
        probability.log().expand(N, 3), z.argmax(-1), uniforms(N, 3, seed=2)
    )
    assert stats.ks_2samp(z[:, k].numpy(), again[:, k].numpy()).pvalue > SIGNIFICANCE
    law = stats.gumbel_r(loc=float(probability[k].log()))
    assert stats.kstest(again[:, k].numpy(), law.cdf).pvalue > SIGNIFICANCE


def test_conditional_is_independent_of_how_the_choice_was_made() -> None:
    """Within one choice, z̃ follows the law of z given that choice."""
    probability = torch.tensor([0.2, 0.8], dtype=torch.float64)
    z = probability.log() + gumbel(uniforms(N, 2, seed=3))
    rare = z[z.argmax(-1) == 0]
    again = conditional_gumbel(
        probability.log().expand(len(rare), 2),
        torch.zeros(len(rare), dtype=torch.long),
        uniforms(len(rare), 2, seed=4),
    )
    for k in (0, 1):
        assert stats.ks_2samp(rare[:, k].numpy(), again[:, k].numpy()).pvalue > SIGNIFICANCE


def test_conditional_derivative() -> None:
    weight = torch.randn(2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    u, choice = uniforms(2, 4), torch.tensor([1, 3])
    assert torch.autograd.gradcheck(
        lambda w: conditional_gumbel(w.log_softmax(-1), choice, u), weight.requires_grad_()
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
# Edges of a few points, and edges so flat that all points are near them.
@pytest.mark.parametrize("steepness", [30.0, 3.0, 0.05])
def test_the_sum_of_boxes_is_that_of_single_boxes(steepness: float, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    edges = 400 * torch.rand(20, 5, 2, dtype=dtype, generator=generator).sort(-1).values
    # At the ends of the axis, at a point, between two points, and as narrow as can be.
    edges[0, :, 0] = torch.tensor([0.0, 7.0, 7.5, 399.0, 400.0])
    edges[0, :, 1] = torch.tensor([400.0, 8.0, 7.6, 400.0, 400.0])
    start, end = edges.unbind(-1)
    time = torch.arange(400, dtype=torch.float64)[:, None, None]
    upper, lower = (
        torch.special.expit(steepness * (time - edge.double())) for edge in (start, end)
    )
    expected = (upper - lower).sum(-1).T.to(dtype)
    torch.testing.assert_close(
        smooth_boxes(start, end, 400, steepness),
        expected,
        rtol=0,
        atol=20 * torch.finfo(dtype).eps,
    )


@pytest.mark.parametrize("steepness", [3.0, 0.05])
def test_the_sum_of_boxes_has_the_gradient_of_a_finite_difference(steepness: float) -> None:
    generator = torch.Generator().manual_seed(0)
    edges = 100 * torch.rand(2, 3, 4, dtype=torch.float64, generator=generator)
    start, end = (edge.requires_grad_() for edge in edges)
    assert torch.autograd.gradcheck(
        lambda start, end: smooth_boxes(start, end, 100, steepness), (start, end)
    )


def test_boxes_without_width_add_exactly_nothing() -> None:
    start = 50 + 10 * torch.rand(100, 9, generator=torch.Generator().manual_seed(0))
    assert torch.equal(smooth_boxes(start, start.clone(), 100, 3.0), torch.zeros(100, 100))
