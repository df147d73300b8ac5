"""A search in a folder, with a test of the policy on unseen subjects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cadda.api.prepare import Device, make_problem
from cadda.api.search import N_EPOCHS, SearchResult, search_problem
from cadda.data.windows import Windows
from cadda.exceptions import RunError
from cadda.models.registry import ModelSource
from cadda.operations.pool import OperationPool
from cadda.runs.folder import RunFolder
from cadda.runs.records import RunScores, WindowSplit, write_run_records

__all__ = ["SearchRun", "run_search"]


@dataclass(frozen=True, eq=False)
class SearchRun:
    """A finished search, with scores of the models trained with and without the policy."""

    result: SearchResult
    scores: RunScores


def run_search(
    windows: Windows,
    folder: Path,
    *,
    valid: float = 0.2,
    test: float = 0.2,
    seed: int = 0,
    budget: int = N_EPOCHS,
    retrain_every: int | None = None,
    baseline: bool = True,
    model: ModelSource = "chambon2018",
    operations: Sequence[str] | OperationPool | None = None,
    device: Device = "auto",
    **arguments: Any,  # further arguments of `cadda.search`
) -> SearchRun:
    """Split windows by subject, search, train with and without the policy, and test both.

    Neither search nor training uses the test subjects. All results are written to a folder.
    """
    split = WindowSplit.make(windows, valid=valid, test=test, seed=seed)
    problem = make_problem(
        split.train, split.valid, model=model, operations=operations, device=device
    )
    result = search_problem(
        problem,
        run_dir=folder,
        seed=seed,
        budget=budget,
        retrain_every=retrain_every or budget,
        baseline=baseline,
        **arguments,
    )
    if result.fitted is None:
        raise RunError(f"{folder} contains an unfinished search; resume it with `resume=True`.")
    scores = write_run_records(
        RunFolder(folder),
        split,
        problem,
        problem.pool,
        result.policy,
        result.fitted.model,
        None if result.baseline is None else result.baseline.model,
    )
    return SearchRun(result, scores)
