"""What density matching needs: searches with few nights and with more.

A figure of the paper's appendix. Fast AutoAugment asks a model that was trained without
augmentation whether augmented windows look right; the paper found that with 6 nights such a model
knows too little, and with 24 enough.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field

from cadda._internal.random import Seeds
from cadda.data.splits import split_subjects
from cadda.data.windows import Windows
from cadda.experiments.race_results import METRICS, race_panel, race_table
from cadda.experiments.studies.search_race import RaceConfig, RaceStudy, race_scales
from cadda.experiments.study import Job, Planned, Record, Several
from cadda.experiments.tables import Table
from cadda.experiments.training import Fold
from cadda.reporting.figures.race import plot_race

__all__ = ["DataRegime", "RegimeConfig"]


class RegimeConfig(RaceConfig):
    """Settings of the study."""

    nights: Planned[Several[int]] = Field((2, 8), min_length=1)
    """Numbers of subjects to train on, and as many again to judge by."""


class DataRegime(RaceStudy[RegimeConfig]):
    """A race for each amount of data."""

    config_type = RegimeConfig
    title = "Searches with few and with more nights"
    scales = race_scales(
        quick=("fast_autoaugment",),
        full=("adda", "faster_autoaugment", "autoaugment", "fast_autoaugment"),
    )
    scales["quick"] |= {"nights": (1, 2), "n_subjects": 8}
    scales["cpu"] |= {"n_train": None, "stops": (40.0,), "n_folds": 3}
    scales["paper"] |= {"nights": (6, 24)}

    def fold(self, config: RegimeConfig, windows: Windows, job: Job) -> Fold:
        return _fold(config, windows, job["fold"], job["nights"])

    def jobs(self, config: RegimeConfig, windows: Windows) -> list[Job]:
        for number in config.nights:
            _fold(config, windows, 0, number)
        races = super().jobs(config, windows)
        return [job | {"nights": number} for number in config.nights for job in races]

    def table(self, records: Sequence[Record]) -> Table:
        parts = [
            (number, race_table(self.title, _of_nights(records, number)))
            for number in _all_nights(records)
        ]
        rows = tuple((number, *row) for number, part in parts for row in part.rows)
        first = parts[0][1]
        return Table(self.title, ("nights", *first.columns), rows, first.note)

    def figure(self, records: Sequence[Record]) -> Figure:
        names = list(dict.fromkeys(record.job["method"] for record in records))
        return plot_race(
            [
                [
                    race_panel(f"{number} nights", _of_nights(records, number), names, metric)
                    for number in _all_nights(records)
                ]
                for metric in METRICS
            ]
        )


def _fold(config: RegimeConfig, windows: Windows, number: int, nights: int) -> Fold:
    """Take so many subjects to train on and to judge by; the test subjects are always the same."""
    seed = Seeds(config.seed).integer("fold", fold=number)
    rest, test = split_subjects(windows, (config.test,), seed=seed)
    order = np.random.default_rng(seed).permutation(rest.subjects).tolist()
    if not 0 < 2 * nights <= len(order):
        raise ValueError(
            f"`nights` must be from 1 to {len(order) // 2}, half of the subjects that are not for "
            f"testing, got {nights}; change it with --set nights=…"
        )
    train, valid = order[:nights], order[nights : 2 * nights]
    return Fold(windows.of_subjects(train), windows.of_subjects(valid), test, seed)


def _all_nights(records: Sequence[Record]) -> list[int]:
    return sorted({record.job["nights"] for record in records})


def _of_nights(records: Sequence[Record], nights: int) -> list[Record]:
    return [record for record in records if record.job["nights"] == nights]


STUDY = DataRegime()
