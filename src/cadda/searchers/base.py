"""What every search method offers to the driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from torch import nn

from cadda.policies.spec import PolicySpec
from cadda.searchers.events import SearchStep

__all__ = ["Searcher"]


class Searcher(Protocol):
    """Looks for a policy, a step at a time; can be stopped, saved and continued between steps."""

    @property
    def steps_per_epoch(self) -> int:
        """Steps in one pass through the training windows."""

    @property
    def model(self) -> nn.Module:
        """The model that the search trains on its way, which classifies windows."""

    def run(self) -> Iterator[SearchStep]:
        """Search on and on; stop by not asking for more.

        Yields
        ------
        SearchStep
            What happened in each step.
        """

    def to_spec(self) -> PolicySpec:
        """Give the policy found so far.

        Returns
        -------
        PolicySpec
            Plain data.
        """

    def state_dict(self) -> dict[str, Any]:
        """Give all that is needed to go on in another process.

        Returns
        -------
        dict
            Tensors and plain values.
        """

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state; the steps to come are the same bytes.

        Parameters
        ----------
        state : dict
            Result of `state_dict`.
        """
