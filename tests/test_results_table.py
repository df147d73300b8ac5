"""The results in README.md and docs/results.md are those in the files of the benchmarks."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = [path.stem for path in (ROOT / "benchmarks").glob("*.py")]


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    yield importlib.import_module("results_table")
    for name in ("results_table", *BENCHMARKS):
        sys.modules.pop(name, None)


@pytest.fixture
def results(table: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys.modules["records"], "RESULTS", tmp_path)
    return tmp_path


def write(folder: Path, name: str, records: list[dict]) -> None:
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder / f"{name}.jsonl").write_text(text)


def test_files_are_up_to_date(table: ModuleType) -> None:
    for path, write in table.BLOCKS.items():
        text = path.read_text(encoding="utf-8")
        assert table.BLOCK.search(text), path
        assert table.updated(text, write()) == text, f"run `make readme` for {path.name}"


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
