"""The studies of the paper: plan, run and draw them with `run_study` and its companions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cadda.experiments.runner import (
        JobEnd,
        PlannedStudy,
        StudyResult,
        StudyStart,
        draw_study,
        plan_study,
        run_study,
        study_status,
    )

__all__ = [
    "JobEnd",
    "PlannedStudy",
    "StudyResult",
    "StudyStart",
    "draw_study",
    "plan_study",
    "run_study",
    "study_status",
]


# The registry alone must not wait for torch.
def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'cadda.experiments' has no attribute {name!r}")
    return getattr(import_module("cadda.experiments.runner"), name)
