"""How gradient-based methods learn about operations that change the class."""

from __future__ import annotations

import copy
import itertools
import math

import pytest
import torch
from mirrored import SWAP, mirrored_pool, mirrored_windows
from torch import Tensor

from cadda import EnumeratedPolicy, MixturePolicy, OperationPool, StagedPolicy
from cadda.api.prepare import make_problem
from cadda.operations.label_maps import MappedOperation
from cadda.operations.space import SignFlip
from cadda.operations.time import TimeReverse
from cadda.searchers.gradient.bilevel import BilevelSearcher
from cadda.searchers.gradient.policy_optimizer import PolicyAscent
from cadda.searchers.gradient.reward import window_rewards
from cadda.searchers.gradient.settings import BilevelSettings
from cadda.testing.planted import planted_network
from cadda.training.problem import Problem

CLASSES = ("a", "b", "c")
POOL = OperationPool(
    [
        TimeReverse(),
        MappedOperation(TimeReverse(), {"a": "b", "b": "a"}),
        MappedOperation(SignFlip(), {"a": "b", "b": "c", "c": "a"}),
    ],
    class_names=CLASSES,
)
KEPT, SWAPPED, CYCLED = range(3)
WINDOWS = torch.tensor([[[0.5, -1.0, 2.0]], [[1.5, 0.3, -0.4]], [[-0.2, 0.8, 1.1]]])
"""A window of each class."""


def rewards_of(x: Tensor, y: Tensor) -> Tensor:
    """Reward windows of a class by a curved function of the signal, another for each class."""
    slope = torch.tensor([[0.7, -0.4, 0.2], [-0.3, 0.5, 0.9], [0.1, 0.6, -0.8]])
    return torch.tensor([1.0, -0.5, 0.3])[y] + (slope[y] * x[:, 0]).sum(1).sin()


def outcome(label: int, steps: tuple[tuple[int, bool], ...]) -> tuple[Tensor, int]:
    """Apply operations to the window of a class, written out by hand."""
    x = WINDOWS[label]
    for operation, applied in steps:
        if not applied or (operation == SWAPPED and label == CLASSES.index("c")):
            continue
        x = -x if operation == CYCLED else x.flip(-1)
        label = {KEPT: label, SWAPPED: 1 - label, CYCLED: (label + 1) % 3}[operation]
    return x, label


def expected_reward(policy: StagedPolicy | EnumeratedPolicy, row: int, label: int) -> Tensor:
    """Sum the reward over all choices and decisions; differentiable in the parameters."""
    staged = isinstance(policy, StagedPolicy)
    share, probability = policy.weight[row].softmax(-1), policy.probability[row]
    total = torch.zeros(())
    for number, sequence in enumerate(itertools.product(range(3), repeat=2)):
        if staged:
            chosen = share[0, 0, sequence[0]] * share[0, 1, sequence[1]]
            p = [probability[0, k, n] for k, n in enumerate(sequence)]
        else:
            chosen, p = share[number], list(probability[number])
        for gates in itertools.product((False, True), repeat=2):
            x, y = outcome(label, tuple(zip(sequence, gates, strict=True)))
            decided = [p[k] if gate else 1 - p[k] for k, gate in enumerate(gates)]
            total = (
                total
                + chosen * decided[0] * decided[1] * rewards_of(x[None], torch.tensor([y]))[0]
            )
    return total


@pytest.mark.parametrize(
    ("kind", "estimator", "classwise"),
    [
        (StagedPolicy, "relax", False),
        (StagedPolicy, "straight-through", True),
        (EnumeratedPolicy, "relax", True),
        (EnumeratedPolicy, "straight-through", False),
    ],
)
def test_gradients_are_those_of_the_expected_reward(kind, estimator, classwise) -> None:
    names = CLASSES if classwise else None
    shape = {"n_subpolicies": 1} if kind is StagedPolicy else {}
    policy = kind(POOL, class_names=names, n_stages=2, **shape)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in (policy.weight, policy.probability_logit):
            parameter.copy_(0.7 * torch.randn(parameter.shape, generator=generator))
    labels = (0, 2)
    parts = [expected_reward(policy, label if classwise else 0, label) for label in labels]
    exact = torch.autograd.grad(sum(parts) / 2, [policy.weight, policy.probability_logit])
    y = torch.tensor(labels).repeat(2000)
    x = WINDOWS[y]
    baseline = rewards_of(x, y)
    found: list[tuple[Tensor, Tensor]] = []
    for _ in range(25):
        # A fresh one each time, so that neither the policy nor the scale of rewards moves.
        ascent = PolicyAscent(
            policy, estimator=estimator, lr=1e-12, control_lr=0.01, pooled=False, seed=0
        )
        draw = policy.draw(x, y, generator=generator)
        rewards = rewards_of(policy.transform(x, draw), draw.y)
        ascent.ascend(rewards, baseline, draw, generator)
        found.append(
            (-ascent.scale * policy.weight.grad, -ascent.scale * policy.probability_logit.grad)
        )
    if kind is StagedPolicy:
        relabels = torch.tensor([False, True, True]).expand(policy.probability.shape)
    else:
        relabels = (policy.sequences != KEPT).expand(policy.probability.shape)
    for values, truth, known in zip(
        zip(*found, strict=True), exact, (torch.ones_like(exact[0]).bool(), relabels), strict=True
    ):
        estimate = torch.stack(values)
        error = estimate.std(0) / len(estimate) ** 0.5
        assert bool(((estimate.mean(0) - truth).abs() < 4.5 * error + 1e-6)[known].all())
        assert float(truth[known].abs().max()) > 20 * float(error[known].max())


def test_shares_of_classes_have_the_gradient_of_the_weights() -> None:
    policy = MixturePolicy(POOL, n_subpolicies=1, n_stages=2).double()
    policy.weight.data.normal_(generator=torch.Generator().manual_seed(1))
    y = torch.arange(3)

    def shares() -> Tensor:
        draw = policy.draw(WINDOWS.double(), y, generator=torch.Generator().manual_seed(3))
        assert draw.y is not None
        return draw.y.square().sum()

    (gradient,) = torch.autograd.grad(shares(), policy.weight)
    assert float(gradient.abs().max()) > 0.01
    for place in itertools.product(range(2), range(3)):
        values = []
        for step in (1e-5, -2e-5):
            policy.weight.data[(0, 0, *place)] += step
            values.append(float(shares().detach()))
        policy.weight.data[(0, 0, *place)] += 1e-5
        slope = (values[0] - values[1]) / 2e-5
        assert float(gradient[(0, 0, *place)]) == pytest.approx(slope, abs=1e-7)


def mirrored_problem() -> Problem:
    """Make a problem whose only operation is channel symmetry with exchanged classes."""
    train, valid = mirrored_windows(24), mirrored_windows(24, seed=1)
    pool = mirrored_pool().select([str(SWAP)])
    return make_problem(train, valid, model=planted_network, operations=pool)


def test_a_step_trains_and_rewards_with_the_labels_after_the_map() -> None:
    problem = mirrored_problem()
    settings = BilevelSettings(
        batch_size=24, warmup_epochs=0, n_subpolicies=1, n_stages=1, reuse_inner_gradient=False
    )
    searcher = BilevelSearcher(problem, settings, classwise=False)
    torch.nn.init.constant_(searcher.policy.probability_logit, 30.0)
    x, y = problem.train.x, problem.train.y
    loss = torch.nn.functional.cross_entropy(copy.deepcopy(searcher.model)(x.flip(1)), 1 - y)
    event = searcher.step()
    assert event.train_loss == pytest.approx(loss.item(), rel=1e-5)
    after, before = (
        window_rewards(
            searcher.model,
            searcher.mean_weights,
            searcher.direction,
            windows,
            labels,
            method="finite-difference",
            noise_seed=0,
        )
        for windows, labels in ((x.flip(1), 1 - y), (x, y))
    )
    assert event.reward == pytest.approx((after - before).mean().item(), rel=1e-3)


@pytest.mark.parametrize("hypergradient", ["finite-difference", "exact"])
@pytest.mark.parametrize("sampling", ["stage", "subpolicy", "mixture"])
def test_every_sampling_learns(sampling, hypergradient) -> None:
    problem = mirrored_problem()
    settings = BilevelSettings(sampling=sampling, hypergradient=hypergradient, warmup_epochs=0)
    searcher = BilevelSearcher(problem, settings, classwise=True)
    for _ in range(3):
        assert math.isfinite(searcher.step().reward)
    assert bool((searcher.policy.probability != 0.5).any())
