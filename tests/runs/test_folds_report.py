"""One page for all folds of a cross-validation."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from commands import run
from sklearn.metrics import balanced_accuracy_score, confusion_matrix

from cadda import simulate_sleep
from cadda.exceptions import RunError
from cadda.reporting.records import Predictions
from cadda.runs.folder import RunFolder
from cadda.runs.folds_report import write_folds_report

N_FOLDS = 3


class Tables(HTMLParser):
    """Collects the links and the cells of all tables of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.rows: list[list[str]] = []
        self._in_cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._in_cell = True
        if tag == "a":
            self.links.append(str(dict(attributes)["href"]))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] = f"{self.rows[-1][-1]} {data}".replace("\xa0", " ").strip()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folds")
    simulate_sleep(n_subjects=5, n_windows=24).save(folder / "sleep.npz")
    (folder / "policy.txt").write_text("sign_flip p=0.5 > time_mask p=0.3 m=0.4\n")
    run(
        *("train", folder / "sleep.npz", "--folds", N_FOLDS, "--out", folder / "run"),
        *("--model", "shallow", "--max-epochs", 2, "--policy", folder / "policy.txt"),
    )
    return folder / "run"


@pytest.fixture
def out(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run"))


def predictions(out: Path) -> list[Predictions]:
    folds = (RunFolder(out).fold(number) for number in range(1, N_FOLDS + 1))
    return [Predictions.load(fold.predictions) for fold in folds]


def number(text: str) -> float:
    found = re.match(r"\s*(\d\.\d{3})", text)
    assert found, text
    return float(found[1])


def test_page_has_the_scores_of_folds_and_subjects(out: Path) -> None:
    path = Path(run("report", out).stdout.strip())
    assert path == (out / "report.html").resolve()
    page = path.read_text("utf-8")
    tables, parts = Tables(page), predictions(out)
    accuracies = [balanced_accuracy_score(part.truth, part.predicted) for part in parts]
    rows = {row[0]: row for row in tables.rows if row}
    for place, accuracy in enumerate(accuracies, start=1):
        assert number(rows[f"fold {place}"][4]) == pytest.approx(accuracy, abs=6e-4)
    mean, deviation = np.mean(accuracies), np.std(accuracies, ddof=1)
    assert f"{mean:.3f} ± {deviation:.3f}" in page
    for place, part in enumerate(parts, start=1):
        for subject in np.unique(part.subject):
            own = part.subject == subject
            truth, predicted = part.truth[own], part.predicted[own]
            assert rows[subject][1:3] == [str(place), str(own.sum())]
            accuracy = balanced_accuracy_score(truth, predicted)
            assert number(rows[subject][3]) == pytest.approx(accuracy, abs=6e-4)
            has_interval = re.search(r"\[\d\.\d{3} to \d\.\d{3}\]", rows[subject][3])
            # With one class predicted, all resamples agree.
            assert has_interval or len(np.unique(predicted)) == 1


def test_page_has_all_folds_together(out: Path) -> None:
    page = write_folds_report(out).path.read_text("utf-8")
    tables, parts = Tables(page), predictions(out)
    truth, predicted = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("truth", "predicted")
    )
    scores = json.loads((out / "scores.json").read_text())
    rows = {row[0]: row for row in tables.rows if row}
    assert number(rows["balanced accuracy"][1]) == pytest.approx(
        scores["balanced_accuracy"], abs=6e-4
    )
    low, high = scores["intervals"]["balanced_accuracy"]
    assert f"[{low:.3f} to {high:.3f}]" in rows["balanced accuracy"][1]
    for name, counts in zip(
        ("W", "N1", "N2", "N3", "R"), confusion_matrix(truth, predicted), strict=True
    ):
        shown = [int(cell.split()[0]) for cell in rows[name][1:]]
        assert shown == counts.tolist()
    assert "sign_flip p=0.5" in page
    assert "cadda train" in page  # the command, among the provenance


def test_page_has_the_warnings_of_the_command(out: Path) -> None:
    sessions = json.loads((out / "sessions.json").read_text())
    sessions[0]["warnings"] = ["Channels are used although they are marked as bad: C4"]
    (out / "sessions.json").write_text(json.dumps(sessions))
    page = write_folds_report(out).path.read_text("utf-8")
    assert page.count("Channels are used although they are marked as bad: C4") == 1


def test_links_lead_to_the_reports_of_the_folds(out: Path) -> None:
    path = write_folds_report(out).path
    links = [link for link in Tables(path.read_text("utf-8")).links if not link.startswith("#")]
    assert links == [f"fold-{place}/report.html" for place in range(1, N_FOLDS + 1)]
    assert all((path.parent / link).exists() for link in links)


def test_same_files_give_the_same_bytes(out: Path) -> None:
    first = write_folds_report(out).path.read_bytes()
    assert write_folds_report(out).path.read_bytes() == first


def test_unfinished(out: Path) -> None:
    shutil.rmtree(out / "fold-3")
    with pytest.raises(RunError, match=r"unfinished: fold 3 of 3 is missing"):
        write_folds_report(out)
    (out / "fold-2" / "scores.json").unlink()
    (out / "fold-3").mkdir()
    shutil.copy(out / "fold-2" / "config.json", out / "fold-3" / "config.json")
    with pytest.raises(RunError, match=r"fold-2 has no scores on test subjects"):
        write_folds_report(out)


def test_folds_that_do_not_belong_together(out: Path) -> None:
    shutil.rmtree(out / "fold-2")
    shutil.copytree(out / "fold-1", out / "fold-2")
    with pytest.raises(RunError, match=r"is a test subject of 2 folds"):
        write_folds_report(out)


def test_damaged_files_are_named(out: Path) -> None:
    (out / "sessions.json").write_text("[{")
    assert "sessions.json is damaged" in run("report", out, code=2).stderr.replace("\n", " ")
    (out / "sessions.json").unlink()
    (out / "fold-2" / "predictions.npz").write_bytes(b"nothing")
    assert "predictions.npz is damaged" in run("report", out, code=2).stderr.replace("\n", " ")


def test_a_fold_is_named_where_a_run_is_expected(out: Path) -> None:
    with pytest.raises(RunError, match=r"no config\.json; that of one of its folds is .*fold-1\."):
        RunFolder(out).read_config()
