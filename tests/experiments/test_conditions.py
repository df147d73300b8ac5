"""What is compared: methods, policy files, and every window twice."""

from __future__ import annotations

import pytest

import cadda
from cadda.experiments import conditions
from cadda.experiments.conditions import SearchLimits, apply_condition, parse_policy, read_content
from cadda.experiments.studies.compare import Compare, CompareConfig
from cadda.policies.schedule import PolicySchedule, Segment
from cadda.searchers.race.candidates import Level

CONFIG = CompareConfig(model="shallow", max_epochs=1, n_folds=3)


@pytest.fixture(scope="module")
def windows():
    return cadda.simulate_motor_imagery(n_subjects=6, n_windows=8, seed=0)


def treat(name, windows, *, content=None, seconds=None):
    config = CompareConfig(**CONFIG.model_dump() | {"methods": (name,)})
    study = Compare()
    job = study.jobs(config, windows)[-1]
    fold = study.fold(config, windows, job)
    limits = SearchLimits(("sign_flip", "time_reverse"), seconds)
    return fold, apply_condition(name, job.policy, config, fold, limits)


def test_no_augmentation_and_every_window_twice(windows):
    fold, plain = treat("none", windows)
    assert (plain.fold, plain.policy, plain.level) == (fold, None, Level.NONE)
    fold, twice = treat("duplicates", windows)
    assert len(twice.fold.train) == 2 * len(fold.train)
    assert twice.fold.valid is fold.valid
    assert (twice.policy, twice.level, twice.n_steps) == (None, Level.DUPLICATES, None)


@pytest.mark.parametrize(
    ("text", "level", "n_entries"),
    [
        ("none", Level.NONE, 0),
        ("time_reverse p=0.5", Level.SINGLE, 1),
        ("time_reverse p=0.5 | sign_flip p=0.5", Level.CHAIN, 2),
        ("time_reverse p=0.5 > sign_flip p=0.5", Level.CHAIN, 2),
        (
            "[left_fist]\ntime_reverse p=0.5\n[right_fist]\nnone",
            Level.CLASSWISE,
            1,
        ),
    ],
)
def test_a_policy_by_file(windows, tmp_path, text, level, n_entries):
    file = tmp_path / "policy.txt"
    file.write_text(text)
    _, treatment = treat(str(file), windows)
    assert treatment.policy == cadda.PolicySpec.from_text(text)
    assert (treatment.level, treatment.n_entries, treatment.n_steps) == (level, n_entries, None)


def test_a_schedule_by_file_is_as_complex_as_its_most_complex_policy(tmp_path):
    single, chain = (
        cadda.PolicySpec.from_text(text)
        for text in ("sign_flip p=1", "sign_flip p=1 > time_reverse p=1")
    )
    schedule = PolicySchedule((Segment(2, chain), Segment(1, single)))
    schedule.save(tmp_path / "schedule.json")
    content = read_content(str(tmp_path / "schedule.json"), ())
    assert parse_policy(content) == schedule
    assert conditions._with_policy(None, schedule).level == Level.CHAIN


def test_a_search_sees_the_subjects_of_training_and_validation_only(windows, monkeypatch):
    calls = []

    def searched(train, valid, **settings):
        calls.append((set(train.subjects) | set(valid.subjects), settings))
        return cadda.search(train, valid, **settings)

    monkeypatch.setattr(conditions, "search", searched)
    fold, treatment = treat("trivial", windows)
    ((seen, settings),) = calls
    assert seen == set(windows.subjects) - set(fold.test.subjects)
    assert (settings["budget"], settings["max_seconds"]) == (None, None)
    assert settings["training"].seed == fold.seed
    assert treatment.policy.operations_used == ("time_reverse", "sign_flip")
    assert (treatment.level, treatment.n_steps) == (Level.CHAIN, 1)


def test_a_search_by_time_goes_on_until_it_is_over():
    # With fewer windows, the model of the search would be worse than chance, which ends it.
    windows = cadda.simulate_motor_imagery(n_subjects=6, n_windows=40, seed=0)
    _, shortest = treat("adda", windows, seconds=1e-6)
    assert shortest.n_steps == 1
    # However long an epoch takes on this machine.
    enough = 4 * shortest.seconds
    _, treatment = treat("adda", windows, seconds=enough)
    assert treatment.seconds >= enough
    assert treatment.n_steps > 1


def test_names_that_are_nothing(tmp_path):
    with pytest.raises(ValueError, match=r"`methods` must be .* none or duplicates, .* `cadda`"):
        read_content("caddda", ())
    with pytest.raises(ValueError, match="did you mean `none`"):
        read_content("nonee", ())
    with pytest.raises(ValueError, match="`classwise:` must not be before 'auto'"):
        read_content("classwise:auto", ())
    with pytest.raises(cadda.PolicyFileError, match=r"nothing\.txt"):
        read_content(str(tmp_path / "nothing.txt"), ())
    assert read_content("classwise:random", ()) is None
