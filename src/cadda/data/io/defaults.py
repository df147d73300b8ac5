"""Default filters of recordings: those of the task, as far as the sampling rate allows."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from cadda.data.io.cutting import ReadPlan
from cadda.data.io.options import ReadOptions
from cadda.data.io.preprocess import MIN_TRANSITION, Preprocessing, fit_lowpass
from cadda.data.io.tasks import guess_task, task_filters

__all__ = ["with_default_filters"]


def with_default_filters(plan: ReadPlan, options: ReadOptions) -> ReadPlan:
    """Return a plan with the filters of its task, unless a file or options have others."""
    if options.preprocessing is not None:
        return plan
    names = options.classes or plan.class_names
    task = guess_task(names, from_stages=plan.from_stages)
    rates = [(r.sfreq, plan.preprocessing.rate(r.sfreq)) for r in plan.recordings]
    highest = min(map(min, rates)) / 2 - MIN_TRANSITION
    filters = {name: edge for name, edge in task_filters(task).items() if edge <= highest}
    given = plan.given.union(options.settings)
    filtered = _add_filters(plan.preprocessing, filters, given)
    plan = replace(
        plan,
        preprocessing=filtered,
        default=_add_filters(plan.default, filters, plan.given),
        notes=(*plan.notes, *_notes(plan.preprocessing, filtered)),
    )
    if not given.isdisjoint(("lowpass", "transition")):
        return plan
    slowest = min(plan.recordings, key=lambda recording: recording.sfreq)
    return replace(
        plan, preprocessing=fit_lowpass(plan.preprocessing, slowest.sfreq, slowest.name)
    )


def _notes(before: Preprocessing, after: Preprocessing) -> tuple[str, ...]:
    """Return a note if a high-pass is added."""
    if before.highpass == after.highpass:
        return ()
    return (
        "the names of the classes are those of movement or imagery, so that slow activity, which "
        f"can be that of the eyes, is removed by a high-pass of {after.highpass:g} Hz; keep it "
        "with `highpass=None`",
    )


def _add_filters(
    preprocessing: Preprocessing, filters: dict[str, float], given: Container[str]
) -> Preprocessing:
    """Return preprocessing with the filters that are not given and agree with those that are."""
    added = {name: edge for name, edge in filters.items() if name not in given}
    lowpass = added.get("lowpass", preprocessing.lowpass)
    highpass = added.get("highpass", preprocessing.highpass)
    if lowpass is not None and highpass is not None and highpass >= lowpass:
        return preprocessing
    return replace(preprocessing, highpass=highpass, lowpass=lowpass)
