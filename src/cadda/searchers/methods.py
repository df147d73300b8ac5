"""The search methods by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from cadda._validation import did_you_mean
from cadda.searchers.base import Searcher
from cadda.searchers.bilevel import BilevelSearcher
from cadda.searchers.faster_autoaugment import FasterSearcher, FasterSettings
from cadda.searchers.settings import PAPER, BilevelSettings
from cadda.searchers.task import SearchTask

__all__ = ["METHODS", "Method", "find_method"]


@dataclass(frozen=True)
class Method:
    """A way to search.

    Parameters
    ----------
    summary : str
        What it does, in a few words.
    settings : type
        Dataclass of its settings.
    make : callable
        Makes a searcher from a task, settings and ``classwise``.
    classwise : bool
        Whether it is class-wise even if not asked for.
    fixed : mapping of str to object
        Settings that make it what it is.
    paper : mapping of str to object
        Settings of the preset ``"paper"``.
    """

    summary: str
    settings: type
    make: Callable[..., Searcher]
    classwise: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    paper: Mapping[str, Any] = field(default_factory=dict)

    def searcher(
        self, task: SearchTask, settings: Mapping[str, Any], *, classwise: bool
    ) -> Searcher:
        """Make a searcher.

        Parameters
        ----------
        task : SearchTask
            What to search on.
        settings : mapping of str to object
            Result of `complete`.
        classwise : bool
            Whether each class gets a policy of its own.

        Returns
        -------
        Searcher
            Ready to run.
        """
        return self.make(task, self.settings(**settings), classwise=classwise)

    def complete(
        self, options: Mapping[str, Any], *, preset: str | None, seed: int
    ) -> dict[str, Any]:
        """Put preset, what the method fixes and what the user wants together.

        Parameters
        ----------
        options : mapping of str to object
            Settings that the user gave.
        preset : 'paper' | None
            Where to start from; None takes the defaults.
        seed : int
            Seed of the search.

        Returns
        -------
        dict of str to object
            Every setting by name.
        """
        if preset not in (None, "paper"):
            raise ValueError(f"`preset` must be 'paper' or None, got {preset!r}.")
        known = [one.name for one in fields(self.settings) if one.name not in self.fixed]
        for name in options:
            if name not in known:
                raise ValueError(
                    f"unknown setting `{name}`{did_you_mean(name, known)}; this method has "
                    f"{', '.join(known)}."
                )
        chosen = {**(self.paper if preset else {}), **self.fixed, **options, "seed": seed}
        made = self.settings(**chosen)
        return {one.name: getattr(made, one.name) for one in fields(self.settings)}


METHODS: dict[str, Method] = {
    "adda": Method(
        "bilevel gradient, one operation drawn per stage", BilevelSettings, BilevelSearcher,
        paper=PAPER,
    ),
    "cadda": Method(
        "ADDA with a policy for each class", BilevelSettings, BilevelSearcher,
        classwise=True,
        paper=PAPER | {"batch_size": 32},
    ),
    "dada": Method(
        "bilevel gradient, whole sequences of operations drawn", BilevelSettings, BilevelSearcher,
        fixed={"sampling": "subpolicy"},
        paper=PAPER,
    ),
    "faster_autoaugment": Method(
        "augmented windows shall look like real ones to a critic", FasterSettings, FasterSearcher,
    ),
}  # fmt: skip


def find_method(name: str) -> Method:
    """Look a method up.

    Parameters
    ----------
    name : str
        Its name; case and hyphens do not matter.

    Returns
    -------
    Method
        The method.
    """
    key = name.lower().replace("-", "_")
    if key not in METHODS:
        raise ValueError(
            f"unknown `method` {name!r}{did_you_mean(key, METHODS)}; "
            f"there are {', '.join(METHODS)}."
        )
    return METHODS[key]
