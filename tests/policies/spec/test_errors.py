"""A bad policy file gets one sentence that names the place."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cadda import CaddaError, PolicySchedule, PolicySpec, Segment
from cadda.exceptions import PolicyFileError
from cadda.policies.schedule import load_policy

Change = Callable[[dict[str, Any]], object]


def good() -> dict[str, Any]:
    text = "time_mask p=0.5 m=0.3 > sign_flip p=1 | time_reverse p=0.2"
    content: dict[str, Any] = json.loads(PolicySpec.from_text(text).to_json())
    return content


def entry(data: dict[str, Any], stage: int = 0, k: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = data["policy"]["*"][0]["stages"][stage][k]
    return found


FLIP = {"stages": [[{"operation": "sign_flip", "probability": 1}]]}

CASES: list[tuple[str, Change, str]] = [
    (
        "missing field",
        lambda d: entry(d).pop("probability"),
        "`policy.*[0].stages[0][0].probability` is missing.",
    ),
    ("missing policy", lambda d: d.pop("policy"), "`policy` is missing."),
    (
        "missing magnitude",
        lambda d: entry(d).update(magnitude=None),
        "`policy.*[0].stages[0][0]`: `magnitude` is missing, and time_mask needs one",
    ),
    (
        "smallest magnitude above the largest",
        lambda d: entry(d).update(min_magnitude=0.5),
        "`policy.*[0].stages[0][0]`: the smallest magnitude, 0.5, must be at most the largest, "
        "0.3.",
    ),
    (
        "smallest magnitude alone",
        lambda d: entry(d, 1, 1).update(min_magnitude=0.5),
        "`policy.*[0].stages[1][1]`: the smallest magnitude, 0.5, must be at most the largest, "
        "which is missing.",
    ),
    (
        "wrong type",
        lambda d: entry(d).update(probability="often"),
        "`policy.*[0].stages[0][0].probability` must be a valid number, got 'often'.",
    ),
    (
        "number in quotes",
        lambda d: entry(d).update(probability="0.5"),
        "`policy.*[0].stages[0][0].probability` must be a valid number, got '0.5'.",
    ),
    (
        "probability 1.2",
        lambda d: entry(d, 1, 1).update(probability=1.2),
        "`policy.*[0].stages[1][1].probability` must be at most 1, got 1.2.",
    ),
    (
        "negative weight",
        lambda d: entry(d).update(weight=-1),
        "`policy.*[0].stages[0][0].weight` must be at least 0, got -1",
    ),
    (
        "not a number",
        lambda d: entry(d).update(magnitude=float("nan")),
        "`policy.*[0].stages[0][0].magnitude` must be a finite number, got nan.",
    ),
    (
        "infinite weight",
        lambda d: entry(d).update(weight=float("inf")),
        "`policy.*[0].stages[0][0].weight` must be a finite number, got inf.",
    ),
    (
        "unknown operation",
        lambda d: entry(d).update(operation="time_maks"),
        "`policy.*[0].stages[0][0].operation` must be a known operation, "
        "got `time_maks` (did you mean `time_mask`?).",
    ),
    (
        "operation that is no name",
        lambda d: entry(d).update(operation="__import__('os')"),
        "`policy.*[0].stages[0][0].operation` must be a name of small letters, digits and "
        "underscores, got",
    ),
    (
        "weights that sum to 0",
        lambda d: [entry(d, 1, k).update(weight=0) for k in (0, 1)],
        "`policy.*[0].stages[1]`: the weights must have a positive, finite sum",
    ),
    (
        "weights that sum to more than a float",
        lambda d: [entry(d, 1, k).update(weight=1.7e308) for k in (0, 1)],
        "`policy.*[0].stages[1]`: the weights must have a positive, finite sum",
    ),
    (
        "the same operation twice",
        lambda d: entry(d, 1, 1).update(operation="sign_flip"),
        "`policy.*[0].stages[1]`: a stage must name each operation only once",
    ),
    (
        "too many subpolicies",
        lambda d: d["policy"].update({"*": [FLIP] * 10_001}),
        "`policy.*` must have at most 10000 items.",
    ),
    (
        "no stage",
        lambda d: d["policy"]["*"][0].update(stages=[]),
        "`policy.*[0].stages` must have at least one item, got [].",
    ),
    ("other version", lambda d: d.update(version=3), "`version` must be 1 or 2, got 3."),
    (
        "another format",
        lambda d: d.update(format="torch"),
        "`format` must be 'cadda-policy', got 'torch'.",
    ),
    (
        "unknown field",
        lambda d: entry(d).update(prob=0.5),
        "`policy.*[0].stages[0][0].prob` is not a field of a policy file.",
    ),
    (
        "classes without names",
        lambda d: d.update(policy={"W": d["policy"]["*"]}),
        "`class_names` must list the classes of `policy`, ['W'], in the order of their labels.",
    ),
    (
        "all and one class",
        lambda d: d["policy"].update(W=d["policy"]["*"]),
        "`policy` must have either '*' or one entry per class, not both.",
    ),
    (
        "class twice",
        lambda d: d.update(class_names=["W", "W"]),
        "`class_names` must be different from each other.",
    ),
    (
        "class name with a newline",
        lambda d: d.update(class_names=["W\nN1"]),
        "`class_names[0]`: a class name is printable text",
    ),
    (
        "undeclared operation",
        lambda d: d.update(operations={"sign_flip": {}}),
        "`operations` must list all that `policy` uses, but lacks ['time_mask', 'time_reverse'].",
    ),
    (
        "label map that is no permutation",
        lambda d: entry(d).update(label_map={"a": "b"}),
        "`policy.*[0].stages[0][0]`: a label map must send the classes that it names to one "
        "another, each to a different one, got {'a': 'b'}; say what 'b' becomes.",
    ),
    (
        "label map of an operation that is never applied",
        lambda d: entry(d).update(label_map={"a": "b", "b": "a"}, probability=0),
        "`policy.*[0].stages[0][0]`: a label map needs an operation that is applied, but "
        "time_mask has `probability` 0.",
    ),
    (
        "label map with an unknown class",
        lambda d: (entry(d).update(label_map={"W": "R", "R": "W"}), d.update(class_names=["W"])),
        "label maps must name classes of the policy, ['W'], got 'R'.",
    ),
    (
        "label map to a number",
        lambda d: entry(d).update(label_map={"a": 1}),
        "`policy.*[0].stages[0][0].label_map.a` must be a valid string, got 1",
    ),
    ("negative sampling rate", lambda d: d.update(sfreq=-1), "`sfreq` must be above 0"),
]


@pytest.mark.parametrize(("change", "message"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_bad_file(change: Change, message: str, tmp_path: Path) -> None:
    data = good()
    change(data)
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(data))
    with pytest.raises(PolicyFileError) as caught:
        PolicySpec.load(file)
    text = str(caught.value)
    assert text.startswith(f"{file}: {message}")
    assert text.endswith(".")
    assert "\n" not in text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Invalid JSON: EOF while parsing a value at line 1 column 0"),
        (b"sign_flip p=0.5", "Invalid JSON: expected value at line 1 column 1"),
        (json.dumps(good()).encode()[:80], "Invalid JSON: EOF while parsing"),
        (b"[1, 2]", "must be an object"),
        (b"\xff\xfe\x00", "is not a policy file: it is not text"),
        (b'{"policy": ' * 10_000, "Invalid JSON: it is nested deeper than 64 levels"),
    ],
)
def test_not_a_policy_file(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_bytes(content)
    with pytest.raises(PolicyFileError) as caught:
        PolicySpec.load(file)
    assert message in str(caught.value)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_key_that_is_there_twice(tmp_path: Path) -> None:
    """JSON readers take the last one: half of a label map, or a class, would silently be lost."""
    spec = PolicySpec.from_text("channel_symmetry p=1 -> {a: b, b: a}")
    text = spec.to_json().replace('{"a": "b", ', '{"a": "c", "a": "b", ')
    schedule = PolicySchedule((Segment(1, spec),)).to_json()
    schedule = schedule.replace('{"a": "b", ', '{"a": "c", "a": "b", ')
    for content in (text, schedule):
        file = tmp_path / "policy.json"
        file.write_text(content)
        with pytest.raises(PolicyFileError) as caught:
            load_policy(file)
        expected = "an object must have each key once, got 'a' twice beside ['a', 'b']."
        assert str(caught.value) == f"{file}: {expected}"


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(CaddaError, match=r"none.json cannot be read: No such file or directory"):
        PolicySpec.load(tmp_path / "none.json")


def test_too_large(tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    with file.open("wb") as handle:
        handle.truncate(200_000_000)
    with pytest.raises(PolicyFileError, match=r"it has 200 MB, and at most 16.8 MB are read"):
        PolicySpec.load(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least one line, such as `sign_flip p=0.5`"),
        ("sign_flip q=0.5", "line 1: `q=0.5` must be p=, m= or w= with a number"),
        ("# hello\nsign_flip p=much", "line 2: `much` must be a number"),
        ("sign_flip p=1 >", "line 1: an operation is missing beside `>` or `|`"),
        ("x=2: sign_flip p=1", "line 1: only `w=…` may come before a colon"),
        ("[W]\nsign_flip p=1\n[W]\nsign_flip p=1", "line 3: class `W` is there twice"),
        (
            "sign_flip p=1.5",
            "line 1: `p` of `sign_flip p=1.5` must be at most 1, got 1.5.",
        ),
        (
            "# two stages\n\ntime_mask p=1 m=0.2 > time_reverse p=1 | sing_flip p=1",
            "line 3: `sing_flip p=1` must be a known operation, "
            "got `sing_flip` (did you mean `sign_flip`?).",
        ),
        ("[W]\nsign_flip", "line 2: `p` of `sign_flip` is missing."),
        ("time_mask p=1", "line 1: `time_mask p=1`: `m` is missing, and time_mask needs one."),
        ("time_mask p=1 m=-1", "line 1: `m` of `time_mask p=1 m=-1` must be at least 0"),
        (
            "time_mask p=1 m=0.5..0.2",
            "line 1: `time_mask p=1 m=0.5..0.2`: the smallest magnitude, 0.5, must be at most the "
            "largest, 0.2.",
        ),
        ("time_mask p=1 m=-1..0", "line 1: `m` of `time_mask p=1 m=-1..0` must be at least 0"),
        ("time_mask p=1 m=0..", "line 1: a number is missing after `=` or `..`."),
        ("time_mask p=0..1 m=1", "line 1: `0..1` must be a number."),
        ("Sign_flip p=1", "line 1: `Sign_flip p=1` must be a name of small letters"),
        ("w=-1: sign_flip p=1", "line 1: `w` before the colon must be at least 0"),
        (
            "sign_flip p=1\nsign_flip p=1 > sign_flip p=1 w=0",
            "line 2, stage 2: the weights must have a positive, finite sum.",
        ),
        (
            "[W]\nsign_flip p=1\n[N2]\nw=0: sign_flip p=1\nw=0: time_reverse p=1",
            "lines 4 to 5: the weights must have a positive, finite sum.",
        ),
        ("w=0: sign_flip p=1", "line 1: the weights must have a positive, finite sum."),
        ("[W]\n# nothing\n[N2]\nsign_flip p=1", "line 1: `[W]` must be followed by a line"),
        ("[W]\nsign_flip p=1\nnone", "line 3: `none` must not follow another line."),
        ("none\nnone", "line 2: `none` must not follow another line."),
        ("none\n# a\nsign_flip p=1", "line 3: no line must follow `none`, which is in line 1."),
        ("none\n[W]\nnone", "line 2: `[W]` must not be in one policy with lines for all"),
        ("[W]\n# a\n> sign_flip p=1", "line 3: `>` must follow an operation."),
        ("none\n| sign_flip p=1", "line 2: `|` must follow an operation."),
        ("sign_flip p=1\n>", "line 2: an operation is missing beside `>` or `|`."),
        ("sign_flip p=1\n  | time_mask p=1", "line 2: `time_mask p=1`: `m` is missing"),
        (
            "sign_flip p=1  # first\n\n# 2\n  | sign_flip p=1 -> {a: b, b: a} > bandstop p=2 m=1",
            "line 4: `p` of `bandstop p=2 m=1` must be at most 1, got 2.0.",
        ),
        ("sign_flip p=1\n> sign_flip p=1 w=0", "line 2, stage 2: the weights must have"),
        ("sign_flip p=1\n> sign_flip p=1 -> {a: b}", "line 2: sign_flip: a label map must"),
        ("sign_flip p=1\n[]\nsign_flip p=1", "line 2: `[]` must not be in one policy with"),
        ("[]\nsign_flip p=1", "line 1: `[]`: a class name is printable text"),
        (">".join(["sign_flip p=1"] * 101), "line 1 must have at most 100 items."),
    ],
)
def test_bad_text(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyFileError) as caught:
        PolicySpec.from_text(text)
    assert message in str(caught.value)
    assert "policy." not in str(caught.value)
    file = tmp_path / "policy.txt"
    file.write_text(text)
    with pytest.raises(PolicyFileError) as in_file:
        PolicySpec.load(file)
    assert str(in_file.value) == f"{file}: {caught.value}"


@pytest.mark.parametrize(
    "text",
    [
        "sign_flip p=0.5",
        "my_own_operation p=0.5 > sign_flip p=1",
        "[W]\nsign_flip p=0.5\n[N2]\ntime_reverse p=1\n",
        "sign_flip p=0.5 > " * 30 + "sign_flip p=1",
    ],
)
def test_text_in_place_of_a_file(text: str) -> None:
    with pytest.raises(PolicyFileError) as caught:
        PolicySpec.load(text)
    assert "but is a policy itself; read it with PolicySpec.from_text('" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_failed_save_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "policy.json"
    spec = PolicySpec.from_text("sign_flip p=0.5")
    spec.save(file)
    before = file.read_bytes()

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(CaddaError, match=r"cannot write .*policy\.json: No space left on device"):
        PolicySpec.from_text("sign_flip p=0.9").save(file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_a_killed_save_leaves_the_old_file(tmp_path: Path) -> None:
    """The process dies just before the new file takes its place."""
    file = tmp_path / "policy.json"
    PolicySpec.from_text("sign_flip p=0.5").save(file)
    before = file.read_bytes()
    script = (
        "import os, pathlib, sys\n"
        "from cadda import PolicySpec\n"
        "pathlib.Path.replace = lambda *_: os._exit(9)\n"
        "PolicySpec.from_text('sign_flip p=0.9').save(sys.argv[1])\n"
    )
    assert subprocess.run([sys.executable, "-c", script, file], check=False).returncode == 9
    assert file.read_bytes() == before


def test_text_of_other_kinds() -> None:
    with pytest.raises(TypeError, match="`text` must be a policy as text, got int"):
        PolicySpec.from_text(3)
    with pytest.raises(PolicyFileError, match="has half of a character, which no file can hold"):
        PolicySpec.from_text("sign_flip p=0.5 # \ud800")
