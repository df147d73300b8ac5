"""What every search method must do, as a test class to inherit from."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import torch
from torch import nn

from cadda.api.prepare import operation_pool
from cadda.api.probe import probe
from cadda.api.search import SearchResult, search
from cadda.policies.policy import Policy
from cadda.probing.probe import ProbeProgress
from cadda.probing.probe_result import ProbeResult
from cadda.searchers.events import (
    PolicyProposed,
    RaceRound,
    Retrained,
    SearchEnd,
    SearchEpoch,
    SearchStart,
    TrialEnd,
)
from cadda.searchers.method import SearchMethod
from cadda.searchers.registry import METHODS, find_method
from cadda.testing.planted import CLASS_NAMES, planted_windows
from cadda.training import TrainingSettings

__all__ = ["SearcherContract"]

CLOCKS = ("seconds", "search_seconds", "trial_seconds")

# Searches that several tests look at, by test class and method: pytest makes an instance per test.
_IN_FOLDER: dict[tuple[type, str], tuple[SearchResult, bytes]] = {}
_CLASSWISE: dict[tuple[type, str], SearchResult | None] = {}


class _KilledError(Exception):
    """Stands for the end of a process."""


def _network(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(n_channels, 4, 25, stride=4),
        nn.ReLU(),
        nn.AdaptiveMaxPool1d(4),
        nn.Flatten(),
        nn.Linear(16, n_classes),
    )


class SearcherContract(ABC):
    """The checks that every search method passes; inherit, name the method, and run pytest.

    The method must be in `cadda.searchers.registry.METHODS`. Searches are on 48 windows of one
    channel, and take seconds.

    Examples
    --------
    ::

        class TestMyMethod(SearcherContract):
            method = "my_method"
            settings = {"n_stages": 1}

            @pytest.fixture(autouse=True)
            def registered(self, monkeypatch):
                monkeypatch.setitem(METHODS, "my_method", MyMethod("what it does"))
    """

    operations: ClassVar[tuple[str, ...]] = ("sign_flip", "time_reverse", "time_mask")
    """Operations to choose from."""

    settings: ClassVar[dict[str, Any]] = {}
    """Settings that make the method quick; any value that the method takes."""

    budget: int = 4
    """Epochs or trials of a search."""

    @property
    @abstractmethod
    def method(self) -> str:
        """Name of the method."""

    def search(self, **changes: Any) -> SearchResult:
        """Run a small search.

        Parameters
        ----------
        **changes : object
            Arguments of `cadda.search` that differ.

        Returns
        -------
        SearchResult
            The result.
        """
        train, valid = (planted_windows(48, varied=varied) for varied in (False, True))
        arguments: dict[str, Any] = {
            "method": self.method,
            "model": _network,
            "operations": self.operations,
            "budget": self.budget,
            "training": TrainingSettings(max_epochs=2),
            "device": "cpu",
            "retrain": False,
            "baseline": False,
            "progress": False,
            **self.settings,
            **changes,
        }
        if find_method(self.method).needs_probe:
            arguments.setdefault("probe", _quick_probe(self.operations))
        return search(train, valid, **arguments)

    def test_is_registered(self) -> None:
        """The registry has the method, with a summary and settings that include a seed."""
        method = find_method(self.method)
        assert isinstance(method, SearchMethod), "the method must be a SearchMethod."
        assert METHODS[self.method] is method
        assert method.summary, "`summary` must describe the method in a few words."
        assert "seed" in method.setting_names, "the settings must have a field `seed`."

    def test_settings_are_validated(self) -> None:
        """Unknown settings are refused by name, and resolved settings can be written as JSON."""
        method = find_method(self.method)
        settings: Any = method.resolve_settings(self.settings, seed=3)
        assert is_dataclass(method.settings_class), "`settings_class` must be a dataclass."
        values = asdict(settings)
        assert values["seed"] == 3, "`seed` must be that of the search."
        json.dumps(values)
        message = _message(lambda: method.resolve_settings({"no_such_setting": 1}))
        assert "no_such_setting" in message, "an unknown setting must be named in the error."
        for name in set(method.setting_names) - {"seed"}:
            message = _message(partial(method.resolve_settings, {name: object()}))
            assert name in message, f"a bad value of `{name}` must raise an error that names it."
            assert message.endswith("."), f"an error must be a sentence, got {message!r}."

    def test_describes_itself(self) -> None:
        """Warm-up, budget, workers and number of policies are numbers."""
        method = find_method(self.method)
        settings = method.resolve_settings(self.settings)
        parallel = method.max_parallel_trials(settings)
        assert method.warmup(settings) >= 0
        assert 1 <= method.min_budget(settings) <= self.budget
        assert parallel is None or parallel >= 1

    def test_same_seed_same_result(self) -> None:
        """All randomness comes from the seed, and none from torch's global generator."""
        first, _ = self._in_folder()
        torch.rand(1)
        before = torch.random.get_rng_state()
        again = self.search()
        assert torch.equal(before, torch.random.get_rng_state()), (
            "the search must leave torch's global random state as it is."
        )
        assert first.policy == again.policy, "the same seed must find the same policy."
        assert _history(first) == _history(again), "the same seed must report the same numbers."

    def test_policy_is_valid(self) -> None:
        """The policy uses operations of the pool only, and can be applied."""
        train = planted_windows(48, varied=False)
        results = (self._in_folder()[0], self._classwise())
        for result in filter(None, results):
            used = set(result.policy.operations_used)
            assert used <= set(self.operations), f"the policy uses {used - {*self.operations}}."
            pool = operation_pool(train, operations=self.operations)
            x, _ = Policy(result.policy, pool)(train.x, train.y)
            assert x.shape == train.x.shape

    def test_classwise_or_refused(self) -> None:
        """A class-wise search has a policy for each class, or is refused in a sentence."""
        result = self._classwise()
        if result is not None:
            assert result.policy.rows == CLASS_NAMES, (
                f"a class-wise policy must have the rows {CLASS_NAMES}, got {result.policy.rows}."
            )

    def test_events_are_well_formed(self) -> None:
        """A start, one event per epoch or trial, retraining where it is due, and an end."""
        events: list[Any] = []
        result = self.search(on_event=events.append, retrain_every=self.budget, baseline=True)
        events = [event for event in events if not isinstance(event, ProbeProgress)]
        unit = find_method(self.method).unit
        start = events[0]
        assert isinstance(start, SearchStart), "the first event must be a SearchStart."
        assert (start.method, start.epoch, start.unit) == (self.method, 0, unit)
        numbers = [number for number in map(_number, events) if number is not None]
        assert numbers == sorted(set(numbers)), f"numbers must increase: {numbers}."
        assert numbers[-1] <= start.n_epochs, f"the budget is exceeded: {numbers}."
        if unit != "training run":
            assert numbers == list(range(1, start.n_epochs + 1)), (
                f"numbers are lacking: {numbers}."
            )
        for event in events:
            if isinstance(event, SearchEpoch | TrialEnd):
                shape = {(len(table), len(table[0])) for table in (event.applied, event.magnitude)}
                assert shape == {(len(result.policy.rows), len(self.operations))}
        assert [event.epoch for event in events if isinstance(event, Retrained)] == [
            0,
            numbers[-1],
        ]
        assert isinstance(events[-1], SearchEnd), "the last event must be a SearchEnd."
        assert result.fitted is not None
        assert result.baseline is not None

    def test_resumes_to_the_same_result(self, tmp_path: Path) -> None:
        """A search that is killed after half its budget ends as one that was not."""

        def kill(event: object) -> None:
            if (_number(event) or 0) >= self.budget // 2:
                raise _KilledError

        whole, file = self._in_folder()
        with suppress(_KilledError):
            self.search(run_dir=tmp_path / "killed", on_event=kill)
        resumed = self.search(run_dir=tmp_path / "killed")
        assert resumed.policy == whole.policy, "a resumed search must find the same policy."
        assert _history(resumed) == _history(whole), "a resumed search must report the same."
        written = (tmp_path / "killed" / "policy.json").read_bytes()
        assert written == file, "a resumed search must write the same file."

    def _in_folder(self) -> tuple[SearchResult, bytes]:
        """Run a small search in a folder, once for all tests; return its policy file too."""
        key = (type(self), self.method)
        if key not in _IN_FOLDER:
            with TemporaryDirectory() as folder:
                result = self.search(run_dir=Path(folder, "run"))
                _IN_FOLDER[key] = result, Path(folder, "run", "policy.json").read_bytes()
        return _IN_FOLDER[key]

    def _classwise(self) -> SearchResult | None:
        """Run a small class-wise search, once for all tests; None if the method has none."""
        key = (type(self), self.method)
        if key not in _CLASSWISE:
            try:
                _CLASSWISE[key] = self.search(classwise=True)
            except ValueError as error:
                if "classwise" not in str(error):
                    raise
                _CLASSWISE[key] = None
        return _CLASSWISE[key]


@cache
def _quick_probe(operations: tuple[str, ...]) -> ProbeResult:
    """Probe the operations, once for all tests."""
    windows = planted_windows(48, varied=True)
    return probe(
        windows, model=_network, operations=operations, n_folds=2, n_epochs=2, progress=False
    )


def _number(event: object) -> int | None:
    """Return the number of epochs, trials or training runs at an event; None for others."""
    match event:
        case SearchEpoch():
            return event.epoch
        case TrialEnd():
            return event.number
        case RaceRound():
            return event.n_runs
        case PolicyProposed():
            return 1
    return None


def _history(result: SearchResult) -> list[str]:
    """Return the events of a search without what clocks say; as text, since NaN is not NaN."""
    return [
        repr({name: value for name, value in asdict(event).items() if name not in CLOCKS})
        for event in result.history
    ]


def _message(call: Callable[[], object]) -> str:
    """Return the text of the ValueError that a call raises."""
    try:
        call()
    except ValueError as error:
        return str(error)
    raise AssertionError("a bad setting must raise ValueError.")
