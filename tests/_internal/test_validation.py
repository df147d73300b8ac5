"""Settings are validated however they are made, and what is wrong is one sentence."""

from __future__ import annotations

import pickle
from dataclasses import asdict, replace
from typing import Literal

import pytest
from pydantic import BaseModel, ValidationError

from cadda._internal.text import describe_error
from cadda._internal.validation import Betas, Count, NonNegative, Positive, validated_dataclass
from cadda.training.settings import TrainingSettings


@validated_dataclass
class Example:
    n_steps: Count = 3
    limit: Count | None = None
    lr: Positive = 0.1
    decay: NonNegative = 0.0
    betas: Betas = (0.9, 0.999)
    mode: Literal["fast", "exact"] = "fast"
    averaged: bool = True


def test_values_may_be_text() -> None:
    made = Example("5", limit="none", lr="1e-3", betas="0.5, 0.9", averaged="no")
    assert made == Example(5, None, 1e-3, 0.0, (0.5, 0.9), "fast", averaged=False)
    assert asdict(pickle.loads(pickle.dumps(made))) == asdict(made)  # noqa: S301


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("n_steps", "many", "must be a valid integer, got 'many'"),
        ("n_steps", 0, "must be at least 1, got 0"),
        ("n_steps", True, "must be a number, got True"),
        ("limit", 0, "must be at least 1"),
        ("lr", 0, "must be above 0"),
        ("lr", "inf", "must be a finite number"),
        ("decay", -1, "must be at least 0"),
        ("betas", (0.9, 1), "must be two numbers in [0, 1)"),
        ("betas", 0.9, "must be two numbers with a comma between"),
        ("mode", "slow", "must be 'fast' or 'exact', got 'slow'"),
        ("averaged", "maybe", "must be true or false"),
    ],
)
def test_wrong_values(name: str, value: object, rule: str) -> None:
    with pytest.raises(ValueError, match=rf"^`{name}` must .*, got [^\n]*\.$") as caught:
        Example(**{name: value})
    assert rule in str(caught.value)
    with pytest.raises(ValueError, match=f"`{name}`"):
        replace(Example(), **{name: value})


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(TypeError, match=r"`n_step` is not a setting \(did you mean `n_steps`\?\)"):
        Example(n_step=3)
    with pytest.raises(TypeError, match=r"`xyz` is not a setting; there are n_steps, limit"):
        Example(xyz=3)


def test_positional_arguments() -> None:
    assert Example(5, 7).limit == 7
    with pytest.raises(TypeError, match="Example takes at most 7 arguments, got 8"):
        Example(*[1] * 8)
    with pytest.raises(TypeError, match="two values for `n_steps`"):
        Example(5, n_steps=6)


def test_settings_of_training_are_such_settings() -> None:
    with pytest.raises(ValueError, match=r"^`max_epochs` must be a valid integer, got 'x'\.$"):
        TrainingSettings(max_epochs="x")


def test_place_and_number_of_problems() -> None:
    class Inner(BaseModel):
        a: int
        b: int

    class Outer(BaseModel):
        parts: list[Inner]

    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"parts": [{"a": 1, "b": 2}, {"a": "x"}]})
    assert describe_error(caught.value) == (
        "`parts[1].a` must be a valid integer, got 'x' (1 more problem)"
    )
