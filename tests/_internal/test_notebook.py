"""HTML for notebooks: escaped, cut off where it is long, readable on light and dark pages."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from cadda._internal.notebook import (
    MAX_ALPHA,
    MAX_COLUMNS,
    MAX_LINES,
    MAX_ROWS,
    SHADE,
    STYLE,
    Cell,
    block,
    folded,
    paragraph,
    table,
    verbatim,
)

HOSTILE = "<script>alert(1)</script> & \"quotes\" 'n'"


class Texts(HTMLParser):
    """Collects the texts between tags, and checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1], data))


def texts(html: str) -> list[tuple[str, str]]:
    parser = Texts()
    parser.feed(html)
    assert not parser.open
    return [item for item in parser.texts if item[0] != "style"]


def test_every_text_is_escaped() -> None:
    parts = (
        paragraph(HOSTILE),
        verbatim(HOSTILE),
        folded(HOSTILE, table([HOSTILE, HOSTILE], [[HOSTILE, Cell(HOSTILE, 0.5)]], HOSTILE)),
    )
    found = texts(block(HOSTILE, *parts))
    tags = ["b", "p", "pre", "summary", "th", "th", "td", "td", "p"]
    assert found == [(tag, HOSTILE) for tag in tags]


def test_long_tables_and_texts_are_cut_off_and_counted() -> None:
    n = MAX_COLUMNS + 3
    rows = [[f"{i}.{j}" for j in range(n)] for i in range(MAX_ROWS + 5)]
    found = [text for _, text in texts(table([f"c{j}" for j in range(n)], rows))]
    assert found[MAX_COLUMNS] == "and 3 more"
    assert found[-1] == "and 5 more"
    assert len(found) == (MAX_ROWS + 1) * (MAX_COLUMNS + 1) + 1
    ((_, lines),) = texts(verbatim("\n".join(map(str, range(MAX_LINES + 7)))))
    assert lines.splitlines()[-1] == "… and 7 more lines"


def test_a_table_that_fits_is_complete() -> None:
    found = texts(table(["a"] * MAX_COLUMNS, [["x"] * MAX_COLUMNS] * MAX_ROWS))
    assert len(found) == MAX_COLUMNS * (MAX_ROWS + 1)


def test_shades() -> None:
    html = table(["a", "b", "c"], [[Cell("x"), Cell("y", 0.4), Cell("z", 7)]])
    colour = ",".join(map(str, SHADE))
    assert html.count("style=") == 2
    assert f"rgba({colour},0.18)" in html
    assert f"rgba({colour},0.45)" in html


def luminance(colour: tuple[float, ...]) -> float:
    """Relative luminance as the Web Content Accessibility Guidelines define it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("page", "text"), [(1.0, 0.13), (0.07, 0.87)], ids=["light", "dark"])
def test_full_cells_are_readable_on_light_and_dark_pages(page: float, text: float) -> None:
    """The contrast of JupyterLab's texts and pages is at least 4.5 : 1 on the darkest shade."""
    mixed = tuple(MAX_ALPHA * c / 255 + (1 - MAX_ALPHA) * page for c in SHADE)
    light, dark = sorted((luminance(mixed), luminance((text,) * 3)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_colours_of_text_and_page_are_those_of_the_notebook() -> None:
    assert "color:" not in STYLE.replace("border-color:", "")
    assert "background" not in STYLE
