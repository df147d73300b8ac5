"""Files of JSON lines survive a kill at any byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from cadda._internal.jsonlines import BLOCK, JsonLines
from cadda.exceptions import RunError

RECORDS = [{"job": {"fold": 0}, "result": {"score": 0.5}}, {"job": {"fold": 1}, "error": "größer"}]


def test_appended_records_are_read(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "results.jsonl")
    assert lines.read() == []
    for record in RECORDS:
        lines.append(record)
    assert JsonLines(lines.path).read() == RECORDS
    lines.rewrite(RECORDS[1:])
    assert lines.read() == RECORDS[1:]


def test_killed_at_any_byte(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    for record in RECORDS:
        JsonLines(path).append(record)
    content = path.read_bytes()
    first = content.index(b"\n") + 1
    for end in range(first, len(content)):
        path.write_bytes(content[:end])
        assert JsonLines(path).read() == RECORDS[:1]
        assert path.read_bytes() == content[:end]
        JsonLines(path).append(RECORDS[1])
        assert path.read_bytes() == content


@pytest.mark.parametrize("kept", ["", "{}\n"])
def test_long_incomplete_line(kept: str, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(kept + '{"text": "' + 3 * BLOCK * "x")
    JsonLines(path).append(RECORDS[0])
    assert JsonLines(path).read() == [{}] * bool(kept) + RECORDS[:1]


def test_append_reads_the_end_only(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    size = 2**36
    # A sparse file: it takes no space, but reading it all would take minutes and all memory.
    with path.open("wb") as file:
        file.seek(size - 1)
        file.write(b"\n")
    JsonLines(path).append({})
    assert path.stat().st_size == size + len("{}\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            200_000 * "[",
            r"results.jsonl, line 2, is not JSON \(it is nested deeper.*\); remove",
        ),
        ('{"job": ', r"results.jsonl, line 2, is not JSON \(Expecting value.*\); remove"),
        ("17", r"results.jsonl, line 2, must be a JSON object, got '17'; remove the line"),
    ],
)
def test_invalid_line_in_the_middle(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(f"{{}}\n{line}\n{{}}\n")
    with pytest.raises(RunError, match=message):
        JsonLines(path).read()


def test_invalid_record_leaves_the_file_unchanged(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "results.jsonl")
    lines.append(RECORDS[0])
    with pytest.raises(ValueError, match="Out of range float values"):
        lines.append({"score": float("nan")})
    assert lines.read() == RECORDS[:1]


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"cannot write .*No such file"):
        JsonLines(tmp_path / "none" / "results.jsonl").append({})


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    """But for those of the checksum's name, without which a line is one of another program."""
    lines = JsonLines(tmp_path / "results.jsonl")
    lines.append({"score": 0.5, "name": "größer"})
    content = lines.path.read_bytes()
    name = content.index(b', "crc32": "')
    value = range(name + len(b', "crc32": "'), len(content) - 3)
    for place in (*range(name), *value):
        digit = b"1" if content[place : place + 1] != b"1" else b"2"
        lines.path.write_bytes(content[:place] + digit + content[place + 1 :])
        with pytest.raises(RunError, match="line 1, was changed or damaged"):
            lines.read()


@pytest.mark.parametrize("end", [b"\r\n", b" \n", b"x\n"])
def test_a_changed_end_of_a_line_is_noticed(end: bytes, tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "results.jsonl")
    lines.append({"score": 0.5})
    lines.path.write_bytes(lines.path.read_bytes()[:-1] + end)
    with pytest.raises(RunError, match="line 1, was changed or damaged"):
        lines.read()


def test_a_line_that_lost_its_checksum_is_noticed(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "results.jsonl")
    lines.rewrite([{"score": 0.5}, {}, {"score": 0.6}])
    assert lines.read() == [{"score": 0.5}, {}, {"score": 0.6}]
    first = lines.path.read_text().splitlines()[0]
    lines.path.write_text(f'{first}\n{{"score": 0.7}}\n')
    with pytest.raises(RunError, match="line 2, was changed or damaged"):
        lines.read()


def test_lines_without_a_checksum_are_read(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"score": 0.5}\n{}\n')
    assert JsonLines(path).read() == [{"score": 0.5}, {}]
    JsonLines(path).rewrite([{}])
    assert JsonLines(path).read() == [{}]
