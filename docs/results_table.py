"""Write the measured results into README.md, from the results that the benchmarks keep.

``make readme`` runs it; a test checks that README.md is what it writes.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

from benefit import CONDITIONS, interval  # noqa: E402
from motor_imagery import AMONG_LOWEST, rejects_both  # noqa: E402
from planted_truth import success  # noqa: E402
from records import Records  # noqa: E402
from search_budget import MARGIN  # noqa: E402

from cadda.searchers.methods import METHODS  # noqa: E402

BLOCK = re.compile(r"(?<=<!-- results: begin -->\n).*(?=<!-- results: end -->)", re.S)
DATA = {
    "sleep": (
        "DREAM sleep recordings, 4 stages, about 190 windows",
        "python benchmarks/benefit.py sleep --folder FOLDER [--repeat 1]",
    ),
    "simulated": (
        "simulated sleep, 5 stages, 350 windows",
        "python benchmarks/benefit.py simulated [--repeat 1]",
    ),
}
WORDS = {
    "none": "none",
    "uniform": "all operations, equally often",
    "adda": "ADDA",
    "cadda": "CADDA",
    "dada": "DADA",
    "faster_autoaugment": "Faster AutoAugment",
}
RACERS = ("cadda", "autoaugment", "random")
Record = dict[str, Any]


def main() -> None:
    """Put the block into README.md."""
    readme = ROOT / "README.md"
    readme.write_text(updated(readme.read_text(encoding="utf-8")), encoding="utf-8")


def updated(text: str) -> str:
    """Give a text with the block between the two marks."""
    block = "\n\n".join([benefit_table(), "\n".join([*truth_rates(), race_line()])])
    return BLOCK.sub(lambda _: f"\n{block}\n\n", text)


def benefit_table() -> str:
    """Tell how good models are on unseen subjects, by data and augmentation."""
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
            gain = "" if is_plain else gain_in_words(scores, plain)
            lines.append(f"| {first[0]} | {WORDS[condition]} | {mean} | {gain} | {first[1]} |")
    return "\n".join(lines)


def scores_by_fold(records: Iterable[Record], study: str, condition: str) -> dict[int, float]:
    """Collect the balanced accuracies of a condition."""
    return {
        one["fold"]: one["balanced_accuracy"]
        for one in records
        if (one["study"], one["condition"]) == (study, condition)
    }


def gain_in_words(scores: dict[int, float], plain: dict[int, float]) -> str:
    """Compare with no augmentation on the folds that both have."""
    folds = sorted(scores.keys() & plain.keys())
    if not folds:
        return ""
    gains = np.array([scores[fold] - plain[fold] for fold in folds])
    low, high = interval(gains)
    incomplete = f", {len(folds)} folds" if len(folds) < len(plain) else ""
    words = f"{gains.mean():+.3f} ({low:+.3f} to {high:+.3f}{incomplete})"
    return words.replace("-", "−")


def truth_rates() -> list[str]:
    """Tell how often searches with the default settings find what is known to be true."""
    planted = {method: default_records("planted_truth", method) for method in ("cadda", "adda")}
    verdicts = {
        method: [success(np.array(one["applied"])) for one in made]
        for method, made in planted.items()
    }
    n_epochs = planted["cadda"][0]["epochs"]
    motor = default_records("motor_imagery", "adda")
    n_operations = len(motor[0]["operations"])
    return [
        "- On windows in which the right augmentation was planted class by class (`python "
        f"benchmarks/planted_truth.py`, {n_epochs} epochs),\n  CADDA gives every planted "
        f"operation to its class in {rate(one['found'] for one in verdicts['cadda'])} seeds and "
        "withholds all that destroys a class in\n  "
        f"{rate(one['rejected'] for one in verdicts['cadda'])}; ADDA withholds what destroys any "
        f"class in {rate(one['rejected'] for one in verdicts['adda'])}.",
        "- On real motor imagery (`python benchmarks/motor_imagery.py --folder FOLDER`), where "
        "swapping the sides of the head\n  swaps the classes, ADDA ends with that and with a full "
        f"shuffle of the channels among the {AMONG_LOWEST} least used of\n  {n_operations} "
        f"operations in {rate(map(rejects_both, motor))} seeds.",
    ]


def default_records(name: str, method: str) -> list[Record]:
    """Take the results of a method with the default settings, those of the longest searches."""
    made = [
        one
        for one in Records(name).all()
        if (one["method"], one["variant"]) == (method, "defaults")
    ]
    most = max(one["epochs"] for one in made)
    return [one for one in made if one["epochs"] == most]


def rate(verdicts: Iterable[bool]) -> str:
    """Say how many of how many are true."""
    every = list(verdicts)
    return f"{sum(every)} of {len(every)}"


def race_line() -> str:
    """Tell after how much searching the planted truth was found by all seeds."""
    records = [
        one
        for one in Records("search_budget").all()
        if one["classwise"] and "n_operations" not in one
    ]
    words = [
        f"`{method}` {first_success([one for one in records if one['method'] == method])}"
        for method in RACERS
    ]
    return (
        "- Until all seeds have found what was planted class by class (`python "
        f"benchmarks/search_budget.py`):\n  {', '.join(words)}\n  "
        "([all methods](docs/trials.md#how-much-is-found-for-how-much))."
    )


def first_success(records: list[Record]) -> str:
    """Say after which budget and time all seeds had found the truth."""
    unit = "trials" if METHODS[records[0]["method"]].by_trials else "epochs"
    by_budget: dict[int, list[Record]] = {}
    for point in (point for one in records for point in one["points"]):
        by_budget.setdefault(point["budget"], []).append(point)
    for budget, points in sorted(by_budget.items()):
        found = [found_truth(point) for point in points]
        if all(found) and len(found) == len(records):
            seconds = np.median([point["seconds"] for point in points])
            return f"{budget} {unit} ({seconds:.0f} s)"
    last = rate(found_truth(point) for point in by_budget[max(by_budget)])
    return f"not within {max(by_budget)} {unit} ({last} seeds)"


def found_truth(point: Record) -> bool:
    """Say whether a policy of one stage gives what was planted to its classes."""
    return success(np.array(point["applied"]) + MARGIN, n_stages=1)["found"]


if __name__ == "__main__":
    main()
