r"""Rewards of single operations, computed while one model is trained without augmentation.

The model is trained until it begins to overfit, because before that nothing is better than the
window itself. From then on, every few steps, training pauses for a round: v, the gradient of
the loss on some validation windows, is computed, and the paired reward

.. math:: \rho_i(O) - \rho_i(\text{identity}) = \langle \nabla_\theta \ell(O(x_i), y_i)
          - \nabla_\theta \ell(x_i, y_i), v \rangle

is how much more the window does for them after an operation than before (see
`cadda.searchers.gradient.reward`). The same is computed with a label drawn at random.

- Each round takes another **part of the validation windows**, in turn. Of a model that generalises
  well, v is mostly noise; with the parts kept apart, standard errors know how much.
- Rounds look at the **running mean of the weights** over a few epochs. The weights themselves
  oscillate around it. On the way back every batch agrees with validation, except windows that look
  unlike the others, so any unfamiliar window would seem harmful.
- Validation logits are divided by their best **temperature** if it is above 1, found on all
  validation windows at the beginning of each turn through the parts. A model that overfits is
  over-confident, and without this an operation that contradicts what the model believes, right or
  wrong, was rewarded even for permuted validation labels.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from cadda._internal.random import Seeds, seeded
from cadda.exceptions import TrainingError
from cadda.operations.base import Operation
from cadda.operations.pool import OperationPool
from cadda.policies.dispatch import draw_groups, transform_groups
from cadda.screening.design import (
    ScreeningProgress,
    ScreeningSettings,
    assign_trials,
    split_into_parts,
)
from cadda.screening.verdicts import Trials
from cadda.searchers.gradient.reward import (
    RELATIVE_STEP,
    Weights,
    best_sharpness,
    unrolled,
    weights_of,
)
from cadda.training.problem import Problem
from cadda.training.step import check_logits, descend, predict_logits

__all__ = ["collect_trials", "label_rewards"]


def collect_trials(
    problem: Problem,
    controls: tuple[Operation, ...],
    settings: ScreeningSettings,
    *,
    valid_cluster: Tensor,
    on_event: Callable[[ScreeningProgress], None] | None = None,
) -> tuple[Trials, float]:
    """Train a model, and try the operations on training windows while it overfits."""
    screener = _Screener(
        problem, controls, valid_cluster, settings, on_event or (lambda event: None)
    )
    screener.warm_up()
    accuracy = screener.accuracy
    slot, window, label, number, reward, relabelled = (
        torch.cat(column) for column in zip(*screener.rounds(), strict=True)
    )
    is_control = slot >= screener.first_control
    n_magnitudes, n_parts = len(settings.magnitudes), len(screener.parts)
    turn = (number // n_parts).clamp(max=settings.n_rounds // n_parts - 1)
    size = _size(reward, is_control, turn)[turn]
    return Trials(
        screener.pool.names,
        len(controls),
        tuple(operation.has_magnitude for operation in screener.pool),
        settings.magnitudes,
        slot // n_magnitudes,
        slot % n_magnitudes,
        window,
        label,
        number % n_parts,
        reward / size,
        relabelled / size,
    ), accuracy


def _size(reward: Tensor, is_control: Tensor, turn: Tensor) -> Tensor:
    """Return the root mean square of the rewards of controls in each pass through all parts."""
    square = torch.where(is_control, reward.double().square(), 0.0)
    total = torch.bincount(turn, square) / torch.bincount(turn, is_control.double())
    return total.sqrt().clamp_min(1e-30).to(reward.dtype)


class _Screener:
    """One screening: a model in training, the running mean of its weights, and what is planned."""

    def __init__(
        self,
        problem: Problem,
        controls: tuple[Operation, ...],
        valid_cluster: Tensor,
        settings: ScreeningSettings,
        report: Callable[[ScreeningProgress], None],
    ) -> None:
        self.problem, self.settings, self.report = problem, settings, report
        self.pool = OperationPool([*problem.pool, *controls])
        self.first_control = len(problem.pool) * len(settings.magnitudes)
        self.seeds = Seeds(settings.seed)
        counts = torch.bincount(problem.train.y, minlength=problem.n_classes)
        self.share = (counts / len(problem.train.y)).to(problem.device, problem.train.x.dtype)
        self.windows, self.slots = assign_trials(
            problem.train.y,
            len(self.pool) * len(settings.magnitudes),
            n_rounds=settings.n_rounds,
            n_windows=settings.windows_per_round,
            draws=settings.draws,
            seeds=self.seeds,
        )
        part = split_into_parts(
            valid_cluster,
            problem.valid.y,
            min(settings.n_parts, settings.n_rounds),
            self.seeds.stream("parts"),
        )
        self.parts = [(part == i).nonzero().flatten() for i in range(int(part.max()) + 1)]
        self.model = problem.new_model(self.seeds.integer("model"))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=settings.lr)
        # In evaluation mode a reward does not depend on other windows, nor on dropout.
        self.mean_model = copy.deepcopy(self.model).eval()
        self.n_steps = math.ceil(len(problem.train.x) / settings.batch_size)
        self.sharpness = torch.ones((), device=problem.device)
        self.warmup, self.epoch, self.step, self.accuracy = settings.max_warmup, 0, 0, 0.0

    def warm_up(self) -> None:
        """Train until the model knows most of its training windows."""
        while self.accuracy < self.settings.min_accuracy and self.epoch < self.warmup:
            for _ in self.train_epoch():
                pass
            self.tell(0)
        self.warmup = self.epoch

    def rounds(self) -> Iterator[tuple[Tensor, ...]]:
        """Continue training, with rounds in regular intervals; yield the columns of each."""
        n_rounds, n_epochs, n_done = self.settings.n_rounds, self.settings.n_epochs, 0
        for epoch in range(n_epochs):
            for step in self.train_epoch():
                due = n_rounds * (epoch * self.n_steps + step) // (n_epochs * self.n_steps)
                for number in range(n_done, due):
                    yield self.round(number)
                    self.tell(number + 1)
                n_done = due

    def round(self, number: int) -> tuple[Tensor, ...]:
        """Try the planned operations on the planned windows, all with the same weights."""
        index, slots = self.windows[number], self.slots[number]
        x, y = self.problem.training_batch(index)
        direction = self._direction(x, y, number)
        draws = self.seeds.stream("draws", device=x.device, round=number)
        (before, _), *after = (
            self._rewards(direction, windows, y)
            for windows in (x, *(self._transformed(x, slot, draws) for slot in slots.to(x.device)))
        )
        paired, relabelled = (torch.stack(values) - before for values in zip(*after, strict=True))
        rounds = torch.full_like(slots, number)
        about = (slots, index.expand_as(slots), y.expand_as(slots), rounds)
        return tuple(column.cpu().flatten() for column in (*about, paired, relabelled))

    def train_epoch(self) -> Iterator[int]:
        """Iterate once over the training windows; yield the number of steps done."""
        self.epoch += 1
        stream = self.seeds.stream("order", epoch=self.epoch)
        order = torch.randperm(len(self.problem.train.x), generator=stream)
        n_right = 0
        for step, index in enumerate(torch.split(order, self.settings.batch_size), 1):
            n_right += self._train(*self.problem.training_batch(index))
            yield step
        self.accuracy = n_right / len(order)

    def tell(self, n_rounds: int) -> None:
        """Report the progress; an epoch counts as three passes of each of its windows."""
        epoch, s = 3 * len(self.problem.train.x), self.settings
        n_valid = min(s.valid_batch_size, len(self.problem.valid.x) // len(self.parts))
        per_round = self.windows.shape[1] * (2 * s.draws + 5) + 3 * n_valid
        self.report(
            ScreeningProgress(
                self.epoch * epoch + n_rounds * per_round,
                (self.warmup + s.n_epochs) * epoch + s.n_rounds * per_round,
                n_rounds,
                self.epoch,
                self.accuracy,
            )
        )

    def _train(self, x: Tensor, y: Tensor) -> int:
        """Run one step of Adam, update the mean weights, and count the right windows."""
        self.step += 1
        self.model.train()
        with seeded(self.seeds.integer("dropout", step=self.step), x.device):
            logits = check_logits(self.model(x), len(x), self.problem.n_classes)
        loss = cross_entropy(logits, y)
        if not math.isfinite(loss.item()):
            raise TrainingError(
                f"the loss became {loss.item()} in epoch {self.epoch}: try a lower `lr`."
            )
        descend(self.optimizer, loss)
        # Before it has its full length, the running mean is a plain mean.
        rate = 1 / max(1.0, min(self.step, self.settings.smoothing * self.n_steps))
        _update_mean(self.mean_model, self.model, rate)
        return int((logits.argmax(1) == y).sum())

    def _direction(self, x: Tensor, y: Tensor, number: int) -> Weights:
        """Compute the gradient of a part of validation, after a step on training windows.

        Parts count by their size, so that the mean over parts is the gradient of all windows.
        """
        if number % len(self.parts) == 0:
            logits = predict_logits(self.mean_model, self.problem.valid.x, self.problem.n_classes)
            best = best_sharpness(logits, self.problem.valid.y).to(x.device)
            self.sharpness = best.clamp(max=1.0)
        s, part = self.settings, self.parts[number % len(self.parts)]
        stream = self.seeds.stream("validation batch", round=number)
        chosen = part[torch.randperm(len(part), generator=stream)[: s.valid_batch_size]]
        model, weights = self.mean_model, weights_of(self.mean_model)
        inner = sharpened_gradient(model, weights, x, y, torch.ones_like(self.sharpness))
        after = unrolled(weights, inner, s.unroll_lr)
        batch = self.problem.validation_batch(chosen)
        outer = sharpened_gradient(model, after, *batch, self.sharpness)
        weight = len(part) * len(self.parts) / len(self.problem.valid.x)
        return {name: weight * value for name, value in outer.items()}

    def _rewards(self, direction: Weights, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rewards of windows with their labels, and their mean over random labels."""
        rewards = label_rewards(self.mean_model, weights_of(self.mean_model), direction, x)
        return rewards.gather(1, y[:, None]).squeeze(1), rewards @ self.share

    def _transformed(self, x: Tensor, slot: Tensor, generator: torch.Generator) -> Tensor:
        """Apply to each window the operation of its slot, with the magnitude of its slot."""
        n_magnitudes = len(self.settings.magnitudes)
        groups = draw_groups(self.pool, x, slot // n_magnitudes, generator)
        magnitudes = torch.tensor(self.settings.magnitudes, dtype=x.dtype, device=x.device)
        return transform_groups(self.pool, x, groups, magnitudes[slot % n_magnitudes])


def _update_mean(mean: nn.Module, model: nn.Module, rate: float) -> None:
    """Move a running mean of models, weights and buffers alike, towards a model."""
    now = model.state_dict()
    for name, value in mean.state_dict().items():
        if value.is_floating_point():
            value.lerp_(now[name], rate)
        else:
            value.copy_(now[name])


def sharpened_gradient(
    model: nn.Module, weights: Mapping[str, Tensor], x: Tensor, y: Tensor, sharpness: Tensor
) -> Weights:
    """Compute the gradient of the mean loss of a model in evaluation mode, logits multiplied."""
    leaves = {name: value.detach().requires_grad_() for name, value in weights.items()}
    loss = cross_entropy(sharpness * functional_call(model, leaves, x), y)
    gradients = torch.autograd.grad(
        loss, list(leaves.values()), allow_unused=True, materialize_grads=True
    )
    return dict(zip(leaves, gradients, strict=True))


def label_rewards(
    model: nn.Module, weights: Mapping[str, Tensor], direction: Mapping[str, Tensor], x: Tensor
) -> Tensor:
    """Compute the reward of each window with each label, shape (n_windows, n_classes).

    The logits hold the losses with all labels, so that all rewards together cost no more than one.
    """
    length = torch.cat([value.flatten() for value in direction.values()]).norm()
    unit = 1 / length.clamp_min(torch.finfo(length.dtype).tiny)
    with torch.no_grad():
        ahead, behind = (
            functional_call(
                model, {name: w + step * unit * direction[name] for name, w in weights.items()}, x
            ).log_softmax(1)
            for step in (RELATIVE_STEP, -RELATIVE_STEP)
        )
    # Where the validation gradient is 0, so are the rewards.
    rewards: Tensor = length * (behind - ahead) / (2 * RELATIVE_STEP)
    return rewards
