"""What RELAX and Gumbel sampling contribute: ADDA without them.

The ablation of the paper's figure 4: without RELAX (straight-through gradients), then also without
sampling (each stage is the weighted mean of all operations), and DADA, which samples whole
subpolicies instead of operations.
"""

from __future__ import annotations

from cadda._internal.text import did_you_mean
from cadda.experiments.racing import MethodVariant
from cadda.experiments.studies.search_race import (
    SAME_JOBS,
    MethodRaceStudy,
    RaceConfig,
    race_scales,
)

__all__ = ["Ablation"]

VARIANTS: dict[str, MethodVariant] = {
    "adda": MethodVariant("adda"),
    "without RELAX": MethodVariant("adda", settings={"estimator": "straight-through"}),
    "without RELAX and sampling": MethodVariant("adda", settings={"sampling": "mixture"}),
    "dada": MethodVariant("dada"),
}


class Ablation(MethodRaceStudy):
    """Race variants of ADDA."""

    config_type = RaceConfig
    title = "ADDA without some of its parts"
    same_jobs_as = SAME_JOBS
    scales = race_scales(quick=list(VARIANTS), full=list(VARIANTS))

    def variant(self, name: str) -> MethodVariant:
        if name not in VARIANTS:
            raise ValueError(
                f"unknown variant {name!r} in `methods`{did_you_mean(name, VARIANTS)}; there are "
                f"{', '.join(VARIANTS)}."
            )
        return VARIANTS[name]


STUDY = Ablation()
