"""Trials: a policy is proposed, evaluated by itself, and its outcome is told to the search."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol, runtime_checkable

import torch

from cadda._internal.text import short_reason
from cadda.compute import Engine
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.retraining import AnyPolicy

__all__ = ["Evaluator", "Outcome", "Proposal", "TrialSearch", "evaluate", "one_thread"]


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
