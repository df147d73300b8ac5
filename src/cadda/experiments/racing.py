"""Searches by the clock: what a method has found after how long, and what that is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import Any, Literal

from cadda.api.prepare import make_problem
from cadda.compute import Engine, open_engine
from cadda.experiments.study import Result
from cadda.experiments.training import Fold, TrainingConfig, train_and_score, training_settings
from cadda.operations.pool import OperationPool
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.methods import find_method
from cadda.searchers.retraining import Found, Plan
from cadda.searchers.runner import Driver

__all__ = ["NO_SEARCH", "Contestant", "Course", "no_race", "parse_contestant", "race"]

NO_SEARCH = "none"
"""What jobs call a training without augmentation."""

CLASSWISE = "classwise:"
ENDLESS = 1_000_000
"""More epochs or trials than any clock allows."""


@dataclass(frozen=True)
class Contestant:
    """A way to search.

    Parameters
    ----------
    method : str
        Name of the method.
    classwise : bool
        Whether each class gets a policy of its own.
    settings : mapping of str to object
        Settings of the method that are not its defaults.
    """

    method: str
    classwise: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    def complete(self, seed: int) -> dict[str, Any]:
        """Give all settings of the search.

        Parameters
        ----------
        seed : int
            Decides all that is random in it.

        Returns
        -------
        dict of str to object
            Settings by name.
        """
        return find_method(self.method).complete(self.settings, preset=None, seed=seed)

    @property
    def warmup_epochs(self) -> int:
        """Epochs before the policy begins to move; -1 if it is tried by trials."""
        return int(self.complete(0).get("warmup_epochs", -1))


def parse_contestant(name: str) -> Contestant:
    """Read the name of a method as users write it.

    Parameters
    ----------
    name : str
        Such as ``"cadda"`` or ``"classwise:autoaugment"``.

    Returns
    -------
    Contestant
        The method; an unknown one raises `ValueError`.
    """
    plain = name.removeprefix(CLASSWISE)
    method = find_method(plain)
    return Contestant(plain, method.classwise or plain != name)


@dataclass(frozen=True)
class Course:
    """When to look at what was found so far.

    Parameters
    ----------
    stops : tuple of float
        Seconds of computing, or numbers of epochs or trials, that rise.
    unit : 'seconds' | 'number'
        Which of the two.
    """

    stops: tuple[float, ...]
    unit: Literal["seconds", "number"] = "seconds"

    def stations(self, driver: Driver) -> Iterator[float]:
        """Search on from stop to stop, or as far as the search can go.

        The clock is that of the processor, so that others on the same machine do not count.

        Parameters
        ----------
        driver : Driver
            The search.

        Yields
        ------
        float
            Seconds of computing so far, at each stop.
        """
        seconds = 0.0
        for stop in self.stops:
            while driver.epoch < driver.n_epochs:
                if (seconds if self.unit == "seconds" else driver.epoch) >= stop:
                    break
                start = process_time()
                driver.advance()
                seconds += process_time() - start
            yield seconds


def race(
    contestant: Contestant,
    config: TrainingConfig,
    fold: Fold,
    course: Course,
    operations: Sequence[str] | OperationPool | None,
) -> Result:
    """Search, and at each stop train from scratch with the policy found so far and test it.

    Parameters
    ----------
    contestant : Contestant
        How to search.
    config : TrainingConfig
        How to train at each stop, and how each trial trains.
    fold : Fold
        What to train on, to judge by and to test on.
    course : Course
        When to stop; only searching counts as time.
    operations : sequence of str | OperationPool | None
        What to choose from; see `cadda.search`.

    Returns
    -------
    dict
        ``points``, one for each stop, and how often the policy with the lowest validation loss
        among them uses each operation.
    """
    points: list[Result] = []
    found: list[Found] = []
    with open_engine("serial") as engine:
        driver = _driver(contestant, config, fold, course, operations, engine)
        for seconds in course.stations(driver):
            policy = driver.found()
            known = found.index(policy) if policy in found else None
            scores = train_and_score(config, fold, policy) if known is None else points[known]
            points.append(scores | {"seconds": round(seconds, 2), "number": driver.epoch})
            found.append(policy)
    best = found[min(range(len(points)), key=lambda i: points[i]["valid_loss"])]
    return {"points": points} | _use_of(best)


def no_race(config: TrainingConfig, fold: Fold) -> Result:
    """Train once without augmentation and test.

    Parameters
    ----------
    config : TrainingConfig
        How to train.
    fold : Fold
        What to train on, to stop by and to test on.

    Returns
    -------
    dict
        A single point, at 0 seconds.
    """
    return {"points": [train_and_score(config, fold, None) | {"seconds": 0.0, "number": 0}]}


def _driver(
    contestant: Contestant,
    config: TrainingConfig,
    fold: Fold,
    course: Course,
    operations: Sequence[str] | OperationPool | None,
    engine: Engine,
) -> Driver:
    method = find_method(contestant.method)
    problem = make_problem(
        fold.train, fold.valid, model=config.model, operations=operations, device="auto"
    )
    n_epochs = ENDLESS if course.unit == "seconds" else round(course.stops[-1])
    return method.driver(
        problem,
        contestant.complete(fold.seed),
        Plan(n_epochs, training=training_settings(config, fold)),
        engine,
        classwise=contestant.classwise,
    )


def _use_of(found: Found) -> Result:
    policy: PolicySpec = found.segments[-1].policy if isinstance(found, PolicySchedule) else found
    return {
        "operations": list(policy.operation_names),
        "rows": list(policy.rows),
        "applied": policy.operation_probabilities().round(4).tolist(),
    }
