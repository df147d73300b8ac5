"""Policies as YAML, read by PyYAML."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from commands import run

from cadda import PolicySpec
from cadda.exceptions import PolicyFileError
from cadda.policies.schedule import PolicySchedule, Segment, load_policy
from cadda.policies.spec.provenance import Provenance
from cadda.policies.spec.yaml import to_yaml, yaml_to_json

SPECS = {
    "plain": PolicySpec.from_text("sign_flip p=0.5 > time_mask p=1e-05 m=0.3"),
    "none": PolicySpec.none(),
    "class-wise": PolicySpec.from_text(
        "[yes]\nw=1e-7: channel_symmetry p=1 -> {yes: no, no: yes}\n"
        "sign_flip p=0 | bandstop p=1 m=1\n[no]\nnone\n"
        "[1.5]\nft_surrogate p=0.25 m=0.1..0.3\n[a: b # c]\nsign_flip p=1"
    ),
    "full": PolicySpec.from_text("time_reverse p=0.5").model_copy(
        update={
            "sfreq": 128.0,
            "ch_names": ("C3", "Ä"),
            "operations": {"time_reverse": {}, "time_mask": {"max_length": 3.0}},
            "provenance": Provenance(method="auto", seed=1, scores={"loss": 1e-9}, leak=0.0),
        }
    ),
}


@pytest.mark.parametrize("name", SPECS)
def test_readers_find_the_same_policy(name: str) -> None:
    spec = SPECS[name]
    text = to_yaml(spec)
    data = yaml.safe_load(text)
    assert data == spec.to_dict()
    assert PolicySpec.from_dict(data) == spec


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_what_is_given_is_written(form: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.txt"
    file.write_text("channel_symmetry p=1 -> {left: right, right: left}\n")
    options = ("--sfreq", "100", "--channels", "C3,C4", "--classes", "left,right,rest")
    data = yaml.safe_load(run("policy", "export", file, "--format", form, *options).stdout)
    assert (data["sfreq"], data["ch_names"]) == (100, ["C3", "C4"])
    assert data["class_names"] == ["left", "right", "rest"]
    said = run("policy", "export", file, "--format", form, "--classes", "a,b", code=2).stderr
    assert "label maps must name classes of the policy, ['a', 'b'], got 'left'" in said


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("file", ["policy.yaml", "policy.YML"])
def test_what_is_exported_is_read(file: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / file
    path.write_text(to_yaml(SPECS[name]), encoding="utf-8")
    assert PolicySpec.load(path) == load_policy(path) == SPECS[name]
    SPECS[name].save(path)
    assert PolicySpec.load(path) == SPECS[name]


def test_a_schedule_is_read(tmp_path: Path) -> None:
    schedule = PolicySchedule((Segment(3, SPECS["plain"]), Segment(1, PolicySpec.none())))
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(schedule.to_dict()))
    assert load_policy(tmp_path / "a.yaml") == schedule


def test_what_people_write_is_read(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        "# by hand\npolicy:\n  '*':\n  - stages:\n"
        "    - - operation: sign_flip\n        probability: 5e-1\n"
        "ch_names: [2020-01-01, C3]\n"
    )
    spec = PolicySpec.load(path)
    assert spec.policy == PolicySpec.from_text("sign_flip p=0.5").policy
    assert spec.ch_names == ("2020-01-01", "C3")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("policy: [\n", r"Invalid YAML: line 2: .*expected"),
        ("policy:\n  a: 1\n  a: 2\n", r"line 3: each key must be given once, got 'a' twice"),
        ("1: 1", "line 1: keys must be text: put it in double quotes"),
        ("? [a]\n: 1", "line 1: keys must be text"),
        ("a: &b 1\nc: *b\n", "line 1: anchors and aliases are not read"),
        ("a: !!python/object/apply:os.system [ls]", "line 1: tags are not read"),
        ("a: !!binary aGk=", "line 1: tags are not read"),
        ("a: " + "[" * 65 + "]" * 65, "line 1: it is nested deeper than 64 levels"),
        ("[" * 100_000, "line 1: it is nested deeper than 64 levels"),
        ("a: 1\n---\nb: 2", "line 2: .*another document"),
        ("a: \x01", "Invalid YAML: .*not allowed"),
        ("a: " + "1" * 5000, "Invalid YAML: .*4300"),
        ("a: " + "b" * (1 << 20), r"at most 1\.05 MB are read; save the policy as JSON"),
        ("<<: {policy: {}}", "`<<` is not a field of a policy file"),
        ("", "must be"),
    ],
)
def test_other_yaml_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    for read in (PolicySpec.load, load_policy):
        with pytest.raises(PolicyFileError, match=rf"policy\.yaml: .*{problem}"):
            read(path)


def test_commands_read_it(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(to_yaml(SPECS["plain"]))
    shown = run("policy", "show", path).stdout
    assert "time_mask" in shown
    assert PolicySpec.from_text(run("policy", "export", path, "--format", "text").stdout)
    # A policy in short form needs no file, as with `cadda train --policy`.
    text = SPECS["plain"].to_text()
    assert run("policy", "show", text).stdout == shown
    wrong = run("policy", "show", "sign_flip p=2", code=2).stderr
    assert "sign_flip p=2" in wrong


def test_people_can_read_it(tmp_path: Path) -> None:
    file = tmp_path / "policy.txt"
    file.write_text("sign_flip p=0.5 > time_mask p=0.25 m=0.3\n")
    text = run("policy", "export", file, "--format", "yaml").stdout
    assert text == to_yaml(PolicySpec.load(file))
    entry = '{"operation": "time_mask", "weight": 1.0, "probability": 0.25, "magnitude": 0.3}'
    assert f"- {entry}\n" in text
    assert max(map(len, text.splitlines())) < 140


@pytest.mark.parametrize(
    "number", ["1" + ":59" * 3000 + ".5", "1:40", "0100", "yes", "2026-01-01"]
)
def test_words_that_only_old_yaml_takes_for_values(number: str) -> None:
    """They are text, at once, however long they are."""
    assert yaml_to_json(f"a: {number}") == f'{{"a": "{number}"}}'


def test_numbers_of_json() -> None:
    numbers = "[0, -3, 1.5, 1e-5, -2.5E+3, true, null]"
    assert json.loads(yaml_to_json(f"a: {numbers}")) == {"a": json.loads(numbers)}
