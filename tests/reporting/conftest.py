"""Small runs to make reports of, and a browser to look at them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, sync_playwright
from races import made_up_race

from cadda import PolicySpec, Windows
from cadda.api.run import run_search, run_training
from cadda.runs.folder import RunFolder
from cadda.runs.report import write_report
from cadda.runs.sessions import recorded_session
from cadda.training import TrainingSettings

HOSTILE = "<script>alert(1)</script>"
QUOTED = "'\"><img src=x onerror=alert(1)>"
STAGES = ("W", "N1", "N2", "N3", "R")
CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


def make_windows(
    n_subjects: int = 9,
    *,
    ch_names: Sequence[str] = ("C3", "C4", "F3", "F4"),
    class_names: Sequence[str] = STAGES,
    prefix: str = "sub-",
    n_windows: int = 15,
    seconds: float = 2.0,
) -> Windows:
    """Oscillations that are faster from class to class, in noise."""
    generator = torch.Generator().manual_seed(0)
    total, n_times = n_subjects * n_windows, round(100 * seconds)
    y = torch.arange(total) % len(class_names)
    time = torch.arange(n_times) / 100
    phase = 6.28 * torch.rand(total, len(ch_names), 1, generator=generator)
    x = torch.sin(6.28 * (3 + 4 * y)[:, None, None] * time + phase)
    x = x + torch.randn(x.shape, generator=generator)
    subject = [f"{prefix}{i // n_windows}" for i in range(total)]
    return Windows(
        x, y, subject=subject, sfreq=100.0, ch_names=ch_names, class_names=class_names
    ).standardised()


def make_search(folder: Path, windows: Windows, method: str, **changes: Any) -> Path:
    """Search for a moment, and write the report."""
    by_gradient = method in ("adda", "cadda", "dada", "faster_autoaugment")
    arguments: dict[str, Any] = {
        "method": method,
        "model": "shallow",
        "budget": 2,
        "training": TrainingSettings(max_epochs=2),
        "seed": 0,
        "data": "night.npz",
        "on_event": lambda event: None,
    }
    if by_gradient:
        arguments["warmup_epochs"] = 0
    outer = {"valid": 0.2, "test": 0.3, "retrain_every": None, "baseline": True} | {
        key: changes.pop(key) for key in ("baseline", "test") if key in changes
    }
    with recorded_session(folder, f"cadda search night.npz --out {folder.name}"):
        run_search(windows, folder, **outer, **(arguments | changes))
    return write_report(folder).path


def make_training(folder: Path, windows: Windows, policy: PolicySpec | None) -> Path:
    """Train for a moment, and write the report."""
    with recorded_session(folder, f"cadda train night.npz --out {folder.name}"):
        run_training(
            windows,
            folder,
            settings=TrainingSettings(max_epochs=2),
            model="shallow",
            policy=policy,
            data="night.npz",
            device="cpu",
        )
    return write_report(folder).path


POLICY = "sign_flip p=0.5 > time_mask p=0.5 m=0.5"


def _hostile(folder: Path) -> Path:
    windows = make_windows(
        ch_names=[HOSTILE, QUOTED, "C3"],
        class_names=["a" * 60, HOSTILE, QUOTED],
        prefix=HOSTILE,
    )
    return make_search(folder, windows, "cadda", data=f"{QUOTED}.npz")


def _many_channels(folder: Path) -> Path:
    names = [f"{a}{i}" for a in ("AF", "F", "C", "CP", "P", "PO", "O", "T") for i in range(1, 9)]
    windows = make_windows(6, ch_names=names, class_names=["left", "right"], seconds=4)
    return make_search(folder, windows, "adda")


def _race(folder: Path) -> Path:
    make_search(folder, make_windows(4), "random", test=0.25)
    race = made_up_race()
    named = replace(race.candidates[0], name=HOSTILE, reason=QUOTED)
    replace(race, candidates=(named, *race.candidates[1:])).save(RunFolder(folder).race)
    return write_report(folder).path


def _short_race(folder: Path) -> Path:
    windows = make_windows(6, ch_names=["C3", "C4"], class_names=["a", "b"], n_windows=10)
    operations = ["sign_flip", "time_mask"]
    return make_search(folder, windows, "auto", budget=30, search_epochs=0, operations=operations)


MAKERS: dict[str, Callable[[Path], Path]] = {
    "class-wise": lambda folder: make_search(folder, make_windows(20), "cadda"),
    "trials": lambda folder: make_search(folder, make_windows(4), "random", test=0.25),
    "population": lambda folder: make_search(
        folder, make_windows(), "population", classwise=True, n_members=2, baseline=False
    ),
    "training": lambda folder: make_training(folder, make_windows(), PolicySpec.from_text(POLICY)),
    "plain training": lambda folder: make_training(folder, make_windows(), None),
    "race": _race,
    "short race": _short_race,
    "hostile": _hostile,
    "many channels": _many_channels,
}


@pytest.fixture(scope="session")
def report_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that makes the report of a small run, once."""
    made: dict[str, Path] = {}

    def find(name: str) -> Path:
        if name not in made:
            made[name] = MAKERS[name](tmp_path_factory.mktemp("runs") / "run")
        return made[name]

    return find


@pytest.fixture
def windows() -> Windows:
    """Give what the run "class-wise" was searched on."""
    return make_windows(20)


# Playwright keeps an event loop running in this thread, which tests of other modules may mind.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium on PATH to look at reports with")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()
