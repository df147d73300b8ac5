"""Methods that try one policy after the other: same result on every engine, kills, failures."""

from __future__ import annotations

import json
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
import torch
from torch import nn

import cadda
from cadda import SearchResult
from cadda.exceptions import RunError, TrainingError
from cadda.policies.schedule import PolicySchedule, load_policy
from cadda.searchers.events import Retrained, SearchStart, TrialEnd
from cadda.searchers.methods import RANDOM
from cadda.searchers.registry import METHODS
from cadda.searchers.runner import TrialRunner
from cadda.searchers.trials.optuna_search import TrialSettings
from cadda.searchers.warnings import idle_workers
from cadda.testing.planted import planted_windows
from cadda.training import TrainingSettings

OPERATIONS = ("sign_flip", "time_reverse", "time_mask")
BY_TRIALS = [name for name, method in METHODS.items() if method.unit == "trial"]
SMALL: dict[str, dict[str, Any]] = {
    "fast_autoaugment": {"n_folds": 2},
    "population": {"n_members": 3, "segment_epochs": 1},
}
DISPLAYED = ("number", "value", "is_best", "failure", "applied", "magnitude")


# A lambda cannot be imported by a worker; it must be sent as it is.
network: Callable[[int, int, int], nn.Module] = lambda n_channels, n_times, n_classes: (  # noqa: E731
    nn.Sequential(
        nn.Conv1d(n_channels, 4, 25, stride=4),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.AdaptiveMaxPool1d(4),
        nn.Flatten(),
        nn.Linear(16, n_classes),
    )
)


def run(method: str = "autoaugment", **changes: Any) -> SearchResult:
    arguments: dict[str, Any] = {
        "retrain": False,
        "baseline": False,
        "model": network,
        "operations": OPERATIONS,
        "budget": 7,
        "training": TrainingSettings(max_epochs=2, batch_size=32),
        **SMALL.get(method, {}),
        **changes,
    }
    train, valid = (planted_windows(64, varied=varied) for varied in (False, True))
    return cadda.search(train, valid, method=method, **arguments)


def trials_of(result: SearchResult) -> list[tuple[Any, ...]]:
    return [
        tuple(repr(getattr(event, name)) for name in DISPLAYED)
        for event in result.history
        if isinstance(event, TrialEnd)
    ]


def plain_events(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "events.jsonl").read_text().splitlines()
    return [
        {
            key: value
            for key, value in json.loads(line).items()
            if "seconds" not in key and key != "crc32"
        }
        for line in lines
    ]


def check_same(one: SearchResult, other: SearchResult) -> None:
    assert trials_of(one) == trials_of(other)
    assert one.policy == other.policy
    assert one.schedule == other.schedule


@pytest.fixture(scope="module")
def serial() -> SearchResult:
    return run()


# Processes are in `test_a_killed_worker_costs_a_retry` too.
@pytest.mark.parametrize(
    "engine", [pytest.param("processes:2", marks=pytest.mark.slow), "dask:local:2"]
)
def test_every_engine_finds_the_same(engine: str, serial: SearchResult) -> None:
    check_same(serial, run(engine=engine))


@pytest.mark.slow
@pytest.mark.parametrize("method", BY_TRIALS)
@pytest.mark.parametrize("engine", ["processes:1", "processes:3", "dask:local:2"])
def test_every_method_finds_the_same_on_every_engine(method: str, engine: str) -> None:
    check_same(run(method), run(method, engine=engine))


def test_the_seed_decides(serial: SearchResult) -> None:
    again, other = (trials_of(run(seed=seed)) for seed in (0, 1))
    assert trials_of(serial) == again
    assert trials_of(serial) != other


def plain_network(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
    model = network(n_channels, n_times, n_classes)
    return nn.Sequential(*(layer for layer in model if not isinstance(layer, nn.Dropout)))


def test_stacked_trials_are_the_same_but_for_rounding(tmp_path: Path) -> None:
    def stop(event: object) -> None:
        if isinstance(event, TrialEnd) and event.number == 5:
            raise Killed

    options: dict[str, Any] = {"model": plain_network, "trials_at_once": 3}
    stacked = run(stack=3, run_dir=tmp_path / "whole", **options)
    # The first ten proposals of the estimator are by chance, so that both ways have the same.
    alone = run(**options)
    for stacked_trial, single_trial in zip(stacked.history, alone.history, strict=True):
        assert isinstance(stacked_trial, TrialEnd)
        assert isinstance(single_trial, TrialEnd)
        assert stacked_trial.value == pytest.approx(single_trial.value, rel=1e-4)
    with pytest.raises(Killed):
        run(stack=3, run_dir=tmp_path / "cut", on_event=stop, **options)
    run(stack=3, run_dir=tmp_path / "cut", resume=True, **options)
    assert plain_events(tmp_path / "cut") == plain_events(tmp_path / "whole")


class Killed(BaseException):
    """Stops a search in the middle, as a signal would."""


@pytest.mark.parametrize(
    ("method", "engine"),
    [
        # The contract of searchers kills all methods, once and without retraining.
        ("autoaugment", "serial"),
        ("population", "serial"),
        *(
            pytest.param(method, "serial", marks=pytest.mark.slow)
            for method in BY_TRIALS
            if method not in ("autoaugment", "population")
        ),
        pytest.param("autoaugment", "processes:2", marks=pytest.mark.slow),
        pytest.param("population", "processes:2", marks=pytest.mark.slow),
    ],
)
def test_resumes_to_the_same_bytes(method: str, engine: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"retrain_every": 3, "baseline": True, "engine": engine}

    def stop_at(number: int) -> Callable[[object], None]:
        def stop(event: object) -> None:
            if isinstance(event, TrialEnd) and event.number == number:
                raise Killed

        return stop

    whole, cut = tmp_path / "whole", tmp_path / "cut"
    run(method, run_dir=whole, **options)
    for number in (2, 4):
        with pytest.raises(Killed):
            run(method, run_dir=cut, on_event=stop_at(number), resume=number > 2, **options)
    run(method, run_dir=cut, resume=True, **options)
    names = ["policy.json", "model.safetensors"]
    for name in [*names, "schedule.json"] if method == "population" else names:
        assert (cut / name).read_bytes() == (whole / name).read_bytes()
    assert plain_events(cut) == plain_events(whole)


def test_a_trial_that_was_told_but_not_saved_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before it wrote its checkpoint, when the study has one trial more than that."""
    run(run_dir=tmp_path / "whole")
    cut = tmp_path / "cut"
    events: list[TrialEnd] = []
    save = TrialRunner._save

    def stop(driver: TrialRunner) -> None:
        if driver.epoch == 4:
            raise Killed
        save(driver)

    monkeypatch.setattr(TrialRunner, "_save", stop)
    with pytest.raises(Killed):
        run(run_dir=cut)
    monkeypatch.undo()
    with (cut / "study.log").open("ab") as file:
        file.write(b'{"op_code": 4, "work')
    (cut / "study.log.lock").symlink_to("study.log")
    result = run(run_dir=cut, resume=True, on_event=lambda event: events.append(event))
    told = [event.number for event in events if isinstance(event, TrialEnd)]
    assert told == [4, 5, 6, 7]
    assert plain_events(cut) == plain_events(tmp_path / "whole")
    assert len(trials_of(result)) == 7


def test_a_killed_worker_costs_a_retry(tmp_path: Path, serial: SearchResult) -> None:
    driver, marker = os.getpid(), tmp_path / "killed"

    def fragile(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
        if os.getpid() != driver and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return network(n_channels, n_times, n_classes)

    result = run(model=fragile, engine="processes:2")
    assert marker.exists()
    check_same(serial, result)


def test_failures_are_told_and_do_not_end_the_search(tmp_path: Path) -> None:
    calls = iter(range(100))

    def sometimes_broken(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
        model = network(n_channels, n_times, n_classes)
        # The first two calls, a check and a fingerprint, are before the search.
        if next(calls) in (3, 5):
            with torch.no_grad():
                model[-1].bias.fill_(torch.nan)
        return model

    result = run(model=sometimes_broken, run_dir=tmp_path / "run")
    trials = [event for event in result.history if isinstance(event, TrialEnd)]
    failed = [event for event in trials if event.failure is not None]
    assert [event.number for event in failed] == [2, 4]
    assert all("the loss became nan in epoch 1" in str(event.failure) for event in failed)
    assert all(event.value is None and not event.is_best for event in failed)
    storage = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(tmp_path / "run" / "study.log"))
    )
    states = [trial.state.name for trial in storage.get_all_trials(0)]
    assert states == ["COMPLETE", "FAIL", "COMPLETE", "FAIL", "COMPLETE", "COMPLETE", "COMPLETE"]
    assert "nan" in storage.get_all_trials(0)[1].user_attrs["failure"]


def test_nothing_but_failures() -> None:
    calls = iter(range(100))

    def broken(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
        if next(calls):
            raise MemoryError("no room")
        return network(n_channels, n_times, n_classes)

    with pytest.raises(TrainingError, match="no trial has succeeded; the last one: MemoryError"):
        run(model=broken, budget=2)


def test_the_study_is_a_normal_one(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'trials.db'}"
    result = run(storage=address, study_name="mine", budget=3)
    study = optuna.load_study(storage=address, study_name="mine")
    assert [trial.value for trial in study.trials] == [
        event.value for event in result.history if isinstance(event, TrialEnd)
    ]
    assert set(study.best_params) == {
        f"*/{i}/{k}/{name}"
        for i in range(5)
        for k in range(2)
        for name in ("operation", "probability", "magnitude")
    }
    with pytest.raises(RunError, match=r"already contains the Optuna study 'mine'"):
        run(storage=address, study_name="mine", budget=3)
    with pytest.raises(RunError, match=r"`storage` 'nowhere' cannot be opened"):
        run(storage="nowhere")


def test_nothing_is_printed_and_no_log_level_changed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    level = logging.getLogger("optuna").level
    run(budget=6, multivariate=True)
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("optuna").level == level


@pytest.mark.parametrize("engine", ["serial", pytest.param("processes:2", marks=pytest.mark.slow)])
def test_time_can_run_out(engine: str) -> None:
    result = run(budget=1000, max_seconds=0.5, engine=engine)
    assert 1 <= len(result.history) < 1000


def test_equal_policies_are_not_trained_twice() -> None:
    trained: list[object] = []
    result = run(retrain_every=1, baseline=True, on_event=trained.append)
    retrained = [event for event in result.history if isinstance(event, Retrained)]
    assert [event.epoch for event in retrained] == list(range(8))
    n_best = sum(event.is_best for event in result.history if isinstance(event, TrialEnd))
    assert sum(type(event).__name__ == "TrainingEnd" for event in trained) == n_best + 1
    # A trial and the retraining with its policy are the same training.
    best = [event for event in result.history if isinstance(event, TrialEnd) and event.is_best][-1]
    assert retrained[-1].valid_loss == pytest.approx(best.value, abs=1e-4)


def test_a_schedule_is_saved_and_used(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    result = run("population", run_dir=folder, retrain_every=6)
    assert result.schedule is not None
    assert result.policy == result.schedule.last
    assert load_policy(folder / "schedule.json") == result.schedule
    assert load_policy(folder / "policy.json") == result.policy
    assert result.fitted is not None
    train, valid = (planted_windows(64, varied=varied) for varied in (False, True))
    options: dict[str, Any] = {"model": network, "max_epochs": 2, "batch_size": 32}
    for source in (result.schedule, folder / "schedule.json"):
        fitted = cadda.fit(train, valid, policy=source, **options)
        assert fitted.history == result.fitted.history
    one = PolicySchedule(result.schedule.segments[:1])
    assert cadda.fit(train, valid, policy=one, **options).history[0] == fitted.history[0]


def test_the_start_says_what_is_counted() -> None:
    started: list[SearchStart] = []

    def note(event: object) -> None:
        if isinstance(event, SearchStart):
            started.append(event)
            raise Killed

    with pytest.raises(Killed):
        run(on_event=note, engine="processes:2", trials_at_once=1)
    with pytest.raises(Killed):
        run("randaugment", on_event=note, classwise=True)
    assert started[0].unit == "trial"
    assert started[0].log10_policies == pytest.approx(10 * 2.5185, abs=1e-3)
    assert started[0].warnings[0].startswith("2 workers, but `trials_at_once`=1")
    assert started[1].log10_policies == pytest.approx(4 * 1.3010, abs=1e-3)


@pytest.mark.parametrize(
    ("n_workers", "trials_at_once", "stack", "advice"),
    [
        (4, 4, 1, None),
        (4, 16, 4, None),
        (4, 16, 16, "keeps only 1 of them busy; set trials_at_once=64"),
        (3, 4, 8, "keeps only 1 of them busy; set trials_at_once=24"),
        (3, 11, 4, "keeps only 2 of them busy; set trials_at_once=12"),
    ],
)
def test_a_worker_trains_a_whole_stack(
    n_workers: int, trials_at_once: int, stack: int, advice: str | None
) -> None:
    warning = idle_workers(n_workers, "trials_at_once", trials_at_once, n_each=stack)
    assert (warning == ()) if advice is None else warning[0].endswith(advice)
    settings = TrialSettings(trials_at_once=trials_at_once, stack=stack)
    n_busy = RANDOM.max_parallel_trials(settings)
    assert (n_busy >= n_workers) == (advice is None)


@pytest.mark.parametrize(
    ("method", "changes", "words"),
    [
        ("cadda", {"engine": "processes:2"}, "`engine` must be 'serial' for cadda"),
        ("random", {"engine": "threads"}, "`engine` must be 'serial', 'processes:N'"),
        (
            "population",
            {"budget": 2},
            "`budget` must be at least 3 trials",
        ),
        ("random", {"multivariate": True}, "unknown setting `multivariate`"),
        ("fast_autoaugment", {"n_folds": 1}, "`n_folds` must be at least 2, got 1"),
        ("autoaugment", {"stack": 4}, "`stack` must be 1 for a model with dropout"),
        ("autoaugment", {"trials_at_once": 0}, "`trials_at_once` must be at least 1"),
    ],
)
def test_refuses_in_one_sentence(
    method: str, changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=words):
        run(method, run_dir=tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()
