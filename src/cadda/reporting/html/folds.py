"""The page of a cross-validation: all folds together, each fold and each subject."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import PurePath
from statistics import fmean, stdev

import numpy as np

from cadda._internal.text import natural_order
from cadda.reporting.html.formatting import (
    count,
    number,
    with_interval,
)
from cadda.reporting.html.page import render_page
from cadda.reporting.html.provenance import bibtex, provenance_rows
from cadda.reporting.html.report import Page
from cadda.reporting.html.scores import N_RESAMPLES, TestScores, score_predictions
from cadda.reporting.html.verdict import collect_warnings
from cadda.reporting.records import Predictions, RunRecord, Session

__all__ = ["render_folds"]


@dataclass(frozen=True, eq=False)
class FoldRow:
    """Scores of the model of a fold on its test subjects."""

    number: int
    link: str  # to the report of the fold
    scores: TestScores
    best_epoch: int | None


@dataclass(frozen=True, eq=False)
class SubjectRow:
    """Scores of a subject, by the model that has not seen it."""

    subject: str
    fold: int
    scores: TestScores


def render_folds(
    records: Sequence[RunRecord], links: Sequence[str], sessions: tuple[Session, ...] = ()
) -> Page:
    """Render the page of a cross-validation as HTML without external files.

    `links` are the reports of the folds, relative to the page. The same records give the same
    bytes.
    """
    first = replace(records[0], sessions=sessions)
    together = score_predictions(_pooled(records), first.data.class_names)
    folds = [
        FoldRow(place, link, _score(record), _best_epoch(record))
        for place, (record, link) in enumerate(zip(records, links, strict=True), start=1)
    ]
    sentence = _sentence(first, together, len(folds))
    content = {
        "title": f"Cross-validation on {PurePath(first.source).name}",
        "headline": f"Balanced accuracy {number(together.accuracy.predicted.value)} on "
        f"{count(len(together.subjects), 'unseen subject')}",
        "sentence": sentence,
        "mean": _mean_of_folds(folds),
        "record": first,
        "policy_text": None if first.policy is None else first.policy.to_text(),
        "together": together,
        "folds": folds,
        "subjects": sorted(_subjects(records), key=lambda row: natural_order(row.subject)),
        "interval_note": _interval_note(together),
        "warnings": [
            *dict.fromkeys(text for session in sessions for text in session.warnings),
            *_warnings(records, folds),
        ],
        "provenance": [row for row in provenance_rows(first) if not row[0].startswith("SHA-256")],
        "bibtex": bibtex(),
    }
    return Page(render_page("folds.html", content), sentence)


def _pooled(records: Sequence[RunRecord]) -> Predictions:
    """Return the predictions of all folds, without those of models without augmentation."""
    names = [field.name for field in fields(Predictions) if field.name != "without_augmentation"]
    return Predictions(
        **{
            name: np.concatenate([getattr(record.predictions, name) for record in records])
            for name in names
        }
    )


def _score(record: RunRecord, subject: str | None = None) -> TestScores:
    """Score the test windows of a fold, or those of one subject."""
    predictions = _pooled([record])
    if subject is not None:
        own = predictions.subject == subject
        chosen = {
            name: values[own] for name, values in vars(predictions).items() if values is not None
        }
        predictions = Predictions(**chosen)
    return score_predictions(predictions, record.data.class_names)


def _subjects(records: Sequence[RunRecord]) -> Iterator[SubjectRow]:
    for place, record in enumerate(records, start=1):
        for subject in dict.fromkeys(record.predictions.subject.tolist()):
            yield SubjectRow(subject, place, _score(record, subject))


def _best_epoch(record: RunRecord) -> int | None:
    return record.learning[0].best_epoch if record.learning else None


def _sentence(record: RunRecord, scores: TestScores, n_folds: int) -> str:
    how = "with the given policy" if record.is_augmented else "without augmentation"
    return (
        f"The model {record.model}, trained {how} on {PurePath(record.source).name} in "
        f"{n_folds} folds, reaches a balanced accuracy of "
        f"{with_interval(scores.accuracy.predicted, number)} on "
        f"{count(len(scores.subjects), 'subject')}, each tested by the model that has not seen it."
    )


def _mean_of_folds(folds: Sequence[FoldRow]) -> str:
    """Return the mean and standard deviation of the balanced accuracy over folds."""
    values = [fold.scores.accuracy.predicted.value for fold in folds]
    return f"{number(fmean(values))} ± {number(stdev(values))}"


def _interval_note(scores: TestScores) -> str:
    return (
        f"In brackets: 95% percentile bootstrap intervals over {scores.n_units} {scores.unit}, "
        f"{N_RESAMPLES} resamples; those lacking a class are discarded. Of a fold, they are over "
        "its test subjects; of a subject, or where a fold has one, over windows. "
        "Folds share training subjects, so their scores are not independent. Chance level of "
        f"balanced accuracy: {number(1 / scores.n_classes)}."
    )


def _warnings(records: Sequence[RunRecord], folds: Sequence[FoldRow]) -> Iterator[str]:
    """Yield the warnings of all folds, those that all have in common once."""
    each = [
        collect_warnings(record, fold.scores) for record, fold in zip(records, folds, strict=True)
    ]
    shared = [text for text in each[0] if all(text in others for others in each[1:])]
    yield from shared
    for fold, texts in zip(folds, each, strict=True):
        yield from (f"fold {fold.number}: {text}" for text in texts if text not in shared)
