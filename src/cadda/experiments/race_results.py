"""What races say together: curves of the best so far, a table, and what was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cadda._internal.statistics import median_estimate
from cadda.experiments.racing import NO_SEARCH
from cadda.experiments.study import Record, Result
from cadda.experiments.tables import Table
from cadda.policies.spec.text import ALL_CLASSES
from cadda.reporting.figures.race import RacePanel, Run

__all__ = ["METRICS", "best_so_far", "race_panel", "race_table", "selected"]

METRICS = {"balanced_accuracy": "balanced accuracy", "macro_f1": "macro F1"}


def best_so_far(points: Sequence[Result], metric: str) -> Run:
    """Give the test score of the policy with the lowest validation loss up to each time.

    Parameters
    ----------
    points : sequence of dict
        Points of a race, in the order of time.
    metric : str
        Name of the score.

    Returns
    -------
    list of (float, float)
        Seconds and scores.
    """
    curve, best = [], points[0]
    for point in points:
        if point["valid_loss"] < best["valid_loss"]:
            best = point
        curve.append((point["seconds"], best[metric]))
    return curve


def race_panel(
    title: str, records: Sequence[Record], names: Sequence[str], metric: str
) -> RacePanel:
    """Collect what one panel shows.

    Parameters
    ----------
    title : str
        What stands above it.
    records : sequence of Record
        Finished races.
    names : sequence of str
        Which of them to show, in this order.
    metric : str
        Name of the score.

    Returns
    -------
    RacePanel
        Curves of those that have been run, and the level without augmentation.
    """
    by_name = _by_method(records)
    return RacePanel(
        title=title,
        label=METRICS[metric],
        curves={
            name: [best_so_far(one.result["points"], metric) for one in by_name[name]]
            for name in names
            if name in by_name and name != NO_SEARCH
        },
        level=[one.result["points"][0][metric] for one in by_name.get(NO_SEARCH, ())],
    )


def race_table(title: str, records: Sequence[Record]) -> Table:
    """Put final scores, gains over no augmentation and times side by side.

    Parameters
    ----------
    title : str
        What the races were.
    records : sequence of Record
        Finished races.

    Returns
    -------
    Table
        A row per method: medians over folds, with their intervals if there are folds enough.
    """
    by_name = _by_method(records)
    plain = {
        one.job["fold"]: one.result["points"][0]["balanced_accuracy"]
        for one in by_name.get(NO_SEARCH, ())
    }
    rows = []
    for name, races in by_name.items():
        points = [one.result["points"] for one in races]
        finals = {
            one.job["fold"]: best_so_far(one.result["points"], "balanced_accuracy")[-1][1]
            for one in races
        }
        gains = [value - plain[fold] for fold, value in finals.items() if fold in plain]
        is_search = name != NO_SEARCH
        rows.append(
            (
                *(name, len(races), *_in_words(list(finals.values()))),
                *(_in_words(gains) if gains and is_search else (None, None)),
                float(np.median([one[-1]["seconds"] for one in points])) if is_search else None,
                int(np.median([one[-1]["number"] for one in points])) if is_search else None,
            )
        )
    columns = (
        *("method", "folds", "accuracy", "75 %", "gain", "75 % of gain"),
        *("seconds", "steps"),
    )
    intervals = ", with bootstrap intervals" if any(row[3] for row in rows) else ""
    note = (
        f"Balanced accuracy, and its gain over no augmentation: medians over folds{intervals}. "
        "Seconds of searching, and how many epochs or trials they were."
    )
    return Table(title, columns, tuple(rows), note)


def _in_words(values: Sequence[float]) -> tuple[float, str | None]:
    estimate = median_estimate(values)
    interval = f"{estimate.low:.3f} to {estimate.high:.3f}" if estimate.is_bounded else None
    return estimate.value, interval


def selected(
    records: Sequence[Record],
) -> tuple[dict[str, NDArray[np.float64]], dict[str, list[str]], list[str]]:
    """Average over folds how often the best policies use each operation.

    Parameters
    ----------
    records : sequence of Record
        Finished races.

    Returns
    -------
    tables : dict of str to array
        By method, of shape (n_rows, n_operations).
    rows : dict of str to list of str
        Names of the rows: classes, or that it is for all of them.
    operations : list of str
        Names of the columns.
    """
    races = {name: one for name, one in _by_method(records).items() if name != NO_SEARCH}
    operations = list(
        dict.fromkeys(
            name for group in races.values() for one in group for name in one.result["operations"]
        )
    )
    tables = {
        name: np.mean([_aligned(one.result, operations) for one in group], axis=0)
        for name, group in races.items()
    }
    rows = {
        name: ["all classes" if row == ALL_CLASSES else row for row in group[0].result["rows"]]
        for name, group in races.items()
    }
    return tables, rows, operations


def _aligned(result: Result, operations: Sequence[str]) -> NDArray[np.float64]:
    """Put the columns of a policy, which may lack operations, into a common order."""
    column = {name: i for i, name in enumerate(result["operations"])}
    applied = np.array(result["applied"])
    empty = np.zeros(len(applied))
    return np.stack(
        [applied[:, column[name]] if name in column else empty for name in operations], axis=1
    )


def _by_method(records: Sequence[Record]) -> Mapping[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.job["method"], []).append(record)
    return groups
