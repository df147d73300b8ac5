"""What a notebook shows: HTML, data frames and pictures of everything that functions return."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from races import made_up_race

import cadda
from cadda.experiments.study import ResultTable
from cadda.policies.spec.compare import compare_policies

CLASSES = ("<b>left</b>", "right & up")
POLICY = cadda.PolicySpec.from_text(
    f'["{CLASSES[0]}"]\nsign_flip p=0.5 > time_mask p=0.25 m=0.5\n["{CLASSES[1]}"]\nnone'
)
OPERATIONS = ["sign_flip", "time_reverse", "time_mask"]
QUICK = cadda.TrainingSettings(max_epochs=2)


class Texts(HTMLParser):
    """Collects texts; tags that no renderer of ours makes are an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = "style div b p table tr th td pre details summary"
        assert tag in known.split()

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def windows() -> cadda.Windows:
    rng = np.random.default_rng(0)
    return cadda.Windows(
        rng.normal(size=(72, 2, 128)), np.arange(72) % 2, subject=np.repeat(np.arange(6), 12),
        sfreq=64, ch_names=["C3", "C4"], class_names=CLASSES,
    )  # fmt: skip


@pytest.fixture(scope="module")
def parts(windows: cadda.Windows) -> tuple[cadda.Windows, ...]:
    return windows.split(valid=0.34, test=0.17)


@pytest.fixture(scope="module")
def fitted(parts: tuple[cadda.Windows, ...]) -> cadda.Fitted:
    return cadda.fit(*parts[:2], model="shallow", policy=POLICY, max_epochs=2)


@pytest.fixture(scope="module")
def found(parts: tuple[cadda.Windows, ...]) -> dict[str, cadda.SearchResult]:
    """Return a result of each kind: epochs, trials, neither, and a race."""
    common: dict[str, Any] = {"model": "shallow", "operations": OPERATIONS, "training": QUICK}
    results = {
        "adda": cadda.search(*parts[:2], method="adda", budget=2, **common),
        "random": cadda.search(*parts[:2], method="random", budget=3, **common),
        "trivial": cadda.search(
            *parts[:2], method="trivial", retrain_every=1, baseline=True, **common
        ),
    }
    return results | {"auto": replace(results["trivial"], race=made_up_race())}


@pytest.fixture(scope="module")
def probe(windows: cadda.Windows) -> cadda.ProbeResult:
    return cadda.probe(windows, model="shallow", operations=OPERATIONS, n_folds=2, n_epochs=1)


@pytest.fixture(scope="module")
def objects(windows, parts, fitted, found, probe) -> dict[str, Any]:
    return {
        "windows": windows,
        "policy": POLICY,
        "no augmentation": cadda.PolicySpec.none(),
        "fitted": fitted,
        "scores": cadda.evaluate(fitted, parts[2]),
        "probe": probe,
        "race": made_up_race(),
        "table": ResultTable("title", ("a & b", "c"), ((1, 0.5), (None, "<i>")), "a note"),
        **found,
    }


NAMES = (
    *("windows", "policy", "no augmentation", "fitted", "scores", "probe", "race", "table"),
    *("adda", "random", "trivial", "auto"),
)


@pytest.mark.parametrize("name", NAMES)
def test_html_is_small_and_escaped(objects: dict[str, Any], name: str) -> None:
    html = objects[name]._repr_html_()
    assert len(html) < 8_000
    shown = " ".join(Texts(html).texts)
    if name in ("windows", "scores", "probe"):
        assert all(label in shown for label in CLASSES)
    assert len(shown) > 20


def cells(html: str) -> list[str]:
    return [text.strip() for text in Texts(html).texts if text.strip()]


def test_html_of_windows_counts_classes_and_subjects(windows: cadda.Windows) -> None:
    some = windows[(windows.y.numpy() == 0) | (windows.subject == "3")]
    shown = cells(some._repr_html_())
    at = shown.index(CLASSES[0])
    assert shown[at : at + 6] == [CLASSES[0], "36", "6", CLASSES[1], "6", "1"]
    assert shown[-1] == "channels: C3, C4"


def test_html_of_a_policy_has_used_operations_in_units() -> None:
    spec = cadda.PolicySpec.from_text("w=3: sign_flip p=0.4\nw=1: time_mask p=1 m=0.5")
    spec = spec.model_copy(update={"operations": {n: {} for n in (*OPERATIONS, "bandstop")}})
    shown = cells(spec._repr_html_())
    at = shown.index("sign_flip")
    assert shown[at : at + 4] == ["sign_flip", "30%", "time_mask", "25% 0.5 s"]
    assert "bandstop" not in shown
    assert shown[-1] == str(spec)
    assert "no augmentation" in cells(cadda.PolicySpec.none()._repr_html_())


def test_html_of_scores_has_the_confusion_matrix(objects: dict[str, Any]) -> None:
    scores = objects["scores"]
    shown = cells(scores._repr_html_())
    f1 = [f"{value:.3f}" for value in scores.f1_per_class.values()]
    expected = [
        [name, value, *map(str, row)]
        for name, value, row in zip(CLASSES, f1, scores.confusion.tolist(), strict=True)
    ]
    start = shown.index("F1") + 3
    assert shown[start : start + 8] == [cell for row in expected for cell in row]


def test_html_of_a_probe_has_a_mark_per_magnitude(probe: cadda.ProbeResult) -> None:
    row = replace(probe.table[0], operation="x", magnitude=0.2, class_name=CLASSES[0])
    rows = [
        replace(row, verdict=verdict, class_name=name, other="<other>")
        for verdict in ("keeps", "becomes", "destroys")
        for name in CLASSES
    ]
    shown = cells(replace(probe, table=tuple(rows))._repr_html_())
    at = shown.index("x")
    assert shown[at + 1 : at + 3] == ["✓ → <other> ✗"] * 2


def test_html_of_a_race_has_gains_and_reasons() -> None:
    race = made_up_race()
    shown = cells(race._repr_html_())
    assert race.sentence in shown
    for row in race.candidates:
        assert row.name in shown
        assert not row.reason or row.reason in shown
        assert any(text.startswith(f"{row.accuracy_gain:+.3f}") for text in shown)


def test_frame_of_windows(windows: cadda.Windows) -> None:
    frame = windows.to_frame()
    assert len(frame) == len(windows)
    counts = frame.groupby("class_name")["subject"].agg(["size", "nunique"])
    assert counts.loc[list(CLASSES)].to_numpy().tolist() == [[36, 6], [36, 6]]
    assert frame["recording"].tolist() == windows.recording.tolist()


def test_frame_of_a_policy_has_its_probabilities() -> None:
    frame = POLICY.to_frame()
    table = frame.pivot(index="class_name", columns="operation", values="applied")
    expected = POLICY.operation_probabilities()
    np.testing.assert_allclose(
        table.loc[list(POLICY.rows), list(POLICY.operation_names)], expected
    )
    first = frame[frame.class_name == CLASSES[0]].set_index("operation")
    assert np.isnan(first.max_magnitude["sign_flip"])
    assert first.max_magnitude["time_mask"] == first.min_magnitude["time_mask"] == 0.5
    assert frame[frame.class_name == CLASSES[1]].max_magnitude.isna().all()


def test_frame_of_a_training_run(fitted: cadda.Fitted) -> None:
    frame = fitted.to_frame()
    assert frame.epoch.tolist() == [1, 2]
    assert frame.valid_loss.tolist() == [event.valid_loss for event in fitted.history]
    assert frame.is_best.tolist()[fitted.best_epoch - 1]


def test_frames_of_searches(found: dict[str, cadda.SearchResult]) -> None:
    assert found["adda"].to_frame().epoch.tolist() == [1, 2]
    assert found["random"].to_frame().number.tolist() == [1, 2, 3]
    assert found["trivial"].to_frame().epoch.tolist() == [0, 1]
    candidates = found["auto"].to_frame()
    race = found["auto"].race
    assert race is not None
    assert found["auto"].candidates is race
    assert candidates.name.tolist() == [row.name for row in race.candidates]
    assert candidates.n_blocks.tolist() == [len(row.gains) for row in race.candidates]
    names = {field.name for field in fields(cadda.CandidateRow)} - {"gains"} | {"n_blocks"}
    assert set(candidates.columns) == names


def test_frame_of_a_difference() -> None:
    frame = compare_policies(
        cadda.PolicySpec.from_text("sign_flip p=0.5"),
        cadda.PolicySpec.from_text("sign_flip p=0.8 > time_mask p=0.2 m=0.5"),
    ).to_frame()
    assert frame.operation.tolist() == ["sign_flip", "time_mask"]
    assert frame.probability_before.tolist() == [0.5, 0.0]
    assert frame.probability_after.tolist() == pytest.approx([0.8, 0.2])
    assert frame.magnitude_before.isna().tolist() == [True, True]
    assert frame.magnitude_after[1] == 0.5


def test_frame_of_a_study() -> None:
    frame = ResultTable("title", ("a", "b"), ((1, 0.5), (None, "x"))).to_frame()
    assert frame.columns.tolist() == ["a", "b"]
    assert frame.b.tolist() == [0.5, "x"]


def test_frame_of_a_pool() -> None:
    pool = cadda.operation_pool(sfreq=100, ch_names=["C3", "C4"], operations=["all"])
    frame = pool.to_frame().set_index("operation")
    assert frame.index[frame.in_pool].tolist() == list(pool.names)
    assert frame.reason[~frame.in_pool].to_dict() == pool.left_out
    assert len(pool.left_out) > 0
    assert frame.settings["time_mask"] == pool["time_mask"].settings
    assert frame.has_magnitude["time_mask"]
    assert not frame.has_magnitude["sign_flip"]


def test_frame_of_a_schedule() -> None:
    late = cadda.PolicySpec.from_text("sign_flip p=0.8")
    schedule = cadda.PolicySchedule((cadda.Segment(3, POLICY), cadda.Segment(2, late)))
    frame = schedule.to_frame()
    assert frame.groupby("first_epoch").n_epochs.unique().map(list).to_dict() == {1: [3], 4: [2]}
    columns = POLICY.to_frame().columns
    for epoch, policy in ((1, POLICY), (4, late)):
        part = frame[frame.first_epoch == epoch][columns].reset_index(drop=True)
        assert part.equals(policy.to_frame())


def test_frame_of_a_matrix_of_a_probe() -> None:
    matrix = cadda.ProbeMatrix("sign_flip", None, ((0.75, 0.25), (0.125, 0.875)))
    frame = matrix.to_frame(CLASSES)
    table = frame.pivot(index="true", columns="predicted", values="share")
    assert table.loc[list(CLASSES), list(CLASSES)].to_numpy().tolist() == [
        list(row) for row in matrix.share
    ]
    assert set(frame.operation) == {"sign_flip"}
    assert matrix.to_frame().true.tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match=r"`class_names` must have 2 names, .*got 1"):
        matrix.to_frame(["left"])


def test_frames_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(cadda.CaddaError, match=r"`to_frame` needs .*pandas.*cadda\[pandas\]"):
        POLICY.to_frame()


def titles(figure: Any) -> set[str]:
    return {axes.get_title() or axes.get_title("left") for axes in figure.axes}


def test_pictures(found: dict[str, cadda.SearchResult], fitted: cadda.Fitted) -> None:
    assert "magnitude µ" in titles(found["adda"].plot())
    assert "magnitude µ" in titles(found["random"].plot())
    assert "Operations used by the policy that trivial found" in titles(found["trivial"].plot())
    assert any("90% intervals" in title for title in titles(found["auto"].plot()))
    losses, accuracy = fitted.plot().axes
    assert losses.lines[1].get_ydata().tolist() == [e.valid_loss for e in fitted.history]
    assert accuracy.lines[1].get_xdata()[0] == fitted.best_epoch


def test_text_of_a_search(found: dict[str, cadda.SearchResult]) -> None:
    race = found["auto"].race
    assert race is not None
    assert race.verdict is not None
    assert str(found["auto"]) == race.verdict.sentence
    assert found["auto"].gain == race.verdict.gain
    assert found["auto"].interval == (race.verdict.low, race.verdict.high)
    assert str(found["adda"]).startswith("adda searched for ")
    assert str(found["adda"].policy) in str(found["adda"])
    assert found["adda"].gain is found["adda"].interval is None
