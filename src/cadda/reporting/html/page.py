"""What all pages share: templates, style and script."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

import jinja2

__all__ = ["page_environment", "page_script", "page_style", "without_marks"]

_HIDING = (*range(0x20), 0x7F, *range(0x80, 0xA0), 0x61C, 0x200B, 0x200E, 0x200F)
_HIDING += (*range(0x2028, 0x202F), *range(0x2060, 0x206A), 0xFEFF)
_MARKS = {code: "\ufffd" for code in _HIDING if chr(code) not in "\t\n\r"}
"""Control characters, marks of direction and characters without width, and what is shown."""


def page_environment() -> jinja2.Environment:
    """Return the templates; every value is escaped."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("cadda.reporting.html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )


def without_marks(html: str) -> str:
    """Return a page without characters that hide or reorder text; files of a run may hold some."""
    return html.translate(_MARKS)


def page_style() -> str:
    """Return the style sheet."""
    return _read("report.css")


def page_script() -> tuple[str, str]:
    """Return the script, and the digest by which a page allows it and no other."""
    script = _read("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return script, f"sha256-{digest}"


def _read(name: str) -> str:
    folder = resources.files("cadda.reporting.html") / "templates"
    return (folder / name).read_text("utf-8")
