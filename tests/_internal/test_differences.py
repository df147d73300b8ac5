"""Differences between runs, as messages show them."""

from __future__ import annotations

import hashlib

import pytest

from cadda._internal.differences import MAX_TEXT, excerpts, is_digest

SUBJECTS = [f"sub-{i:02d}" for i in range(1, 31)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (18, 24, ("18", "24")),
        (None, "cond", ("null", '"cond"')),
        ("µ", True, ('"µ"', "true")),
        (["a"], [], ('["a"]', "[]")),
    ],
)
def test_short_values_are_shown_whole(old: object, new: object, expected: object) -> None:
    assert excerpts(old, new) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (SUBJECTS, [*SUBJECTS[:-1], "sub-99"]),
        (SUBJECTS, SUBJECTS[:-1]),
        (SUBJECTS[:3], SUBJECTS),
        ("/data/" + "long/" * 20 + "a", "/data/" + "long/" * 20 + "b"),
        ("a" * 100, "a" * 101),
    ],
)
def test_long_values_are_shown_where_they_differ(old: object, new: object) -> None:
    first, second = excerpts(old, new)
    assert first != second
    assert max(len(first), len(second)) <= MAX_TEXT + 2
    assert excerpts(new, old) == (second, first)


def test_digests() -> None:
    assert is_digest(hashlib.sha256(b"").hexdigest())
    assert is_digest(hashlib.sha256(b"").hexdigest()[:16])
    for other in ("adam", "", 12345678901234567, None, "x" * 16):
        assert not is_digest(other)
