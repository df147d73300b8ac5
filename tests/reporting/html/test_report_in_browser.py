"""Reports as a browser shows them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from cadda import PolicySpec

HOSTILE = "<script>alert(1)</script>"
QUOTED = "'\"><img src=x onerror=alert(1)>"
RUNS = ["class-wise", "trials", "population", "training", "plain training", "race", "hostile"]
PHONE = {"width": 380, "height": 800}

CONTRASTS = """() => {
  const rgba = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[3] * top[i] + (1 - top[3]) * below[i]);
  const background = (element) => {
    if (!element) return [255, 255, 255];
    const own = rgba(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : over(own, background(element.parentElement));
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((value) => value / 255).map(
      (value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest("script")) continue;
    const below = background(element);
    const values = [light(over(rgba(getComputedStyle(element).color), below)), light(below)];
    const ratio = (Math.max(...values) + 0.05) / (Math.min(...values) + 0.05);
    found.push([ratio, element.outerHTML.slice(0, 80)]);
  }
  return found;
}"""


@pytest.fixture
def look(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a report, and hear of everything that should not happen."""
    contexts = []

    def show(path: Path, **options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.heard = []
        for event in ("console", "pageerror", "dialog", "requestfailed"):
            page.on(event, lambda what, event=event: page.heard.append((event, str(what))))
        page.on("request", lambda what: page.heard.append(("request", what.url)))
        page.goto(path.as_uri())
        return page

    yield show
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", RUNS)
def test_nothing_is_wrong_and_nothing_is_fetched(
    name: str, report_of: Callable[[str], Path], look: Callable[..., Page]
) -> None:
    path = report_of(name)
    page = look(path)
    page.wait_for_load_state("networkidle")
    assert page.heard == [("request", path.as_uri())]
    assert page.locator("html.js").count() == 1


def test_what_is_there_for_which_run(
    report_of: Callable[[str], Path], look: Callable[..., Page]
) -> None:
    sections = {
        name: look(report_of(name)).locator("section").evaluate_all("all => all.map(x => x.id)")
        for name in RUNS
    }
    whole = [
        "data",
        "policy",
        "use",
        "learning",
        "examples",
        "scores",
        "warnings",
        "provenance",
        "cite",
    ]
    # Only there does a class get an operation notably more often than the others.
    assert [name for name in RUNS if "leaks" in sections[name]] == ["population"]
    sections = {name: [part for part in ids if part != "leaks"] for name, ids in sections.items()}
    assert sections["class-wise"] == sections["trials"] == sections["population"] == whole
    assert sections["training"] == whole
    assert sections["race"] == ["data", "race", *whole[1:]]
    assert sections["plain training"] == [
        name for name in whole if name not in ("policy", "use", "examples")
    ]


def test_copying(report_of: Callable[[str], Path], look: Callable[..., Page]) -> None:
    path = report_of("hostile")
    page = look(path)
    kept = PolicySpec.load(path.parent / "policy.json")
    assert page.locator("button.copy").count() == 5
    for button in page.locator("button.copy").all():
        if not button.is_visible():
            button.locator("xpath=ancestor::details").evaluate(
                "details => { details.open = true; }"
            )
        button.click()
        button.get_by_text("Copied").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        source = page.locator(f"#{button.get_attribute('data-copy')}")
        assert copied == source.text_content()
        if button.get_attribute("data-copy") == "policy-json":
            assert PolicySpec.from_dict(json.loads(copied)) == kept
            assert HOSTILE in copied
        if button.get_attribute("data-copy") == "policy-text":
            assert PolicySpec.from_text(copied).class_names == kept.class_names
    assert [heard for heard in page.heard if heard[0] != "request"] == []


def test_copying_where_the_clipboard_is_not_to_be_had(
    report_of: Callable[[str], Path], look: Callable[..., Page]
) -> None:
    page = look(report_of("class-wise"))
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(Error()); }")
    page.locator("button[data-copy=snippet]").click()
    page.get_by_text("Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.rstrip() == page.locator("#snippet").text_content().rstrip()


@pytest.mark.parametrize("name", RUNS)
def test_pictures_have_words_with_numbers(
    name: str, report_of: Callable[[str], Path], look: Callable[..., Page]
) -> None:
    page = look(report_of(name))
    assert page.locator("img").count() == 0
    pictures = page.locator("svg:not([aria-hidden=true])")
    assert pictures.count() > 5
    for label in pictures.evaluate_all("all => all.map(x => [x.role, x.ariaLabel])"):
        assert label[0] == "img"
        assert re.search(r"\d", label[1])
        assert "nan" not in label[1]


@pytest.mark.parametrize("name", [*RUNS, "many channels"])
def test_nothing_sticks_out_on_a_phone(
    name: str, report_of: Callable[[str], Path], look: Callable[..., Page]
) -> None:
    page = look(report_of(name), viewport=PHONE)
    page.locator("details").evaluate_all("all => all.forEach(details => { details.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    hidden = page.evaluate("[...document.body.children].filter(x => x.scrollWidth > 380).length")
    assert hidden == 0


@pytest.mark.parametrize("name", ["class-wise", "race"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(
    name: str, scheme: str, report_of: Callable[[str], Path], look: Callable[..., Page]
) -> None:
    """Every text is readable, by the rule of the WCAG (AA), on what is behind it."""
    page = look(report_of(name), color_scheme=scheme)
    page.locator("details").evaluate_all("all => all.forEach(details => { details.open = true; })")
    found = page.evaluate(CONTRASTS)
    assert len(found) > 300
    assert [ratio for ratio in found if ratio[0] < 4.5] == []
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", paper)))
    assert (brightness < 200) == (scheme == "dark")


def test_lines_are_seen_in_both_schemes(
    report_of: Callable[[str], Path], look: Callable[..., Page]
) -> None:
    colours = []
    for scheme in ("light", "dark"):
        page = look(report_of("class-wise"), color_scheme=scheme)
        line = page.locator("#learning path.main").first
        colours.append(line.evaluate("path => getComputedStyle(path).stroke"))
    assert len(set(colours)) == 2
    assert "none" not in colours


def test_print(report_of: Callable[[str], Path], look: Callable[..., Page]) -> None:
    """On paper it is light, without buttons, and nothing but long listings is folded away."""
    page = look(report_of("class-wise"), color_scheme="dark")
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert page.locator("details:not([open]):not([data-long])").count() == 0
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("button.copy").first.is_visible()


def test_hostile_names_are_shown_and_not_run(
    report_of: Callable[[str], Path], look: Callable[..., Page]
) -> None:
    page = look(report_of("hostile"))
    assert page.locator("script").count() == 1
    assert page.locator("[onerror]").count() == 0
    assert page.title() == f"Augmentation for {QUOTED}.npz"
    for name in (HOSTILE, QUOTED):
        # Channels and subjects, classes, the policy, pictures, confusion.
        for place in ("#data dl", "#data th", "#policy h3", "#use th", ".ys", "#scores th"):
            assert any(name in text for text in page.locator(place).all_text_contents()), place
        assert json.dumps(name) in page.locator("#policy-json").text_content()
        labels = page.locator("svg[role=img]").evaluate_all("all => all.map(x => x.ariaLabel)")
        assert any(name in label for label in labels)
    assert [heard for heard in page.heard if heard[0] != "request"] == []
