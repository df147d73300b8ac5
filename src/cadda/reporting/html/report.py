"""Puts the page together."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import PurePath
from typing import Any

import jinja2

from cadda._version import __version__
from cadda.reporting.figures.operations import N_TRIES
from cadda.reporting.html.charts import HEIGHT, WIDTH
from cadda.reporting.html.citation import bibtex
from cadda.reporting.html.curves import evolution_of, learning_chart, progress_charts
from cadda.reporting.html.hypnogram import hypnogram_of, why_no_hypnogram
from cadda.reporting.html.intervals import N_RESAMPLES, Judgement, judge
from cadda.reporting.html.pictures import panels_of
from cadda.reporting.html.policy_view import lonely_operations, view_policy
from cadda.reporting.html.provenance import provenance_of
from cadda.reporting.html.record import Gallery, RunRecord
from cadda.reporting.html.snippet import policy_file, snippet_of
from cadda.reporting.html.verdict import verdict_of
from cadda.reporting.html.words import (
    count,
    interval,
    number,
    percent,
    score_in_words,
    signed,
)

__all__ = ["render_report"]

FEW_WINDOWS = 5
"""Windows of a class in a part of the split below which a warning is given."""

PARTS = {"train": "Training", "valid": "Validation", "test": "Testing"}


def render_report(record: RunRecord) -> str:
    """Write the report of a run.

    Parameters
    ----------
    record : RunRecord
        What the run has left behind.

    Returns
    -------
    str
        An HTML page that needs nothing beside itself. Same record, same bytes.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("cadda.reporting.html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    folder = resources.files("cadda.reporting.html") / "templates"
    style, script = ((folder / f"report.{kind}").read_text("utf-8") for kind in ("css", "js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    judgement = judge(record.predictions, record.data.class_names)
    return environment.get_template("report.html").render(
        _top(record, judgement)
        | _policy(record)
        | _scores(record, judgement)
        | _end(record, judgement),
        version=__version__,
        style=style,
        script=script,
        script_digest=f"sha256-{digest}",
        width=WIDTH,
        height=HEIGHT,
        count=count,
        interval=interval,
        number=number,
        percent=percent,
        score_in_words=score_in_words,
        signed=signed,
    )


def _top(record: RunRecord, judgement: Judgement) -> dict[str, Any]:
    name = PurePath(record.data_name).name
    return {
        "title": f"Augmentation for {name}" if record.kind == "search" else f"Training on {name}",
        "is_search": record.kind == "search",
        "verdict": verdict_of(record, judgement),
        "accuracy": judgement.accuracy,
        "model_name": "Without augmentation" if record.policy is None else "With the policy",
        "data": record.data,
        "data_name": record.data_name,
        "part_names": PARTS,
    }


def _policy(record: RunRecord) -> dict[str, Any]:
    """Give what the policy is, how it was found, and what it does to windows."""
    policy, curves, gallery = record.policy, record.search, record.gallery
    if policy is None:
        return {"policy": None, "panels": None}
    return {
        "policy": view_policy(policy, record.schedule),
        "policy_file": policy_file(record),
        "policy_words": _policy_words(record),
        "snippet": snippet_of(record),
        "progress": curves and progress_charts(curves),
        "evolution": curves and evolution_of(curves, record.config["operations"], policy),
        "panels": gallery and panels_of(gallery, record.data.sfreq),
        "gallery_words": gallery and _gallery_words(gallery, record.data.ch_names),
    }


def _policy_words(record: RunRecord) -> str:
    words = "Share of the windows that each operation changes, and how strongly."
    if record.schedule is None:
        return words
    n_segments = len(record.schedule.segments)
    return (
        f"The policy changes while a model trains, in {count(n_segments, 'segment')}; this is the "
        f"last. {words}"
    )


def _gallery_words(gallery: Gallery, ch_names: Sequence[str]) -> str:
    words = (
        "Each operation on one of your own training windows, as strongly as the policy applies it "
        f"to the class that it is used for most. Of {N_TRIES} random draws the most visible one "
        "is shown; of the signal, the seconds that change most"
    )
    n_shown = len(gallery.ch_names)
    if n_shown == len(ch_names):
        return f"{words}."
    return f"{words}, in {n_shown} of {len(ch_names)} channels."


def _scores(record: RunRecord, judgement: Judgement) -> dict[str, Any]:
    # Without the policy comes first, as in all tables.
    confusions = list(zip(_models(record), judgement.confusion.tolist(), strict=False))[::-1]
    each = zip(judgement.subjects, judgement.by_subject[::-1].T.tolist(), strict=True)
    return {
        "learning": learning_chart(record.trainings) if record.trainings else None,
        "rows": judgement.rows,
        "confusions": confusions,
        "by_subject": sorted(each, key=lambda one: _number_order(one[0])),
        "interval_words": f"In brackets 95% intervals: percentiles of {N_RESAMPLES} drawings of "
        f"the {judgement.n_units} test {judgement.unit} with replacement, without those drawings "
        "in which a class is missing; no brackets where all of them agree. By chance, balanced "
        f"accuracy is {number(1 / judgement.n_classes)}.",
        "night": hypnogram_of(record.predictions, record.data),
        "night_words": why_no_hypnogram(record.predictions, record.data),
    }


def _number_order(subject: str) -> list[str | int]:
    """Give what to sort a name by so that sub-2 comes before sub-10."""
    parts = re.split(r"([0-9]+)", subject)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]


def _models(record: RunRecord) -> tuple[str, str]:
    """Name the model of the run, then that which it is compared with."""
    trained = "without augmentation" if record.policy is None else "with the policy"
    return trained, "without augmentation"


def _end(record: RunRecord, judgement: Judgement) -> dict[str, Any]:
    own = [] if record.policy is None else lonely_operations(record.policy)
    found = [*_scarce_classes(record), *_unpredicted_classes(record, judgement), *own]
    return {
        "warnings": [*found, *record.warnings],
        "provenance": list(provenance_of(record)),
        "config": json.dumps(record.config, indent=1, ensure_ascii=False),
        "bibtex": bibtex(),
    }


def _scarce_classes(record: RunRecord) -> list[str]:
    """Name classes that are missing from a part of the split, or nearly so."""
    parts = [(PARTS[part].lower(), facts.windows) for part, facts in record.data.parts.items()]
    said = []
    for i, name in enumerate(record.data.class_names):
        said += [f"no window of {name} is among those for {part}" for part, n in parts if not n[i]]
        few = [f"{n[i]} for {part}" for part, n in parts if 0 < n[i] < FEW_WINDOWS]
        if few:
            said.append(
                f"{name} has few windows ({', '.join(few)}) and counts as much as any other "
                "class; --min-windows or --classes leave it out"
            )
    return said


def _unpredicted_classes(record: RunRecord, judgement: Judgement) -> list[str]:
    return [
        f"the model trained {model} never predicts {name}, though the test windows have it"
        for model, counts in zip(_models(record), judgement.confusion, strict=False)
        for i, name in enumerate(record.data.class_names)
        if counts[i].any() and not counts[:, i].any()
    ]
