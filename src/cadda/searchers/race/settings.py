"""How to race."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cadda._internal.validation import Count, Seed, validated_dataclass
from cadda.policies.spec.leakage import MAX_LEAK

__all__ = ["RaceSettings"]


@validated_dataclass
class RaceSettings:
    """How to race.

    Parameters
    ----------
    n_blocks : int
        Blocks in which each candidate is trained before the next generation joins; candidates that
        join later are trained in the earlier blocks, too.
    n_decisive : int
        Blocks that measure the gain of the candidate that was chosen, at most; they have no part
        in the choice, and get a quarter of the training runs, and those that the choice has left.
    n_survivors : int
        Candidates that are left of each generation, at most. Of the last, three get further
        blocks.
    search_epochs : int
        Epochs of the searches by gradients that propose candidates; 0 for no such candidates.
    trial_patience : int | None
        Epochs without a better validation after which training runs of the race stop; None for the
        patience of all training runs. With 10, races had a third fewer epochs and hardly another
        winner.
    max_leak : float
        Largest leak, in bits, of class-wise candidates; see `PolicySpec.capped`.
    seed : int
        Decides everything that is random.
    """

    n_blocks: Annotated[int, Field(ge=3)] = 3
    n_decisive: Annotated[int, Field(ge=3)] = 15
    n_survivors: Count = 4
    search_epochs: Annotated[int, Field(ge=0)] = 15
    trial_patience: Count | None = None
    max_leak: Annotated[float, Field(ge=0)] = MAX_LEAK
    seed: Seed = 0
