"""A file of results that survives a kill at any byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from cadda._internal.jsonlines import ResultsFile
from cadda.exceptions import RunError

RECORDS = [{"job": {"fold": 0}, "result": {"score": 0.5}}, {"job": {"fold": 1}, "error": "größer"}]


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    assert results.read() == []
    for record in RECORDS:
        results.append(record)
    assert ResultsFile(results.path).read() == RECORDS


def test_killed_at_any_byte(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    for record in RECORDS:
        ResultsFile(path).append(record)
    content = path.read_bytes()
    first = content.index(b"\n") + 1
    for end in range(first, len(content)):
        path.write_bytes(content[:end])
        assert ResultsFile(path).read() == RECORDS[:1]
        assert path.read_bytes() == content[:end]
        ResultsFile(path).append(RECORDS[1])
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"job": ', r"results.jsonl, line 2, is not a result \(Expecting value.*\); remove"),
        ("17", r"results.jsonl, line 2, must be a JSON object, got '17'; remove the line"),
    ],
)
def test_a_broken_line_in_the_middle(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(f"{{}}\n{line}\n{{}}\n")
    with pytest.raises(RunError, match=message):
        ResultsFile(path).read()


def test_what_json_cannot_hold_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    results = ResultsFile(tmp_path / "results.jsonl")
    results.append(RECORDS[0])
    with pytest.raises(ValueError, match="Out of range float values"):
        results.append({"score": float("nan")})
    assert results.read() == RECORDS[:1]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be written: No such file or directory"):
        ResultsFile(tmp_path / "none" / "results.jsonl").append({})
