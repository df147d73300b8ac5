"""Jobs of the panel: searches and training runs, which worker processes do."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Literal

import numpy as np

import cadda
from benchmarks.panel_sets import Cell, Parts
from benchmarks.parallel import Record
from cadda.exceptions import TrainingError
from cadda.reporting.race import CandidateRow, RaceFacts
from cadda.searchers.trials.protocol import one_thread

__all__ = [
    "AUTO",
    "BUDGETS",
    "CANDIDATE",
    "DUPLICATES",
    "GUIDED",
    "NONE",
    "PROBED",
    "TRIALS",
    "Job",
    "run",
]

NONE, DUPLICATES, GUIDED, AUTO = "none", "duplicates", "guided", "auto"
CANDIDATE = "auto, candidate"
"""The candidate that the verdict of `auto` is about, where the answer is no augmentation."""
TRIALS = ("autoaugment", "random")
"""Searches that get as many trials as `auto` had training runs."""
PROBED = {"probed-adda": "adda", "probed-cadda": "cadda"}
"""Searches by gradients after the probe that `guided` begins with."""
METHODS = {"uniform": "trivial", **PROBED}
"""Names of methods that are not those of their conditions."""
BUDGETS: dict[str, int | None] = {"randaugment": 16} | dict.fromkeys(
    ("adda", "cadda", *PROBED), 30
)
MAX_ENTRIES = 60
"""Longer policies are kept in their simplified form."""


@dataclass(frozen=True)
class Job:
    """Work that is done at once, and kept when it is finished."""

    kind: Literal["search", "training"]
    cell: Cell
    condition: str
    rotation: int = 0  # number of the training run; parts of the subjects take turns
    budget: int | None = None  # of a search
    policy: str | None = None  # text, where it is not that of the search

    @property
    def key(self) -> Record:
        """What identifies the record."""
        key = {"job": self.kind} | self.cell.key | {"condition": self.condition}
        return key | {"rotation": self.rotation} if self.kind == "training" else key

    @property
    def title(self) -> str:
        """What the job is, for messages."""
        return " ".join(map(str, self.key.values()))

    def folder(self, work: Path) -> Path:
        """Return the run folder of the search."""
        return work / self.cell.name / self.condition


def run(job: Job, folder: Path, work: Path) -> Record:
    """Do a job with one thread, and measure its time."""
    task = {"search": run_search, "training": run_training}[job.kind]
    wall, processor = perf_counter(), process_time()
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = task(job, folder, work)
    return made | {
        "seconds": round(perf_counter() - wall, 1),
        "processor_seconds": round(process_time() - processor, 1),
    }


def run_search(job: Job, folder: Path, work: Path) -> Record:
    """Search for a policy; what an interrupted search has done is used."""
    parts = job.cell.parts(folder, 0)
    # `guided` and what builds on it begin with the same probe.
    guided = replace(job, condition=GUIDED, budget=None)
    probe = guided.folder(work) / "probe.json"
    if job.condition in PROBED and not probe.exists():
        run_search(guided, folder, work)
    try:
        result = search(job, parts, probe, work)
    except TrainingError as error:  # whose user is left without a policy
        return {"is_none": True, "stopped": str(error)}
    policy = result.policy
    is_short = len(policy.entries) <= MAX_ENTRIES
    return {
        "is_none": policy.is_none,
        "policy": (policy if is_short else policy.simplified()).to_text(),
        "is_simplified": not is_short,
        # Of all sessions, if the search was resumed.
        "search_seconds": round(result.seconds, 1),
    } | ({} if result.race is None else {"race": summary(result.race)})


def search(job: Job, parts: Parts, probe: Path, work: Path) -> cadda.SearchResult:
    """Search with the settings of a condition."""
    data = job.cell.data
    return cadda.search(
        parts.train,
        parts.valid,
        method=METHODS.get(job.condition, job.condition),
        model=data.model,
        probe=probe if job.condition in (AUTO, *PROBED) and probe.exists() else None,
        budget=job.budget,
        training=replace(data.training, seed=job.cell.draw),
        seed=job.cell.draw,
        engine="serial",
        run_dir=job.folder(work),
        resume=True,
        retrain=False,
        baseline=False,
    )


def summary(race: RaceFacts) -> Record:
    """Return what is compared with the gain on test subjects."""
    made: Record = {"n_runs": race.n_runs, "chosen": race.chosen, "true_condition": None}
    verdict = race.verdict
    if verdict is None:
        return made
    row = next(row for row in race.candidates if row.name == verdict.candidate)
    return made | {
        "candidate": verdict.candidate,
        "candidate_policy": row.policy,
        **{
            name: getattr(verdict, name) for name in ("gain", "low", "high", "is_gain", "n_blocks")
        },
        # Where no candidate was better, the gain is that in the blocks of the choice.
        "is_held_out": race.decision is not None,
        "true_condition": true_condition(race, row),
    }


def true_condition(race: RaceFacts, row: CandidateRow) -> str:
    """Return the condition under which the candidate of the verdict is trained and tested."""
    if race.chosen == row.name:
        return AUTO
    return DUPLICATES if cadda.PolicySpec.from_text(row.policy).is_none else CANDIDATE


def run_training(job: Job, folder: Path, work: Path) -> Record:
    """Train with the policy of a condition, and test."""
    parts, data = job.cell.parts(folder, job.rotation), job.cell.data
    train = parts.train
    if job.condition == DUPLICATES:
        train = train[np.tile(np.arange(len(train)), 2)]
    fitted = cadda.fit(
        train,
        parts.valid,
        model=data.model,
        policy=policy_of(job, folder, work),
        **asdict(replace(data.training, seed=job.rotation)),
    )
    return {
        "balanced_accuracy": round(cadda.evaluate(fitted, parts.test).balanced_accuracy, 4),
        "valid_loss": round(fitted.best.valid_loss, 4),
        "best_epoch": fitted.best_epoch,
        "n_epochs": len(fitted.history),
        "n_windows": [len(train), len(parts.valid), len(parts.test)],
    } | leaks(fitted)


def leaks(fitted: cadda.Fitted) -> Record:
    """Return how far the model takes operations for classes, if the policy is class-wise."""
    changes = [round(leak.change, 3) for leak in fitted.leaks]
    return {"leaks": changes} if changes else {}


def policy_of(job: Job, folder: Path, work: Path) -> cadda.PolicySpec | None:
    """Return the policy of a condition; search again if its file is no longer there."""
    if job.condition in (NONE, DUPLICATES):
        return None
    if job.policy is not None:
        return cadda.PolicySpec.from_text(job.policy)
    path = job.folder(work) / "policy.json"
    if not path.exists():
        run_search(job, folder, work)
    return cadda.PolicySpec.load(path)
