"""The kept results of the studies are still read, drawn, and not computed again."""

from __future__ import annotations

import base64
import html
import json
import re
import shutil
from pathlib import Path

import pytest

from cadda.experiments import draw_study
from cadda.experiments.folder import StudyFolder
from cadda.experiments.registry import find_study

RESULTS = Path(__file__).parents[2] / "docs" / "studies" / "results"
FOLDERS = sorted(path.parent for path in RESULTS.rglob("plan.json"))


@pytest.mark.parametrize("path", FOLDERS, ids=lambda path: "-".join(path.parts[-2:]))
def test_kept_results_are_drawn(path: Path) -> None:
    folder, study = StudyFolder(path), find_study(path.name)
    plan = folder.read_plan(path.name, study.job_type)
    assert json.loads(plan.to_json()) == json.loads(folder.plan.read_text())
    progress = plan.progress(study, folder.read_results())
    assert not progress.missing
    assert len(progress.records) == len(plan.jobs) > 0
    assert study.table(progress.records).rows
    assert study.figure(progress.records).axes
    assert (path / f"{path.name}.png").stat().st_size > 5000


@pytest.mark.parametrize("path", {path.name: path for path in FOLDERS}.values(), ids=str)
def test_every_study_has_a_page(path: Path, tmp_path: Path) -> None:
    """With all numbers of its table, its figure, and nothing from elsewhere."""
    copy = shutil.copytree(path, tmp_path / path.name)
    result = draw_study(path.name, copy)
    page = result.report.read_text("utf-8")
    shown = {*map(html.unescape, re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", page))}
    cells = {text for row in result.table.to_text() for text in row}
    assert cells <= shown
    assert result.table.title in html.unescape(page)
    (picture,) = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    assert base64.b64decode(picture).startswith(b"\x89PNG")
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", page)
    # Drawn again from the same files, it has the same bytes.
    assert draw_study(path.name, copy).report.read_text("utf-8") == page


@pytest.mark.parametrize("path", FOLDERS, ids=lambda path: "-".join(path.parts[-2:]))
def test_typed_results_are_written_as_they_were_read(path: Path) -> None:
    folder, study = StudyFolder(path), find_study(path.name)
    stored = [json.loads(line) for line in folder.results.read_text().splitlines()]
    for values, line in zip(stored, folder.read_results(), strict=True):
        assert line.to_json() == values
        assert study.job_type.model_validate(line.job).to_json() == line.job
        if line.result is not None:
            assert study.result_type.model_validate(line.result).to_json() == line.result
