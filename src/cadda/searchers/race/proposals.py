"""Candidates that searches by gradients propose after a few epochs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cadda.compute import Engine
from cadda.exceptions import CaddaError
from cadda.policies.spec.model import PolicySpec
from cadda.probing.passing import Passing, passing_pool
from cadda.searchers.gradient.bilevel import BilevelSearcher
from cadda.searchers.gradient.settings import BilevelSettings
from cadda.searchers.race.blocks import Block, block_problem
from cadda.searchers.race.candidates import Candidate, Level
from cadda.searchers.race.settings import RaceSettings
from cadda.searchers.trials.protocol import one_thread
from cadda.training import Problem

__all__ = ["propose"]

METHODS = {"ADDA": False, "CADDA": True}
"""Names of the searches, and whether each class gets its own policy."""


def propose(
    usable: Problem,
    passing: Sequence[Passing],
    block: Block,
    settings: RaceSettings,
    engine: Engine,
) -> list[Candidate]:
    """Search in one block for a short time, and return simple forms of the policies."""
    if not settings.search_epochs or len(passing) < 2:
        return []
    pool = passing_pool(usable.pool, passing)
    shared = engine.share(replace(usable, make_pool=lambda: pool))
    tasks = {
        name: engine.submit(_search, shared, block, settings, classwise=classwise)
        for name, classwise in METHODS.items()
    }
    policies = {name: task.result() for name, task in tasks.items()}
    return [
        Candidate(f"found by {name}", policy, Level.CLASSWISE if METHODS[name] else Level.CHAIN)
        for name, policy in policies.items()
        if policy is not None
    ]


def _search(
    usable: Problem, block: Block, settings: RaceSettings, *, classwise: bool
) -> PolicySpec | None:
    """Return the policy of a short search; None for one that diverges."""
    problem = block_problem(usable, block)
    batch_size = min(BilevelSettings().batch_size, len(problem.train))
    own = BilevelSettings(
        seed=block.seed, batch_size=batch_size, warmup_epochs=settings.search_epochs // 3
    )
    try:
        with one_thread():
            searcher = BilevelSearcher(problem, own, classwise=classwise)
            n_steps = settings.search_epochs * searcher.steps_per_epoch
            searcher.run(n_steps)
    except CaddaError:
        return None
    return searcher.to_spec().capped(settings.max_leak).simplified()
