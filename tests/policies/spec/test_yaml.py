"""Policies as YAML, read by PyYAML."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run

from cadda import PolicySpec
from cadda.exceptions import PolicyFileError
from cadda.policies.schedule import load_policy
from cadda.policies.spec.provenance import Provenance
from cadda.policies.spec.yaml import to_yaml

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

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


@pytest.mark.parametrize("name", ["policy.yaml", "policy.YML"])
def test_yaml_is_not_read(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(to_yaml(SPECS["plain"]))
    for read in (PolicySpec.load, load_policy):
        with pytest.raises(PolicyFileError, match=r"is YAML, .*--format json or text"):
            read(tmp_path / name)


def test_people_can_read_it(tmp_path: Path) -> None:
    file = tmp_path / "policy.txt"
    file.write_text("sign_flip p=0.5 > time_mask p=0.25 m=0.3\n")
    text = run("policy", "export", file, "--format", "yaml").stdout
    assert text == to_yaml(PolicySpec.load(file))
    entry = '{"operation": "time_mask", "weight": 1.0, "probability": 0.25, "magnitude": 0.3}'
    assert f"- {entry}\n" in text
    assert max(map(len, text.splitlines())) < 140
