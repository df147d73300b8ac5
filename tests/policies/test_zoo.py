"""Policies that need no search: classes that they adapt to, and where their names are taken."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import commands
import pytest

import cadda
from cadda.experiments.conditions import parse_policy, read_content
from cadda.operations.catalogue import REFERENCES
from cadda.policies.schedule import load_policy
from cadda.policies.zoo import ZOO, find_zoo_policy

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def swap(*names: str) -> dict[str, str] | None:
    (entry,) = find_zoo_policy("left-right").spec(names).entries
    return entry.label_map


@pytest.mark.parametrize(
    ("names", "mapping"),
    [
        (("left", "right"), {"left": "right", "right": "left"}),
        (("right_hand", "left_hand"), {"right_hand": "left_hand", "left_hand": "right_hand"}),
        (("Left fist", "Right fist"), {"Left fist": "Right fist", "Right fist": "Left fist"}),
        (("LEFT", "RIGHT"), {"LEFT": "RIGHT", "RIGHT": "LEFT"}),
        (
            ("left-fist", "right-fist", "feet"),
            {"left-fist": "right-fist", "right-fist": "left-fist", "feet": "feet"},
        ),
        # Mirrored, it would be a class that the data do not have.
        (
            ("left_fist", "right_fist", "left_foot"),
            {"left_fist": "right_fist", "right_fist": "left_fist"},
        ),
        (
            ("left_a", "left_b", "right_b", "right_a"),
            {"left_a": "right_a", "left_b": "right_b", "right_b": "left_b", "right_a": "left_a"},
        ),
    ],
)
def test_left_and_right_are_exchanged_in_the_names_of_the_data(names, mapping) -> None:
    assert swap(*names) == mapping
    strong = find_zoo_policy("left-right-strong").spec(names)
    assert [item.mapping for item in strong.label_maps] == [mapping]
    assert strong.operations_used == ("channel_symmetry", "time_mask", "channel_dropout")


@pytest.mark.parametrize("names", [("W", "N2"), ("left", "Right"), ("cleft", "cright"), ("left",)])
def test_other_classes_are_one_sentence(names) -> None:
    with pytest.raises(ValueError, match=r"`zoo:left-right` must be .* names differ in left"):
        swap(*names)


def test_a_misspelt_name_gets_a_suggestion() -> None:
    with pytest.raises(ValueError, match=r"'slep' of the zoo \(did you mean `sleep`\?\)"):
        load_policy("zoo:slep")


@pytest.mark.parametrize("name", ZOO)
def test_policies_are_short_and_have_a_source(name: str) -> None:
    policy = ZOO[name]
    assert policy.spec() == cadda.PolicySpec.from_text(policy.text)
    assert policy.spec().to_text().count("\n") <= 4
    assert any(reference in policy.source for reference in REFERENCES)


def test_evidence_is_that_of_kept_results() -> None:
    """`left-right` is the policy ``mapped`` of the benchmark of label maps."""
    lines = (RESULTS / "equivariance.jsonl").read_text().splitlines()
    records = [record for record in map(json.loads, lines) if record["study"] == "motor-imagery"]

    def mean(condition: str, size: int) -> str:
        scores = [
            record["balanced_accuracy"]
            for record in records
            if (record["condition"], record["size"]) == (condition, size)
        ]
        assert len(scores) == 10
        return f"{fmean(scores):.3f}"

    four, twelve = (f"{mean('none', size)} → {mean('mapped', size)}" for size in (4, 12))
    assert ZOO["left-right"].evidence == (
        f"imagined fists, 10 draws: {four} with 4 training subjects, {twelve} with 12"
    )


FISTS = {"motor-imagery": "imagined fists", "executed-fists": "executed fists"}
OTHERS = {"fists-feet": "imagined fists or feet", "arithmetic": "mental arithmetic or rest"}
SIMULATED = {"simulated-motor-imagery": "simulated motor imagery"}


@pytest.mark.parametrize(
    ("name", "sets"),
    [
        ("left-right-strong", FISTS | SIMULATED),
        ("sleep", {"simulated-sleep": "simulated sleep", "sleep": "DREAM sleep"}),
        ("gentle", FISTS | OTHERS | SIMULATED),
    ],
)
def test_evidence_is_that_of_the_panel(name: str, sets: dict[str, str]) -> None:
    """Means over training runs of a draw, then over draws, of scores with and without it."""
    scores: dict[tuple[str, str, int], list[float]] = {}
    for file in ("panel", "carry_over"):
        for record in map(json.loads, (RESULTS / f"{file}.jsonl").read_text().splitlines()):
            if record["job"] == "training" and record["n_usable"] >= 12:
                key = record["set"], record["condition"], record["draw"]
                scores.setdefault(key, []).append(record["balanced_accuracy"])
    parts = []
    for data, title in sets.items():
        draws = [key[2] for key in scores if key[:2] == (data, f"zoo:{name}")]
        assert len(draws) == 3
        assert all(len(scores[data, f"zoo:{name}", draw]) == 6 for draw in draws)
        gain = fmean(
            fmean(scores[data, f"zoo:{name}", draw]) - fmean(scores[data, "none", draw])
            for draw in draws
        )
        parts.append(f"{title} {gain:+.3f}".replace("-", "−"))
    expected = f"gain over no augmentation, 3 draws: {', '.join(parts)}"
    assert ZOO[name].evidence == expected


def test_a_model_is_trained_with_a_policy_of_the_zoo() -> None:
    windows = cadda.simulate_motor_imagery(4, 8, seed=0)
    train, valid = (
        windows.of_subjects(group) for group in (windows.subjects[:2], windows.subjects[2:])
    )
    policy = cadda.PolicySpec.from_text(
        "channel_symmetry p=0.5 -> {left_fist: right_fist, right_fist: left_fist}"
    )
    losses = [
        cadda.fit(train, valid, model="shallow", max_epochs=1, policy=given).history[0].train_loss
        for given in ("zoo:left-right", policy, None)
    ]
    assert losses[0] == losses[1] != losses[2]


def test_comparisons_take_the_zoo() -> None:
    content = read_content("zoo:left-right", ("left_fist", "right_fist"))
    assert content is not None
    assert parse_policy(content).entries[0].label_map == swap("left_fist", "right_fist")


def test_commands_take_the_zoo(tmp_path: Path) -> None:
    listed = commands.run("policy", "zoo").stdout
    assert all(f"zoo:{name}: {policy.task}" in listed for name, policy in ZOO.items())
    rows = json.loads(commands.run("policy", "zoo", "--json").stdout)
    assert [row["name"] for row in rows] == list(ZOO)
    assert rows[1]["evidence"] == ZOO["left-right-strong"].evidence
    assert "ft_surrogate" in commands.run("policy", "show", "zoo:sleep").stdout
    text = commands.run("policy", "export", "zoo:left-right", "--format", "text").stdout
    assert text.strip() == ZOO["left-right"].text
    data, out = tmp_path / "fists.npz", tmp_path / "out"
    cadda.simulate_motor_imagery(5, 8, seed=0).save(data)
    train = ("train", data, "--model", "shallow", "--max-epochs", "1", "--out", out, "--policy")
    commands.run(*train, "zoo:left-right")
    saved = cadda.PolicySpec.load(out / "policy.json")
    assert saved.label_maps[0].mapping == swap("left_fist", "right_fist")
    failed = commands.run("train", tmp_path / "nothing.npz", *train[2:], "zoo:left", code=2)
    assert "unknown policy 'left' of the zoo" in failed.stderr
