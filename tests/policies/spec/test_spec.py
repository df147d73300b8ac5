"""Policies as data: what they hold, what they say, and how they are written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cadda import OperationPool, PolicySpec
from cadda.operations import CATALOGUE
from cadda.policies.spec.entries import StageEntry, Subpolicy
from cadda.policies.spec.provenance import Provenance

CLASSWISE = """
[W]
time_reverse p=0.5 > time_mask p=0.2 m=0.4   # a comment
w=3: sign_flip p=1 | bandstop p=0.4 m=0.5 w=3
[N2]
frequency_shift p=0.25 m=0.3
"""


def test_class_agnostic() -> None:
    spec = PolicySpec.from_text("sign_flip p=0.5")
    assert not spec.is_classwise
    assert spec.rows == ("*",)
    assert spec.class_names is None


def test_class_wise() -> None:
    spec = PolicySpec.from_text(CLASSWISE)
    assert spec.is_classwise
    assert spec.rows == spec.class_names == ("W", "N2")
    assert spec.operations_used == (
        "time_reverse",
        "time_mask",
        "sign_flip",
        "bandstop",
        "frequency_shift",
    )


def test_operation_probabilities_by_hand() -> None:
    table = PolicySpec.from_text(CLASSWISE).operation_probabilities()
    expected = [
        [0.25 * 0.5, 0.25 * 0.2, 0.75 * 0.25 * 1, 0.75 * 0.75 * 0.4, 0],
        [0, 0, 0, 0, 0.25],
    ]
    np.testing.assert_allclose(table, expected)


def test_operation_probabilities_counts_a_window_once() -> None:
    spec = PolicySpec.from_text("sign_flip p=0.5 > sign_flip p=0.5")
    np.testing.assert_allclose(spec.operation_probabilities(), [[0.75]])


def test_columns_are_all_operations_that_could_have_been_chosen(pool: OperationPool) -> None:
    data = json.loads(PolicySpec.from_text("sign_flip p=0.5").to_json())
    data["operations"] = {operation.name: operation.settings for operation in pool}
    spec = PolicySpec.from_dict(data)
    assert spec.operation_names == pool.names
    table = spec.operation_probabilities()
    assert table.shape == (1, 13)
    assert table[0, pool.index("sign_flip")] == 0.5
    assert table.sum() == 0.5


def test_file_round_trip(tmp_path: Path) -> None:
    spec = PolicySpec(
        policy=PolicySpec.from_text(CLASSWISE).policy,
        class_names=("W", "N2"),
        sfreq=100.0,
        ch_names=("Fpz-Cz", "Pz-Oz"),
        provenance=Provenance(method="cadda", seed=3, scores={"balanced_accuracy": 0.7}),
    )
    spec.save(tmp_path / "policy.json")
    assert PolicySpec.load(tmp_path / "policy.json") == spec
    assert [file.name for file in tmp_path.iterdir()] == ["policy.json"]
    lines = (tmp_path / "policy.json").read_text().splitlines()
    entry = '{"operation": "sign_flip", "weight": 1.0, "probability": 1.0, "magnitude": null}'
    assert sum(entry in line for line in lines) == 1
    assert max(map(len, lines)) < 130


VERSION_1 = """{
 "format": "cadda-policy",
 "version": 1,
 "policy": {
  "W": [
   {
    "weight": 1.0,
    "stages": [[{"operation": "bandstop", "weight": 1.0, "probability": 0.5, "magnitude": 0.3}]]
   }
  ],
  "N2": [
   {
    "weight": 1.0,
    "stages": [
     [{"operation": "sign_flip", "weight": 1.0, "probability": 0.5, "magnitude": null}],
     [{"operation": "time_mask", "weight": 1.0, "probability": 0.3, "magnitude": 0.5}]
    ]
   }
  ]
 },
 "operations": {},
 "class_names": ["W", "N2"],
 "sfreq": null,
 "ch_names": null,
 "provenance": {"method": null, "seed": null, "data": null, "scores": {}, "package_version": null}
}
"""
"""As the version of cadda before label maps wrote it."""


def test_a_file_of_version_1_is_read_and_saved_as_version_2(tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text(VERSION_1)
    spec = PolicySpec.load(tmp_path / "policy.json")
    assert spec == PolicySpec.from_text(
        "[W]\nbandstop p=0.5 m=0.3\n[N2]\nsign_flip p=0.5 > time_mask p=0.3 m=0.5"
    )
    saved = VERSION_1.replace('"version": 1', '"version": 2')
    assert spec.to_json() == saved.replace('_version": null}', '_version": null, "leak": null}')


def test_file_with_a_label_map(tmp_path: Path) -> None:
    spec = PolicySpec.from_text("channel_symmetry p=0.5 -> {a: b, b: c, c: a} > sign_flip p=1")
    spec.save(tmp_path / "policy.json")
    assert PolicySpec.load(tmp_path / "policy.json") == spec
    text = (tmp_path / "policy.json").read_text()
    assert '"label_map": {"a": "b", "b": "c", "c": "a"}' in text
    assert text.count("label_map") == 1
    # Added by hand to an older file, it is meant as in a new one.
    older = text.replace('"version": 2', '"version": 1')
    assert PolicySpec.from_dict(json.loads(older)) == spec


def test_file_with_a_random_magnitude(tmp_path: Path) -> None:
    spec = PolicySpec.from_text("time_mask p=0.5 m=0.1..0.4 > bandstop p=1 m=0.5")
    assert [entry.magnitudes for entry in spec.entries] == [(0.1, 0.4), (0.5, 0.5)]
    spec.save(tmp_path / "policy.json")
    assert PolicySpec.load(tmp_path / "policy.json") == spec
    text = (tmp_path / "policy.json").read_text()
    assert '"magnitude": 0.4, "min_magnitude": 0.1}' in text
    assert text.count("min_magnitude") == 1
    assert spec.to_text() == "time_mask p=0.5 m=0.1..0.4 > bandstop p=1 m=0.5\n"


def test_no_augmentation(tmp_path: Path) -> None:
    spec = PolicySpec.none()
    assert spec.is_none
    assert (spec.to_text(), spec.rows, spec.operations_used) == ("none\n", ("*",), ())
    assert (spec.leak(), spec.label_maps, spec.entries) == ({}, (), ())
    assert spec.operation_probabilities().shape == (1, 0)
    assert spec.capped(0.1) is spec
    spec.save(tmp_path / "policy.json")
    assert '"policy": {"*": []}' in (tmp_path / "policy.json").read_text()
    assert PolicySpec.load(tmp_path / "policy.json") == spec
    assert PolicySpec.from_text("# as it is\nnone  # at all") == spec


def test_classes_without_augmentation() -> None:
    text = "[W]\nnone\n[N2]\nsign_flip p=0.5\n"
    spec = PolicySpec.from_text(text)
    assert not spec.is_none
    assert spec.policy["W"] == ()
    assert spec.to_text() == text
    assert spec.operation_probabilities().tolist() == [[0], [0.5]]
    nothing = PolicySpec.from_text("[W]\nnone\n[N2]\nnone\n")
    assert nothing.is_none
    assert nothing.is_classwise
    assert nothing.operation_probabilities().shape == (2, 0)


def test_lines_that_continue_others() -> None:
    text = """
        [W]
        w=2: sign_flip p=0.5 # once
          | time_reverse p=0.5 -> {W: R, R: W}  # or

          # then
          > time_mask p=0.1 m=0.2 | bandstop p=1 m=0.1
            | gaussian_noise p=1 m=0.3 > sign_flip p=1
        sign_flip p=0.1
        [R]
        sign_flip p=0.1
          > sign_flip p=0.2
    """
    joined = """
        [W]
        w=2: sign_flip p=0.5 | time_reverse p=0.5 -> {W: R, R: W} > time_mask p=0.1 m=0.2 | bandstop p=1 m=0.1 | gaussian_noise p=1 m=0.3 > sign_flip p=1
        sign_flip p=0.1
        [R]
        sign_flip p=0.1 > sign_flip p=0.2
    """  # noqa: E501
    assert PolicySpec.from_text(text) == PolicySpec.from_text(joined)


def test_long_lines_are_broken() -> None:
    names = [name for name, info in CATALOGUE.items() if info.has_magnitude]
    stage = " | ".join(f"{name} p=0.5 m=0.25" for name in names)
    text = PolicySpec.from_text(f"w=2: {stage} > {stage}").to_text()
    first, *more = text.splitlines()
    assert first.startswith("w=2: ")
    assert all(line.startswith(("  | ", "  > ")) for line in more)
    assert text.count(">") == text.count("\n  > ") == 1
    assert 70 < max(map(len, [first, *more])) <= 100
    assert PolicySpec.from_text(text) == PolicySpec.from_text(f"w=2: {stage} > {stage}")


def test_order_of_labels_is_that_of_class_names(tmp_path: Path) -> None:
    data = json.loads(PolicySpec.from_text(CLASSWISE).to_json())
    data["class_names"] = ["N2", "W"]
    spec = PolicySpec.from_dict(data)
    assert spec.rows == ("N2", "W")
    assert spec.operation_probabilities()[0, spec.operation_names.index("frequency_shift")] == 0.25


def test_text_file(tmp_path: Path) -> None:
    (tmp_path / "policy.txt").write_text(CLASSWISE)
    assert PolicySpec.load(tmp_path / "policy.txt") == PolicySpec.from_text(CLASSWISE)


def test_own_operations_must_be_named(tmp_path: Path) -> None:
    spec = PolicySpec.from_text("my_operation p=0.5 m=0.3", known=["my_operation"])
    spec.save(tmp_path / "policy.json")
    assert PolicySpec.load(tmp_path / "policy.json", known=["my_operation"]) == spec


def test_schema_is_the_one_in_the_documentation() -> None:
    file = Path(__file__).parents[3] / "docs" / "policy.schema.json"
    assert json.loads(file.read_text()) == PolicySpec.model_json_schema()


fractions = st.floats(0, 1)
weights = st.floats(1e-3, 1e3)
class_name = st.text(
    st.characters(categories=["L", "N", "P", "S"], include_characters=" "), max_size=8
).map(str.strip).filter(lambda name: name not in ("", "*")) | st.sampled_from(
    ["p=1", "a m=1", "left fist", "'a'", '"', "a: b", "{", "->", "x] # [y"]
)


@st.composite
def label_maps(draw: st.DrawFn, names: list[str]) -> dict[str, str]:
    support = draw(st.lists(st.sampled_from(names), min_size=2, unique=True))
    k = draw(st.integers(1, len(support) - 1))
    return dict(zip(support, support[k:] + support[:k], strict=True))


@st.composite
def entries(draw: st.DrawFn, name: str, names: list[str]) -> StageEntry:
    label_map = draw(st.none() | label_maps(names)) if len(names) > 1 else None
    least, most = sorted(draw(st.tuples(fractions, fractions)))
    has_magnitude = CATALOGUE[name].has_magnitude
    return StageEntry(
        operation=name,
        weight=draw(weights),
        probability=draw(fractions if label_map is None else st.floats(0.01, 1)),
        magnitude=most if has_magnitude else None,
        min_magnitude=least if has_magnitude and draw(st.booleans()) else None,
        label_map=label_map,
    )


@st.composite
def subpolicies(draw: st.DrawFn, class_names: list[str]) -> Subpolicy:
    stages = []
    for _ in range(draw(st.integers(1, 3))):
        names = draw(
            st.lists(st.sampled_from(sorted(CATALOGUE)), min_size=1, max_size=5, unique=True)
        )
        stages.append(tuple(draw(entries(name, class_names)) for name in names))
    return Subpolicy(weight=draw(weights), stages=tuple(stages))


@st.composite
def specs(draw: st.DrawFn) -> PolicySpec:
    names = draw(st.lists(class_name, min_size=1, max_size=6, unique=True))
    classwise = draw(st.booleans())
    some = st.lists(subpolicies(names), max_size=2).map(tuple)
    return PolicySpec(
        policy={name: draw(some) for name in (names if classwise else ["*"])},
        class_names=tuple(names) if classwise else None,
    )


@settings(max_examples=50)
@given(specs())
def test_any_policy_survives_json(spec: PolicySpec) -> None:
    assert PolicySpec.from_dict(json.loads(spec.to_json())) == spec


@settings(max_examples=50)
@given(specs())
def test_any_policy_survives_its_text_form(spec: PolicySpec) -> None:
    text = spec.to_text()
    assert PolicySpec.from_text(text) == spec
    assert PolicySpec.from_text(text).to_text() == text


@settings(max_examples=50)
@given(specs())
def test_any_policy_shows_three_digits_of_its_text_form(spec: PolicySpec) -> None:
    """Three significant digits are off by at most half a unit of the third, 0.5 %."""
    shown = PolicySpec.from_text(repr(spec))
    assert str(spec) == repr(spec)
    assert shown.rows == spec.rows
    for ours, other in zip(shown.entries, spec.entries, strict=True):
        numbers = [
            np.array([e.probability, e.weight, *(e.magnitudes or ())]) for e in (ours, other)
        ]
        np.testing.assert_allclose(numbers[0], numbers[1], rtol=0.005)
        assert (ours.choice, ours.min_magnitude is None) == (
            other.choice,
            other.min_magnitude is None,
        )


def test_shown_without_needless_digits() -> None:
    spec = PolicySpec.from_text("w=0.33333: time_mask p=0.123456 m=0.1..0.987654\nsign_flip p=1")
    assert repr(spec) == "w=0.333: time_mask p=0.123 m=0.1..0.988\nsign_flip p=1"
    assert "0.123456" in spec.to_text()


@settings(max_examples=50)
@given(specs())
def test_probabilities_are_probabilities(spec: PolicySpec) -> None:
    table = spec.operation_probabilities()
    assert table.shape == (len(spec.rows), len(spec.operation_names))
    assert (table >= 0).all()
    assert (table <= 1 + 1e-12).all()
