"""What all pages share: templates, style and script."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

import jinja2

from cadda._internal.text import HIDDEN
from cadda._version import __version__
from cadda.reporting.html.formatting import (
    count,
    describe_score,
    interval,
    number,
    percent,
    signed,
)

__all__ = ["render_page"]

FORMATS = (count, describe_score, interval, number, percent, signed)
"""Functions that templates call by name."""

_MARKS = re.compile(rf"(?![\t\n\r])[{HIDDEN}\u200b\u2060-\u2065\ufeff]")
"""Control characters, marks of direction and characters without width."""


def render_page(template: str, content: Mapping[str, Any]) -> str:
    """Render a page without external files; the same content gives the same bytes.

    Every value is escaped. Characters that hide or reorder text, which files of a run may hold,
    are replaced.
    """
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("cadda.reporting.html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    script = _read("report.js")
    # A page allows this script and no other.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    html = templates.get_template(template).render(
        content,
        version=__version__,
        style=_read("report.css"),
        script=script,
        script_digest=f"sha256-{digest}",
        **{function.__name__: function for function in FORMATS},
    )
    return _MARKS.sub("\ufffd", html)


def _read(name: str) -> str:
    folder = resources.files("cadda.reporting.html") / "templates"
    return (folder / name).read_text("utf-8")
