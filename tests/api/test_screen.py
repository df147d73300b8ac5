"""What users meet of screening: mistakes, words, files and the picture."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
import torch
from torch import nn

from cadda import Screening, Windows, screen
from cadda.exceptions import DataError
from cadda.reporting.figures.screening import plot_screening
from cadda.reporting.records import ScreeningRow


def windows(n: int, who: str, *, n_subjects: int = 3) -> Windows:
    g = torch.Generator().manual_seed(n)
    return Windows(
        torch.randn(n, 1, 60, generator=g),
        torch.arange(n) % 3,
        subject=[f"{who}{i // 3 % n_subjects}" for i in range(n)],
        sfreq=100.0,
        ch_names=["Cz"],
        class_names=["A", "B", "C"],
    )


def network(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(n_channels * n_times, n_classes))


def quick(train: Windows, valid: Windows, **changes: object) -> Screening:
    settings = {
        "n_rounds": 6, "n_epochs": 2, "max_warmup": 3, "min_accuracy": 0.0, "magnitudes": (0.5, 1),
    }  # fmt: skip
    return screen(train, valid, model=network, **settings | changes)


@pytest.fixture(scope="module")
def found() -> Screening:
    operations = ["sign_flip", "time_reverse", "frequency_shift"]
    return quick(windows(60, "a"), windows(30, "b"), operations=operations)


def test_the_table_is_complete(found: Screening) -> None:
    cells = [(row.operation, row.class_name, row.magnitude) for row in found.table]
    assert len(set(cells)) == len(cells) == 5 * 4 + 1 * 4 * 2
    assert found.class_names == ("A", "B", "C")
    assert found.independent == ("60 windows", "30 windows")
    assert found.settings["n_rounds"] == 6


@pytest.mark.parametrize(
    ("by", "n_subjects", "expected"),
    [
        ("auto", 7, ("60 windows", "30 windows")),
        ("auto", 8, ("8 subjects", "8 subjects")),
        ("subject", 2, ("2 subjects", "2 subjects")),
        ("window", 8, ("60 windows", "30 windows")),
    ],
)
def test_what_counts_as_independent(by: str, n_subjects: int, expected: tuple[str, str]) -> None:
    parts = (windows(n, who, n_subjects=n_subjects) for n, who in ((60, "a"), (30, "b")))
    assert quick(*parts, operations=["sign_flip"], by=by).independent == expected


def test_saved_and_read_again(found: Screening, tmp_path: Path) -> None:
    row = dataclasses.replace(found.table[0], standard_error=math.nan)
    kept = dataclasses.replace(found, table=(row, *found.table[1:]))
    kept.save(tmp_path / "screening.json")
    read = Screening.load(tmp_path / "screening.json")
    assert math.isnan(read.table[0].standard_error)
    assert read.table[1:] == kept.table[1:]
    assert (read.independent, read.accuracy) == (kept.independent, kept.accuracy)
    assert read.left_out == kept.left_out
    assert read.settings["n_rounds"] == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "is not the result of a screening"),
        ('{"format": "cadda-screening", "version": 7}', "is of version 7"),
        ('{"format": "cadda-screening", "version": 1}', "is incomplete"),
        ('{"format": "cadda-screening", "version": 1, "table": [{}]}', "is incomplete"),
    ],
)
def test_other_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "screening.json"
    file.write_text(text)
    with pytest.raises(DataError, match=message):
        Screening.load(file)


def row_of(operation: str, class_name: str, verdict: str, **more: object) -> ScreeningRow:
    row = ScreeningRow(operation, None, class_name, 0.1, 0.01, 9, 0.5, verdict)
    return dataclasses.replace(row, **more)


def test_summary() -> None:
    verdicts = {"sign_flip": "helps", "mask": "helps", "shift": "hurts", "drop": "undecided"}
    rows = [row_of(name, "*", value) for name, value in verdicts.items()]
    rows += [row_of("sign_flip", "N2", "helps"), row_of("drop", "N2", "hurts")]
    screening = Screening(tuple(rows), ("9 subjects", "9 subjects"), 0.9, {}, {})
    assert screening.summary() == (
        "sign_flip and mask help; shift hurts; 1 is undecided. Beyond that, hurts in N2: drop."
    )


@pytest.mark.parametrize(
    ("independent", "these_only"),
    [
        (("9 subjects", "8 subjects"), False),
        (("9 subjects", "40 windows"), True),
        (("90 windows", "40 windows"), True),
    ],
)
def test_explanation(independent: tuple[str, str], *, these_only: bool) -> None:
    said = Screening((), independent, 0.9, {}, {}).explanation()
    for word in ("unchanged windows", "controls", "random labels", "number of operations"):
        assert word in said
    assert ("fewer than 8" in said) == these_only
    assert said.endswith("verdicts hold for these subjects only.") == these_only


def test_picture(found: Screening) -> None:
    table = [
        dataclasses.replace(row, verdict="helps") if row.operation == "sign_flip" else row
        for row in found.table
    ]
    figure = plot_screening(table)
    words = {text.get_text() for text in figure.findobj(match=lambda a: hasattr(a, "get_text"))}
    assert {"all", "A", "sign flip", "white noise"} <= words
    assert any(word.startswith("▲") for word in words)
    caption = " ".join(next(word for word in words if word.startswith("Colour:")).split())
    assert "1 is the typical size of that of a single destroyed window" in caption
    assert "after correction for the number of operations" in caption
    assert any(word.startswith("frequency shift\n1: shift < 5 Hz") for word in words)


def test_picture_without_magnitudes_or_standard_errors() -> None:
    rows = [row_of("sign_flip", "*", "undecided"), row_of("noise", "*", "control", reward=0.0)]
    rows = [
        dataclasses.replace(row, standard_error=e)
        for row, e in zip(rows, (math.nan, 0.0), strict=True)
    ]
    assert len(plot_screening(rows).axes) == 2


def test_a_model_that_does_not_overfit_is_mentioned() -> None:
    with pytest.warns(UserWarning, match="less than `min_accuracy`=101%"):
        quick(windows(60, "a"), windows(30, "b"), operations=["sign_flip"], min_accuracy=1.01)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_epochs": "many"}, ValueError, "`n_epochs` must be a valid integer, got 'many'"),
        ({"n_round": 3}, TypeError, "`n_round` is not a setting .did you mean `n_rounds`"),
        ({"n_rounds": 1, "windows_per_round": 3}, ValueError, "`n_rounds` must be at least"),
        ({"magnitudes": (0.0, 1.0)}, ValueError, r"`magnitudes\[0\]` must be above 0, got 0.0"),
        ({"lr": 0.0}, ValueError, "`lr` must be above 0"),
        ({"level": 0.0}, ValueError, "`level` must be between 0 and 1, got 0.0"),
        ({"by": "night"}, ValueError, "`by` must be 'auto', 'subject' or 'window'"),
        ({"operations": "sign_flip"}, TypeError, "`operations` must be a list of names"),
        ({"operations": ["sing_flip"]}, ValueError, "did you mean `sign_flip`"),
    ],
)
def test_mistakes(arguments: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        quick(windows(60, "a"), windows(30, "b"), **arguments)


def test_a_class_that_validation_lacks() -> None:
    valid = windows(30, "b")
    with pytest.raises(ValueError, match="but has none of 'C'"):
        quick(windows(60, "a"), valid[valid.y < 2])
