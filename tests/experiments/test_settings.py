"""Settings of studies: every scale is valid, and what is wrong is said in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from cadda.exceptions import CaddaError
from cadda.experiments.registry import STUDIES, find_study
from cadda.experiments.settings import SCALES, make_config, read_toml, to_toml


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
            r"unknown setting `classname` \(did you mean `class_name`\?\); this study has seed, ",
        ),
        ({"min_windows": 0}, r"`min_windows` must be greater than or equal to 1, got 0; change"),
        ({"min_windows": "many"}, r"`min_windows` must be a valid integer, got 'many'"),
        ({"subjects": "a"}, r"`subjects` must have at least 2 items, not 1, got 'a'; change it"),
    ],
)
def test_mistakes(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_config(find_study("frequency-shift"), "quick", changes)


def test_names_may_be_given_with_commas() -> None:
    config = make_config(find_study("frequency-shift"), "quick", {"subjects": "a, b"})
    assert config.subjects == ("a", "b")


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
    with pytest.raises(CaddaError, match=r"none.toml cannot be read as TOML: No such file"):
        read_toml(tmp_path / "none.toml")


def test_none_can_be_said_in_words_where_it_is_meant() -> None:
    config = make_config(find_study("manual"), "cpu", {"n_train": "none", "model": "none"})
    assert config.n_train is None
    assert config.model == "none"
