r"""Which operations help, do nothing or hurt, seen in one training without augmentation.

The model is trained until it begins to overfit, because before that nothing is better than the
window itself. From then on, every few steps, training stands still for a round: v, the gradient
of the loss on a fresh validation batch, says which way validation would like the weights to go,
and the paired reward

.. math:: \rho_i(O) - \rho_i(\text{identity}) = \langle \nabla_\theta \ell(O(x_i), y_i)
          - \nabla_\theta \ell(x_i, y_i), v \rangle

says how much more the window does for it after an operation than before (see
`cadda.searchers.reward`). Rounds look at the **running mean of the weights** over a few epochs.
The weights themselves swing around it, each batch and each validation batch agrees on the way
back, and a window that looks unlike the others does not take part in that: what is merely
unfamiliar would seem harmful.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from cadda._random import Seeds, seeded
from cadda._validation import check_positive
from cadda.exceptions import TrainingError
from cadda.operations.base import Operation
from cadda.operations.pool import OperationPool
from cadda.policies.dispatch import draw_groups, transform_groups
from cadda.searchers.inference import Trials
from cadda.searchers.reward import (
    Hypergradient,
    Weights,
    loss_gradient,
    unrolled,
    weights_of,
    window_rewards,
)
from cadda.searchers.task import SearchTask
from cadda.training.predict import check_logits

__all__ = ["ScreeningProgress", "ScreeningSettings", "collect_trials"]


@dataclass(frozen=True)
class ScreeningSettings:
    """How to screen.

    Parameters
    ----------
    magnitudes : tuple of float
        Magnitudes to try, in (0, 1].
    n_rounds : int
        How often rewards are computed.
    windows_per_round : int
        Training windows in a round, about as many of each class.
    draws : int
        Operations that are tried on each of them.
    n_epochs : int
        Epochs that the rounds are spread over.
    min_accuracy : float
        Accuracy on the training windows, dropout included, that ends the warm-up.
    max_warmup : int
        Epochs after which the warm-up ends anyhow.
    batch_size : int
        Training windows per step.
    valid_batch_size : int
        Validation windows per round, drawn anew each time.
    lr : float
        Learning rate of Adam.
    unroll_lr : float
        Step size ξ of the unrolled training step.
    smoothing : float
        Epochs that the running mean of the weights goes back; 0 takes the weights as they are.
    calibrate : bool
        Whether validation logits are divided by their best temperature.
    hypergradient : 'finite-difference' | 'exact'
        How rewards are computed.
    seed : int
        Decides everything that is random.
    """

    magnitudes: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    n_rounds: int = 80
    windows_per_round: int = 60
    draws: int = 6
    n_epochs: int = 30
    min_accuracy: float = 0.85
    max_warmup: int = 60
    batch_size: int = 16
    valid_batch_size: int = 128
    lr: float = 1e-3
    unroll_lr: float = 1e-3
    smoothing: float = 4.0
    calibrate: bool = False
    hypergradient: Hypergradient = "finite-difference"
    seed: int = 0

    def __post_init__(self) -> None:
        counts = ("n_rounds", "windows_per_round", "draws", "n_epochs", "batch_size")
        for name in (*counts, "valid_batch_size", "lr", "unroll_lr"):
            check_positive(name, getattr(self, name))
        if not self.magnitudes or any(not 0 < value <= 1 for value in self.magnitudes):
            raise ValueError(f"`magnitudes` must be in (0, 1], got {self.magnitudes}.")


@dataclass(frozen=True)
class ScreeningProgress:
    """How far a screening is.

    Parameters
    ----------
    done : int
        Work done, in passes of one window through the model.
    total : int
        All work, of which the warm-up may need less.
    n_rounds : int
        Rounds done; 0 during the warm-up.
    epoch : int
        Epochs trained so far.
    accuracy : float
        Accuracy on the training windows in the last epoch.
    """

    done: int
    total: int
    n_rounds: int
    epoch: int
    accuracy: float


def collect_trials(
    task: SearchTask,
    controls: tuple[Operation, ...],
    settings: ScreeningSettings,
    *,
    on_event: Callable[[ScreeningProgress], None] | None = None,
) -> tuple[Trials, float]:
    """Train a model, and try the operations on training windows while it overfits.

    Parameters
    ----------
    task : SearchTask
        Windows, model and operations.
    controls : tuple of Operation
        Operations that must not help, tried beside those of the task.
    settings : ScreeningSettings
        How to screen.
    on_event : callable | None
        Called after every epoch and every round.

    Returns
    -------
    trials : Trials
        Paired rewards; 1 is the root mean square of those of the controls in the same round.
    accuracy : float
        Accuracy on the training windows in the epoch before the first round.
    """
    screener = _Screener(task, controls, settings, on_event or (lambda event: None))
    screener.warm_up()
    accuracy = screener.accuracy
    slot, window, label, number, reward = (
        torch.cat(column) for column in zip(*screener.rounds(), strict=True)
    )
    n_magnitudes = len(settings.magnitudes)
    return Trials(
        screener.pool.names,
        len(controls),
        tuple(operation.has_magnitude for operation in screener.pool),
        settings.magnitudes,
        slot // n_magnitudes,
        slot % n_magnitudes,
        window,
        label,
        number,
        reward,
    ), accuracy


class _Screener:
    """One screening: a model in training, the running mean of its weights, and what is planned."""

    def __init__(
        self,
        task: SearchTask,
        controls: tuple[Operation, ...],
        settings: ScreeningSettings,
        report: Callable[[ScreeningProgress], None],
    ) -> None:
        self.task, self.settings, self.report = task, settings, report
        self.pool = OperationPool([*task.pool, *controls])
        self.first_control = len(task.pool) * len(settings.magnitudes)
        self.seeds = Seeds(settings.seed)
        self.windows, self.slots = self._plan()
        self.model = task.make_model(self.seeds.integer("model")).to(task.device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=settings.lr)
        self.mean_weights = {name: v.clone() for name, v in weights_of(self.model).items()}
        self.n_steps = math.ceil(len(task.x_train) / settings.batch_size)
        self.warmup, self.epoch, self.step, self.accuracy = settings.max_warmup, 0, 0, 0.0

    def warm_up(self) -> None:
        """Train until the model knows most of its training windows."""
        while self.accuracy < self.settings.min_accuracy and self.epoch < self.warmup:
            for _ in self.train_epoch():
                pass
            self.tell(0)
        self.warmup = self.epoch

    def rounds(self) -> Iterator[tuple[Tensor, ...]]:
        """Train on, and stop for a round every now and then."""
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
        # In evaluation mode each window is judged by itself: no dropout, no batch statistics.
        self.model.eval()
        index, slots = self.windows[number], self.slots[number]
        x, y = self.task.training_batch(index)
        direction = self._direction(x, y, number)
        before = self._rewards(direction, x, y, number)
        draws = self.seeds.stream("draws", device=x.device, round=number)
        rewards = [
            self._rewards(direction, self._transformed(x, slot, draws), y, number)
            for slot in slots.to(x.device)
        ]
        paired = (torch.stack(rewards) - before).cpu()
        scale = paired[slots >= self.first_control].square().mean().sqrt().clamp_min(1e-12)
        rounds = torch.full_like(slots, number)
        columns = (slots, index.expand_as(slots), y.cpu().expand_as(slots), rounds, paired / scale)
        return tuple(column.flatten() for column in columns)

    def train_epoch(self) -> Iterator[int]:
        """Go once through the training windows; yields the number of steps done."""
        self.epoch += 1
        stream = self.seeds.stream("order", epoch=self.epoch)
        order = torch.randperm(len(self.task.x_train), generator=stream)
        n_right = 0
        for step, index in enumerate(torch.split(order, self.settings.batch_size), 1):
            n_right += self._train(*self.task.training_batch(index))
            yield step
        self.accuracy = n_right / len(order)

    def tell(self, n_rounds: int) -> None:
        """Report how far this is, an epoch counted as three passes of each of its windows."""
        epoch, s = 3 * len(self.task.x_train), self.settings
        per_round = self.windows.shape[1] * (2 * s.draws + 5) + 3 * s.valid_batch_size
        self.report(
            ScreeningProgress(
                self.epoch * epoch + n_rounds * per_round,
                (self.warmup + s.n_epochs) * epoch + s.n_rounds * per_round,
                n_rounds,
                self.epoch,
                self.accuracy,
            )
        )

    def _plan(self) -> tuple[Tensor, Tensor]:
        """Deal windows and slots out to the rounds, the same number of each in each class.

        A slot is an operation with a magnitude; one without has as many slots as the others.
        """
        s, y = self.settings, self.task.y_train
        labels = torch.unique(y).tolist()
        per_class = max(1, s.windows_per_round // len(labels))
        n_slots = len(self.pool) * len(s.magnitudes)
        if s.n_rounds * s.draws * per_class < n_slots:
            raise ValueError(
                f"`n_rounds` must be at least {math.ceil(n_slots / (s.draws * per_class))} to try "
                f"every operation and magnitude in every class, got {s.n_rounds}."
            )
        windows, slots = [], []
        for label in labels:
            stream = self.seeds.stream("plan", label=label)
            members = (y == label).nonzero().flatten()
            dealt = members[_dealt(len(members), s.n_rounds * per_class, stream)]
            windows.append(dealt.view(s.n_rounds, per_class))
            dealt = _dealt(n_slots, s.n_rounds * s.draws * per_class, stream)
            slots.append(dealt.view(s.n_rounds, s.draws, per_class))
        return torch.cat(windows, -1), torch.cat(slots, -1)

    def _train(self, x: Tensor, y: Tensor) -> int:
        """Take one step of Adam, follow the weights, and count the windows that were right."""
        self.step += 1
        self.model.train()
        with seeded(self.seeds.integer("dropout", step=self.step), x.device):
            logits = check_logits(self.model(x), len(x), len(self.task.class_names))
        loss = cross_entropy(logits, y)
        if not math.isfinite(loss.item()):
            raise TrainingError(
                f"the loss became {loss.item()} in epoch {self.epoch}: try a lower `lr`."
            )
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        self.optimizer.step()
        # Until it is as long as it shall be, the running mean is a plain one.
        rate = 1 / max(1.0, min(self.step, self.settings.smoothing * self.n_steps))
        for name, value in weights_of(self.model).items():
            self.mean_weights[name].lerp_(value, rate)
        return int((logits.argmax(1) == y).sum())

    def _direction(self, x: Tensor, y: Tensor, number: int) -> Weights:
        """Give the gradient of a fresh validation batch, after a step on training windows."""
        s, n_valid = self.settings, len(self.task.x_valid)
        stream = self.seeds.stream("validation batch", round=number)
        chosen = torch.randperm(n_valid, generator=stream)[: s.valid_batch_size]
        noise_seed = self.seeds.integer("noise", round=number)
        _, inner = loss_gradient(self.model, self.mean_weights, x, y, noise_seed=noise_seed)
        after = unrolled(self.mean_weights, inner, s.unroll_lr)
        x_valid, y_valid = self.task.validation_batch(chosen)
        _, outer = loss_gradient(
            self.model, after, x_valid, y_valid, noise_seed=noise_seed, calibrated=s.calibrate
        )
        return outer

    def _rewards(self, direction: Weights, x: Tensor, y: Tensor, number: int) -> Tensor:
        with torch.no_grad():
            return window_rewards(
                self.model,
                self.mean_weights,
                direction,
                x,
                y,
                method=self.settings.hypergradient,
                noise_seed=self.seeds.integer("noise", round=number),
            )

    def _transformed(self, x: Tensor, slot: Tensor, generator: torch.Generator) -> Tensor:
        """Send each window to the operation of its slot, with the magnitude of its slot."""
        n_magnitudes = len(self.settings.magnitudes)
        groups = draw_groups(self.pool, x, slot // n_magnitudes, generator)
        magnitudes = torch.tensor(self.settings.magnitudes, dtype=x.dtype, device=x.device)
        return transform_groups(self.pool, x, groups, magnitudes[slot % n_magnitudes])


def _dealt(n_cards: int, n_wanted: int, generator: torch.Generator) -> Tensor:
    """Deal out one shuffled pack of cards after the other."""
    n_packs = math.ceil(n_wanted / n_cards)
    packs = [torch.randperm(n_cards, generator=generator) for _ in range(n_packs)]
    return torch.cat(packs)[:n_wanted]
