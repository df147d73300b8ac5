"""From a run folder to a report, and what is said where that is not possible."""

from __future__ import annotations

import ast
import html
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run
from sklearn.metrics import balanced_accuracy_score
from snippets import run_snippet, snippet_of

from cadda import LeakReading, PolicySpec, ProbeResult, Windows, load_model
from cadda._internal.jsonlines import JsonLines
from cadda._internal.statistics import Estimate, resample_counts
from cadda.exceptions import RunError
from cadda.policies.spec.compare import compare_policies
from cadda.policies.spec.leakage import trace_operations
from cadda.policies.spec.summary import class_revealing_operations
from cadda.probing.probe import Condition
from cadda.probing.probe_tables import make_result
from cadda.reporting.html import render_report
from cadda.reporting.html.formatting import number, with_interval
from cadda.reporting.html.provenance import bibtex
from cadda.reporting.race import RaceFacts
from cadda.reporting.records import EventWarning, LeakReadings, RewardCurves
from cadda.runs.folder import RunFolder, digest_of
from cadda.runs.report import read_record, write_report
from cadda.searchers.events import TrialEnd

ROOT = Path(__file__).parents[3]
FAILED = TrialEnd(
    number=7,
    n_trials=9,
    value=None,
    is_best=False,
    failure="out of memory",
    applied=(),
    share=(),
    probability=(),
    magnitude=(),
    trial_seconds=1.0,
    seconds=1.0,
)
STAGES = ("W", "N1", "N2", "N3", "R")
RUNS = ["class-wise", "trials", "population", "training", "plain training", "race", "hostile"]


@pytest.mark.parametrize("name", [*RUNS, "many channels"])
def test_one_small_page_with_the_same_bytes_each_time(
    name: str, report_of: Callable[[str], Path], tmp_path: Path
) -> None:
    path = report_of(name)
    first = path.read_bytes()
    assert path.name == "report.html"
    assert len(first) < 2_000_000
    assert re.search(rb"https?:", first) is None
    copy = tmp_path / "elsewhere"
    shutil.copytree(path.parent, copy)
    (copy / "report.html").unlink()
    again = write_report(copy).path.read_bytes()
    # The snippet has the folder of the page.
    assert again.replace(bytes(copy), bytes(path.parent)) == first


def test_small_even_if_policy_and_search_are_long(report_of: Callable[[str], Path]) -> None:
    """A thousand epochs, and a hundred subpolicies for each class."""
    record = read_record(report_of("class-wise").parent)
    assert record.policy is not None
    assert record.search is not None
    curves = record.search.curves
    assert curves is not None
    subpolicy = record.policy.policy["W"][0]
    many = dict.fromkeys(record.policy.rows, (subpolicy,) * 100)
    names = ("number", "valid_loss", "entropy", "applied", "share", "probability", "magnitude")
    repeated = {name: np.repeat(getattr(curves, name), 500, 0) for name in (*names, "shared")}
    assert curves.rewards is not None
    rewards = {
        field.name: np.repeat(getattr(curves.rewards, field.name), 500, 0)
        for field in fields(curves.rewards)
    }
    repeated["shown"] = np.arange(len(repeated["number"]))
    long = replace(
        record,
        policy=record.policy.model_copy(update={"policy": many}),
        search=replace(
            record.search, curves=replace(curves, **repeated, rewards=RewardCurves(**rewards))
        ),
    )
    page = render_report(long).html
    assert len(page.encode()) < 2_000_000
    assert "too long for this page: see policy.json" in page
    assert "and 80 others" in page


def test_the_files_that_it_is_made_from_are_small(report_of: Callable[[str], Path]) -> None:
    folder = report_of("many channels").parent
    for name in ("data.json", "predictions.npz", "examples.npz", "sessions.json"):
        assert (folder / name).stat().st_size < 200_000


@pytest.mark.parametrize("name", RUNS)
def test_numbers_are_those_of_the_run(name: str, report_of: Callable[[str], Path]) -> None:
    path = report_of(name)
    record, text = read_record(path.parent), path.read_text()
    scores = json.loads((path.parent / "scores.json").read_text())
    predictions = record.predictions
    accuracy = balanced_accuracy_score(predictions.truth, predictions.predicted)
    assert scores["balanced_accuracy"] == pytest.approx(accuracy)
    plain = scores.get("without_augmentation")
    expected = [f"{accuracy:.3f}"]
    if plain is not None:
        before = plain["balanced_accuracy"]
        expected = [f"{before:.3f}", *expected, f"{accuracy - before:+.3f}".replace("-", "−")]
    assert re.findall(r"<dd><b>([+−\d.]+)</b>", text) == expected
    assert f"on {len(record.data.parts['test'].subjects)} unseen subject" in text


def test_what_is_left_behind_is_what_there_was(
    report_of: Callable[[str], Path], windows: Windows
) -> None:
    folder = report_of("class-wise").parent
    record = read_record(folder)
    parts = dict(zip(("train", "valid", "test"), windows.split(valid=0.2, test=0.3), strict=True))
    for name, part in parts.items():
        facts = record.data.parts[name]
        assert facts.subjects == tuple(part.subjects)
        assert facts.windows == tuple(part.class_counts())
        assert facts.digest == digest_of(part)
    model, _ = load_model(folder / "model.safetensors")
    test, found = parts["test"], record.predictions
    np.testing.assert_array_equal(found.predicted, model(test.x).argmax(1))
    np.testing.assert_array_equal(found.truth, test.y)
    np.testing.assert_array_equal(found.subject, test.subject)
    assert found.position.tolist() == [*range(15)] * len(test.subjects)


@pytest.mark.parametrize(("name", "unit"), [("class-wise", "epoch"), ("trials", "trial")])
def test_curves_are_those_of_the_events(
    name: str, unit: str, report_of: Callable[[str], Path]
) -> None:
    folder = report_of(name).parent
    record = read_record(folder)
    lines = (folder / "events.jsonl").read_text().splitlines()
    events = [
        event for event in map(json.loads, lines) if event["event"] in ("SearchEpoch", "TrialEnd")
    ]
    assert record.search is not None
    curves = record.search.curves
    assert curves is not None
    assert (curves.unit, len(events)) == (unit, 2)
    losses = [event.get("value", event.get("valid_loss")) for event in events]
    assert curves.valid_loss.tolist() == losses
    assert curves.share.tolist() == [[list(row) for row in event["share"]] for event in events]
    assert [curve.name for curve in record.learning] == ["with the policy", "without augmentation"]


def test_the_snippet_runs_as_it_is_from_any_folder(
    tmp_path: Path, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command had paths that were relative to where it was run."""
    work = tmp_path / 'a "quoted" folder'
    work.mkdir()
    monkeypatch.chdir(work)
    windows.save(work / "night.npz")
    Path("policy.txt").write_text("sign_flip p=0.5\n")
    options = ["--policy", "policy.txt", "--model", "shallow", "--max-epochs", "2", "--lr", "0.01"]
    run("train", "night.npz", "--out", "run", *options)
    run("report", "run")
    code = snippet_of(work / "run" / "report.html")
    assert "lr=0.01" in code
    score = json.loads((work / "run" / "scores.json").read_text())["balanced_accuracy"]
    for folder in (tmp_path, Path("/")):
        monkeypatch.chdir(folder)
        assert run_snippet(code) == score


@pytest.mark.parametrize(
    "reading",
    [
        {"function": "__import__('os').system", "arguments": {"command": "touch owned"}},
        {"function": "cadda.load_model", "arguments": {"path": "other.safetensors"}},
        {
            "function": "cadda.read_windows",
            "arguments": {
                "source": '"); import os; os.abort() #',
                "x=os.abort(),y": 1,
                "lambda": 2,
                "channels": ["C3\n", "'\"\\"],
                "annotations": {'": os.abort(), "': "W"},
            },
        },
    ],
)
def test_nothing_in_a_file_becomes_code(
    reading: dict[str, object], report_of: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(report_of("class-wise").parent, tmp_path / "#\nimport os\n")
    config = json.loads((folder / "config.json").read_text())
    hostile = {"reading": reading, "model": "');\nimport os; os.abort() #"}
    (folder / "config.json").write_text(json.dumps(config | hostile))
    tree = ast.parse(snippet_of(write_report(folder).path))
    assert [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import)] == [
        "import cadda"
    ]
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    known = {"cadda.fit", "cadda.evaluate", "cadda.PolicySpec.load", "cadda.Policy", "print"}
    allowed = known | {"cadda.operation_pool", "windows.split", "policy", "cadda.read_windows"}
    assert calls <= allowed
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert "os" not in names
    literals = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert hostile["model"] in literals
    if reading["function"] == "cadda.read_windows":
        assert {'"); import os; os.abort() #', "C3\n", "'\"\\"} <= {*map(str, literals)}


def test_the_snippet_gives_the_score_of_the_report(
    report_of: Callable[[str], Path], windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = report_of("class-wise")
    monkeypatch.chdir("/")
    code = snippet_of(path)
    assert "windows = ...  # your cadda.Windows" in code
    names: dict[str, Any] = {"given": windows}
    scores = json.loads((path.parent / "scores.json").read_text())
    assert run_snippet(code.replace("= ...", "= given"), names) == scores["balanced_accuracy"]
    assert names["x"].shape == (16, *windows.x.shape[1:])


def test_warnings_of_the_whole_run(report_of: Callable[[str], Path], tmp_path: Path) -> None:
    """From the session, from epochs, from failed trials, and what the predictions show."""
    folder = tmp_path / "run"
    shutil.copytree(report_of("class-wise").parent, folder)
    lines = JsonLines(folder / "events.jsonl", allow_nan=True)
    events = lines.read()
    for event in events:
        if event["event"] == "SearchEpoch":
            event["warnings"] = ["at its largest"]
    events.insert(-1, asdict(FAILED) | {"event": "TrialEnd"})
    lines.rewrite(events)
    sessions = json.loads((folder / "sessions.json").read_text())
    sessions[0]["warnings"] = ["in volts"]
    (folder / "sessions.json").write_text(json.dumps(sessions))
    with np.load(folder / "predictions.npz") as file:
        arrays = dict(file)
    arrays["predicted"] = np.where(arrays["predicted"] == 1, 0, arrays["predicted"])
    np.savez(folder / "predictions.npz", **arrays)
    text = write_report(folder).path.read_text()
    for words in (
        "in volts",
        "at its largest (epoch 1 to 2, 2 times)",
        "failed: out of memory (trial 7)",
        "the model trained with the policy never predicts N1, which occurs in the test windows",
    ):
        assert f"<li>{words}</li>" in text


def test_unfinished(report_of: Callable[[str], Path], tmp_path: Path) -> None:
    for name, words in (
        ("class-wise", r"the search in .* has no scores on test .* run it again with the same"),
        ("training", r"the training in .* has no scores on test .* again with the same arguments"),
    ):
        folder = tmp_path / name
        shutil.copytree(report_of(name).parent, folder)
        (folder / "scores.json").unlink()
        with pytest.raises(RunError, match=words):
            write_report(folder)


def test_missing_records(report_of: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(report_of("class-wise").parent, folder)
    for name in ("data.json", "predictions.npz", "examples.npz", "sessions.json"):
        (folder / name).unlink()
    with pytest.raises(RunError, match=r"has no data.json and no predictions.npz; run it"):
        write_report(folder)


def test_without_examples_and_sessions(report_of: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(report_of("class-wise").parent, folder)
    for name in ("examples.npz", "sessions.json"):
        (folder / name).unlink()
    text = write_report(folder).path.read_text()
    assert 'id="examples"' not in text
    assert 'id="provenance"' in text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("predictions.npz", b"PK nothing"),
        ("examples.npz", b""),
        ("data.json", b"{}"),
        ("events.jsonl", b'{"event": "SearchEpoch"}\n'),
        ("sessions.json", b"[{}]"),
    ],
)
def test_damaged_files(
    name: str, content: bytes, report_of: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(report_of("class-wise").parent, folder)
    (folder / name).write_bytes(content)
    with pytest.raises(RunError, match=f": {name} is damaged or of another version of cadda"):
        write_report(folder)


def test_no_run_at_all(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not the folder of a training run or a search"):
        write_report(tmp_path)
    (tmp_path / "config.json").write_text('{"kind": "breakfast"}')
    with pytest.raises(RunError, match="damaged or of another version"):
        write_report(tmp_path)


def test_citation_says_what_citation_cff_says() -> None:
    cff = (ROOT / "CITATION.cff").read_text()
    plain = bibtex().replace("{", "").replace("}", "")
    for title in re.findall(r'title: "(.*)"', cff):
        assert title in plain
    for family, given in re.findall(r"family-names: (.*)\n\s+given-names: (.*)", cff):
        assert f"{family}, {given}" in plain
    for field in ("version", r"\s+year", r"  - name"):
        (value,) = re.findall(rf"^{field}: (.*)$", cff, re.M)
        assert value in plain


def test_each_test_subject_has_a_row(report_of: Callable[[str], Path]) -> None:
    path = report_of("class-wise")
    page, found = path.read_text("utf-8"), read_record(path.parent).predictions
    assert found.without_augmentation is not None
    for subject in np.unique(found.subject):
        own = found.subject == subject
        plain, augmented = (
            balanced_accuracy_score(found.truth[own], labels[own])
            for labels in (found.without_augmentation, found.predicted)
        )
        gain = f"{augmented - plain:+.3f}".replace("-", "−")
        cells = (own.sum(), f"{plain:.3f}", f"{augmented:.3f}", gain)
        row = "".join(f"<td>{cell}</td>" for cell in cells)
        assert f'<tr><th scope="row">{subject}</th>{row}</tr>' in page


def test_subjects_in_the_order_of_their_numbers(report_of: Callable[[str], Path]) -> None:
    record = read_record(report_of("training").parent)
    subjects = np.unique(record.predictions.subject)
    number = np.searchsorted(subjects, record.predictions.subject)
    renamed = np.array([f"sub-{10 - n}" for n in number])
    predictions = replace(record.predictions, subject=renamed)
    text = render_report(replace(record, predictions=predictions)).html
    expected = [f"sub-{i}" for i in range(11 - len(subjects), 11)]
    assert re.findall(r"<th scope=\"row\">(sub-\d+)</th>", text) == expected
    assert len(expected) > 1


def test_examples_of_some_channels(report_of: Callable[[str], Path]) -> None:
    record = read_record(report_of("training").parent)
    assert record.examples is not None
    assert "that change most, in 3 of 4 channels." in render_report(record).html
    data = replace(record.data, ch_names=tuple(record.examples.ch_names.tolist()))
    assert "that change most.</p>" in render_report(replace(record, data=data)).html


@pytest.mark.parametrize(
    ("n_windows", "words"),
    [
        (0, "no test windows of N3"),
        (4, "N3 has few windows (4 test) and counts as much"),
        (5, None),
    ],
)
def test_scarce_classes_are_named(
    n_windows: int, words: str | None, report_of: Callable[[str], Path]
) -> None:
    record = read_record(report_of("training").parent)
    counts = [n_windows if name == "N3" else 20 for name in record.data.class_names]
    parts = {
        name: replace(part, windows=tuple([20] * 5)) for name, part in record.data.parts.items()
    }
    parts["test"] = replace(parts["test"], windows=tuple(counts))
    text = render_report(replace(record, data=replace(record.data, parts=parts))).html
    assert ("windows of N3" in text or "N3 has few" in text) == (words is not None)
    assert (words or "") in text


def test_no_interval_if_all_resamples_agree() -> None:
    known, agreed = Estimate(0.5, 0.4, 0.6), Estimate(0.0, 0.0, 0.0)
    assert with_interval(known, number) == "0.500 [0.400 to 0.600]"
    assert with_interval(agreed, number) == "0.000"


def test_an_operation_that_reveals_a_class_is_named_once(report_of: Callable[[str], Path]) -> None:
    """Epochs and the final policy give the same warning, with other percentages."""
    record = read_record(report_of("class-wise").parent)
    rows = [f"[{name}]\nsign_flip p={0.9 if name == 'N1' else 0.2}" for name in STAGES]
    policy = PolicySpec.from_text("\n".join(rows))
    (final,) = class_revealing_operations(trace_operations(policy))
    earlier = EventWarning(
        final.replace("90%", "77%").replace("0.25 bits", "0.17 bits"), "epoch", (1, 2)
    )
    assert earlier.text.count("77%") == earlier.text.count("0.17") == 1
    other = EventWarning(final.replace("N1", "N2"), "epoch", (1,))
    page = render_report(replace(record, policy=policy, event_warnings=(earlier, other))).html
    assert page.count("recognise the operation instead of the class") == 2
    assert f"<li>{final}</li>" in page
    assert f"<li>{other.text} (epoch 1)</li>" in page


def test_headline_and_figure_are_those_of_the_race(report_of: Callable[[str], Path]) -> None:
    path = report_of("short race")
    run = RunFolder(path.parent)
    race, policy = RaceFacts.load(run.race), PolicySpec.load(run.policy)
    assert race.verdict is not None
    assert race.verdict.is_gain != policy.is_none
    (headline,) = re.findall(r"<h1>(.*)</h1>", path.read_text())
    assert headline.startswith("No augmentation" if policy.is_none else "Augmentation recommended")
    assert run.race_figure.read_bytes().startswith(b"\x89PNG")


def test_what_the_model_reads(report_of: Callable[[str], Path], tmp_path: Path) -> None:
    run = RunFolder(shutil.copytree(report_of("class-wise").parent, tmp_path / "run"))
    read = LeakReading("time_mask", "N2", 0.9, 0.1, 0.34, 200)
    ignored = LeakReading("sign_flip", "W", 0.3, 0.2, 0.01, 200)
    LeakReadings((read, ignored)).save(run.leaks)
    page = write_report(run.folder).path.read_text()
    assert "<h2>What the model reads</h2>" in page
    assert page.count("so the model reads the operation in place of the class") == 1
    rows = re.findall(
        r"<td>(\w+)</td><td>[^<]+</td><td>[^<]+</td><td>\+0.\d+</td><td>(\w+)<", page
    )
    assert rows == [("N2", "yes"), ("W", "no")]


def test_bootstrap_runs_once(
    report_of: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return resample_counts(*arguments)

    monkeypatch.setattr("cadda.training.intervals.resample_counts", counted)
    write_report(report_of("class-wise").parent)
    assert len(calls) == 1


def save_probe(path: Path, class_names: tuple[str, ...]) -> ProbeResult:
    """Write a probe in which one operation exchanges two classes, and another destroys all."""
    rng = np.random.default_rng(0)
    n_classes = len(class_names)
    plain = np.full((n_classes, n_classes), 0.05) + 0.75 * np.eye(n_classes)
    swapped = plain[[1, 0, *range(2, n_classes)]]
    matrices = [plain, swapped, np.full((n_classes, n_classes), 1 / n_classes)]
    counts = np.array(
        [[[rng.multinomial(50, r) for r in m] for _ in "12345678"] for m in matrices]
    )
    conditions = [Condition("channel_symmetry", None), Condition("time_mask", 0.5)]
    result = make_result(counts, conditions, class_names)
    result.save(path)
    return result


def test_a_probe_in_the_folder_is_shown(report_of: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(report_of("training").parent, folder)
    assert 'id="probe"' not in (folder / "report.html").read_text("utf-8")
    result = save_probe(folder / "probe.json", STAGES)
    page = write_report(folder).path.read_text("utf-8")
    assert 'href="#probe"' in page
    assert len(result.label_maps) == 1
    for sentence in result.sentences:
        assert sentence in page
    assert page.count("Predictions after") == 3
    assert "<small>becomes N1</small>" in page
    (folder / "probe.json").write_text("{}")
    with pytest.raises(RunError, match="is not the result of a probe"):
        write_report(folder)


def test_names_of_a_probe_are_escaped(report_of: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(report_of("training").parent, folder)
    save_probe(folder / "probe.json", ("<b>W</b>", "N1", "N2"))
    page = write_report(folder).path.read_text("utf-8")
    assert "<b>W</b>" not in page
    assert "&lt;b&gt;W&lt;/b&gt; into N1" in page


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("trials", "none"),
        ("training", "none"),
        ("training", "[W]\nnone\n[N1]\nsign_flip p=0.5"),
    ],
)
def test_no_augmentation(
    name: str, text: str, report_of: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(report_of(name).parent, folder)
    (folder / "examples.npz").unlink()
    PolicySpec.from_text(text).save(folder / "policy.json")
    page = write_report(folder).path.read_text()
    said = "No augmentation: training windows are left as they are." in page
    assert said == (text == "none")
    assert ("none: its windows are not augmented" in page) == (text != "none")
    assert ("<h3>Use the policy</h3>" in page) == (text != "none")
    if text == "none":
        assert "<h3>Train without augmentation</h3>" in page
        assert "policy" not in snippet_of(folder / "report.html")
        # One model, which is not compared with itself.
        assert page.count("<dt>Without augmentation</dt>") == 1
        assert "<dt>Difference</dt>" not in page
        assert [curve.name for curve in read_record(folder).learning] == ["without augmentation"]


def test_the_policy_of_a_search_in_few_lines(report_of: Callable[[str], Path]) -> None:
    path = report_of("class-wise")
    text = (path.parent / "policy.txt").read_text()
    (shown,) = re.findall(r'<pre id="policy-text"[^>]*><code>(.*?)</code>', path.read_text(), re.S)
    assert html.unescape(shown) == text
    comment, *lines = text.splitlines()
    assert len(lines) < 100
    words = "# policy.json simplified, at a total variation distance of "
    loss = float(comment.removeprefix(words))
    found = PolicySpec.load(path.parent / "policy.json")
    distance = compare_policies(found, PolicySpec.load(path.parent / "policy.txt")).distance
    assert max(distance.values()) == pytest.approx(loss, abs=6e-4)
    assert 0 < loss <= 0.1
    crisp = (report_of("trials").parent / "policy.txt").read_text()
    assert crisp.startswith("# policy.json as it is\n")
    assert 'id="policy-text"' not in report_of("training").read_text()
