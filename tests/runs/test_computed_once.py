"""A command computes pools, digests and models once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from cadda import PolicySpec, Windows, simulate_sleep
from cadda.api import prepare
from cadda.api.run import run_search, run_training
from cadda.training import Samples, TrainingSettings

SETTINGS = TrainingSettings(max_epochs=1)


@pytest.fixture(scope="module")
def windows() -> Windows:
    return simulate_sleep(n_subjects=5, n_windows=20)


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], list[str]]:
    def counted(module: Any, name: str) -> list[str]:
        original, calls = getattr(module, name), []

        def call(*arguments: Any, **options: Any) -> Any:
            calls.append(name)
            return original(*arguments, **options)

        monkeypatch.setattr(module, name, call)
        return calls

    return counted


@pytest.fixture
def digests(monkeypatch: pytest.MonkeyPatch) -> list[Samples]:
    """Windows whose digest is computed."""
    calls = []
    original = vars(Samples)["digest"].func

    def digest(samples: Samples) -> str:
        calls.append(samples)
        return original(samples)

    counted = cached_property(digest)
    counted.__set_name__(Samples, "digest")
    monkeypatch.setattr(Samples, "digest", counted)
    return calls


@pytest.mark.parametrize("text", [None, "sign_flip p=0.5"])
def test_training_run(
    text: str | None,
    windows: Windows,
    count: Callable[[Any, str], list[str]],
    digests: list[Samples],
    tmp_path: Path,
) -> None:
    policy = None if text is None else PolicySpec.from_text(text)
    pools, models = count(prepare, "eeg_pool"), count(prepare, "make_model")
    run_training(
        windows, tmp_path, settings=SETTINGS, model="shallow", policy=policy, device="cpu"
    )
    assert len(pools) == 1
    assert len(models) == 1
    assert len(digests) == 3


def test_search_run(
    windows: Windows,
    count: Callable[[Any, str], list[str]],
    digests: list[Samples],
    tmp_path: Path,
) -> None:
    pools = count(prepare, "eeg_pool")
    run_search(
        windows,
        tmp_path,
        method="adda",
        model="shallow",
        budget=1,
        warmup_epochs=0,
        training=SETTINGS,
        device="cpu",
    )
    assert len(pools) == 1
    assert len(digests) == 3
