"""Files for the code host and for packaging agree with each other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def requirements() -> list[str]:
    optional = PROJECT["project"]["optional-dependencies"]
    extra = [
        requirement
        for name in sorted(optional.keys() - {"testing"})
        for requirement in optional[name]
    ]
    return [*PROJECT["project"]["dependencies"], *extra]


@pytest.mark.parametrize("requirement", requirements())
def test_oldest_constraints_are_the_lower_bounds(requirement: str) -> None:
    name, bound = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", requirement).groups()
    pinned = pins("constraints-oldest.txt")[name].split(".")
    parts = bound.split(".")
    assert pinned[: len(parts)] == parts
    assert set(pinned[len(parts) :]) <= {"0"}


def test_every_pinned_tool_has_one_version() -> None:
    oldest, usual = pins("constraints-oldest.txt"), pins("constraints.txt")
    tools = set(PROJECT["dependency-groups"]["test"]) & oldest.keys() - {
        "scipy",
        "braindecode",
        "edfio",
        "mne-bids",
        "pandas",
        "tensorboard",
        "mlflow-skinny",
        "wandb",
    }
    assert {name: oldest[name] for name in tools} == {name: usual[name] for name in tools}


def test_the_workflow_runs_all_supported_versions_of_python() -> None:
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    for classifier in PROJECT["project"]["classifiers"]:
        if version := re.search(r"Python :: (3\.\d+)$", classifier):
            assert f'"{version[1]}"' in workflow
    assert "make test" in workflow


def test_change_notes_have_a_known_kind_and_one_paragraph() -> None:
    kinds = {kind["directory"] for kind in PROJECT["tool"]["towncrier"]["type"]}
    for file in (ROOT / "changes").glob("*.md"):
        if file.name != "README.md":
            assert file.name.split(".")[-2] in kinds, file.name
            assert "\n\n" not in file.read_text(encoding="utf-8").strip(), file.name
