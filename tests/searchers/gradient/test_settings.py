"""Settings of the methods as users give them: read by their types, or refused in a sentence."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from cadda.searchers.registry import METHODS


def complete(method: str, **options: Any) -> dict[str, Any]:
    return asdict(METHODS[method].resolve_settings(options))


@pytest.mark.parametrize(
    ("method", "name", "value", "rule"),
    [
        ("cadda", "batch_size", "abc", "must be a valid integer, got 'abc'."),
        ("cadda", "batch_size", 0, "must be at least 1, got 0."),
        ("cadda", "batch_size", True, "must be a number, got True."),
        ("cadda", "valid_batch_size", "few", "must be a valid integer, got 'few'."),
        ("cadda", "policy_lr", "fast", "must be a valid number, got 'fast'."),
        ("cadda", "policy_lr", "nan", "must be a finite number, got 'nan'."),
        ("cadda", "n_subpolicies", "two", "must be a valid integer, got 'two'."),
        ("cadda", "betas", 0.5, "must be two numbers with a comma between, got 0.5."),
        ("cadda", "betas", "0.9", "must be two numbers with a comma between, got '0.9'."),
        ("cadda", "betas", "0.9,1", "must be two numbers in [0, 1), got '0.9,1'."),
        ("cadda", "paired", "maybe", "must be true or false, got 'maybe'."),
        ("cadda", "warmup_epochs", 2.5, "must be a valid integer, got 2.5."),
        ("cadda", "gate_temperature", 0, "must be above 0, got 0."),
        ("dada", "estimator", "best", "must be 'relax' or 'straight-through', got 'best'."),
        ("faster_autoaugment", "critic_steps", "x", "must be a valid integer, got 'x'."),
        ("faster_autoaugment", "penalty", "inf", "must be a finite number, got 'inf'."),
        ("faster_autoaugment", "n_stages", 0, "must be at least 1, got 0."),
        ("faster_autoaugment", "choice_temperature", -1, "must be above 0, got -1"),
        ("autoaugment", "multivariate", 2, "must be true or false, got 2."),
        ("autoaugment", "storage", 5, "must be a valid string, got 5."),
        ("fast_autoaugment", "n_folds", [3], "must be a valid integer, got [3]."),
        ("population", "n_members", "all", "must be a valid integer, got 'all'."),
    ],
)
def test_wrong_values_are_refused(method: str, name: str, value: object, rule: str) -> None:
    with pytest.raises(ValueError, match=r"^`") as caught:
        complete(method, **{name: value})
    assert str(caught.value).startswith(f"`{name}` {rule}")


@pytest.mark.parametrize("method", METHODS)
def test_no_setting_takes_what_it_is_not(method: str) -> None:
    own = {*METHODS[method].setting_names}
    for name in own - {"seed"}:
        with pytest.raises(ValueError, match=f"^`{name}` must be .*, got "):
            complete(method, **{name: ["neither", "nor"]})


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("betas", "0.9, 0.99", (0.9, 0.99)),
        ("betas", [0.5, 0.9], (0.5, 0.9)),
        ("valid_batch_size", "none", None),
        ("valid_batch_size", np.int64(8), 8),
        ("batch_size", "8", 8),
        ("warmup_epochs", 2.0, 2),
        ("policy_lr", 1, 1.0),
        ("paired", "no", False),
    ],
)
def test_values_are_read_as_what_they_mean(name: str, value: object, read: object) -> None:
    setting = complete("cadda", **{name: value})[name]
    assert setting == read
    assert type(setting) is type(read)
