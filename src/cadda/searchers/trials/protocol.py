"""Trials: a policy is proposed, judged by itself, and what came of it is told."""

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
from cadda.searchers.retraining import Found

__all__ = ["Judge", "Outcome", "Proposal", "TrialSearch", "evaluate", "one_thread"]


@dataclass(frozen=True, eq=False)
class Proposal:
    """A policy to be tried.

    Parameters
    ----------
    policy : PolicySpec
        The policy.
    state : bytes | None
        What training goes on from; None starts from scratch.
    seed : int | None
        Seed of the training, if it is not the same for all.
    """

    policy: PolicySpec
    state: bytes | None = None
    seed: int | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a trial.

    Parameters
    ----------
    value : float | None
        Loss that the policy was judged by; None if the trial failed.
    failure : str | None
        Why it failed; None if it did not.
    seconds : float
        Time that it took.
    state : bytes | None
        What training can go on from.
    """

    value: float | None
    failure: str | None = None
    seconds: float = 0.0
    state: bytes | None = None


class Judge(Protocol):
    """Says how good proposals are; it can be pickled and sent to a worker."""

    def __call__(self, proposal: Proposal) -> tuple[float, bytes | None]:
        """Give the loss of a proposal, and what training can go on from."""


@runtime_checkable
class StackingJudge(Protocol):
    """Can judge several proposals together."""

    def together(self, proposals: list[Proposal]) -> list[float | Exception]:
        """Give the loss of each proposal, or why it has none."""


class TrialSearch(ABC):
    """Proposes policies, and remembers what came of them if it was given a folder.

    Trials are numbered from 0, asked for and told in the order of their numbers.
    """

    @property
    @abstractmethod
    def n_trials(self) -> int:
        """How many trials there will be."""

    @property
    @abstractmethod
    def log10_policies(self) -> float:
        """Number of policies to choose from, as a power of ten."""

    @property
    def stack(self) -> int:
        """How many trials are asked for and evaluated together."""
        return 1

    @property
    @abstractmethod
    def past(self) -> list[Outcome]:
        """What was told, in order, also by an earlier process."""

    @abstractmethod
    def judge(self, engine: Engine) -> Judge:
        """Make what judges proposals.

        Parameters
        ----------
        engine : Engine
            Trains models, where some are needed first.

        Returns
        -------
        Judge
            Gives the loss of a proposal.
        """

    @abstractmethod
    def needs(self, number: int) -> int:
        """Say how many trials must have been told before one is asked for.

        Parameters
        ----------
        number : int
            Number of the trial.

        Returns
        -------
        int
            Number of trials; the proposal is a function of the seed and of these.
        """

    @abstractmethod
    def ask(self, number: int) -> Proposal:
        """Propose a policy, or give the same again if an earlier process asked for it.

        Parameters
        ----------
        number : int
            Number of the trial.

        Returns
        -------
        Proposal
            What to try.
        """

    @abstractmethod
    def tell(self, number: int, outcome: Outcome) -> None:
        """Learn what came of a proposal.

        Parameters
        ----------
        number : int
            Number of the trial.
        outcome : Outcome
            What came of it.
        """

    @abstractmethod
    def policy(self, number: int) -> PolicySpec:
        """Give the policy of a trial.

        Parameters
        ----------
        number : int
            Number of the trial, which was asked for.

        Returns
        -------
        PolicySpec
            Its policy.
        """

    def found(self, number: int) -> Found:
        """Give what a trial would be as the result of the search.

        Parameters
        ----------
        number : int
            Number of the trial.

        Returns
        -------
        PolicySpec | PolicySchedule
            Its policy, or all policies that its weights have seen.
        """
        return self.policy(number)


def evaluate(judge: Judge, proposals: list[Proposal]) -> list[Outcome]:
    """Try policies; this is what workers do.

    Parameters
    ----------
    judge : Judge
        Gives the loss of a proposal.
    proposals : list of Proposal
        What to try: one, or several that are trained as a stack.

    Returns
    -------
    list of Outcome
        What came of each: a trial that fails says why.
    """
    start = perf_counter()
    with one_thread():
        if len(proposals) > 1 and isinstance(judge, StackingJudge):
            answers = _together(judge, proposals)
        else:
            answers = [_alone(judge, proposal) for proposal in proposals]
    seconds = (perf_counter() - start) / len(proposals)
    return [_outcome(answer, seconds) for answer in answers]


def _alone(judge: Judge, proposal: Proposal) -> tuple[float, bytes | None] | Exception:
    # A model of the user's own can raise anything; one bad trial must not end the search.
    try:
        return judge(proposal)
    except Exception as error:
        return error


def _together(
    judge: StackingJudge, proposals: list[Proposal]
) -> list[tuple[float, bytes | None] | Exception]:
    try:
        losses = judge.together(proposals)
    except Exception as error:
        losses = [error] * len(proposals)
    return [one if isinstance(one, Exception) else (one, None) for one in losses]


def _outcome(answer: tuple[float, bytes | None] | Exception, seconds: float) -> Outcome:
    if isinstance(answer, Exception):
        return Outcome(None, _in_words(answer), seconds)
    value, state = answer
    if not math.isfinite(value):
        return Outcome(None, f"the validation loss is {value}", seconds)
    return Outcome(value, None, seconds, state)


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {short_reason(error)}"


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread, so that a sum has the same last digit on every machine.

    Several trials at once make better use of several cores than several threads for one.

    Yields
    ------
    None
        Afterwards, there are as many threads as before.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
