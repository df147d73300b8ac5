"""From what a user asks for to a study that can be run: settings, data and jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cadda.data.windows import Windows
from cadda.experiments.config import make_config
from cadda.experiments.plan import Plan, make_plan
from cadda.experiments.registry import find_study
from cadda.experiments.sources import Reader, describe
from cadda.experiments.study import Study, StudyConfig

__all__ = ["Work", "prepare"]


@dataclass(frozen=True, eq=False)
class Work:
    """What a worker needs to know for any job of a study.

    Parameters
    ----------
    study : Study
        The study.
    config : StudyConfig
        The settings.
    windows : Windows
        The data.
    """

    study: Study[Any]
    config: StudyConfig
    windows: Windows


def prepare(
    name: str,
    scale: str,
    changes: Mapping[str, Any],
    data: str,
    read: Reader,
    on_progress: Callable[[int, int, str], None],
) -> tuple[Work, Plan]:
    """Get everything ready; settings are checked before any data are read.

    Parameters
    ----------
    name : str
        Name of the study.
    scale : 'quick' | 'cpu' | 'paper'
        Settings to start from.
    changes : mapping of str to object
        Settings that the user wants otherwise.
    data : str
        ``"simulated"``, ``"simulated-mass"`` or a path.
    read : callable
        Reads a path, or selects from windows.
    on_progress : callable
        Called with the number of simulated subjects, their total and a name.

    Returns
    -------
    work : Work
        Study, settings and data.
    plan : Plan
        The jobs.
    """
    study = find_study(name)
    config = make_config(study, scale, changes)
    windows = study.windows(config, data, read, on_progress)
    info = describe(windows, study.data_name(data), study.data_summary(windows))
    plan = make_plan(name, study, scale, config, windows, info)
    return Work(study, config, windows), plan
