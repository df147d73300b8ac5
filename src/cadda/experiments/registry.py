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
    """Module of a study in `cadda.experiments.studies`, its place in the paper, its question."""

    module: str
    in_paper: str
    summary: str


STUDIES: dict[str, StudyInfo] = {
    "frequency-shift": StudyInfo(
        "frequency_shift", "figure 1", "spectra of two subjects, and the shift between them"
    ),
    "classwise-gain": StudyInfo(
        "classwise_gain", "figure 2", "gain from giving each class one of two operations"
    ),
    "manual": StudyInfo(
        "manual", "figure 3, appendix", "gain from each operation alone, by training set size"
    ),
    "magnitudes": StudyInfo(
        "magnitudes", "appendix", "gain from each operation alone, by magnitude"
    ),
    "identity-fit": StudyInfo(
        "identity_fit", "appendix A", "can gradients move magnitudes to the identity?"
    ),
    "search-race": StudyInfo(
        "search_race", "figure 4", "accuracy against computing time for all methods"
    ),
    "ablation": StudyInfo(
        "ablation", "figure 4", "ADDA without RELAX, without sampling, and DADA"
    ),
    "selected-operations": StudyInfo(
        "selected_operations", "appendix F", "operations of the best policies, by method and class"
    ),
    "data-regime": StudyInfo("data_regime", "appendix F", "searches on few and on more nights"),
    "mnist": StudyInfo(
        "mnist", "appendix C", "digits: random and class-wise random search, ADDA and CADDA"
    ),
    "compare": StudyInfo(
        "compare", "", "methods on your own data; `cadda compare DATA` is shorter"
    ),
}


def find_study(name: str) -> AnyStudy:
    """Import a study by its name."""
    if name not in STUDIES:
        raise ValueError(
            f"unknown study {name!r}{did_you_mean(name, STUDIES)}; there are {', '.join(STUDIES)}."
        )
    study: AnyStudy = import_module(f"cadda.experiments.studies.{STUDIES[name].module}").STUDY
    return study
