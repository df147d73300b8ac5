"""Absurd settings and names: refused before a folder is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_commands import tiny_windows

from cadda import Windows, fit, operation_pool, search
from cadda.data.io.preprocess import Preprocessing
from cadda.experiments.registry import find_study
from cadda.experiments.study import make_config


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": 1.5}, r"`budget` must be a whole number of at least 1, got 1\.5"),
        ({"budget": 10**9}, "`budget` must be at most 1000000"),
        ({"budget": True}, "`budget` must be a whole number"),
        ({"seed": 10**30}, "`seed` must be at most|`seed` must be a whole number"),
        ({"seed": 1.5}, "`seed` must be"),
        ({"n_stages": 10**9}, "`n_stages` must be at most 100"),
        ({"n_subpolicies": 10**9}, "`n_subpolicies` must be at most 10000"),
        ({"batch_size": 10**30}, "`batch_size` must be"),
        ({"max_seconds": float("nan")}, "`max_seconds` must be a finite number above 0"),
        ({"retrain_every": 0.5}, "`retrain_every` must be a whole number"),
        ({"trial_epochs": 10**9}, "`trial_epochs` must be"),
    ],
)
def test_searches(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    train, valid, _ = tiny_windows().split(seed=0)
    options: dict[str, Any] = {"method": "adda", "model": "shallow", "progress": False}
    options |= {"method": "autoaugment"} if "trial_epochs" in settings else {}
    with pytest.raises(ValueError, match=message):
        search(train, valid, **options, **settings, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 10**12}, "`batch_size` must be at most 1000000"),
        ({"max_epochs": 10**9}, "`max_epochs` must be at most 1000000"),
        ({"seed": 2**64}, "`seed` must be at most"),
        ({"lr": float("inf")}, "`lr` must be a finite number"),
    ],
)
def test_training(settings: dict[str, Any], message: str) -> None:
    train, valid, _ = tiny_windows().split(seed=0)
    with pytest.raises(ValueError, match=message):
        fit(train, valid, model="shallow", progress=False, **settings)


def test_studies() -> None:
    study = find_study("search-race")
    for name in ("n_subjects", "n_windows", "max_epochs", "batch_size", "n_folds", "seed"):
        with pytest.raises(ValueError, match=f"`{name}` must be"):
            make_config(study, "quick", {name: 10**30})


def _windows(**changes: Any) -> Windows:
    arguments: dict[str, Any] = {
        "y": [0, 1, 0, 1],
        "subject": ["a", "a", "b", "b"],
        "class_names": ["left", "right"],
        "ch_names": ["C3", "C4"],
    }
    return Windows(np.random.default_rng(0).standard_normal((4, 2, 9)), **arguments | changes)


@pytest.mark.parametrize("name", ["", "*", " a", "a ", "a\nb", "a\u202eb", "\x1b[31m", "\u2066"])
def test_names_of_classes(name: str) -> None:
    rule = "a class name is printable text without spaces around it, and not empty or '\\*'"
    with pytest.raises(ValueError, match=rule) as caught:
        _windows(class_names=["left", name])
    assert str(caught.value).isprintable()
    with pytest.raises(ValueError, match=rule):
        _windows(y=["left", name] * 2, class_names=None)


@pytest.mark.parametrize("argument", ["subject", "recording", "ch_names"])
@pytest.mark.parametrize("name", ["a\nb", "a\u202eb", "\x1b[31m", "a\u2028"])
def test_other_names(argument: str, name: str) -> None:
    values = ["b", name] if argument == "ch_names" else ["b", "b", name, name]
    message = f"`{argument}` must have no line breaks, control characters or marks of direction"
    with pytest.raises(ValueError, match=message) as caught:
        _windows(**{argument: values})
    assert str(caught.value).isprintable()


def test_names_in_other_scripts_are_fine() -> None:
    windows = _windows(class_names=["שמאל", "右手"], subject=["λ", "λ", "Ж 1", "Ж 1"])
    assert windows.class_names == ("שמאל", "右手")


@pytest.mark.parametrize("sfreq", [1e308, 1e-300, 1e7])
def test_sampling_rates(sfreq: float) -> None:
    message = r"`sfreq` must be from 0\.001 to 1e\+06 Hz"
    with pytest.raises(ValueError, match=message):
        _windows(sfreq=sfreq)
    with pytest.raises(ValueError, match=message):
        operation_pool(sfreq=sfreq, ch_names=["C3", "C4"])
    with pytest.raises(ValueError, match=message):
        Preprocessing(sfreq=sfreq)
