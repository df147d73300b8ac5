"""Source, documentation and messages are written in the English of the field.

Readers know the words of MNE, scikit-learn and Optuna, and search for them. Each rule names words
or phrases that were once used here in their place.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
CODE, TEXT = {".py"}, {".py", ".md", ".rst", ".html", ".j2"}
GENERATED = ("docs/_build", "docs/api/", "docs/gallery")


def is_checked(path: Path) -> bool:
    name = path.relative_to(ROOT).as_posix()
    return path.suffix in TEXT and not name.startswith(GENERATED)


FILES = sorted(
    path
    for folder in ("src", "docs", "benchmarks", "changes")
    for path in (ROOT / folder).rglob("*")
    if is_checked(path)
) + sorted(ROOT.glob("*.md"))


class Rule(NamedTuple):
    name: str
    pattern: str
    instead: str
    suffixes: set[str] = TEXT


RULES = [
    Rule(
        "loop variable `one`",
        r"\bfor one in\b|\blambda one\b",
        "the noun of what it is: `event`, `trial`, `record`",
        CODE,
    ),
    Rule(
        "first word of a docstring",
        r'"""(Say|Give|Refuse|Tell|Have|Let|Know)\b',
        "Return, Compute, Check, Raise, Read, Write, …",
        CODE,
    ),
    Rule("shall", r"\bshall\b", "must, or the present tense"),
    Rule("nobody", r"\bnobody\b", "no subject, no user, …"),
    Rule("to foretell", r"\bforetell", "predict"),
    Rule("riddles", r"\blonely\b|\boverheard\b|\bbury\b", "what it does"),
    Rule(
        "end of a run",
        r"came of it|come of it|what came|came out of|come to (its|their) end",
        "result; finished, unfinished",
    ),
    Rule(
        "resuming",
        r"\bgo(es)? on (with|from|where)\b|\bwent on\b",
        "resume, continue",
    ),
    Rule("leaving behind", r"\bleaves? behind\b|\bleft behind\b", "write, keep"),
    Rule(
        "chance",
        r"(cannot|could|can) be told",
        "not distinguishable from chance, undecided",
    ),
    Rule("applicability", r"\bmeans? something\b|(can|could) do nothing", "applicable"),
    Rule(
        "names",
        r"_in_words\b|\bthat_matters\b|\bgoes_on\b|\b_have_done\b|\bDAMAGE\b|\breason_of\b"
        r"|\bleave_records\b|\b(train|search)_in_folder\b",
        "describe_…, result_key, should_continue, READ_ERRORS, short_reason, run_search, …",
        CODE,
    ),
    Rule("training as a countable noun", r"\btrainings\b", "training runs, models"),
    # Not the name of a random stream, which numbers depend on, nor that of a benchmark.
    Rule("judging", r"(?<!many-)(?<!\")\bjudg(e|es|ed|ing)\b", "evaluate, evaluator, test"),
    Rule("drawings", r"\bdrawings\b", "resamples, draws"),
    Rule("anew", r"\banew\b", "again, resampled, reallocated"),
    Rule("flaws", r"\bflaws?\b", "bad windows, quality"),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_words(rule: Rule) -> None:
    pattern = re.compile(rule.pattern, re.IGNORECASE if rule.suffixes is TEXT else 0)
    places = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in FILES
        if path.suffix in rule.suffixes
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line)
    ]
    listed = "\n".join(places)
    assert not places, f"{rule.name}; write instead: {rule.instead}\n{listed}"


def test_there_is_something_to_check() -> None:
    assert len(FILES) > 200
    assert ROOT / "README.md" in FILES
