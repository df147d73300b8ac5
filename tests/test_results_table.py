"""The results in README.md and docs/results.md are those in the files of the benchmarks."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
DOCS = [path.stem for path in (ROOT / "docs").glob("*.py")]
BENCHMARKS = [f"benchmarks.{path.stem}" for path in (ROOT / "benchmarks").glob("*.py")]


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    monkeypatch.syspath_prepend(ROOT)
    yield importlib.import_module("results_table")
    for name in (*DOCS, *BENCHMARKS):
        sys.modules.pop(name, None)


@pytest.fixture
def results(table: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys.modules["benchmarks.records"], "RESULTS", tmp_path)
    return tmp_path


def write(folder: Path, name: str, records: list[dict]) -> None:
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder / f"{name}.jsonl").write_text(text)


def test_files_are_up_to_date(table: ModuleType) -> None:
    for path in table.BLOCKS:
        text = path.read_text(encoding="utf-8")
        assert table.updated(path) == text, f"run `make readme` for {path.name}"


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_gains_are_paired_by_fold(table: ModuleType, results: Path) -> None:
    def record(condition: str, fold: int, accuracy: float) -> dict:
        return {
            "study": "sleep",
            "condition": condition,
            "fold": fold,
            "balanced_accuracy": accuracy,
        }

    write(
        results,
        "benefit",
        [
            record("none", 0, 0.4),
            record("none", 1, 0.6),
            record("adda", 1, 0.5),
            record("adda", 0, 0.3),
            record("dada", 1, 0.8),
            record("adda, smoothing 2", 0, 0.9),
        ],
    )
    rows = [line.split(" | ") for line in table.benefit_table().splitlines()[2:]]
    assert [row[1] for row in rows] == ["none", "ADDA", "DADA"]
    assert [row[2] for row in rows] == ["0.500", "0.400", "0.800"]
    assert [row[3] for row in rows] == [
        "",
        "−0.100 (−0.100 to −0.100)",
        "+0.200 (+0.200 to +0.200, 1 folds)",
    ]


def test_budgets_count_from_where_all_seeds_have_found(table: ModuleType) -> None:
    start = [0.08] * 6
    right = [[0.5, *start[1:]], start, start, [0.08, 0.5, *start[2:]]]
    wrong = [start] * 4

    def searched(*policies: list) -> dict:
        points = [
            {"budget": 2**i, "seconds": 10 * (i + 1), "applied": policy}
            for i, policy in enumerate(policies)
        ]
        return {"method": "autoaugment", "points": points}

    found = table.first_success([searched(wrong, right), searched(right, right)])
    assert found == "2 trials (20 s)"
    missed = table.first_success([searched(wrong, wrong), searched(right, right)])
    assert missed == "not within 2 trials (1 of 2 seeds)"


def test_gains_by_label_maps_are_bold_if_significant_after_holm(
    table: ModuleType, results: Path
) -> None:
    def record(condition: str, size: int, draw: int, accuracy: float) -> dict:
        key = {"study": "mnist", "condition": condition, "size": size, "draw": draw}
        return key | {"balanced_accuracy": accuracy, "valid_loss": 1.0}

    records = [record("none", size, draw, 0.5) for size in (5, 10) for draw in range(3)]
    records += [record("mapped", 5, draw, 0.6 + draw / 1000) for draw in range(3)]
    records += [record("mapped", 10, draw, 0.4 + draw / 10) for draw in range(3)]
    write(results, "equivariance", records)
    shown = table.accuracy_table("mnist", ["none", "twice", "mapped"])
    accuracy = [line.split(" | ") for line in shown.splitlines()[2:]]
    assert [row[:3] for row in accuracy] == [
        ["| no augmentation", "0.500", "0.500"],
        ["| rotation by 180°, 6 ↔ 9", "0.601", "0.500"],
    ]
    (gains,) = table.gain_table("mnist").splitlines()[2:]
    # Three draws: t = 4.303 with two degrees of freedom, error² = s² (1/3 + 1/2).
    half = 4.3027 * 0.1 * (1 / 3 + 1 / 2) ** 0.5
    assert gains.split(" | ")[:4] == [
        "| rotation by 180°, 6 ↔ 9",
        "no augmentation",
        "**+0.101 (+0.097 to +0.105), 3 of 3**",
        f"+0.000 (−{half:.3f} to +{half:.3f}), 1 of 3",
    ]


def panel_record(condition: str, draw: int, rotation: int, accuracy: float, **values) -> dict:
    key = {"job": "training", "set": "motor-imagery", "n_usable": 6, "draw": 20 + draw}
    times = {"seconds": 1.0, "processor_seconds": 1.0}
    made = {"condition": condition, "rotation": rotation, "balanced_accuracy": accuracy}
    return key | made | times | values


def test_the_panel_shows_what_there_is(table: ModuleType, results: Path) -> None:
    panel = sys.modules["panel_results"]
    empty = [panel.panel_overview(), panel.gains_over_none(), panel.auto_gains(), panel.coverage()]
    assert empty == [panel.NO_RESULTS] * 4
    accuracies = {"none": 0.5, "guided": 0.6, "auto": 0.61}
    records = [
        panel_record(condition, draw, rotation, accuracy + 0.01 * draw * (condition == "auto"))
        for condition, accuracy in accuracies.items()
        for draw in range(3)
        for rotation in range(6)
    ]
    race = {"low": 0.05, "high": 0.115, "is_held_out": True, "true_condition": "auto"}
    records += [
        panel_record("auto", draw, 0, 0, job="search", is_none=False, race=race)
        | {"rotation": None}
        for draw in range(3)
    ]
    write(results, "panel", records)
    overview = panel.panel_overview().splitlines()
    assert overview[2:] == [
        "| data | subjects | none | guided | auto |",
        "|---|---|---|---|---|",
        "| imagined fists | 6 | 0.500 | **+0.100** | **+0.120** |",
        "",
        # Of gains of 0.11, 0.12 and 0.13, the intervals hold the first.
        "`auto` claims a gain in 3 of 3 searches, true on the test subjects in 3 of 3, and "
        "answers `none` in the others. Its 90 % intervals hold the gain in 1 of 3. On permuted "
        "labels it claims a gain in 0 of 0.",
    ]
    # Three draws: t = 4.303 with two degrees of freedom, error² = s² / 3.
    half = 4.3027 * 0.01 / 3**0.5
    (auto,) = panel.auto_gains().splitlines()[2:]
    assert auto.split(" | ")[1:] == [
        "0 of 3",
        f"**+0.120 (+{0.12 - half:.3f} to +{0.12 + half:.3f}), 3 of 3**",
        f"+0.020 (−{half - 0.02:.3f} to +{0.02 + half:.3f}), 3 of 3 |",
    ]
    coverage = panel.coverage().splitlines()[2:]
    assert [line.split(" | ")[1] for line in coverage] == ["1 of 3", "1 of 3", "1 of 3"]


def test_the_picture_of_the_panel_has_a_band_for_each_row(table: ModuleType) -> None:
    picture, panel_table = (
        importlib.import_module("panel_picture"),
        sys.modules["benchmarks.panel_table"],
    )
    scores = {condition: {} for condition in panel_table.TITLES}
    scores |= {"none": {0: 0.5, 1: 0.6}, "auto": {0: 0.6, 1: 0.8}, "adda": {1: 0.9}}
    rows = [panel_table.Row("sleep", 18, scores), panel_table.Row("arithmetic", 12, scores)]
    (axes,) = picture.plot_panel(rows).axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [
        "DREAM sleep, 18 subjects\nnone: 0.550, 2 draws",
        "mental arithmetic or rest, 12 subjects\nnone: 0.550, 2 draws",
    ]
    means = [container.lines[0].get_xdata()[0] for container in axes.containers]
    assert means == pytest.approx([0.15, 0.15])  # ADDA has a single draw
