"""Trials: a policy is proposed, evaluated by itself, and its outcome reported to the search."""

from __future__ import annotations

import io
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from cadda._internal.random import Seeds
from cadda._internal.rows import n_at_once
from cadda._internal.text import short_reason
from cadda.compute import Engine
from cadda.policies.policy import Policy
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.retraining import AnyPolicy
from cadda.training import Problem, Trainer, TrainingSettings, predict_logits, train
from cadda.training.batched import train_stacked

__all__ = [
    "ContinuationEvaluator",
    "Evaluator",
    "FoldModel",
    "HeldOutEvaluator",
    "Outcome",
    "Proposal",
    "TrainingEvaluator",
    "TrialSearch",
    "evaluate",
    "one_thread",
    "train_fold",
]


@dataclass(frozen=True, eq=False)
class Proposal:
    """A policy to be tried."""

    policy: PolicySpec
    state: bytes | None = None  # of the model to continue training; None starts from scratch
    seed: int | None = None  # of the training run, if it is not the same for all


@dataclass(frozen=True, eq=False)
class Outcome:
    """Loss of a trial, or the reason for its failure."""

    value: float | None
    failure: str | None = None
    seconds: float = 0.0
    state: bytes | None = None  # of the trained model, where training may continue


class Evaluator(Protocol):
    """Evaluates proposals; it can be pickled and sent to a worker."""

    def __call__(self, proposal: Proposal) -> tuple[float, bytes | None]:
        """Return the loss of a proposal, and the state of the trained model if it is kept."""


@runtime_checkable
class StackingEvaluator(Protocol):
    """Evaluates several proposals together."""

    def evaluate_stack(self, proposals: list[Proposal]) -> list[float | Exception]:
        """Return the loss of each proposal, or why it has none."""


class TrialSearch(ABC):
    """Proposes policies and remembers outcomes, in a folder if it was given one.

    Trials are numbered from 0, asked for and told in the order of their numbers.
    """

    @property
    @abstractmethod
    def n_trials(self) -> int:
        """Number of trials of the whole search."""

    @property
    def stack(self) -> int:
        """How many trials are asked for and evaluated together."""
        return 1

    @property
    @abstractmethod
    def outcomes(self) -> list[Outcome]:
        """Outcomes in order, those of an earlier process included."""

    @abstractmethod
    def make_evaluator(self, engine: Engine) -> Evaluator:
        """Make what evaluates proposals; the engine trains models that it needs first."""

    @abstractmethod
    def n_required(self, number: int) -> int:
        """Return how many outcomes must have been told before a trial is asked for.

        Its proposal is a function of the seed and of these.
        """

    @abstractmethod
    def ask(self, number: int) -> Proposal:
        """Return a proposal, the same again if an earlier process asked for it."""

    @abstractmethod
    def tell(self, number: int, outcome: Outcome) -> None:
        """Remember the outcome of a trial."""

    @abstractmethod
    def policy(self, number: int) -> PolicySpec:
        """Return the policy of a trial that was asked for."""

    def policy_as_result(self, number: int) -> AnyPolicy:
        """Return the result of the search if this trial is the best.

        That is its policy, or a schedule of all policies that its weights were trained with.
        """
        return self.policy(number)


def evaluate(evaluator: Evaluator, proposals: list[Proposal]) -> list[Outcome]:
    """Try one policy, or several as a stack; this is what workers do."""
    start = perf_counter()
    with one_thread():
        if len(proposals) > 1 and isinstance(evaluator, StackingEvaluator):
            answers = _evaluate_stack(evaluator, proposals)
        else:
            answers = [_evaluate_single(evaluator, proposal) for proposal in proposals]
    seconds = (perf_counter() - start) / len(proposals)
    return [_outcome(answer, seconds) for answer in answers]


def _evaluate_single(
    evaluator: Evaluator, proposal: Proposal
) -> tuple[float, bytes | None] | Exception:
    # A model of the user's own can raise anything; one bad trial must not end the search.
    try:
        return evaluator(proposal)
    except Exception as error:
        return error


def _evaluate_stack(
    evaluator: StackingEvaluator, proposals: list[Proposal]
) -> list[tuple[float, bytes | None] | Exception]:
    try:
        losses = evaluator.evaluate_stack(proposals)
    except Exception as error:
        losses = [error] * len(proposals)
    return [loss if isinstance(loss, Exception) else (loss, None) for loss in losses]


def _outcome(answer: tuple[float, bytes | None] | Exception, seconds: float) -> Outcome:
    if isinstance(answer, Exception):
        return Outcome(None, f"{type(answer).__name__}: {short_reason(answer)}", seconds)
    value, state = answer
    if not math.isfinite(value):
        return Outcome(None, f"the validation loss is {value}", seconds)
    return Outcome(value, None, seconds, state)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread, so that a sum has the same last digit on every machine.

    Several trials at once make better use of several cores than several threads for one.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True, eq=False)
class TrainingEvaluator:
    """Trains from scratch with a policy; the loss is that of the best epoch on validation.

    Every trial starts with the same weights and order of windows, so that only the policy differs.
    """

    problem: Problem
    settings: TrainingSettings

    def __call__(self, proposal: Proposal) -> tuple[float, None]:
        """Evaluate one policy."""
        policy = Policy(proposal.policy, self.problem.pool)
        return train(self.problem, self.settings, policy=policy).best.valid_loss, None

    def evaluate_stack(self, proposals: list[Proposal]) -> list[float | Exception]:
        """Evaluate several policies with models that are trained together."""
        results = train_stacked(
            self.problem,
            [self.settings] * len(proposals),
            [Policy(proposal.policy, self.problem.pool) for proposal in proposals],
        )
        return [
            result if isinstance(result, Exception) else result.best.valid_loss
            for result in results
        ]


@dataclass(frozen=True, eq=False)
class FoldModel:
    """Weights of a model trained without augmentation, and the windows that it has not seen."""

    weights: dict[str, Tensor]
    held_out: Tensor  # indices of training windows


def train_fold(
    problem: Problem, settings: TrainingSettings, held_out: Tensor, seed: int
) -> FoldModel:
    """Train a model without augmentation on all training windows but those held out.

    Validation windows decide when to stop.
    """
    kept = replace(problem, train=problem.train.without(held_out))
    with one_thread():
        fitted = train(kept, replace(settings, seed=seed))
    weights = {name: value.cpu() for name, value in fitted.model.state_dict().items()}
    return FoldModel(weights, held_out)


@dataclass(frozen=True, eq=False)
class HeldOutEvaluator:
    """Mean cross entropy of augmented held-out windows, of models trained without augmentation.

    The same random numbers augment the windows in every trial, so that equal policies get equal
    losses.
    """

    problem: Problem
    folds: tuple[FoldModel, ...]
    seed: int

    def __call__(self, proposal: Proposal) -> tuple[float, None]:
        """Evaluate one policy."""
        problem, total, count = self.problem, 0.0, 0
        policy = Policy(proposal.policy, problem.pool)
        model = problem.new_model(0)
        for number, fold in enumerate(self.folds):
            model.load_state_dict(fold.weights)
            draws = Seeds(self.seed).stream("held-out windows", device=problem.device, fold=number)
            for index in torch.split(fold.held_out, n_at_once(problem.train.x)):
                augmented, labels = policy(*problem.training_batch(index), generator=draws)
                logits = predict_logits(model, augmented, problem.n_classes)
                total += float(cross_entropy(logits, labels.cpu(), reduction="sum"))
                count += len(index)
        return total / count, None


@dataclass(frozen=True, eq=False)
class ContinuationEvaluator:
    """Continues training for some epochs with a policy; the loss is that of the last epoch."""

    problem: Problem
    settings: TrainingSettings
    n_epochs: int

    def __call__(self, proposal: Proposal) -> tuple[float, bytes]:
        """Evaluate one policy, and return the state that training can continue from."""
        problem, seed = self.problem, proposal.seed or 0
        trainer = Trainer(
            problem, replace(self.settings, seed=seed), Policy(proposal.policy, problem.pool)
        )
        if proposal.state is not None:
            trainer.restore(torch.load(io.BytesIO(proposal.state), weights_only=True))
        for _ in range(self.n_epochs):
            event = trainer.run_epoch()
        buffer = io.BytesIO()
        torch.save(trainer.state(), buffer)
        return event.valid_loss, buffer.getvalue()
