"""The studies by name; each is imported when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cadda.experiments.study import Study

__all__ = ["STUDIES", "Entry", "find_study"]


@dataclass(frozen=True)
class Entry:
    """A study in words.

    Parameters
    ----------
    module : str
        Its module in `cadda.experiments`.
    in_paper : str
        Where the paper has it.
    summary : str
        What it asks.
    """

    module: str
    in_paper: str
    summary: str


STUDIES: dict[str, Entry] = {
    "frequency-shift": Entry(
        "frequency_shift", "figure 1", "spectra of two subjects, and the shift between them"
    ),
    "classwise-gain": Entry(
        "classwise_gain", "figure 2", "gain by two operations that share the classes between them"
    ),
    "manual": Entry(
        "manual", "figure 3, appendix", "gain by each operation alone, over the training windows"
    ),
    "magnitudes": Entry(
        "magnitudes", "appendix", "gain by each operation alone, over its magnitude"
    ),
    "identity-fit": Entry(
        "identity_fit", "appendix A", "do magnitudes fall to 0 where only the identity is right?"
    ),
    "search-race": Entry(
        "search_race", "figure 4", "accuracy against computation time for all methods"
    ),
    "ablation": Entry("ablation", "figure 4", "ADDA without RELAX, without sampling, and DADA"),
    "selected-operations": Entry(
        "selected_operations", "appendix F", "operations of the best policies, by method and class"
    ),
    "data-regime": Entry("data_regime", "appendix F", "searches with few nights and with more"),
    "mnist": Entry(
        "mnist", "appendix C", "digits: random and class-wise random search, ADDA and CADDA"
    ),
    "compare": Entry("compare", "", "methods on your own data; `cadda compare DATA` is shorter"),
}
"""Every study by name."""


def find_study(name: str) -> Study[Any]:
    """Load a study.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    Study
        The study.
    """
    if name not in STUDIES:
        # It imports torch, which `cadda experiment list` need not wait for.
        from cadda._internal.text import did_you_mean

        raise ValueError(
            f"unknown study {name!r}{did_you_mean(name, STUDIES)}; there are {', '.join(STUDIES)}."
        )
    study: Study[Any] = import_module(f"cadda.experiments.studies.{STUDIES[name].module}").STUDY
    return study
