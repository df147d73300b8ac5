"""A bar in a terminal, a few lines in a file."""

from __future__ import annotations

import io

from rich.console import Console

from cadda._internal.step_display import StepDisplay


def test_a_terminal_gets_a_bar_that_disappears() -> None:
    file = io.StringIO()
    with StepDisplay("reading", Console(file=file, force_terminal=True, width=80)) as display:
        for done in range(31):
            display((done, 30, f"[S{done}]"))
        display((30, 30, "[bold]"))
    assert "reading [bold]" in file.getvalue()
    assert file.getvalue().endswith("\x1b[2K")


def test_a_file_gets_a_few_lines() -> None:
    file = io.StringIO()
    with StepDisplay("reading", Console(file=file, width=80)) as display:
        for done in range(31):
            display((done, 30, f"[S{done}]"))
    lines = file.getvalue().splitlines()
    assert lines[:2] == [f"reading [S{i}], {i + 1} of 30" for i in (0, 3)]
    assert len(lines) == 10
