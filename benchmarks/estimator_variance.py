"""Bias and variance of the estimators of the gradient of w, where every choice can be enumerated.

``python -m benchmarks estimator_variance`` takes a model and a batch from the middle of a search
on `cadda.testing.planted_windows`, with two stages of three operations that have no randomness of
their own. All nine outcomes of a window are enumerated for the exact gradient of the mean reward;
then the estimators draw. A bias is given in units of the length of the exact gradient, a variance
as the sum over the components of the gradient of one batch.
"""

from __future__ import annotations

from itertools import product

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from cadda import OperationPool, StagedPolicy
from cadda._internal.random import Seeds
from cadda.operations.base import Operation
from cadda.operations.space import SignFlip
from cadda.operations.time import TimeReverse
from cadda.policies.relaxed.base import RelaxedDraw
from cadda.policies.relaxed.estimators import reinforce_gradient
from cadda.searchers.gradient.policy_optimizer import PolicyAscent
from cadda.searchers.gradient.reward import loss_gradient, weights_of, window_rewards
from cadda.testing.planted import planted_network, planted_windows

N_TRAINING_STEPS = 150
N_CONTROL_DRAWS = 2000
N_DRAWS = 4000
BATCH = 16


class Halve(Operation):
    """Halve the amplitude."""

    name = "halve"
    has_magnitude = False

    def apply(self, x: Tensor, magnitude: Tensor, draw: dict[str, Tensor]) -> Tensor:
        return x / 2


class Situation:
    """A model in training, a batch, and the direction of the validation gradient."""

    def __init__(self) -> None:
        train = planted_windows(200, varied=False)
        valid = planted_windows(200, varied=True)
        self.model = planted_network(1, train.n_times, train.n_classes)
        optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        for step in range(N_TRAINING_STEPS):
            index = torch.randperm(200, generator=Seeds(0).stream("batch", step=step))[:BATCH]
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.model(train.x[index]), train.y[index])
            loss.backward()
            optimizer.step()
        self.x, self.y = train.x[:BATCH], train.y[:BATCH]
        self.weights = weights_of(self.model)
        _, self.direction = loss_gradient(self.model, self.weights, valid.x, valid.y, noise_seed=0)
        self.plain = self.rewards(self.x)

    def rewards(self, x: Tensor) -> Tensor:
        return window_rewards(
            self.model, self.weights, self.direction, x, self.y, method="exact", noise_seed=0
        )


def make_policy(granularity: str) -> StagedPolicy:
    """Make a policy of one subpolicy with uneven weights that always applies what it chooses."""
    policy = StagedPolicy(
        OperationPool([SignFlip(), TimeReverse(), Halve()]),
        n_subpolicies=1,
        granularity=granularity,  # type: ignore[arg-type]
    )
    with torch.no_grad():
        policy.weight += torch.tensor([[0.3, -0.2, 0.1], [-0.4, 0.5, 0.0]])
        policy.probability_logit += 30
    return policy


def exact_gradient(situation: Situation, policy: StagedPolicy) -> Tensor:
    """Differentiate the mean reward over all outcomes, the same for both granularities."""
    pool, share = policy.pool, policy.weight[0, 0].softmax(-1)
    mean: Tensor = torch.zeros(())
    for first, second in product(range(3), repeat=2):
        x = pool[second](pool[first](situation.x))
        reward = situation.rewards(x).detach().mean()
        mean = mean + share[0, first] * share[1, second] * reward
    (gradient,) = torch.autograd.grad(mean, policy.weight)
    return gradient


def estimates(
    situation: Situation, granularity: str, *, paired: bool
) -> tuple[dict[str, Tensor], Tensor]:
    """Draw many estimates of each kind, and return them with the exact gradient."""
    policy = make_policy(granularity)
    ascent = PolicyAscent(
        policy, estimator="relax", lr=1e-3, control_lr=0.01, pooled=False, seed=0
    )
    size = float(situation.plain.std())
    baseline = situation.plain if paired else torch.zeros_like(situation.plain)
    found: dict[str, list[Tensor]] = {"REINFORCE": [], "straight-through": [], "RELAX": []}
    for number in range(N_CONTROL_DRAWS + N_DRAWS):
        stream = Seeds(1).stream("draw", number=number)
        draw = policy.draw(situation.x, generator=stream)
        rewards = situation.rewards(policy.transform(situation.x, draw))
        gain = (rewards.detach() - baseline) / size
        relaxed = size * ascent.weight_gradient(gain, draw, stream)
        if number < N_CONTROL_DRAWS:
            continue
        found["RELAX"].append(relaxed)
        found["REINFORCE"].append(size * score_function(policy, draw, gain, granularity))
        (through,) = torch.autograd.grad(rewards.mean(), policy.weight)
        found["straight-through"].append(through)
    return {name: torch.stack(values) for name, values in found.items()}, exact_gradient(
        situation, policy
    )


def score_function(
    policy: StagedPolicy, draw: RelaxedDraw, gain: Tensor, granularity: str
) -> Tensor:
    choices = policy.choices(draw)
    if granularity == "window":
        each = reinforce_gradient(choices.weight, choices.chosen, gain)
        return each.mean(0)[None, None]
    shared = reinforce_gradient(choices.weight[:1], choices.chosen[:1], gain.mean()[None])
    return shared[None]


def main() -> None:
    situation = Situation()
    table = Table(title=f"gradient of w, {N_DRAWS} batches of {BATCH} windows")
    for name in ("choice", "baseline", "estimator", "bias", "its standard error", "variance"):
        table.add_column(name, justify="right")
    for granularity in ("window", "batch"):
        for paired in (False, True):
            made, exact = estimates(situation, granularity, paired=paired)
            length = float(exact.norm())
            for name, values in made.items():
                bias = float((values.mean(0) - exact).norm()) / length
                variance = float(values.var(0).sum())
                error = (variance / len(values)) ** 0.5 / length
                table.add_row(
                    f"per {granularity}",
                    "same window unchanged" if paired else "none",
                    name,
                    f"{bias:.3f}",
                    f"{error:.3f}",
                    f"{variance / length**2:.3g}",
                )
    Console(highlight=False).print(table)
