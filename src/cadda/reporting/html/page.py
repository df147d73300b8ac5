"""What all pages share: templates, style and script."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources

import jinja2

from cadda._internal.text import HIDDEN

__all__ = ["page_environment", "page_script", "page_style", "without_marks"]

_MARKS = re.compile(rf"(?![\t\n\r])[{HIDDEN}\u200b\u2060-\u2065\ufeff]")
"""Control characters, marks of direction and characters without width."""


def page_environment() -> jinja2.Environment:
    """Return the templates; every value is escaped."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("cadda.reporting.html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )


def without_marks(html: str) -> str:
    """Return a page without characters that hide or reorder text; files of a run may hold some."""
    return _MARKS.sub("\ufffd", html)


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
