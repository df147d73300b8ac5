"""Phrases that messages share."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from cadda._internal.text import by_number, did_you_mean, list_names, short_reason
from cadda.experiments.registry import find_study


def test_suggestions() -> None:
    assert did_you_mean("Time_Maks", ["time_mask", "sign_flip"]) == " (did you mean `time_mask`?)"
    assert did_you_mean("xyz", ["time_mask"]) == ""


def test_suggestions_for_names_of_markers() -> None:
    """Spaces and the first part of a name count less than its number."""
    markers = ["Stimulus/S 12", "Stimulus/S  1", "Response/S 12"]
    assert did_you_mean("Stimulus/S 1", markers) == " (did you mean `Stimulus/S  1`?)"
    assert did_you_mean("S 1", markers) == " (did you mean `Stimulus/S  1`?)"
    assert did_you_mean("s  12", markers[:2]) == " (did you mean `Stimulus/S 12`?)"
    assert did_you_mean("S 12", markers, cutoff=0.9) == ""


def test_numbers_are_sorted_as_numbers() -> None:
    texts = ["b", "12", "4", "-1.5", "8", "a", "nan", "4.0"]
    assert sorted(texts, key=by_number) == ["-1.5", "4", "4.0", "8", "12", "a", "b", "nan"]


def test_long_lists_say_what_they_leave_out() -> None:
    assert list_names(["Cz", "Pz"], 2) == "'Cz', 'Pz'"
    assert list_names(["Cz", "Pz", "Oz"], 2) == "'Cz', 'Pz' and 1 more"


def test_reasons_are_on_one_line() -> None:
    assert short_reason(PermissionError(13, "Permission denied", "a.json")) == "Permission denied"
    assert short_reason(ValueError("first\n  second.")) == "first second"
    assert short_reason(KeyError()) == "KeyError"


def test_reason_of_a_validation_error() -> None:
    class Point(BaseModel):
        x: int

    with pytest.raises(ValidationError) as caught:
        Point.model_validate({"x": "left"})
    assert short_reason(caught.value) == "`x` must be a valid integer, got 'left'"


def test_settings_of_a_study_are_validated_when_constructed() -> None:
    config_type = find_study("manual").config_type
    with pytest.raises(ValueError, match=r"^`seed` must be at least 0, got -1\.$"):
        config_type(seed=-1)
    with pytest.raises(ValueError, match=r"`sed` is not a setting of this study .*`seed`"):
        config_type(sed=1)
