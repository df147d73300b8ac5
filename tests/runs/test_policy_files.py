"""Policy files of a run that people edit or exchange."""

from __future__ import annotations

import html
from pathlib import Path

import pytest
from commands import run
from tiny_commands import tiny_windows

import cadda
from cadda.policies.spec.model import PolicySpec
from cadda.runs.folder import RunFolder
from cadda.runs.policy_files import describe_edited, is_edited, write_policy_file

OTHER = PolicySpec.from_text("time_reverse p=0.9").to_json()
CHANGED = "policy.json was changed after the run wrote it"
SEARCH = (
    "--method",
    "random",
    "--budget",
    1,
    "--operations",
    "sign_flip,time_mask",
    "--test",
    0.3,
)
QUICK = ("--max-epochs", 1, "--model", "shallow")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    tiny_windows().save(tmp_path / "data.npz")
    return tmp_path / "data.npz"


@pytest.fixture
def finished(data: Path, tmp_path: Path) -> Path:
    run("search", data, "--out", tmp_path / "run", *SEARCH, *QUICK)
    return tmp_path / "run"


def test_an_edited_policy_is_kept(finished: Path, data: Path) -> None:
    arguments = ("search", data, "--out", finished, "--resume", *SEARCH, *QUICK)
    before = {path.name: path.read_bytes() for path in finished.iterdir() if path.is_file()}
    assert CHANGED not in run(*arguments).stderr
    for name in ("policy.json", "policy.txt", "digests.json"):
        assert (finished / name).read_bytes() == before[name]
    (finished / "policy.json").write_text(OTHER)
    assert run(*arguments).stderr.count(CHANGED) == 1
    assert (finished / "policy.json").read_text() == OTHER
    assert (finished / "policy.txt").read_bytes() == before["policy.txt"]
    # Deleted, it is restored.
    (finished / "policy.json").unlink()
    assert CHANGED not in run(*arguments).stderr
    assert (finished / "policy.json").read_bytes() == before["policy.json"]
    assert describe_edited(RunFolder(finished)) == ""


def test_scores_are_not_those_of_another_policy(finished: Path, data: Path) -> None:
    assert run("report", finished).stderr == ""
    (finished / "policy.json").write_text(OTHER)
    assert run("report", finished).stderr.count(CHANGED) == 1
    page = html.unescape((finished / "report.html").read_text())
    assert f"<strong>{CHANGED}" in page
    assert CHANGED in run("evaluate", finished, data, "--different-subjects").stderr


def test_training_with_an_edited_policy(finished: Path, data: Path, tmp_path: Path) -> None:
    policy = finished / "policy.json"
    train = ("train", data, "--policy", policy, *QUICK)
    assert "was changed" not in run(*train, "--out", tmp_path / "a").stderr
    policy.write_text(OTHER)
    again = run(*train, "--out", tmp_path / "b")
    assert f"{policy} was changed after its run wrote it" in again.stderr
    windows = tiny_windows()
    parts = windows.split(seed=0)
    with pytest.warns(UserWarning, match="was changed after its run wrote it"):
        cadda.fit(*parts[:2], model="shallow", policy=policy, max_epochs=1, progress=False)


def test_an_edited_policy_of_a_training_run(data: Path, tmp_path: Path) -> None:
    out, policy = tmp_path / "run", tmp_path / "flip.txt"
    policy.write_text("sign_flip p=0.5")
    arguments = ("train", data, "--policy", policy, "--out", out, *QUICK)
    run(*arguments)
    (out / "policy.json").write_text(OTHER)
    assert run(*arguments).stderr.count(CHANGED) == 1
    assert (out / "policy.json").read_text() == OTHER


def test_files_that_a_killed_process_has_left(tmp_path: Path) -> None:
    """Either of the last two contents is the run's own, in any order."""
    run_folder = RunFolder(tmp_path)
    for text in ("a", "b", "a", "c"):
        write_policy_file(run_folder, run_folder.policy, text)
    for text, is_own in (("c", True), ("a", True), ("b", False)):
        run_folder.policy.write_text(text)
        assert is_edited(run_folder.policy) is not is_own
    run_folder.digests.write_text("[")
    assert not is_edited(run_folder.policy)
