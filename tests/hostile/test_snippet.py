"""Text of a run folder never becomes code: the snippet has known names and quoted literals."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz_mutations import CODE, NUMBERS, TEXTS
from tiny_commands import Command, tiny_windows

import cadda
from cadda.policies.spec.model import PolicySpec
from cadda.reporting.html.provenance import READERS, runner_up_snippet, snippet
from cadda.runs.report import read_record, write_report

NAMES = {"cadda", "run", "windows", "train", "valid", "test", "fitted", "spec", "policy", "x", "y"}
NAMES |= {"print", "float", "sys", "pool", "own", "candidate"}
CALLS = {*READERS, "windows.split", "cadda.split_from", "cadda.fit", "print", "cadda.evaluate"}
CALLS |= {
    "sys.path.insert",
    "cadda.PolicySpec.from_text",
    "cadda.PolicySpec.load",
    "cadda.Policy",
    "cadda.operation_pool",
    "policy",
    "float",
}


OWN = "louder"
"""An operation of the policy that is not of cadda."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run")
    tiny_windows().save(root / "windows.npz")
    command = Command("train", root / "windows.npz", root)
    command.start()
    return command.out


def check(code: str) -> None:
    """Raise unless code has only names and calls that are known."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name):
            assert node.id in NAMES
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) in CALLS
        if isinstance(node, ast.Import):
            assert ast.unparse(node) in ("import cadda", "import sys")
        assert not isinstance(node, ast.ImportFrom)
        assert not isinstance(node, ast.Lambda | ast.comprehension | ast.FunctionDef)
    assert code.replace("\n", "").isprintable()


def hostile_configs(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    values = [*TEXTS[:-1], *NUMBERS, [CODE], {CODE: CODE}]
    for value in values:
        arguments = {"source": value, CODE: 1, "x=1);" + CODE: 2, "subject": value, "eval": 3}
        reading = {"function": "cadda.read_windows", "arguments": arguments}
        yield config | {"reading": reading}
    for text in TEXTS[:-1]:
        yield config | {"reading": {"function": text, "arguments": {"source": CODE}}}
        yield config | {"model": text}
        yield config | {"data": config["data"] | {"name": text}}
        for place in (text, f"{text}:{text}", f"a:{text}", "a:b"):
            own = {"name": OWN, "place": place, "folder": f"/{text}"}
            yield config | {"own_operations": [own]}


def test_snippets(folder: Path) -> None:
    path = folder / "config.json"
    healthy = path.read_text()
    policy = folder / "policy.json"
    PolicySpec.from_text(f"{OWN} p=0.5", known=None).save(policy)
    check(snippet(read_record(folder)))
    n_made = 0
    for config in hostile_configs(json.loads(healthy)):
        path.write_text(json.dumps(config))
        code = snippet(read_record(folder))
        check(code)
        n_made += 1
    path.write_text(healthy)
    assert n_made > 60


def test_snippets_of_a_runner_up(folder: Path) -> None:
    record = read_record(folder)
    for text in (
        "sign_flip p=0.5\ntime_mask p=0.5 m=0.3",
        f'["{CODE}"]\nsign_flip p=1\n[b]\nnone',
    ):
        code = runner_up_snippet(record, text)
        check(code)
        names: dict[str, Any] = {"cadda": cadda}
        exec(code.partition("fitted")[0], names)  # noqa: S102
        assert names["candidate"] == cadda.PolicySpec.from_text(text)
    own = runner_up_snippet(record, "my_operation p=0.5 m=1")
    assert 'p=0.5 m=1",\n    known=pool.names,\n)' in own
    ast.parse(own)


def test_pages_have_no_marks_of_direction(folder: Path) -> None:
    path = folder / "config.json"
    healthy = path.read_text()
    config = json.loads(healthy)
    path.write_text(json.dumps(config | {"model": "a\u202eb\u2066\x1b"}))
    page = write_report(folder).path.read_text("utf-8")
    path.write_text(healthy)
    assert "a\ufffdb\ufffd\ufffd" in page
    assert not {"\u202e", "\u2066", "\x1b"} & set(page)


def test_arguments_are_those_of_the_functions() -> None:
    for function, names in READERS.items():
        known = inspect.signature(getattr(cadda, function.removeprefix("cadda."))).parameters
        assert set(names) == set(known) - {"progress", "on_progress"}
