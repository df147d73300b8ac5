"""The critic of Faster AutoAugment."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from cadda.models.critic import Critic, make_critic


def opinionated(shape: tuple[int, ...], n_classes: int = 3) -> Critic:
    """Make a critic whose critic score is not 0 any more."""
    critic = make_critic(shape, n_classes, seed=0)
    with torch.no_grad():
        critic.score[2].weight.fill_(0.1)
    return critic


@pytest.mark.parametrize(
    ("shape", "images"),
    [
        ((2, 3000), False),
        ((6, 3840), False),
        ((1, 40), False),
        ((3, 1), False),
        ((28, 28), True),
        ((1, 28, 28), False),
        ((3, 20, 24), True),
    ],
)
def test_shapes(shape: tuple[int, ...], images: bool) -> None:
    critic = make_critic(shape, 5, seed=0, images=images)
    x, y = torch.randn(4, *shape), torch.arange(4)
    for labels in (None, y):
        logits, score = critic(x, labels)
        assert logits.shape == (4, 5)
        assert score.shape == (4,)
    kinds = {type(layer) for layer in critic.modules()}
    assert (nn.Conv2d in kinds) == (images or len(shape) == 3)
    assert (nn.Conv1d in kinds) != (nn.Conv2d in kinds)


def test_images_with_and_without_an_axis_for_planes_are_the_same() -> None:
    flat, deep = make_critic((16, 16), 3, seed=0, images=True), make_critic((1, 16, 16), 3, seed=0)
    x = torch.randn(2, 16, 16)
    for one, other in zip(flat(x), deep(x.unsqueeze(1)), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("shape", [(2, 300), (1, 16, 16)])
def test_windows_do_not_see_each_other(shape: tuple[int, ...]) -> None:
    """Normalisation by batch would connect them, and spoil the gradient penalty."""
    critic = opinionated(shape).double()
    x = torch.randn(5, *shape, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(critic(x)[1][2], x)
    assert slope[2].abs().max() > 0
    assert slope[[0, 1, 3, 4]].abs().max() == 0
    assert torch.allclose(critic(x)[1][2], critic(x[2:3])[1][0])


def test_the_whole_window_counts() -> None:
    x = torch.randn(1, 2, 3000, requires_grad=True)
    (slope,) = torch.autograd.grad(opinionated((2, 3000))(x)[1].sum(), x)
    assert (slope != 0).float().mean() > 0.99


def test_only_the_seed_decides() -> None:
    state = torch.get_rng_state()
    first, again, other = (make_critic((2, 100), 3, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    x = torch.randn(2, 2, 100)
    assert torch.equal(first(x)[0], again(x)[0])
    assert not torch.equal(first(x)[0], other(x)[0])


def test_critic_score_by_class() -> None:
    """Labels make no difference at first, and only to the critic score later."""
    critic = opinionated((2, 100))
    x, y = torch.randn(4, 2, 100), torch.tensor([0, 1, 0, 1])
    assert torch.equal(critic(x)[1], critic(x, y)[1])
    critic(x, y)[1].sum().backward()
    slope = critic.projection.weight.grad
    assert slope is not None
    assert [bool(row.any()) for row in slope] == [True, True, False]
    with torch.no_grad():
        critic.projection.weight[1] += slope[1]
    different = critic(x)[1] != critic(x, y)[1]
    assert different.tolist() == [False, True, False, True]
    assert torch.equal(critic(x)[0], critic(x, y)[0])


def test_critic_score_starts_from_nothing_and_learns() -> None:
    critic = make_critic((2, 100), 3, seed=0)
    x = torch.randn(4, 2, 100)
    for labels in (None, torch.arange(4) % 3):
        assert (critic(x, labels)[1] == 0).all()
    (slope,) = torch.autograd.grad(critic(x)[1][0], critic.score[2].weight)
    assert slope.abs().max() > 0


def test_unknown_shape() -> None:
    with pytest.raises(
        ValueError, match=r"`shape` must be \(n_channels, n_times\).*got \(3000,\)"
    ):
        Critic((3000,), 5)
