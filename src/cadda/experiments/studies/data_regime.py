"""How many nights density matching needs: searches on few nights and on more.

A figure of the paper's appendix. Fast AutoAugment scores augmented windows with a model trained
without augmentation; the paper found that 6 nights are too few for such a model and 24 are enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import Field

from cadda._internal.random import Seeds
from cadda.data.splits import split_subjects
from cadda.data.windows import Windows
from cadda.experiments.racing import RaceJob, RaceResult, race_table
from cadda.experiments.studies.search_race import RaceConfig, RaceStudy, race_scales
from cadda.experiments.study import PlanOnly, Record, ResultTable, Several
from cadda.experiments.training import Fold

__all__ = ["DataRegime", "RegimeConfig", "RegimeJob"]


class RegimeConfig(RaceConfig):
    """Settings of the study."""

    nights: PlanOnly[Several[int]] = Field((2, 8), min_length=1)
    """Numbers of training subjects, with as many validation subjects."""


class RegimeJob(RaceJob):
    """Search with one method on some nights of one fold."""

    nights: int


Records = Sequence[Record[RegimeJob, RaceResult]]


class DataRegime(RaceStudy[RegimeConfig, RegimeJob]):
    """A race for each number of nights."""

    config_type = RegimeConfig
    job_type = RegimeJob
    title = "Searches on few and on more nights"
    scales = race_scales(
        quick=("fast_autoaugment",),
        full=("adda", "faster_autoaugment", "autoaugment", "fast_autoaugment"),
    )
    scales["quick"] |= {"nights": (1, 2), "n_subjects": 8}
    scales["cpu"] |= {"n_subjects": 76, "n_windows": 40, "test": 60 / 76, "stops": (40.0,)}
    scales["paper"] |= {"nights": (6, 24)}

    def fold(self, config: RegimeConfig, windows: Windows, job: RegimeJob) -> Fold:
        """Draw training and validation subjects; the test subjects are always the same."""
        seed = Seeds(config.seed).integer("fold", fold=job.fold)
        rest, test = split_subjects(windows, (config.test,), seed=seed)
        order = np.random.default_rng(seed).permutation(sorted(rest.subjects)).tolist()
        if not 0 < 2 * job.nights <= len(order):
            raise ValueError(
                f"`nights` must be from 1 to {len(order) // 2}, half of the subjects that are not "
                f"for testing, got {job.nights}."
            )
        train, valid = order[: job.nights], order[job.nights : 2 * job.nights]
        return Fold(windows.of_subjects(train), windows.of_subjects(valid), test, seed)

    def jobs(self, config: RegimeConfig, windows: Windows) -> list[RegimeJob]:
        jobs = [
            RegimeJob(fold=fold, method=name, nights=number)
            for number in config.nights
            for fold in range(config.n_folds)
            for name in config.methods
        ]
        for job in jobs[:: config.n_folds * len(config.methods)]:
            self.check(config, windows, job)
        return jobs

    def table(self, records: Records) -> ResultTable:
        parts = {
            number: race_table(self.title, group) for number, group in _by_nights(records).items()
        }
        rows = tuple((number, *row) for number, part in parts.items() for row in part.rows)
        first = next(iter(parts.values()))
        return ResultTable(self.title, ("nights", *first.columns), rows, first.note)

    def panels(self, records: Records) -> Mapping[str, Records]:
        return {f"{number} nights": group for number, group in _by_nights(records).items()}


def _by_nights(records: Records) -> dict[int, Records]:
    return {
        number: [record for record in records if record.job.nights == number]
        for number in sorted({record.job.nights for record in records})
    }
