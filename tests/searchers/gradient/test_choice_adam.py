"""Adam with one second moment for all options of a choice."""

from __future__ import annotations

import torch

from cadda.searchers.gradient.policy_optimizer import ChoiceAdam


def test_with_one_option_it_is_adam() -> None:
    g = torch.Generator().manual_seed(0)
    ours, theirs = (torch.randn(4, 1, generator=g).requires_grad_() for _ in range(2))
    theirs.data.copy_(ours.data)
    optimizers = (
        ChoiceAdam([ours], lr=0.05, betas=(0.8, 0.9)),
        torch.optim.Adam([theirs], lr=0.05, betas=(0.8, 0.9), eps=1e-12),
    )
    for slope in torch.randn(20, 4, 1, generator=g):
        ours.grad, theirs.grad = slope.clone(), slope.clone()
        for optimizer in optimizers:
            optimizer.step()
    torch.testing.assert_close(ours, theirs)


def test_the_direction_of_the_gradient_remains() -> None:
    weight = torch.zeros(2, 3, requires_grad=True)
    slope = torch.tensor([[3.0, -1.0, 0.5], [1e-3, 0.0, -1e-3]])
    weight.grad = slope
    ChoiceAdam([weight], lr=0.1).step()
    size = slope.square().mean(1, keepdim=True).sqrt()
    torch.testing.assert_close(weight.detach(), -0.1 * slope / size)


def test_faint_but_certain_does_not_outrun_strong_but_noisy() -> None:
    g = torch.Generator().manual_seed(0)
    noisy = 0.3 + torch.randn(500, generator=g)
    slopes = torch.stack([noisy, torch.full_like(noisy, 0.1), -noisy - 0.1], 1)
    moved = {}
    for kind in (ChoiceAdam, torch.optim.Adam):
        weight = torch.zeros(3, requires_grad=True)
        optimizer = kind([weight], lr=0.01)
        for slope in slopes:
            weight.grad = slope.clone()
            optimizer.step()
        moved[kind] = weight.detach()
    assert moved[ChoiceAdam][0] < moved[ChoiceAdam][1] < 0
    assert moved[torch.optim.Adam][1] < moved[torch.optim.Adam][0] < 0


def test_without_a_slope_nothing_moves() -> None:
    weight = torch.ones(2, 3, requires_grad=True)
    optimizer = ChoiceAdam([weight], lr=0.1)
    optimizer.step()
    weight.grad = torch.zeros(2, 3)
    optimizer.step()
    assert torch.equal(weight.detach(), torch.ones(2, 3))
