"""The built documentation shows every page, as a browser opens it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
RESERVED = {"search", "genindex", "modindex", "py-modindex"}
"""Pages that Sphinx writes itself, over any page of the same name."""

PAGES = sorted(
    path.relative_to(DOCS)
    for path in [*DOCS.glob("*.md"), *DOCS.glob("studies/*.md"), DOCS / "api.rst"]
)


def heading(page: Path) -> str:
    """Return the first heading of a source."""
    text = (DOCS / page).read_text(encoding="utf-8")
    if page.suffix == ".rst":
        return text.split("\n", 1)[0]
    found = re.search(r"^# (.+)$", text, re.M)
    assert found, page
    return found[1].replace("`", "")


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_no_page_has_a_name_that_sphinx_uses(page: Path) -> None:
    assert page.with_suffix("").as_posix() not in RESERVED


def test_every_page_is_in_the_navigation() -> None:
    listed = (DOCS / "index.md").read_text(encoding="utf-8").split("<!-- toctree")[1]
    names = set(re.findall(r"^(?:.*<)?([\w/-]+)>?$", listed, re.M))
    missing = {page.with_suffix("").as_posix() for page in PAGES if page.parent == Path()} - names
    assert missing == {"index"}


def test_pages_render_on_the_code_host_too() -> None:
    """There, roles and directives of Sphinx would be shown as they are written."""
    for page in PAGES:
        if page.suffix == ".md":
            text = (DOCS / page).read_text(encoding="utf-8")
            assert not re.search(r"\{[\w:-]+\}`|^\s*(```+|:::+)\{|^\.\. ", text, re.M), page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation as HTML; examples are shown and not run."""
    pytest.importorskip("sphinx", reason="needs the dependency group docs")
    folder = tmp_path_factory.mktemp("site")
    ignored = shutil.ignore_patterns("_build", "api", "gallery")
    shutil.copytree(DOCS, folder / "docs", ignore=ignored)
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-D", "plot_gallery=0"]
    done = subprocess.run(
        [*command, str(folder / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def browser_page() -> Iterator[object]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium on PATH to open pages with")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield browser.new_page()
        browser.close()


@pytest.mark.slow
def test_every_page_opens_with_its_own_heading(site: Path, browser_page) -> None:
    shown = {}
    for page in PAGES:
        browser_page.goto((site / page.with_suffix(".html")).as_uri())
        shown[page] = browser_page.locator("main h1").first.inner_text().rstrip("#¶ \n")
    assert shown == {page: heading(page) for page in PAGES}


@pytest.mark.slow
def test_the_navigation_leads_to_the_page_on_searching(site: Path, browser_page) -> None:
    browser_page.goto((site / "index.html").as_uri())
    target = browser_page.locator("a", has_text=re.compile(r"^\s*Searching\s*$")).first
    assert target.get_attribute("href") == "searching.html"
