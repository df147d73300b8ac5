"""Faster AutoAugment on windows of which some operations make what does not exist."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from problems import tensor_problem
from torch import Tensor, nn

from cadda import OperationPool, image_pool
from cadda.exceptions import TrainingError
from cadda.models.critic import make_critic
from cadda.operations.space import SignFlip
from cadda.operations.time import GaussianNoise, TimeMask, TimeReverse
from cadda.searchers.gradient.critic_loss import gradient_penalty, partners
from cadda.searchers.gradient.faster_autoaugment import FasterSearcher, FasterSettings
from cadda.training.problem import Problem

POOL = OperationPool([SignFlip(), TimeReverse(), GaussianNoise()])
TIME = torch.linspace(-1, 1, 40)
BUMP = torch.exp(-((TIME / 0.3) ** 2))
WIDE = torch.exp(-((TIME / 0.6) ** 2))
LEFT = torch.exp(-(((TIME + 0.5) / 0.3) ** 2))
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]


def problem(*patterns: Tensor, noise: float = 0.2, pool: OperationPool = POOL) -> Problem:
    """Make windows of one pattern per class and white noise."""
    g = torch.Generator().manual_seed(len(patterns))
    y = torch.arange(128) % len(patterns)
    x = torch.stack(patterns)[y].unsqueeze(1)
    x = x + noise * torch.randn(x.shape, generator=g)
    names = tuple(f"class {i}" for i in range(len(patterns)))
    shape = tuple(x.shape[1:])
    return tensor_problem(
        (x, y),
        (x[:8], y[:8]),
        names,
        lambda seed: nn.Identity(),
        pool=pool,
        make_critic=lambda seed: make_critic(shape, len(names), seed),
    )


def searcher(work: Problem, *, classwise: bool = False, **changes: object) -> FasterSearcher:
    quick: dict[str, object] = {"n_stages": 1, "policy_lr": 0.01, "warmup_epochs": 4}
    settings = FasterSettings(**(quick | changes))
    return FasterSearcher(work, settings, classwise=classwise)


def change(search: FasterSearcher, n_steps: int) -> NDArray[np.float64]:
    """Search, and say by which factor the use of each operation changed, by class."""
    before = search.to_spec().operation_probabilities()
    for _ in range(n_steps):
        search.step()
    after = search.to_spec().operation_probabilities()
    return np.asarray(after) / np.asarray(before)


class KnownCritic(nn.Module):
    """Criticism and logits are given functions of how much of the bump a window holds."""

    def __init__(self, slope: float, evidence: float) -> None:
        super().__init__()
        self.slope, self.evidence = slope, evidence
        self.unused = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor, y: Tensor | None = None) -> tuple[Tensor, Tensor]:
        amount = (x * BUMP).flatten(1).sum(1) / BUMP.square().sum()
        logits = self.evidence * torch.stack([amount, -amount], 1)
        return logits, self.slope * amount + 0 * self.unused


@pytest.mark.parametrize("shape", [(2, 50), (1, 8, 8), (6, 1)])
def test_penalty_of_a_linear_critic(shape: tuple[int, ...]) -> None:
    """The slope is the same everywhere, so that the penalty has a closed form."""
    g = torch.Generator().manual_seed(0)
    weight = torch.randn(shape, generator=g, dtype=torch.float64, requires_grad=True)
    x = torch.randn(7, *shape, generator=g, dtype=torch.float64)
    penalty = gradient_penalty(lambda x: (x * weight).flatten(1).sum(1), x)
    length = weight.detach().norm()
    assert penalty.item() == pytest.approx(((length - 1) ** 2).item())
    (gradient,) = torch.autograd.grad(penalty, weight)
    assert torch.allclose(gradient, 2 * (length - 1) * weight.detach() / length)


def test_penalty_is_over_channels_and_time() -> None:
    """A critic of slope 1 has none; with a norm over channels only, it would be near 1."""
    weight = torch.full((2, 50), 0.1)
    penalty = gradient_penalty(lambda x: (x * weight).flatten(1).sum(1), torch.randn(7, 2, 50))
    assert penalty.item() == pytest.approx(0, abs=1e-10)
    assert (weight.norm(dim=0) - 1).square().mean() > 0.7


def test_penalty_is_of_each_window() -> None:
    x = torch.randn(7, 2, 50)
    penalty = gradient_penalty(lambda x: x.square().flatten(1).sum(1) / 2, x)
    assert penalty.item() == pytest.approx((x.flatten(1).norm(dim=1) - 1).square().mean().item())


def test_partners_are_others_of_the_same_class() -> None:
    y = torch.tensor([2, 0, 0, 2, 0, 1, 2, 2])
    index = torch.arange(8).repeat(500)
    partner = partners(y, index, torch.Generator().manual_seed(0))
    assert torch.equal(y[partner], y[index])
    count = torch.zeros(8, 8).index_put_((index, partner), torch.ones(()), accumulate=True)
    assert count.diagonal().tolist() == [0, 0, 0, 0, 0, 500, 0, 0]
    assert count[0, [3, 6, 7]].min() > 130
    assert count[1, [2, 4]].min() > 210


@pytest.mark.parametrize(
    ("patterns", "critic"),
    [((BUMP, BUMP), KnownCritic(1.0, 0.0)), ((BUMP, -BUMP), KnownCritic(0.0, 1.0))],
    ids=["critic score", "classification"],
)
def test_gradients_point_the_right_way(patterns: tuple[Tensor, ...], critic: nn.Module) -> None:
    """Turning or masking the bump lowers the critic score, or makes the other class likelier."""
    pool = OperationPool([SignFlip(), TimeReverse(), TimeMask(40.0)])
    search = searcher(problem(*patterns, noise=0.0, pool=pool), warmup_epochs=0, batch_size=64)
    search.critic = critic
    policy = search.policy
    start = policy.weight.detach().clone()
    search.step()
    weight, probability, magnitude = (
        parameter.grad
        for parameter in (policy.weight, policy.probability_logit, policy.magnitude_logit)
    )
    assert weight is not None
    assert probability is not None
    assert magnitude is not None
    assert (weight[..., 0] > 0).all()
    assert (weight[..., 1] < 0).all()
    assert (probability[..., [0, 2]] > 0).all()
    assert (magnitude[..., 2] > 0).all()
    assert (magnitude[..., :2] == 0).all()
    moved = policy.weight - start
    assert (moved[..., 0] < moved[..., 1]).all()


@pytest.mark.parametrize("classwise", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_policy_moves_away_from_what_does_not_exist(seed: int, classwise: bool) -> None:
    """All bumps go up, so that none is turned; reversed time changes nothing."""
    factor = change(searcher(problem(BUMP, WIDE), classwise=classwise, seed=seed), 80)
    assert (factor[:, 0] < 0.4).all()
    assert (factor[:, 1] > 0.7).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_classes_are_told_apart(seed: int) -> None:
    """Reversed time moves only the bump that is not in the middle."""
    factor = change(searcher(problem(BUMP, LEFT), classwise=True, seed=seed), 120)
    assert factor[0, 1] > 0.8
    assert factor[1, 1] < 0.5
    assert (factor[:, 0] < 0.5).all()


def test_only_a_critic_that_knows_the_class_sees_classes_swapped() -> None:
    """A turned bump of one class looks like the other class, which does exist."""
    work = problem(BUMP, -BUMP, pool=POOL.select(["sign_flip"]))
    by_class = change(searcher(work, classwise=True, classification=0.0), 80)
    together = change(searcher(work, classification=0.0), 80)
    assert (by_class < 0.8).all()
    assert (together > 0.9).all()


def test_the_start_is_random_and_the_same_for_all_classes() -> None:
    work = problem(BUMP, WIDE)
    start = searcher(work, classwise=True, n_stages=2).policy
    assert torch.equal(start.weight[0], start.weight[1])
    assert ((start.weight >= 0) & (start.weight <= 1)).all()
    assert start.weight.std().item() == pytest.approx(12**-0.5, abs=0.05)
    share = (start.weight / 0.05).softmax(-1)
    assert torch.allclose(start.values.share, share)
    assert share.amax(-1).mean() > 0.8
    other = searcher(work, classwise=True, n_stages=2, seed=1).policy
    assert not torch.equal(start.weight, other.weight)


def test_the_first_step_of_weights_and_probabilities() -> None:
    """Adam without memory first moves each by its learning rate; p is the sigmoid of 0."""
    search = searcher(problem(BUMP, WIDE), warmup_epochs=0, policy_lr=1e-3)
    before = copy.deepcopy(search.policy)
    search.step()
    after = search.policy
    pairs = [
        (after.weight.grad, after.weight - before.weight),
        (after.probability_logit.grad, after.probability - before.probability),
    ]
    for gradient, step in pairs:
        assert gradient is not None
        # Adam adds 1e-8 to the size of a gradient.
        length = step.detach().abs()[gradient.abs() > 1e-6]
        assert len(length) > 3
        assert torch.allclose(length, torch.full_like(length, 1e-3), rtol=0.02)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_exists_is_kept_however_unlike_the_window(seed: int) -> None:
    """Bumps are on the left, and go up or down equally often: turning them makes real windows.

    In the mean of all operations, a bump and the same turned would cancel.
    """
    work = problem(LEFT, 2 * LEFT)
    sign = torch.rand((len(work.train.x), 1, 1), generator=torch.Generator().manual_seed(seed))
    work.train.x.mul_((sign - 0.5).sign())
    factor = change(searcher(work, seed=seed), 120)
    assert factor[0, 0] > 0.8
    assert factor[0, 1] < factor[0, 0]


def test_images() -> None:
    """What is bright above must not be turned, only mirrored."""
    rows = torch.linspace(1, -1, 12)[:, None].expand(12, 12)
    factor = change(searcher(problem(rows, 2 * rows, pool=image_pool())), 50)
    assert factor[0, 0] > 1
    assert (factor[0, 1:] < factor[0, 0] / 2).all()


def test_one_choice_per_batch() -> None:
    factor = change(searcher(problem(BUMP, WIDE), classwise=True, granularity="batch"), 80)
    assert (factor[:, 0] < factor[:, 1:].min(1)).all()


def test_only_the_critic_learns_during_warmup() -> None:
    work = problem(BUMP, WIDE)
    copy_of_windows = work.train.x.clone()
    search = searcher(work, warmup_epochs=1)
    policy, critic = copy.deepcopy((search.policy.state_dict(), search.critic.state_dict()))
    assert search.steps_per_epoch == 8
    for _ in range(8):
        search.step()
    assert all(torch.equal(policy[k], v) for k, v in search.policy.state_dict().items())
    assert not torch.equal(critic["classes.weight"], search.critic.state_dict()["classes.weight"])
    search.step()
    assert not torch.equal(policy["weight"], search.policy.state_dict()["weight"])
    assert torch.equal(work.train.x, copy_of_windows)


def test_what_a_step_says() -> None:
    """Augmented windows look worse than real ones, until the policy has moved."""
    work = problem(BUMP, WIDE)
    search = searcher(work, warmup_epochs=8)
    share = search.policy.values.share.double()
    start = -(share * share.log()).sum(-1).mean().item() / np.log(3)
    events = [search.step() for _ in range(130)]
    assert [event.step for event in events] == list(range(1, 131))
    assert events[0].reward == 0
    assert events[63].entropy == pytest.approx(start, rel=1e-5)
    assert events[129].entropy != pytest.approx(start, rel=0.1)
    before, after = (
        sum(event.reward for event in part) / 10 for part in (events[54:64], events[120:])
    )
    assert before < -0.02
    assert after > before / 2
    assert events[129].train_loss < events[0].train_loss
    assert (search.model(work.train.x).argmax(1) == work.train.y).float().mean() > 0.8


def test_the_critic_may_learn_more_often() -> None:
    search = searcher(problem(BUMP, WIDE), critic_steps=3, warmup_epochs=0)
    for _ in range(4):
        search.step()
    steps = [
        {int(state["step"]) for state in optimizer.state.values()}
        for optimizer in (search.critic_optimizer, search.policy_optimizer)
    ]
    assert steps == [{12}, {4}]


@pytest.mark.parametrize("classwise", [False, True])
def test_resumes_to_the_same_bytes(classwise: bool) -> None:
    work = problem(BUMP, WIDE)
    options: dict[str, object] = {"warmup_epochs": 1, "critic_steps": 2, "n_stages": 2}
    whole = searcher(work, classwise=classwise, **options)
    events = [whole.step() for _ in range(18)]
    first = searcher(work, classwise=classwise, **options)
    for _ in range(11):
        first.step()
    state = copy.deepcopy(first.state_dict())
    torch.manual_seed(7)
    second = searcher(work, classwise=classwise, **options)
    second.load_state_dict(state)
    assert second.run(7) == events[11:]
    for first_module, second_module in (
        (whole.policy, second.policy),
        (whole.critic, second.critic),
    ):
        expected = first_module.state_dict()
        assert all(torch.equal(expected[k], v) for k, v in second_module.state_dict().items())


def test_the_seed_decides() -> None:
    work = problem(BUMP, WIDE)
    first, again, other = (
        [search.step() for _ in range(3)]
        for search in (searcher(work, seed=seed) for seed in (5, 5, 6))
    )
    assert first == again
    assert first != other


def test_a_critic_that_fails_is_named() -> None:
    work = problem(BUMP, WIDE)
    work.train.x[:] = float("nan")
    with pytest.raises(TrainingError, match="the loss of the critic became nan in step 1"):
        searcher(work).step()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"critic_steps": 0}, "`critic_steps` must be at least 1, got 0"),
        ({"penalty": -1.0}, "`penalty` must be at least 0, got -1.0"),
        ({"granularity": "epoch"}, "`granularity` must be 'window' or 'batch', got 'epoch'"),
    ],
)
def test_settings_that_cannot_be(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FasterSettings(**changes)
