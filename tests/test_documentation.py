"""The Python of the documentation runs, and prints what the pages say."""

from __future__ import annotations

import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path

import pytest

from cadda.experiments.registry import STUDIES
from cadda.operations import CATALOGUE

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "```python" in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_snippets(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks run in order; a text block after one is its output, `# name.py` names a file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    blocks = [*BLOCK.findall(page.read_text()), ("", "")]
    names: dict[str, object] = {"__name__": "__main__"}
    for (kind, code), (next_kind, expected) in pairwise(blocks):
        if kind != "python":
            continue
        if file := re.match(r"# (\S+\.py)\n", code):
            Path(file[1]).write_text(code)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)  # noqa: S102
        assert printed.getvalue() == (expected if next_kind == "text" else "")


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_operation_has_a_section_and_a_picture(name: str) -> None:
    text = (DOCS / "operations.md").read_text()
    assert f"`{name}`" in text
    picture = "image_operations" if CATALOGUE[name].domain == "image" else f"operations/{name}"
    assert f"images/{picture}.png" in text
    assert (DOCS / "images" / f"{picture}.png").exists()


def test_links_between_pages_lead_somewhere() -> None:
    pages = [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([\w./-]+\.\w+|LICENSE)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_a_page(name: str) -> None:
    page = (DOCS / "studies" / f"{name}.md").read_text()
    assert f"cadda experiment run {name}" in page
    index = (DOCS / "studies" / "index.md").read_text()
    assert f"[{name}]({name}.md)" in index
    assert f"\n{name}\n" in index


def test_code_hosts_show_no_roles() -> None:
    """Markup that only Sphinx knows is read as it is written there."""
    pages = [*DOCS.rglob("*.md"), DOCS / "api.rst"]
    shown = [page.name for page in pages if re.search(r"(?m)(?:^|\s):\w+:`", page.read_text())]
    assert not shown
