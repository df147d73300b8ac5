"""Classes that sleep stages are renamed to or merged into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cadda.data.io.cutting import ReadPlan
from cadda.data.io.hypnogram import stage_of
from cadda.data.io.options import ReadOptions, map_classes

__all__ = ["map_stages", "stage_patterns"]


def map_stages(plan: ReadPlan, options: ReadOptions, where: str) -> ReadPlan:
    """Return a plan for sleep stages with the classes of `class_map`, if that is given."""
    if options.class_map is None:
        return plan
    patterns = stage_patterns(options.class_map, keep_stage_4=options.keep_stage_4)
    mapped = [map_classes(plan.class_names, r.labels, patterns, where) for r in plan.recordings]
    recordings = [
        replace(recording, labels=labels)
        for recording, (_, labels) in zip(plan.recordings, mapped, strict=True)
    ]
    return replace(plan, recordings=recordings, class_names=mapped[0][0])


def stage_patterns(class_map: Mapping[str, str], *, keep_stage_4: bool) -> dict[str, str]:
    """Return classes by stages as cadda names them; patterns such as ``N*`` stay as they are."""
    patterns: dict[str, str] = {}
    for text, name in class_map.items():
        stage = stage_of(text, keep_stage_4=keep_stage_4) or text
        if patterns.setdefault(stage, name) != name:
            raise ValueError(
                f"`class_map` must assign {stage} to one class, got {patterns[stage]!r} and "
                f"{name!r}; `keep_stage_4=True` tells stages 3 and 4 apart."
            )
    return patterns
