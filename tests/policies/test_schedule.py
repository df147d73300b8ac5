"""Schedules: which policy in which epoch, their files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from problems import tensor_problem

from cadda import OperationPool, PolicySpec
from cadda.exceptions import PolicyFileError
from cadda.policies.schedule import (
    PolicySchedule,
    ScheduledPolicy,
    Segment,
    build_policy,
    load_policy,
)
from cadda.training import TrainingSettings, train

SPECS = [PolicySpec.from_text(f"sign_flip p={p}") for p in (0.0, 1.0)]
SCHEDULE = PolicySchedule((Segment(2, SPECS[0]), Segment(1, SPECS[1])))


def test_which_policy_when(pool: OperationPool) -> None:
    expected = [SPECS[0], SPECS[0], SPECS[1], SPECS[1]]
    running = build_policy(SCHEDULE, pool)
    assert isinstance(running, ScheduledPolicy)
    for epoch, spec in enumerate(expected, 1):
        assert SCHEDULE.at_epoch(epoch) == spec
        assert running.at_epoch(epoch).spec == spec


def test_shows_its_policies() -> None:
    assert repr(SCHEDULE) == "# from epoch 1 on\nsign_flip p=0\n# from epoch 3 on\nsign_flip p=1"


def test_training_follows_it(pool: OperationPool) -> None:
    seen: list[float] = []

    class Spy(torch.nn.Linear):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            if self.training:
                seen.append(float(input.mean().sign()))
            return super().forward(input)

    x, y = torch.ones(4, 6, 100), torch.tensor([0, 1, 0, 1])
    model = torch.nn.Sequential(torch.nn.Flatten(), Spy(600, 2))
    settings = TrainingSettings(max_epochs=4, batch_size=4)
    problem = tensor_problem((x, y), (x, y), ("a", "b"), lambda seed: model)
    train(problem, settings, policy=build_policy(SCHEDULE, pool))
    assert seen == [1, 1, -1, -1]


def test_files(tmp_path: Path) -> None:
    SCHEDULE.save(tmp_path / "schedule.json")
    assert load_policy(tmp_path / "schedule.json") == SCHEDULE
    SPECS[0].save(tmp_path / "policy.json")
    assert load_policy(tmp_path / "policy.json") == SPECS[0]
    (tmp_path / "policy.txt").write_text("sign_flip p=1.0")
    assert load_policy(tmp_path / "policy.txt") == SPECS[1]


def test_file_with_label_maps(tmp_path: Path) -> None:
    mapped = PolicySpec.from_text("channel_symmetry p=1 -> {a: b, b: a}")
    schedule = PolicySchedule((Segment(1, SPECS[0]), Segment(1, mapped)))
    schedule.save(tmp_path / "schedule.json")
    assert load_policy(tmp_path / "schedule.json") == schedule
    data = schedule.to_dict()
    # The schedule is as before, the policies in it have a version of their own.
    assert data["version"] == 1
    text = json.dumps(data).replace('"version": 2', '"version": 1')
    assert PolicySchedule.from_dict(json.loads(text)) == schedule


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 2}, "`version` must be 1, got 2"),
        ({"segments": []}, "`segments` must have at least one item"),
        ({"segments": [{"n_epochs": 1, "policy": {}}]}, r"policy` is missing"),
        ({"segments": [{"policy": {}}]}, r"`segments\[0\].n_epochs` is missing"),
        ({"segments": 3}, "`segments` must be a valid array, got 3"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    path.write_text(json.dumps(SCHEDULE.to_dict() | changes))
    with pytest.raises(PolicyFileError, match=words):
        load_policy(path)
    with pytest.raises(PolicyFileError, match=str(path)):
        load_policy(path)


def test_deeply_nested_file(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text(200_000 * "[")
    with pytest.raises(PolicyFileError, match=r"deep\.json: Invalid JSON"):
        load_policy(tmp_path / "deep.json")


def test_segments_have_epochs() -> None:
    with pytest.raises(ValueError, match="`n_epochs` must be at least 1, got 0"):
        Segment(0, SPECS[0])
