"""A search that is told what operations do to classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mirrored import SWAP, mirrored_windows

import cadda
from cadda import SearchResult
from cadda.exceptions import DataError, RunError
from cadda.searchers.events import SearchEpoch, SearchStart
from cadda.testing.planted import planted_network

OPERATIONS = ("time_mask", "channel_symmetry")


def run(**changes: Any) -> SearchResult:
    arguments: dict[str, Any] = {
        "retrain": False,
        "baseline": False,
        "model": planted_network,
        "operations": OPERATIONS,
        "method": "adda",
        "budget": 3,
        "warmup_epochs": 1,
        **changes,
    }
    train, valid = mirrored_windows(48, n_subjects=6), mirrored_windows(24, seed=1)
    return cadda.search(train, valid, **arguments)


class Killed(BaseException):
    """Ends a search from within."""


def fail(*_: object, **__: object) -> None:
    raise AssertionError("a probe was run")


def kill(event: object) -> None:
    if isinstance(event, SearchEpoch) and event.epoch == 2:
        raise Killed


@pytest.fixture(scope="module")
def probe() -> cadda.ProbeResult:
    """What `probe=True` must find: the probe of the training windows alone."""
    windows = mirrored_windows(48, n_subjects=6)
    return cadda.probe(windows, model=planted_network, operations=OPERATIONS)


def test_probes_the_training_windows_and_goes_on_after_a_kill(
    probe: cadda.ProbeResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    with pytest.raises(Killed):
        run(probe=True, run_dir=folder, on_event=kill)
    probe.save(tmp_path / "probe.json")
    assert (folder / "probe.json").read_bytes() == (tmp_path / "probe.json").read_bytes()
    config = json.loads((folder / "config.json").read_text())
    assert config["operations"] == ["time_mask", str(SWAP)]
    assert config["probe"]["added"] == [str(SWAP)]
    monkeypatch.setattr("cadda.api.search.run_probe", fail)
    resumed = run(probe=True, run_dir=folder, resume=True)
    notes: list[str] = []

    def listen(event: object) -> None:
        if isinstance(event, SearchStart):
            notes.extend(event.notes)

    whole = run(probe=tmp_path / "probe.json", on_event=listen)
    assert resumed.policy == whole.policy == run(probe=probe).policy
    assert whole.operations == ("time_mask", str(SWAP))
    assert notes == [
        f"The probe changes the operations: it adds {SWAP}; it leaves out what does not keep "
        "the classes: channel_symmetry"
    ]


def test_a_resumed_search_must_have_the_same_probe(
    probe: cadda.ProbeResult, tmp_path: Path
) -> None:
    run(probe=probe, run_dir=tmp_path)
    with pytest.raises(RunError, match="another `operations`"):
        run(run_dir=tmp_path, resume=True)


def test_nothing_is_probed_with_wrong_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cadda.api.search.run_probe", fail)
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(RunError, match="contains other files"):
        run(probe=True, run_dir=tmp_path)
    with pytest.raises(ValueError, match="`batch_size` must be at most"):
        run(probe=True, batch_size=1000)
    with pytest.raises(DataError, match="is not the result of a probe"):
        run(probe=_file(tmp_path))


def _file(folder: Path) -> Path:
    path = folder / "policy.json"
    path.write_text("{}")
    return path


def test_faster_autoaugment_says_what_it_does_not_use(probe: cadda.ProbeResult) -> None:
    events: list[object] = []
    operations = (*OPERATIONS, "time_reverse")
    result = run(
        method="faster_autoaugment", operations=operations, probe=probe, on_event=events.append
    )
    assert result.operations == ("time_reverse", "time_mask")
    start = next(event for event in events if isinstance(event, SearchStart))
    assert [str(SWAP) in note for note in start.notes] == [True, True]
