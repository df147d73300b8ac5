"""What RELAX and Gumbel sampling are good for: ADDA with them taken away one by one.

The ablation of the paper's figure 4: without RELAX (straight-through gradients), then also without
sampling (each stage is the weighted mean of all operations), and DADA, which samples whole
subpolicies instead of operations.
"""

from __future__ import annotations

from cadda._internal.text import did_you_mean
from cadda.experiments.racing import Contestant
from cadda.experiments.studies.search_race import SAME_JOBS, RaceConfig, RaceStudy, race_scales

__all__ = ["Ablation"]

FORMS: dict[str, Contestant] = {
    "adda": Contestant("adda"),
    "without RELAX": Contestant("adda", settings={"estimator": "straight-through"}),
    "without RELAX and sampling": Contestant("adda", settings={"sampling": "mixture"}),
    "dada": Contestant("dada"),
}


class Ablation(RaceStudy[RaceConfig]):
    """Forms of ADDA against each other."""

    config_type = RaceConfig
    title = "ADDA without some of its parts"
    same_jobs_as = SAME_JOBS
    scales = race_scales(quick=list(FORMS), full=list(FORMS))

    def contestant(self, name: str) -> Contestant:
        if name not in FORMS:
            raise ValueError(
                f"unknown form {name!r} in `methods`{did_you_mean(name, FORMS)}; there are "
                f"{', '.join(FORMS)}."
            )
        return FORMS[name]


STUDY = Ablation()
