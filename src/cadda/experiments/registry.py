"""The studies by name; each module is imported when it is needed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from cadda._internal.text import did_you_mean

if TYPE_CHECKING:
    from cadda.experiments.study import AnyStudy

__all__ = ["STUDIES", "StudyInfo", "find_study"]


@dataclass(frozen=True)
class StudyInfo:
    """Class of a study in `cadda.experiments.studies`, its place in the paper, its question."""

    study: str
    in_paper: str
    summary: str


STUDIES: dict[str, StudyInfo] = {
    "frequency-shift": StudyInfo(
        "frequency_shift.FrequencyShiftStudy",
        "figure 1",
        "spectra of two subjects, and the shift between them",
    ),
    "classwise-gain": StudyInfo(
        "classwise_gain.ClasswiseGainStudy",
        "figure 2",
        "gain from giving each class one of two operations",
    ),
    "manual": StudyInfo(
        "single_operations.ManualStudy",
        "figure 3, appendix",
        "gain from each operation alone, by training set size",
    ),
    "magnitudes": StudyInfo(
        "single_operations.MagnitudesStudy",
        "appendix",
        "gain from each operation alone, by magnitude",
    ),
    "identity-fit": StudyInfo(
        "identity_fit.IdentityFitStudy",
        "appendix A",
        "can gradients move magnitudes to the identity?",
    ),
    "search-race": StudyInfo(
        "search_race.SearchRace", "figure 4", "accuracy against computing time for all methods"
    ),
    "ablation": StudyInfo(
        "search_race.Ablation", "figure 4", "ADDA without RELAX, without sampling, and DADA"
    ),
    "selected-operations": StudyInfo(
        "search_race.SelectedOperations",
        "appendix F",
        "operations of the best policies, by method and class",
    ),
    "data-regime": StudyInfo(
        "data_regime.DataRegime", "appendix F", "searches on few and on more nights"
    ),
    "mnist": StudyInfo(
        "mnist.MnistStudy",
        "appendix C",
        "digits: random and class-wise random search, ADDA and CADDA",
    ),
    "compare": StudyInfo(
        "compare.Compare", "", "methods on your own data; `cadda compare DATA` is shorter"
    ),
}


def find_study(name: str) -> AnyStudy:
    """Import a study by its name."""
    if name not in STUDIES:
        raise ValueError(
            f"unknown study {name!r}{did_you_mean(name, STUDIES)}; there are {', '.join(STUDIES)}."
        )
    module, class_name = STUDIES[name].study.split(".")
    study: AnyStudy = getattr(import_module(f"cadda.experiments.studies.{module}"), class_name)()
    return study
