"""The interface of a search method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, TypeVar

from cadda._internal.text import did_you_mean
from cadda._internal.validation import check_whole
from cadda.searchers.events import Unit
from cadda.searchers.runner import SearchContext, SearchRunner
from cadda.training import Problem, TrainingSettings

__all__ = ["SearchMethod"]

Settings = TypeVar("Settings")

_TRAINING_SETTINGS = {item.name for item in fields(TrainingSettings)}


@dataclass(frozen=True)
class SearchMethod(ABC, Generic[Settings]):
    """A way to search for a policy.

    A method is a subclass with a dataclass of settings and `make_runner`, and one line in
    `cadda.searchers.registry.METHODS`; command line, Python, studies and report then know it. The
    settings must have a field ``seed``. `cadda.testing.SearcherContract` checks all of it.
    """

    summary: str
    classwise: bool = False  # whether the method always learns a policy for each class
    fixed: Mapping[str, object] = field(default_factory=dict)  # settings that cannot be changed
    paper: Mapping[str, object] = field(default_factory=dict)  # settings of the preset "paper"

    unit: ClassVar[Unit] = "epoch"
    """What the budget counts."""

    default_budget: ClassVar[int] = 50
    """How much of it, unless the user says otherwise."""

    decides_classes: ClassVar[bool] = False
    """Whether the method itself decides if classes get policies of their own."""

    takes_turns: ClassVar[bool] = False
    """Whether training and validation subjects change places during the search."""

    plans_ahead: ClassVar[bool] = False
    """Whether it divides its budget into phases, so that it must know where it ends."""

    needs_probe: ClassVar[bool] = False
    """Whether the method always begins with a probe of the operations."""

    trains_trials: ClassVar[bool] = False
    """Whether it tries policies by training models that `trial_epochs` can shorten."""

    @property
    @abstractmethod
    def settings_class(self) -> type[Settings]:
        """Dataclass of the settings."""

    @abstractmethod
    def make_runner(
        self, problem: Problem, settings: Settings, context: SearchContext
    ) -> SearchRunner:
        """Make a search, restored from its checkpoint if there is one, and ready to run."""

    def restrict(self, problem: Problem) -> tuple[Problem, tuple[str, ...]]:
        """Leave out operations that the method cannot use, and return a note on what is missing.

        Raises `ValueError` if no operation is left.
        """
        return problem, ()

    def check(self, problem: Problem, settings: Settings) -> None:
        """Raise `ValueError` if the settings do not suit the problem."""

    def check_storage(self, settings: Settings, *, resume: bool) -> None:
        """Raise `RunError` if an external storage cannot be used."""

    def max_parallel_trials(self, settings: Settings) -> int | None:
        """Return how many workers the method keeps busy; None if it takes no engine."""
        return None

    def warmup(self, settings: Settings) -> int:
        """Return the number of epochs before the policy begins to change."""
        return 0

    def min_budget(self, settings: Settings) -> int:
        """Return the smallest budget that makes sense."""
        return 1

    def start_warnings(
        self, problem: Problem, settings: Settings, context: SearchContext
    ) -> tuple[str, ...]:
        """Return what the user should know before the search starts, a sentence each."""
        return ()

    def log10_policies(
        self, problem: Problem, settings: Settings, *, classwise: bool
    ) -> float | None:
        """Return log10 of the number of policies to choose from; None if that is unknown."""
        return None

    @property
    def setting_names(self) -> tuple[str, ...]:
        """Names of the settings that a user may set."""
        # The type variable is not bound to dataclasses, of which typing knows no name.
        settings_class: Any = self.settings_class
        return tuple(item.name for item in fields(settings_class) if item.name not in self.fixed)

    def resolve_settings(
        self, options: Mapping[str, object], *, preset: str | None = None, seed: int = 0
    ) -> Settings:
        """Combine preset, fixed settings and options of the user; later ones take precedence."""
        if preset not in (None, "paper"):
            raise ValueError(f"`preset` must be 'paper' or None, got {preset!r}.")
        self.check_setting_names(options)
        start = self.paper if preset else {}
        return self.settings_class(**{**start, **self.fixed, **options, "seed": seed})

    def check_setting_names(self, names: Iterable[str], arguments: Collection[str] = ()) -> None:
        """Raise if a name is not one of a setting; it may be meant as one of `arguments`."""
        known = self.setting_names
        for name in names:
            if name not in known and name in _TRAINING_SETTINGS:
                raise ValueError(
                    f"unknown setting `{name}` of the method; models are trained with "
                    f"`training=TrainingSettings({name}=…)`."
                )
            if name not in known:
                raise ValueError(
                    f"unknown setting `{name}`{did_you_mean(name, [*known, *arguments])}; this "
                    f"method has {', '.join(known)}."
                )

    def check_budget(self, budget: int, settings: Settings) -> int:
        """Return the budget; raise if it is too small."""
        smallest = self.min_budget(settings)
        if check_whole("budget", budget, 1) < smallest:
            raise ValueError(
                f"`budget` must be at least {smallest} {self.unit}s with these settings, "
                f"got {budget}."
            )
        return int(budget)
