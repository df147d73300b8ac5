from .result import StudyResult as StudyResult
from .run import PlannedStudy as PlannedStudy
from .run import draw_study as draw_study
from .run import plan_study as plan_study
from .run import run_study as run_study
from .run import study_status as study_status
from .runner import JobEnd as JobEnd
from .runner import StudyStart as StudyStart

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
