"""Code that reports show."""

from __future__ import annotations

import contextlib
import html
import io
import re
from pathlib import Path


def snippet_of(page: Path) -> str:
    """Return the code that a report shows."""
    (code,) = re.findall(r'<pre id="snippet"[^>]*><code>(.*?)</code>', page.read_text(), re.DOTALL)
    return html.unescape(code)


def run_snippet(code: str, names: dict[str, object] | None = None) -> float:
    """Run the code of a report in a namespace, and return the score that it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {} if names is None else names)  # noqa: S102
    return float(printed.getvalue())
