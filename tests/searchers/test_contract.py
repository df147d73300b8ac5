"""Every search method passes the contract that cadda ships."""

from __future__ import annotations

from typing import Any

import pytest

from cadda.searchers.registry import METHODS
from cadda.testing import SearcherContract

QUICK: dict[str, dict[str, Any]] = {
    **{
        name: {"warmup_epochs": 1, "batch_size": 24}
        for name in ("adda", "cadda", "dada", "faster_autoaugment")
    },
    "fast_autoaugment": {"n_folds": 2},
    "population": {"n_members": 2, "segment_epochs": 1},
    "auto": {"n_blocks": 3, "n_decisive": 3, "n_survivors": 2, "search_epochs": 3},
}
BUDGETS = {"auto": 40}


@pytest.mark.parametrize("name", METHODS)
class TestOurMethods(SearcherContract):
    method = ""

    @pytest.fixture(autouse=True)
    def of_method(self, name: str) -> None:
        self.method = name
        self.settings = QUICK.get(name, {})
        self.budget = BUDGETS.get(name, 4)


class TestSeveralSeeds(SearcherContract):
    method = "cadda"
    settings = {"warmup_epochs": 1, "batch_size": 24, "n_seeds": 2}  # noqa: RUF012
    budget = 5
