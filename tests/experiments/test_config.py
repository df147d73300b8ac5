"""Settings of studies: every scale is valid, and what is wrong is said in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from cadda.exceptions import CaddaError
from cadda.experiments.registry import STUDIES, find_study
from cadda.experiments.study import SCALES, make_config, read_toml, to_toml


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", STUDIES)
def test_every_scale_is_valid_and_can_be_written_and_read(
    name: str, scale: str, tmp_path: Path
) -> None:
    study = find_study(name)
    config = make_config(study, scale, {})
    file = tmp_path / "config.toml"
    file.write_text(to_toml(config))
    assert make_config(study, "quick", read_toml(file)) == config


@pytest.mark.parametrize("name", STUDIES)
def test_every_setting_says_what_it_is(name: str) -> None:
    for field in find_study(name).config_type.model_fields.values():
        assert field.description


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"classname": "N3"},
            r"`classname` is not a setting of this study \(did you mean `class_name`\?\)",
        ),
        ({"min_windows": 0}, r"`min_windows` must be at least 1, got 0"),
        ({"min_windows": "many"}, r"`min_windows` must be a valid integer, got 'many'"),
        ({"peak_band": 8}, r"`peak_band` must be two numbers with a comma between, got 8"),
        ({"subjects": "a"}, r"`subjects` must have at least 2 items, not 1, got 'a'"),
    ],
)
def test_mistakes(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_config(find_study("frequency-shift"), "quick", changes)


@pytest.mark.parametrize(
    ("study", "name", "given", "expected"),
    [
        ("frequency-shift", "subjects", "a, b", ("a", "b")),
        ("frequency-shift", "peak_band", "8,13", (8.0, 13.0)),
        ("search-race", "stops", "1,2.5", (1.0, 2.5)),
        ("search-race", "stops", 5, (5.0,)),
        ("mnist", "trials", "16,64", (16, 64)),
        ("data-regime", "nights", [2, 4], (2, 4)),
    ],
)
def test_lists_may_be_given_with_commas(
    study: str, name: str, given: object, expected: tuple[object, ...]
) -> None:
    assert getattr(make_config(find_study(study), "quick", {name: given}), name) == expected


def test_other_scales_and_studies() -> None:
    with pytest.raises(ValueError, match="`scale` must be one of quick, cpu, paper, got 'big'"):
        make_config(find_study("frequency-shift"), "big", {})
    with pytest.raises(ValueError, match=r"unknown study 'frequency_shift' \(did you mean `freq"):
        find_study("frequency_shift")


def test_files_that_are_not_toml(tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    file.write_text("n_folds = = 3")
    with pytest.raises(CaddaError, match=r"broken.toml cannot be read as TOML: Invalid value"):
        read_toml(file)
    with pytest.raises(CaddaError, match=r"none.toml cannot be read: No such file"):
        read_toml(tmp_path / "none.toml")


def test_the_word_none_is_none_in_optional_settings() -> None:
    config = make_config(find_study("manual"), "cpu", {"n_train": "none", "model": "none"})
    assert config.n_train is None
    assert config.model == "none"
