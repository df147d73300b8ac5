"""The examples of the documentation run, without a warning, and draw what they say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
SLOW = {"plot_own_recordings", "plot_search"}
SCRIPTS = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in SLOW else [])
    for path in sorted(EXAMPLES.glob("*.py"))
]
PRINTED = {
    "plot_epochs_to_model": "240 epochs of 3 channels",
    "plot_operations": "channel_symmetry: no channel has a partner",
    "plot_own_recordings": "18 recordings",
    "plot_race": "balanced accuracy",
    "plot_search": "decay: mostly sign_flip",
    "plot_training_loop": "with the policy",
}


def run(script: Path) -> tuple[str, list[Figure]]:
    """Run a script block by block, as the gallery does, and keep the figures of each block."""
    names: dict[str, object] = {"__name__": "__main__"}
    figures: list[Figure] = []
    printed = io.StringIO()
    for block in re.split(r"(?m)^# %%$", script.read_text(encoding="utf-8")):
        with contextlib.redirect_stdout(printed):
            exec(compile(block, script.name, "exec"), names)  # noqa: S102
        figures += [names.pop(name) for name in list(names) if isinstance(names[name], Figure)]
    return printed.getvalue(), figures


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_example_runs(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed, figures = run(script)
    assert PRINTED.get(script.stem, "") in printed
    assert len(figures) == script.read_text(encoding="utf-8").count("figure = ")
    for figure in figures:
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        assert np.ptp(np.asarray(canvas.buffer_rgba())[..., 0]) > 200
    assert not list(tmp_path.iterdir())


def test_every_example_stands_in_the_gallery_of_the_documentation() -> None:
    configuration = (EXAMPLES.parent / "conf.py").read_text(encoding="utf-8")
    assert '"examples_dirs": "examples"' in configuration
    assert len(SCRIPTS) >= 6
    # sphinx-gallery runs scripts of this name only.
    assert all(path.stem.startswith("plot_") for path in EXAMPLES.glob("*.py"))
