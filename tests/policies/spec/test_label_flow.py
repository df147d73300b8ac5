"""Classes of windows on their way through label maps, against draws of the policy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import cadda
from cadda import Policy, PolicySpec
from cadda.policies.spec.compare import compare_policies
from cadda.policies.spec.label_flow import label_map_notes
from cadda.policies.spec.summary import describe_subpolicy, mean_uses, short_magnitude

CLASSES = ("a", "b", "c")
CHAIN = """
[a]
channel_symmetry p=0.5 -> {a: b, b: a} | sign_flip p=0.4 > channel_symmetry p=0.5 -> {b: c, c: b}
w=2: time_reverse p=0.3 > channel_symmetry p=0.2 -> {a: b, b: a}
[b]
channel_symmetry p=0.8 -> {a: b, b: a}
[c]
channel_symmetry p=1 -> {a: b, b: a} > channel_symmetry p=0.5 -> {b: c, c: b} | sign_flip p=0.2
"""


def draw(spec: PolicySpec) -> tuple[Policy, torch.Tensor, cadda.policies.policy.PolicyDraw]:
    """Draw many windows of each class."""
    pool = cadda.operation_pool(sfreq=100, ch_names=["C3", "C4"], class_names=CLASSES)
    policy = Policy(spec, pool)
    y = torch.arange(30_000) % 3
    x = torch.zeros(len(y), 2, 4)
    return policy, y, policy.draw(x, y, generator=torch.Generator().manual_seed(0))


def test_how_often_each_choice_is_applied_to_each_class() -> None:
    spec = PolicySpec.from_text(CHAIN)
    policy, y, drawn = draw(spec)
    counted = np.zeros((3, len(spec.operation_names)))
    for column, name in enumerate(spec.operation_names):
        number = policy.pool.index(name)
        changed = torch.zeros(len(y), dtype=torch.bool)
        for group in (group for groups in drawn.groups for group in groups):
            if group.operation == number:
                changed[group.windows] = True
        counted[:, column] = [float(changed[y == label].float().mean()) for label in range(3)]
    np.testing.assert_allclose(spec.operation_probabilities(), counted, atol=0.02)
    # Nobody of c is a or b at the first stage.
    assert spec.operation_probabilities()[2, 0] == 0


def test_classes_that_become_more_frequent() -> None:
    spec = PolicySpec.from_text(CHAIN)
    _, _, drawn = draw(spec)
    assert drawn.y is not None
    shares = torch.bincount(drawn.y) / len(drawn.y) * 3
    note = label_map_notes(spec)[-1]
    assert note.startswith("Label maps change how frequent classes are (")
    for name, share in zip(CLASSES, shares.tolist(), strict=True):
        percent = next(part for part in note.split(" (")[1].split(", ") if part.endswith(name))
        assert float(percent.split("%")[0].replace("−", "-")) == pytest.approx(
            100 * (share - 1), abs=2
        )


@pytest.mark.parametrize(
    "text",
    [
        "[a]\nchannel_symmetry p=0.5 -> b\n[b]\nchannel_symmetry p=0.5 -> a\n[c]\nsign_flip p=1",
        "channel_symmetry p=0.5",
    ],
)
def test_nothing_to_note(text: str) -> None:
    assert label_map_notes(PolicySpec.from_text(text)) == ()


def test_classes_that_are_left_alone() -> None:
    spec = PolicySpec.from_text("channel_symmetry p=0.5 -> {a: b, b: a}")
    map_only = "channel_symmetry (a ↔ b): windows of"
    assert label_map_notes(spec) == (
        f"{map_only} other classes, if there are any, are left as they are",
    )
    known = spec.model_copy(update={"class_names": ("a", "b", "c", "d")})
    assert label_map_notes(known) == (f"{map_only} c, d are left as they are",)
    assert label_map_notes(spec.model_copy(update={"class_names": ("a", "b")})) == ()


def test_a_map_that_cannot_act_on_a_class() -> None:
    spec = PolicySpec.from_text(CHAIN)
    assert label_map_notes(spec)[0] == (
        "channel_symmetry (a ↔ b) changes no windows of c: its label map does not name that class"
    )
    assert len(label_map_notes(spec)) == 2


def test_text_for_readers_of_one_class() -> None:
    spec = PolicySpec.from_text(
        "[a]\nfrequency_shift p=0.5 m=0.4 -> b > frequency_shift p=0.5 m=0.2 -> b\n"
        "[b]\nfrequency_shift p=1 m=1 -> a | sign_flip p=1\n[c]\nsign_flip p=1"
    )
    assert describe_subpolicy(spec.policy["a"][0], "a") == [
        ["50% frequency_shift → b, shift < 2 Hz"],
        # By then it may be a or b.
        ["50% frequency_shift (a ↔ b), shift < 1 Hz"],
    ]
    assert describe_subpolicy(spec.policy["b"][0], "b") == [
        ["50% frequency_shift → a, shift < 5 Hz", "50% sign_flip"]
    ]
    together = PolicySpec.from_text("frequency_shift p=1 m=1 -> {a: b, b: a, c: c}")
    assert describe_subpolicy(together.policy["*"][0], "*") == [
        ["100% frequency_shift (a ↔ b, c kept), shift < 5 Hz"]
    ]
    assert short_magnitude("frequency_shift (a ↔ b)", 0.4) == "2 Hz"


def test_a_label_map_makes_another_choice() -> None:
    kept = PolicySpec.from_text("channel_symmetry p=0.5")
    mapped = PolicySpec.from_text("channel_symmetry p=0.5 -> {a: b, b: a}")
    difference = compare_policies(kept, mapped)
    assert difference.distance == {"*": 0.5}
    assert {change.operation: change.probability for change in difference.changes} == {
        "channel_symmetry": (0.5, 0.0),
        "channel_symmetry (a ↔ b)": (0.0, 0.5),
    }


def test_a_partial_map_does_nothing_to_other_classes() -> None:
    mapped = PolicySpec.from_text("frequency_shift p=0.5 m=0.4 -> {a: b, b: a}")
    nothing = PolicySpec.from_text("[a]\nsign_flip p=0\n[b]\nsign_flip p=0\n[c]\nsign_flip p=0")
    assert compare_policies(nothing, mapped).distance == {"a": 0.5, "b": 0.5, "c": 0.0}
    changes = [change for change in compare_policies(nothing, mapped).changes if change.is_change]
    assert [change.row for change in changes] == ["a", "b"]
    assert changes[0].in_units == ("", "shift < 2 Hz")
    assert mean_uses(mapped.policy["*"], "c")["frequency_shift (a ↔ b)"].magnitude is None
