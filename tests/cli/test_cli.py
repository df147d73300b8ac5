"""The command line as its users meet it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from commands import CADDA, run

from cadda import PolicySchedule, PolicySpec, Segment, TrainingSettings
from cadda.api.demo import DEMOS
from cadda.cli.doctor import OPTIONAL, doctor
from cadda.operations import CATALOGUE
from cadda.policies.schedule import load_policy, policies_of
from cadda.probing.probe_result import ProbeResult
from cadda.reporting.probe_records import ProbeMatrix, ProbeRow


def test_the_command_is_installed() -> None:
    done = subprocess.run([CADDA, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("cadda 0.")


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, "1000"),
        ({"GOMP_SPINCOUNT": "7"}, "7"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "None"),
    ],
)
def test_threads_wait_briefly_unless_the_user_decides(
    chosen: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    # It has an effect only before torch is loaded.
    values = "os.environ.get('GOMP_SPINCOUNT'), 'torch' in sys.modules"
    command = [sys.executable, "-c", f"import os, sys, cadda.cli; print({values})"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [expected, "False"]


def test_operations_are_listed_with_units_and_references() -> None:
    text = run("operations").stdout
    for name in CATALOGUE:
        assert name in text
    assert "shift < 5 Hz" in text
    assert "ICLR 2022" in text


def test_operations_of_a_montage_as_json() -> None:
    rows = json.loads(run("operations", "--channels", "Fpz-Cz,Pz-Oz", "--json").stdout)
    left_out = {row["name"]: row["left_out"] for row in rows}
    assert "2 are known" in left_out["rotation_x"]
    assert left_out["sign_flip"] is None


def test_operations_picture(tmp_path: Path) -> None:
    picture = tmp_path / "new" / "operations.png"
    assert str(picture) in run("operations", "--picture", str(picture)).stdout.replace("\n", "")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In small. What it prints is what it has written down."""
    training = TrainingSettings(batch_size=64, max_epochs=1)
    small = replace(DEMOS["motor-imagery"], n_windows=2, training=training, budget=18)
    monkeypatch.setitem(DEMOS, "motor-imagery", small)
    out = tmp_path / "demo"
    text = run("demo", "--out", out, "--seed", "1").stdout
    report = out / "run" / "report.html"
    assert str(report) in text
    assert report.stat().st_size > 10_000
    race = json.loads((out / "run" / "race.json").read_text())
    assert text.index("12 subjects to learn from and 20 to test on") < text.index(
        race["verdict"]["sentence"]
    )
    scores = json.loads((out / "run" / "scores.json").read_text())
    assert len(scores["test_subjects"]) == 20
    assert f"{scores['balanced_accuracy']:.3f}" in text
    assert (out / "run" / "policy.txt").read_text() in text
    assert json.loads((out / "run" / "config.json").read_text())["seed"] == 1
    assert "  cadda search eegbci/imagined-fists.toml" in text
    # A second call has nothing left to do.
    assert run("demo", "--out", out, "--seed", "1").stdout == text


def test_doctor() -> None:
    assert "All required packages work." in run("doctor").stdout
    report = json.loads(run("doctor", "--json").stdout)
    assert report["healthy"] is True
    assert report["packages"]["torch"]
    assert report["optional"]["edfio"]["install"] == "pip install 'cadda[edf-export]'"


def test_doctor_shows_what_is_missing_and_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "edfio", None)
    doctor()
    lines = capsys.readouterr().out.splitlines()
    found = next(i for i, line in enumerate(lines) if "edfio" in line)
    assert lines[found].startswith("  -- edfio        not installed; for writing EDF files")
    assert lines[found + 1].strip() == "pip install 'cadda[edf-export]'"
    for package in OPTIONAL:
        assert any(line.endswith(f"; for {package.purpose}") for line in lines)


def test_policy_in_physical_units(tmp_path: Path) -> None:
    file = tmp_path / "policy.txt"
    file.write_text(
        "[W]\nfrequency_shift p=0.5 m=0.4 > sign_flip p=0.3\n[N2]\ntime_mask p=1 m=0.2..1\n"
    )
    text = run("policy", "show", str(file)).stdout
    assert "50% frequency_shift, shift < 2 Hz" in text
    assert "100% time_mask, gap 0.2 to 1 s" in text
    as_json = json.loads(run("policy", "show", str(file), "--json").stdout)
    assert as_json["class_names"] == ["W", "N2"]


def test_policy_of_no_augmentation(tmp_path: Path) -> None:
    file, other = tmp_path / "none.txt", tmp_path / "other.txt"
    file.write_text("none\n")
    other.write_text("[W]\nnone\n[N2]\nsign_flip p=0.5\n")
    assert run("policy", "show", str(file)).stdout == "no augmentation\n"
    text = run("policy", "show", str(other)).stdout
    assert "W: no augmentation" in text
    assert "50% sign_flip" in text
    assert "N2: total variation distance 0.500" in run("policy", "diff", file, other).stdout


def test_policy_simplify(tmp_path: Path) -> None:
    soft, out, text = tmp_path / "soft.txt", tmp_path / "out.json", tmp_path / "out.txt"
    soft.write_text(
        "sign_flip p=0.5 > time_mask p=0.8 m=0.3 w=9 | time_reverse p=0.3\n"
        "sign_flip p=0.7 > time_mask p=0.8 m=0.3 w=9 | time_reverse p=0.3\n"
    )
    said = run("policy", "simplify", soft, "-o", out).stdout
    crisp = "sign_flip p=0.6 > time_mask p=0.75 m=0.3\n"
    assert said == f"{crisp}6 entries became 2, at a total variation distance of 0.030.\n"
    assert run("policy", "simplify", soft, "--json", "-o", text).stdout == out.read_text()
    assert text.read_text() == (f"# simplified, at a total variation distance of 0.030\n{crisp}")
    kept = run("policy", "simplify", text, "--max-loss", "0.031").stdout
    assert kept == f"{crisp}No simpler policy within a distance of 0.031: it is unchanged.\n"
    saved = json.loads(out.read_text())
    assert saved["provenance"]["simplified"] == pytest.approx(0.03)
    again = run("policy", "simplify", out, "--max-loss", "0.01").stdout
    assert "No simpler policy within a distance of 0.01: it is unchanged." in again
    said = run("policy", "simplify", out, "--max-loss", "2", code=2).stderr
    assert "`--max-loss` must be in [0, 1]" in said


def test_schedule_simplify(tmp_path: Path) -> None:
    file, out = tmp_path / "schedule.json", tmp_path / "out.json"
    rows = ("sign_flip p=0.5\nsign_flip p=0.7", "sign_flip p=0.5")
    segments = (Segment(2, PolicySpec.from_text(row)) for row in rows)
    PolicySchedule(tuple(segments)).save(file)
    said = run("policy", "simplify", file, "-o", out).stdout
    assert said.startswith("sign_flip p=0.6\n2 entries became 1")
    assert [len(policy.entries) for policy in policies_of(load_policy(out))] == [1, 1]
    said = run("policy", "simplify", file, "-o", tmp_path / "out.txt", code=2).stderr
    assert "`--out` must be a JSON file for a schedule" in said


def test_policy_with_label_maps(tmp_path: Path) -> None:
    file, kept = tmp_path / "mapped.txt", tmp_path / "kept.txt"
    file.write_text(
        "[left]\nfrequency_shift p=0.5 m=0.4 -> right\n[right]\nfrequency_shift p=1 m=1 -> left"
    )
    text = run("policy", "show", str(file)).stdout
    assert "50% frequency_shift → right, shift < 2 Hz" in text
    assert "(+50% left, −50% right, if they are equally frequent before)" in text
    kept.write_text("frequency_shift p=0.5 m=0.4 -> {left: right, right: left}")
    text = run("policy", "show", str(kept)).stdout
    assert "50% frequency_shift (left ↔ right), shift < 2 Hz" in text
    assert "windows of other classes, if there are any, are left as they are." in text
    report = json.loads(run("policy", "diff", str(kept), str(file), "--json").stdout)
    (change,) = report["changes"]
    assert change["operation"] == "frequency_shift (left ↔ right)"
    assert change["in_units"] == ["shift < 2 Hz", "shift < 5 Hz"]
    assert report["total_variation"] == {"left": 0.0, "right": 0.5}
    text = run("policy", "export", str(kept), "--format", "text").stdout
    assert text == "frequency_shift p=0.5 m=0.4 -> {left: right, right: left}\n"


def test_policy_tells_its_leak(tmp_path: Path) -> None:
    file, capped = tmp_path / "policy.txt", tmp_path / "capped.json"
    file.write_text("[W]\ntime_mask p=0.5 m=0.4\n[R]\nsign_flip p=0.01")
    text = run("policy", "show", file).stdout
    assert "by being applied: time_mask 0.31 bits, sign_flip 0.01 bits." in text
    assert "time_mask changes 50% of the windows of W, but 0% of those of R, which tells" in text
    as_json = json.loads(run("policy", "show", file, "--json").stdout)
    assert as_json["provenance"]["leak"] == pytest.approx(0.3113, abs=1e-4)
    text = run("policy", "cap", file, "-o", capped).stdout
    assert "50.0% → 18.6%" in text
    assert "What operations tell about the class by being applied: time_mask 0.10 bits" in text
    assert 0.1 - 1e-6 < json.loads(capped.read_text())["provenance"]["leak"] <= 0.1
    assert run("policy", "cap", capped).stdout == capped.read_text()
    file.write_text("sign_flip p=0.5")
    assert "about the class" not in run("policy", "show", file).stdout
    assert json.loads(run("policy", "show", file, "--json").stdout)["provenance"]["leak"] is None


def test_policy_cap_by_a_probe(tmp_path: Path) -> None:
    rows = tuple(
        ProbeRow("time_mask", 0.4, name, 0.8, 0.8, 0.7, 0.9, other, 0.2, 0.1, 0.3, "keeps")
        for name, other in (("W", "R"), ("R", "W"))
    )
    share = ((0.8, 0.2), (0.2, 0.8))
    matrices = (ProbeMatrix(None, None, share), ProbeMatrix("time_mask", 0.4, share))
    file, probe = tmp_path / "policy.txt", tmp_path / "probe.json"
    ProbeResult(("W", "R"), 0.8, 0.7, 0.9, True, 9, (), rows, matrices, {}, {}).save(probe)  # noqa: FBT003
    file.write_text("[W]\ntime_mask p=0.5 m=0.4\n[R]\nsign_flip p=0.01")
    capped = json.loads(run("policy", "cap", file, "--probe", probe).stdout)["policy"]
    (first,), _ = capped["R"][0]["stages"]
    assert first["operation"] == "time_mask"
    assert 0.3 < capped["W"][0]["stages"][0][0]["probability"] < 0.5
    file.write_text("[W]\ntime_mask p=0.5 m=0.4\n[N2]\nsign_flip p=0.01")
    said = run("policy", "cap", file, "--probe", probe, code=2).stderr
    assert "`--probe` must be of windows with the classes of the policy" in said
    assert "and not 'N2'" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["policy", "show", "none.json"], "cadda: none.json cannot be read: No such file"),
        (["operations", "--picture", "picture.xyz"], "cadda: Format 'xyz' is not supported"),
        (["operatoins"], "No such command 'operatoins'"),
    ],
)
def test_mistakes_end_in_a_sentence(arguments: list[str], message: str) -> None:
    done = run(*arguments, code=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def two_policies(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "old.txt", tmp_path / "new.txt"
    first.write_text("[W]\nfrequency_shift p=0.5 m=0.4\n[N2]\nsign_flip p=0.2\n")
    second.write_text("[W]\nfrequency_shift p=0.8 m=0.2\n[N2]\nsign_flip p=0.2\n")
    return first, second


def test_policy_diff(two_policies: tuple[Path, Path]) -> None:
    text = run("policy", "diff", *two_policies).stdout
    assert "W: total variation distance 0.300" in text
    assert "50.0% → 80.0%" in text
    assert "shift < 2 Hz → shift < 1 Hz" in text
    assert "N2: total variation distance 0.000\n  no change" in text
    report = json.loads(run("policy", "diff", *two_policies, "--json").stdout)
    (change,) = report["changes"]
    assert (change["row"], change["operation"]) == ("W", "frequency_shift")
    assert change["probability"] == [0.5, 0.8]
    assert report["total_variation"]["N2"] == 0


def test_what_braindecode_does_not_have_is_said(tmp_path: Path) -> None:
    file = tmp_path / "policy.txt"
    file.write_text("channel_symmetry p=0.5 -> {left: right, right: left} > sign_flip p=0.5")
    said = run("policy", "export", file)
    assert "note: not as in the policy: channel_symmetry (left ↔ right): left out" in said.stderr
    assert "--format torch does exactly the same" in said.stderr
    assert "SignFlip(0.5)" in said.stdout
    file.write_text("sign_flip p=0.5")
    assert not run("policy", "export", file).stderr


def test_policy_export(two_policies: tuple[Path, Path]) -> None:
    first, _ = two_policies
    said = run("policy", "export", first, code=2).stderr
    assert "`--sfreq` must be given" in said
    code = run("policy", "export", first, "--sfreq", "100").stdout
    assert "FrequencyShift(0.5, sfreq=SFREQ, max_delta_freq=2)" in code
    as_json = run("policy", "export", first, "--format", "json").stdout
    assert json.loads(as_json)["class_names"] == ["W", "N2"]
    assert (
        "frequency_shift p=0.5 m=0.4" in run("policy", "export", first, "--format", "text").stdout
    )
