"""Classes that sleep stages are renamed to or merged into."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from cadda.data.io.cutting import ReadPlan
from cadda.data.io.hypnogram import stage_of, stages
from cadda.data.io.mapping import match_class
from cadda.data.io.options import ReadOptions, map_classes

__all__ = ["map_stages", "stage_patterns"]


def map_stages(plan: ReadPlan, options: ReadOptions, where: str, texts: Iterable[str]) -> ReadPlan:
    """Return a plan for sleep stages with the classes of `class_map`, if that is given.

    Recordings name the stages by `texts`.
    """
    if options.class_map is None:
        return plan
    patterns = stage_patterns(options.class_map, set(texts), keep_stage_4=options.keep_stage_4)
    mapped = [map_classes(plan.class_names, r.labels, patterns, where) for r in plan.recordings]
    recordings = [
        replace(recording, labels=labels)
        for recording, (_, labels) in zip(plan.recordings, mapped, strict=True)
    ]
    return replace(plan, recordings=recordings, class_names=mapped[0][0])


def stage_patterns(
    class_map: Mapping[str, str], texts: Collection[str], *, keep_stage_4: bool
) -> dict[str, str]:
    """Return classes by stages as cadda names them; patterns such as ``N*`` stay as they are.

    Raise for a map that stages named by `texts` cannot follow.
    """
    patterns: dict[str, str] = {}
    for text, name in class_map.items():
        stage = stage_of(text, keep_stage_4=keep_stage_4) or text
        if patterns.setdefault(stage, name) != name:
            raise ValueError(
                f"`class_map` must assign {stage} to one class, got {patterns[stage]!r} and "
                f"{name!r}; {_way_out(class_map, stage)}."
            )
    if not keep_stage_4:
        _check_merged(class_map, texts)
    for pattern in patterns:
        _check_matches(pattern, texts, stages(keep_stage_4=keep_stage_4))
    return patterns


def _way_out(class_map: Iterable[str], stage: str) -> str:
    """Return what to do about texts that name the same stage."""
    if _slow_wave_stages(class_map) == {"N3", "N4"} and stage == "N3":
        return "`keep_stage_4=True` tells stages 3 and 4 apart"
    same = [text for text in class_map if stage_of(text) == stage]
    return f"{' and '.join(map(repr, same))} are the same stage, so keep one of them"


def _slow_wave_stages(texts: Iterable[str]) -> set[str]:
    """Return which of N3 and N4 some texts name, if these are not merged."""
    return {"N3", "N4"}.intersection(stage_of(text, keep_stage_4=True) or "" for text in texts)


def _check_merged(class_map: Iterable[str], texts: Iterable[str]) -> None:
    """Raise if a map names only one of stages 3 and 4, which become the same class."""
    named = {text: stage for text in class_map for stage in _slow_wave_stages([text])}
    # The N3 of the AASM is both stages.
    if not named or any(text.strip().casefold().endswith("n3") for text in named):
        return
    others = _slow_wave_stages(texts).difference(named.values())
    if others:
        raise ValueError(
            f"`class_map` has {next(iter(named))!r}, but not stage {min(others)[1:]}, and stages "
            "3 and 4 are merged into N3; assign 'N3' to a class to use both, or tell them apart "
            "with `keep_stage_4=True`."
        )


def _check_matches(pattern: str, texts: Iterable[str], names: Iterable[str]) -> None:
    """Raise for a pattern of texts that are renamed to stages."""
    if any(match_class(name, {pattern: "matches"}) for name in names):
        return
    if any(match_class(text, {pattern: "matches"}) for text in texts):
        raise ValueError(
            f"`class_map` must match sleep stages, which are renamed to {', '.join(names)}, got "
            f"{pattern!r}; use such names or patterns, as 'N*', and note that movement and "
            "unscored parts have no windows."
        )
