"""Assembles the HTML page of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from cadda._internal.text import natural_order
from cadda.reporting.charts import HEIGHT, WIDTH
from cadda.reporting.evolution import evolution_charts
from cadda.reporting.figures.signals import N_TRIES
from cadda.reporting.html.formatting import count, describe_condition, number
from cadda.reporting.html.page import render_page
from cadda.reporting.html.pictures import (
    hypnogram_of,
    learning_chart,
    panels_of,
    progress_charts,
    why_no_hypnogram,
)
from cadda.reporting.html.policy_view import view_policy
from cadda.reporting.html.provenance import (
    bibtex,
    policy_file,
    provenance_rows,
    runner_up_snippet,
    snippet,
)
from cadda.reporting.html.race_view import view_race
from cadda.reporting.html.reward_charts import reward_charts
from cadda.reporting.html.scores import N_RESAMPLES, TestScores, score_predictions
from cadda.reporting.html.verdict import PART_NAMES, Verdict, collect_warnings, make_verdict
from cadda.reporting.records import Examples, RunRecord
from cadda.reporting.stability import stability_notes

__all__ = ["Page", "render_report"]

Content = dict[str, object]
"""Variables of the template."""


@dataclass(frozen=True)
class Page:
    """A rendered report."""

    html: str
    sentence: str  # the result, as under its headline


def render_report(record: RunRecord) -> Page:
    """Render the report of a run as an HTML page without external files.

    The same record gives the same bytes.
    """
    scores = score_predictions(record.predictions, record.data.class_names)
    verdict = make_verdict(record, scores)
    content = (
        _top(record, scores, verdict)
        | _probe(record)
        | {"race": None if record.race is None else view_race(record.race)}
        | _policy(record)
        | _scores(record, scores)
        | _end(record, scores)
        | {"width": WIDTH, "height": HEIGHT}
    )
    return Page(render_page("report.html", content), verdict.sentence)


def _top(record: RunRecord, scores: TestScores, verdict: Verdict) -> Content:
    name, is_search = PurePath(record.source).name, record.search is not None
    return {
        "title": f"Augmentation for {name}" if is_search else f"Training on {name}",
        "verdict": verdict,
        "accuracy": scores.accuracy,
        "model_name": "With the policy" if record.is_augmented else "Without augmentation",
        "data": record.data,
        "data_name": record.source,
        "part_names": PART_NAMES,
    }


def _probe(record: RunRecord) -> Content:
    """Return what operations do to classes, if that was probed."""
    probe = record.probe
    if probe is None:
        return {"probe": None}
    verdicts = {
        (row.operation, row.magnitude, row.class_name): row.description for row in probe.table
    }
    return {
        "probe": probe,
        "probe_matrices": [
            (
                describe_condition(matrix.operation, matrix.magnitude),
                matrix.share,
                [
                    verdicts.get((matrix.operation or "", matrix.magnitude, name), "")
                    for name in probe.class_names
                ],
            )
            for matrix in probe.matrices
        ],
    }


def _policy(record: RunRecord) -> Content:
    """Return what the policy is, how it was found, and what it does to windows."""
    policy, search, examples = record.policy, record.search, record.examples
    if policy is None:
        return {"policy": None, "panels": None, "leaks": ()}
    curves, sfreq = None if search is None else search.curves, record.data.sfreq
    runner_up = None if record.race is None else record.race.runner_up
    return {
        "policy": view_policy(policy, record.schedule, record.data.class_names),
        "use_title": _use_title(record),
        "policy_file": policy_file(record),
        "policy_note": _policy_note(record),
        "policy_text": record.policy_text,
        "snippet_title": "Use the policy" if record.is_augmented else "Train without augmentation",
        "snippet": snippet(record),
        "runner_up": None if runner_up is None else runner_up.name,
        "runner_up_snippet": runner_up and runner_up_snippet(record, runner_up.policy),
        "leaks": record.leaks,
        "probe_note": None if search is None else search.probe_note,
        "stability": stability_notes(curves),
        "progress": curves and progress_charts(curves),
        "rewards": curves
        and curves.rewards
        and reward_charts(curves.rewards, curves.number, record.data.class_names),
        "evolution": curves and search and evolution_charts(curves, search.operations, policy),
        "panels": examples
        and sfreq
        and panels_of(examples, sfreq, None if policy is None else policy.operations),
        "examples_note": examples and _examples_note(examples, record.data.ch_names),
    }


def _use_title(record: RunRecord) -> str:
    """Return the heading of how a policy was found and uses operations; empty for neither."""
    if record.search is not None and record.race is None:
        return "Search"
    return "Use of the operations" if record.is_augmented else ""


def _policy_note(record: RunRecord) -> str:
    if not record.is_augmented:
        return "No augmentation: training windows are left as they are."
    note = "Fraction of the windows that each operation changes, and its magnitude."
    if record.schedule is None:
        return note
    n_segments = len(record.schedule.segments)
    return (
        f"The policy is a schedule of {count(n_segments, 'segment')} over the epochs of training; "
        f"shown is the last. {note}"
    )


def _examples_note(examples: Examples, ch_names: Sequence[str]) -> str:
    note = (
        "Each operation applied to one of your training windows, with the largest magnitude for "
        "the class that it is used for most. Shown are the draw with the largest change of "
        f"{N_TRIES}, and the seconds that change most"
    )
    n_shown = len(examples.ch_names)
    if n_shown == len(ch_names):
        return f"{note}."
    return f"{note}, in {n_shown} of {len(ch_names)} channels."


def _scores(record: RunRecord, scores: TestScores) -> Content:
    models = (
        "with the policy" if record.is_augmented else "without augmentation",
        "without augmentation",
    )
    # Without augmentation comes first, as in all tables.
    confusions = list(zip(models, scores.confusion.tolist(), strict=False))[::-1]
    values = scores.by_subject[::-1].T.tolist()
    subjects = zip(scores.subjects, scores.n_windows, values, scores.is_comparable, strict=True)
    return {
        "learning": learning_chart(record.learning) if record.learning else None,
        "rows": scores.rows,
        "confusions": confusions,
        "by_subject": sorted(subjects, key=lambda row: natural_order(row[0])),
        "has_incomparable": not all(scores.is_comparable),
        "interval_note": f"In brackets: 95% percentile bootstrap intervals over {scores.n_units} "
        f"test {scores.unit}, {N_RESAMPLES} resamples; those lacking a class are discarded. "
        "Without brackets, all resamples agree. Chance level of balanced accuracy: "
        f"{number(1 / scores.n_classes)}.",
        "night": hypnogram_of(record.predictions, record.data),
        "night_note": why_no_hypnogram(record.predictions, record.data),
    }


def _end(record: RunRecord, scores: TestScores) -> Content:
    return {
        "edited": record.edited,
        "warnings": collect_warnings(record, scores),
        "provenance": list(provenance_rows(record)),
        "config": record.config,
        "bibtex": bibtex(),
    }
