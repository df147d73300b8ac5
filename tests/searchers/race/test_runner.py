"""Races with real training runs: engines, interruptions, budgets."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from mirrored import mirrored_windows

import cadda
from cadda import SearchResult, TrainingSettings
from cadda.api.prepare import make_problem
from cadda.compute.base import SerialEngine
from cadda.exceptions import RunError
from cadda.probing.probe import ProbeProgress
from cadda.searchers.events import RaceProgress, RaceRound, SearchEnd
from cadda.searchers.race.blocks import Block, RunScore
from cadda.searchers.race.candidates import Candidate, Level
from cadda.searchers.race.methods import AUTO
from cadda.searchers.race.settings import RaceSettings
from cadda.searchers.retraining import SearchBudget
from cadda.searchers.runner import SearchContext
from cadda.testing.planted import planted_network, planted_windows
from cadda.training import Problem

QUICK: dict[str, Any] = {
    "model": planted_network,
    "operations": ["sign_flip", "time_reverse", "time_mask"],
    "training": TrainingSettings(max_epochs=2, lr=3e-3),
    "n_blocks": 3,
    "n_decisive": 3,
    "n_survivors": 3,
    "search_epochs": 0,
    "budget": 30,
    "device": "cpu",
    "retrain": False,
    "baseline": False,
}


TRAIN, VALID = (planted_windows(48, varied=varied) for varied in (False, True))


@cache
def probe() -> cadda.ProbeResult:
    operations = QUICK["operations"]
    return cadda.probe(VALID, model=planted_network, operations=operations, n_folds=2, n_epochs=4)


def race(**changes: Any) -> SearchResult:
    return cadda.search(TRAIN, VALID, **QUICK | {"probe": probe()} | changes)


def test_a_probe_at_chance_is_a_note_of_the_result() -> None:
    """Also without a display, and for a method that has no verdict."""
    options = {key: QUICK[key] for key in ("model", "operations", "training", "device", "retrain")}
    for is_useful in (False, True):
        found = replace(probe(), is_useful=is_useful)
        result = cadda.search(TRAIN, VALID, method="guided", probe=found, **options)
        notes = [note for note in result.notes if "not distinguishable from chance" in note]
        assert notes == ([] if is_useful else [found.summary()])


class KilledError(Exception):
    """Stands for the end of a process."""


def test_every_engine_gives_the_same_race() -> None:
    alone, together = race(engine="serial"), race(engine="processes:2")
    assert alone.race is not None
    assert together.race is not None
    assert alone.race.candidates == together.race.candidates
    assert alone.race.verdict == together.race.verdict
    assert alone.policy == together.policy


@pytest.mark.parametrize("after", [1, 8, 14])
def test_a_killed_race_repeats_no_finished_run(tmp_path: Path, after: int) -> None:
    def kill(event: object) -> None:
        if isinstance(event, RaceProgress) and event.n_runs == after:
            raise KilledError

    whole = race(run_dir=tmp_path / "whole")
    with pytest.raises(KilledError):
        race(run_dir=tmp_path / "killed", on_event=kill)
    events: list[object] = []
    resumed = race(run_dir=tmp_path / "killed", resume=True, on_event=events.append)
    assert resumed.policy == whole.policy
    assert resumed.race is not None
    assert whole.race is not None
    assert resumed.race.candidates == whole.race.candidates
    n_lines = [
        len((tmp_path / name / "runs.jsonl").read_text().splitlines())
        for name in ("whole", "killed")
    ]
    assert n_lines[0] == n_lines[1] == whole.race.n_runs
    written = [(tmp_path / name / "policy.json").read_bytes() for name in ("whole", "killed")]
    assert written[0] == written[1]


def test_an_interrupted_probe_of_a_search_is_continued(tmp_path: Path) -> None:
    seen: list[ProbeProgress] = []

    def kill(event: object) -> None:
        if isinstance(event, ProbeProgress) and event.fold == 3:
            # The folder is locked from the beginning.
            with pytest.raises(RunError, match="is in use"):
                race(run_dir=tmp_path / "killed", probe=None)
            raise KilledError

    def watch(event: object) -> None:
        if isinstance(event, ProbeProgress):
            seen.append(event)

    whole = race(run_dir=tmp_path / "whole", probe=None)
    with pytest.raises(KilledError):
        race(run_dir=tmp_path / "killed", probe=None, on_event=kill)
    assert [path.name for path in (tmp_path / "killed").iterdir()] == ["probing.pt"]
    resumed = race(run_dir=tmp_path / "killed", probe=None, on_event=watch)
    assert min(event.fold for event in seen) == 3
    assert {event.n_epochs for event in seen} == {QUICK["training"].max_epochs}
    assert resumed.policy == whole.policy
    written = [(tmp_path / name / "probe.json").read_bytes() for name in ("whole", "killed")]
    assert written[0] == written[1]
    assert not (tmp_path / "killed" / "probing.pt").exists()


def test_the_time_of_the_probe_counts(tmp_path: Path) -> None:
    result = race(probe=None, max_seconds=1e-3, run_dir=tmp_path)
    assert result.probe_seconds > 1e-3
    assert result.race is not None
    assert {row.n_blocks for row in result.race.candidates} == {1}


def test_what_the_choice_leaves_of_the_budget_measures_the_gain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def score(usable: Problem, block: Block, candidate: Candidate, training: object) -> RunScore:
        is_plain = candidate.level == Level.NONE
        n_correct = 1 if is_plain else 2
        correct = tuple((n_correct,) * usable.n_classes for _ in block.valid)
        return RunScore(1.0 if is_plain else 0.5, correct, 0.0)

    monkeypatch.setattr("cadda.searchers.race.runner.run_candidate", score)
    result = race(budget=48, n_decisive=15, n_survivors=1, engine="serial")
    assert result.race is not None
    choice = sum(row.n_blocks for row in result.race.candidates)
    verdict = result.race.verdict
    assert verdict is not None
    # A quarter of the budget alone would be six blocks.
    assert verdict.n_blocks == min(15, (48 - choice) // 2) > 6


def test_the_budget_is_kept() -> None:
    for budget in (12, 17, 26):
        events: list[Any] = []
        result = race(budget=budget, on_event=events.append)
        assert result.race is not None
        assert 2 * 3 <= result.race.n_runs <= budget
        rounds = [event for event in events if isinstance(event, RaceRound)]
        assert rounds[-1].phase == "decision"
        assert rounds[-1].n_runs == result.race.n_runs
        assert isinstance(events[-1], SearchEnd)
        assert result.verdict is not None


def test_candidates_can_have_a_shorter_patience(tmp_path: Path) -> None:
    training = TrainingSettings(max_epochs=20, lr=3e-3)
    losses = {}
    for patience in (None, 1):
        run_dir = tmp_path / str(patience)
        result = race(budget=12, training=training, trial_patience=patience, run_dir=run_dir)
        assert result.race is not None
        events = (run_dir / "runs.jsonl").read_text().splitlines()
        losses[patience] = sorted(json.loads(line)["loss"] for line in events)
    # A run that ends earlier cannot find a lower loss.
    assert len(losses[None]) == len(losses[1])
    assert losses[1] > losses[None]


def test_too_small_a_budget_is_refused() -> None:
    with pytest.raises(ValueError, match="`budget` must be at least 12 training runs"):
        race(budget=11)


def test_out_of_time_the_race_decides() -> None:
    result = race(max_seconds=1e-6)
    assert result.race is not None
    # One block of two candidates has begun before the time was over.
    assert [row.n_blocks for row in result.race.candidates] == [1, 1]
    assert result.policy.is_none
    assert result.verdict == (
        "Undecided: 1 block of training runs cannot show what augmentation gains, so the policy "
        "is none. The time sufficed to compare 1 policy; with more (`max_seconds`), the answer "
        "may be another."
    )
    assert result.race.verdict is not None
    assert not result.race.verdict.is_decided


@pytest.mark.parametrize(("limit", "n_candidates"), [(24.0, 2), (60.0, 6), (1000.0, None)])
def test_as_many_candidates_race_as_there_is_time_for(
    limit: float, n_candidates: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each training run takes a second, and the last quarter of the time is for the decision."""
    clock = [0.0]

    def score(usable: Problem, block: Block, candidate: Candidate, training: object) -> RunScore:
        clock[0] += 1.0
        return RunScore(1.0, tuple((1,) * usable.n_classes for _ in block.valid), 1.0)

    monkeypatch.setattr("cadda.searchers.race.runner.run_candidate", score)
    monkeypatch.setattr("cadda.searchers.race.runner.perf_counter", lambda: clock[0])
    names: list[tuple[str, ...]] = []

    def collect(event: object) -> None:
        if isinstance(event, RaceRound):
            names.append(event.names)

    race(budget=200, engine="serial", on_event=collect)
    n_all = len(names[0])
    names.clear()
    race(budget=200, max_seconds=limit, engine="serial", on_event=collect)
    assert len(names[0]) == 2
    assert len(names[1]) == (n_candidates or n_all)
    assert n_all > 6


def test_candidates_join_when_training_turns_out_to_be_faster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first two training runs take four seconds, as if workers had to start, then one."""
    clock, n_runs = [0.0], [0]
    names: list[tuple[str, ...]] = []

    def score(usable: Problem, block: Block, candidate: Candidate, training: object) -> RunScore:
        clock[0] += 4.0 if n_runs[0] < 2 else 1.0
        n_runs[0] += 1
        return RunScore(1.0, tuple((1,) * usable.n_classes for _ in block.valid), 1.0)

    def collect(event: object) -> None:
        if isinstance(event, RaceRound):
            names.append(event.names)

    monkeypatch.setattr("cadda.searchers.race.runner.run_candidate", score)
    monkeypatch.setattr("cadda.searchers.race.runner.perf_counter", lambda: clock[0])
    race(budget=200, max_seconds=100, engine="serial", on_event=collect)
    # 45 % of 2 + 67 / 4 training runs, for three blocks each; then of 4 + 65 / 1.
    assert [len(each) for each in names[:3]] == [2, 2, 10]


def test_candidates_that_there_is_time_for_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    def score(usable: Problem, block: Block, candidate: Candidate, training: object) -> RunScore:
        clock[0] += 1
        return RunScore(1.0, tuple((1,) * usable.n_classes for _ in block.valid), 1.0)

    def interrupt(event: object) -> None:
        if isinstance(event, RaceRound):
            raise KeyboardInterrupt

    monkeypatch.setattr("cadda.searchers.race.runner.run_candidate", score)
    monkeypatch.setattr("cadda.searchers.race.runner.perf_counter", lambda: clock[0])
    chosen: dict[str, Any] = {"budget": 200, "max_seconds": 40, "engine": "serial"}
    expected = race(**chosen).race
    with pytest.raises(KeyboardInterrupt):
        race(**chosen, run_dir=tmp_path, on_event=interrupt)
    resumed = race(**chosen, run_dir=tmp_path, resume=True).race
    assert expected is not None
    assert resumed is not None
    assert [row.name for row in resumed.candidates] == [row.name for row in expected.candidates]


def test_searches_by_gradients_propose_only_what_can_race(monkeypatch: pytest.MonkeyPatch) -> None:
    proposed: list[int] = []

    def propose(*_: object) -> list[Candidate]:
        proposed.append(1)
        return []

    monkeypatch.setattr("cadda.searchers.race.runner.propose", propose)
    race(budget=24)
    assert not proposed
    race(budget=60)
    assert proposed


def test_the_table_agrees_with_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate of a lower loss that recognises nothing more is measured, but not chosen."""

    def score(usable: Problem, block: Block, candidate: Candidate, training: object) -> RunScore:
        loss = 1.0 if candidate.name == "none" else 0.5 + block.number % 2 / 10
        return RunScore(loss, tuple((1,) * usable.n_classes for _ in block.valid), 0.0)

    monkeypatch.setattr("cadda.searchers.race.runner.run_candidate", score)
    facts = race(engine="serial").race
    assert facts is not None
    statuses = {row.name: row.status for row in facts.candidates}
    assert facts.verdict is not None
    assert not facts.verdict.is_gain
    assert facts.chosen == "none"
    assert statuses["none"] == "chosen"
    assert statuses[facts.verdict.candidate] == "measured"
    assert facts.decision is facts.verdict


def test_few_training_runs_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by a search that is resumed after its decision has begun."""

    def score(usable: Problem, block: Block, candidate: Candidate, training: object) -> RunScore:
        return RunScore(1.0, tuple((1,) * usable.n_classes for _ in block.valid), 0.0)

    monkeypatch.setattr("cadda.searchers.race.runner.run_candidate", score)
    for _ in range(2):
        result = race(budget=12, engine="serial", run_dir=tmp_path)
        assert result.verdict is not None
        assert result.verdict.endswith(
            "The training runs sufficed to compare 1 policy; with more (`budget`), the answer may "
            "be another."
        )


@pytest.mark.parametrize(
    ("budget", "n_subjects", "warned"),
    [
        (16, 6, ["16 training runs suffice to compare 1 policy with no augmentation"]),
        (32, 6, ["32 training runs suffice to compare 2 policies with no augmentation"]),
        (60, 6, []),
        (60, 5, ["the race has 5 subjects to train and validate with"]),
    ],
)
def test_what_a_race_cannot_show_is_said_before_it(
    budget: int, n_subjects: int, warned: list[str]
) -> None:
    """A quarter of the runs, and at least 6, decide; 45 % of the rest are for three blocks."""
    windows = mirrored_windows(2 * n_subjects, n_subjects=n_subjects)
    names = windows.subjects
    parts = (windows.of_subjects(part) for part in (names[:2], names[2:]))
    problem = make_problem(*parts, model=planted_network)
    context = SearchContext(SearchBudget(budget), SerialEngine())
    found = AUTO.start_warnings(problem, RaceSettings(), context)
    assert len(found) == len(warned)
    assert all(text.startswith(start) for text, start in zip(found, warned, strict=True))


def test_races_the_exchange_of_mirrored_classes() -> None:
    windows = mirrored_windows(64, n_subjects=4)
    operations = ["channel_symmetry", "gaussian_noise"]
    found = cadda.probe(
        windows, model=planted_network, operations=operations, n_folds=2, n_epochs=5
    )
    parts = (windows.of_subjects(half) for half in (windows.subjects[:2], windows.subjects[2:]))
    result = cadda.search(*parts, **QUICK | {"operations": operations, "probe": found})
    assert result.race is not None
    mapped = [row for row in result.race.candidates if "->" in row.policy]
    assert mapped
    assert "{left: right, right: left}" in mapped[0].policy


def test_classes_and_probe_are_decided_by_the_method() -> None:
    with pytest.raises(ValueError, match="`classwise` must be None for auto"):
        race(classwise=True)
    with pytest.raises(ValueError, match="`probe` must not be False for auto"):
        race(probe=False)


def test_a_class_may_be_missing_in_one_of_the_parts() -> None:
    present = VALID[VALID.y.numpy() != 0]
    result = cadda.search(TRAIN, present, **QUICK | {"probe": probe()})
    assert result.race is not None
    with pytest.raises(ValueError, match="`train` and `valid` must have windows of every class"):
        cadda.search(TRAIN[TRAIN.y.numpy() != 0], present, **QUICK | {"probe": probe()})


def test_a_single_operation_is_refused_before_the_probe() -> None:
    with pytest.raises(ValueError, match="at least two operations to choose from"):
        race(operations=["sign_flip"], probe=None)
