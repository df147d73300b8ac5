"""Write measured results into README.md and docs/results.md, from the files of the benchmarks.

``make readme`` runs it; a test checks that both files are up to date.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT / "docs"), str(ROOT)]

from benchmarks.benefit import CONDITIONS, interval  # noqa: E402
from benchmarks.equivariance import (  # noqa: E402
    BEST_KEPT,
    NOT_MAPPED,
    SEARCH,
    SEARCH_ALL_PROBED,
    STUDIES,
    TWICE,
    Study,
    compare,
    mean_by_size,
    scores,
)
from benchmarks.motor_imagery import AMONG_LOWEST, rejects_both  # noqa: E402
from benchmarks.planted_truth import success  # noqa: E402
from benchmarks.probe import TASKS  # noqa: E402
from benchmarks.records import Records  # noqa: E402
from benchmarks.search_budget import MARGIN  # noqa: E402
from image_results import critic_distances, image_gains  # noqa: E402
from one_step_results import agreement_table  # noqa: E402
from panel_results import (  # noqa: E402
    auto_gains,
    carried_over,
    coverage,
    gains_over_none,
    highpassed_gains,
    panel_overview,
    units_compared,
)
from table_cells import describe_paired, markdown_table, rate  # noqa: E402

from cadda._internal.statistics import holm  # noqa: E402
from cadda.searchers.registry import METHODS  # noqa: E402

DATA = {
    "sleep": (
        "DREAM sleep recordings, 4 stages, about 190 windows",
        "python -m benchmarks benefit sleep --folder FOLDER [--repeat 1]",
    ),
    "simulated": (
        "simulated sleep, 5 stages, 350 windows",
        "python -m benchmarks benefit simulated [--repeat 1]",
    ),
}
NAMES = {
    "none": "none",
    "uniform": "all operations, equally often",
    "adda": "ADDA",
    "cadda": "CADDA",
    "dada": "DADA",
    "faster_autoaugment": "Faster AutoAugment",
}
SPEED = "3.7 to 291 times as fast ([table](docs/results.md#speed))"
"""Copied from docs/results.md: the benchmark prints speeds and keeps none."""

SHOWN = ("motor-imagery", "motor-imagery-4hz", "mnist")
COMPARISONS = (
    (TWICE, "none"),
    (BEST_KEPT, "none"),
    ("mapped", "none"),
    ("mapped", TWICE),
    ("mapped", BEST_KEPT),
    ("mapped, time_mask", "mapped"),
    ("mapped, flips of 8", "mapped"),
    (SEARCH, "none"),
    (SEARCH_ALL_PROBED, "none"),
    (NOT_MAPPED, "none"),
)
"""Differences of conditions in the tables of operations that change the class."""

RACERS = ("cadda", "autoaugment", "random")
Record = dict[str, Any]


def main() -> None:
    """Update all files."""
    for path in BLOCKS:
        path.write_text(updated(path), encoding="utf-8")


def updated(path: Path) -> str:
    """Return the text of a file with each block between its two marks."""
    text = path.read_text(encoding="utf-8")
    for name, write in BLOCKS[path].items():
        before, rest = text.split(f"<!-- {name}: begin -->\n")
        _, after = rest.split(f"<!-- {name}: end -->")
        text = f"{before}<!-- {name}: begin -->\n\n{write()}\n\n<!-- {name}: end -->{after}"
    return text


def headline_table() -> str:
    """Return the main results as one table, for README.md."""
    planted = planted_truth()
    motor = [r for r in default_records("motor_imagery", "adda") if not r["exchange"]]
    races = ", ".join(f"`{method}` {first_success(race(method))}" for method in RACERS)
    n_operations = len(motor[0]["operations"])
    rows = [
        (
            "operations planted for single classes: found by CADDA, and those that destroy one "
            "rejected",
            f"{planted['found']} and {planted['rejected']} seeds",
            "`python -m benchmarks planted_truth`",
        ),
        (
            "the same: search until all seeds have found them",
            races,
            "`python -m benchmarks search_budget`",
        ),
        (
            "motor imagery: ADDA has both operations that destroy the classes among the "
            f"{AMONG_LOWEST} least used of {n_operations}",
            f"{rate(map(rejects_both, motor))} seeds",
            "`python -m benchmarks motor_imagery --folder FOLDER`",
        ),
        mirrored_fists(),
        ("speed of the operations, relative to braindecode 0.8.1", SPEED, "`make bench`"),
    ]
    return markdown_table(("what", "result", "command"), rows)


def mirrored_fists() -> tuple[str, str, str]:
    """Return the row of the operation that exchanges the classes."""
    name, records = "motor-imagery", Records("equivariance").all()
    plain, mapped = (
        mean_by_size(scores(records, name, condition)) for condition in ("none", "mapped")
    )
    sizes = [size for size in STUDIES[name].sizes if size in plain and size in mapped]
    title = (
        "imagined fists: balanced accuracy on unseen subjects without augmentation → mirrored, "
        f"labels exchanged, with {', '.join(map(str, sizes))} training subjects"
    )
    result = ", ".join(f"{plain[size]:.3f} → {mapped[size]:.3f}" for size in sizes)
    return title, result, "`python -m benchmarks equivariance motor-imagery --folder FOLDER`"


def benefit_table() -> str:
    """Return the balanced accuracy on unseen subjects, by data and augmentation."""
    lines = [
        "| data | augmentation | balanced accuracy | gain over none (75 %) | command |",
        "|---|---|---|---|---|",
    ]
    records = Records("benefit").all()
    for study, (data, command) in DATA.items():
        plain = scores_by_fold(records, study, "none")
        for condition in CONDITIONS:
            scores = scores_by_fold(records, study, condition)
            if not scores:
                continue
            mean = f"{np.mean(list(scores.values())):.3f}"
            is_plain = condition == "none"
            first = (f"{data}, {len(plain)} folds", f"`{command}`") if is_plain else ("", "")
            gain = "" if is_plain else describe_gain(scores, plain)
            lines.append(f"| {first[0]} | {NAMES[condition]} | {mean} | {gain} | {first[1]} |")
    return "\n".join(lines)


def accuracy_table(name: str, conditions: Iterable[str]) -> str:
    """Return the balanced accuracy by policy and size of the training set."""
    records, study = Records("equivariance").all(), STUDIES[name]
    lines = size_header(study, study.unit)
    for condition in conditions:
        means = mean_by_size(scores(records, name, condition))
        if means:
            cells = (f"{means[size]:.3f}" if size in means else "" for size in study.sizes)
            title = study.titles.get(condition, f"`{condition}`")
            lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def gain_table(name: str) -> str:
    """Return paired gains by size of the training set; bold if significant after Holm in a row."""
    records, study = Records("equivariance").all(), STUDIES[name]
    lines = size_header(study, study.unit, "gain over")
    for pair in COMPARISONS:
        made, reference = (scores(records, name, side) for side in pair)
        gains = {size: compare(made, reference, size) for size in study.sizes}
        known = {size: gain for size, gain in gains.items() if gain is not None}
        if known:
            p_values = holm([gain.test.p_value for gain in known.values()])
            cells = dict(zip(known, map(describe_paired, known.values(), p_values), strict=True))
            row = [study.titles[side] for side in pair]
            row += [cells.get(size, "") for size in study.sizes]
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def size_header(study: Study, *titles: str) -> list[str]:
    """Return the first two lines of a table by size."""
    columns = (*titles, *map(str, study.sizes))
    return [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]


def probe_table() -> str:
    """Return in how many draws a probe proposed exactly the right label maps, and which."""
    lines = ["| windows | right | plain model | label maps |", "|---|---|---|---|"]
    for name, task in TASKS.items():
        made = [record for record in Records("probe").all() if record["task"] == name]
        if made:
            found = Counter(
                f"`{operation}` ({words})"
                for record in made
                for operation, words in record["maps"].items()
            )
            maps = ", ".join(f"{choice} in {n}" for choice, n in found.most_common()) or "none"
            accuracy = [record["accuracy"] for record in made]
            right = rate(task.is_right(record["maps"]) for record in made)
            plain = f"{min(accuracy):.2f} to {max(accuracy):.2f}"
            lines.append(f"| {name} | {right} draws | {plain} | {maps} |")
    return "\n".join(lines)


def scores_by_fold(records: Iterable[Record], study: str, condition: str) -> dict[int, float]:
    """Collect the balanced accuracies of a condition."""
    return {
        record["fold"]: record["balanced_accuracy"]
        for record in records
        if (record["study"], record["condition"]) == (study, condition)
    }


def describe_gain(scores: dict[int, float], plain: dict[int, float]) -> str:
    """Return the mean gain over no augmentation, paired by fold, with its interval."""
    folds = sorted(scores.keys() & plain.keys())
    if not folds:
        return ""
    gains = np.array([scores[fold] - plain[fold] for fold in folds])
    low, high = interval(gains)
    incomplete = f", {len(folds)} folds" if len(folds) < len(plain) else ""
    words = f"{gains.mean():+.3f} ({low:+.3f} to {high:+.3f}{incomplete})"
    return words.replace("-", "−")


def planted_truth() -> dict[str, str]:
    """Return in how many seeds CADDA found what was planted, and rejected what harms."""
    records = default_records("planted_truth", "cadda")
    verdicts = [success(np.array(record["applied"])) for record in records]
    return {key: rate(verdict[key] for verdict in verdicts) for key in ("found", "rejected")}


def default_records(name: str, method: str) -> list[Record]:
    """Return the longest searches of a method with default settings."""
    made = [
        record
        for record in Records(name).all()
        if (record["method"], record["variant"]) == (method, "defaults")
    ]
    longest = max(record["epochs"] for record in made)
    return [record for record in made if record["epochs"] == longest]


def race(method: str) -> list[Record]:
    """Return the class-wise searches of a method among all operations."""
    return [
        record
        for record in Records("search_budget").all()
        if record["classwise"] and "n_operations" not in record and record["method"] == method
    ]


def first_success(records: list[Record]) -> str:
    """Return the budget and time after which all seeds had found the truth."""
    unit = f"{METHODS[records[0]['method']].unit}s"
    by_budget: dict[int, list[Record]] = {}
    for point in (point for record in records for point in record["points"]):
        by_budget.setdefault(point["budget"], []).append(point)
    for budget, points in sorted(by_budget.items()):
        found = [found_truth(point) for point in points]
        if all(found) and len(found) == len(records):
            seconds = np.median([point["seconds"] for point in points])
            return f"{budget} {unit} ({seconds:.0f} s)"
    last = rate(found_truth(point) for point in by_budget[max(by_budget)])
    return f"not within {max(by_budget)} {unit} ({last} seeds)"


def found_truth(point: Record) -> bool:
    """Return whether a policy of one stage gives what was planted to its classes."""
    return success(np.array(point["applied"]) + MARGIN, n_stages=1)["found"]


BLOCKS: dict[Path, dict[str, Callable[[], str]]] = {
    ROOT / "README.md": {
        "panel": panel_overview,
        "results": headline_table,
    },
    ROOT / "docs" / "preprocessing.md": {"standardisation": units_compared},
    ROOT / "docs" / "why-one-step.md": {"one step": agreement_table},
    ROOT / "docs" / "results.md": {
        "panel gains": gains_over_none,
        "highpassed gains": highpassed_gains,
        "panel auto": auto_gains,
        "panel coverage": coverage,
        "carry over": carried_over,
        "results": benefit_table,
        "probe": probe_table,
        "image gains": image_gains,
        "image critic": critic_distances,
        **{
            f"{name} accuracy": partial(
                accuracy_table, name, (*STUDIES[name].titles, *STUDIES[name].kept)
            )
            for name in SHOWN
        },
        **{f"{name} gain": partial(gain_table, name) for name in SHOWN},
    },
}

if __name__ == "__main__":
    main()
