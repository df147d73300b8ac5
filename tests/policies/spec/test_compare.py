"""Differences of policies."""

from __future__ import annotations

import numpy as np
import pytest

from cadda import PolicySpec
from cadda.policies.spec.compare import compare_policies

CLASSWISE = PolicySpec.from_text("""
    [W]
    w=3: sign_flip p=0.5 > time_mask p=0.4 m=0.5 | sign_flip p=1 w=3
    w=1: time_mask p=1 m=0.1
    [N2]
    frequency_shift p=0.5 m=0.4
""")


def test_a_policy_does_not_differ_from_itself() -> None:
    difference = compare_policies(CLASSWISE, CLASSWISE)
    assert not any(change.is_change for change in difference.changes)
    assert difference.distance == {"W": pytest.approx(0), "N2": pytest.approx(0)}


def test_probabilities_are_those_of_the_policy() -> None:
    nothing = PolicySpec.from_text("sign_flip p=0")
    changes = compare_policies(nothing, CLASSWISE).changes
    table = CLASSWISE.operation_probabilities()
    for change in changes:
        row = CLASSWISE.rows.index(change.row)
        column = CLASSWISE.operation_names.index(change.operation)
        np.testing.assert_allclose(change.probability, (0, table[row, column]), atol=1e-12)
    gaps = [abs(change.probability[1] - change.probability[0]) for change in changes]
    assert gaps == sorted(gaps, reverse=True)


def test_magnitudes_are_means_over_what_is_applied_in_physical_units() -> None:
    changes = compare_policies(PolicySpec.from_text("sign_flip p=0"), CLASSWISE).changes
    mask = next(change for change in changes if change.operation == "time_mask")
    # 3/4 · 1/4 · 0.4 of the windows with 0.5, and 1/4 of them with 0.1
    assert mask.magnitude[1] == pytest.approx((0.075 * 0.5 + 0.25 * 0.1) / 0.325)
    assert mask.in_units == ("", "gap 0.192 s")
    shift = next(change for change in changes if change.operation == "frequency_shift")
    assert shift.in_units == ("", "shift < 2 Hz")


def test_total_variation_distance() -> None:
    first = PolicySpec.from_text("sign_flip p=0.5 > time_reverse p=0.5")
    # Each of the four sequences has 1/4, but the order of both is another.
    second = PolicySpec.from_text("time_reverse p=0.5 > sign_flip p=0.5")
    assert compare_policies(first, second).distance["*"] == pytest.approx(0.25)
    never = PolicySpec.from_text("sign_flip p=0")
    always = PolicySpec.from_text("sign_flip p=1")
    assert compare_policies(never, always).distance == {"*": pytest.approx(1)}


def test_policies_of_other_classes_cannot_be_compared() -> None:
    other = PolicySpec.from_text("[W]\nsign_flip p=1\n[N3]\nsign_flip p=1")
    with pytest.raises(ValueError, match="same classes"):
        compare_policies(CLASSWISE, other)


def test_too_many_sequences_are_not_enumerated() -> None:
    stage = " | ".join(f"{name} p=0.5" for name in ("sign_flip", "time_reverse"))
    long = PolicySpec.from_text(" > ".join([stage] * 20))
    assert compare_policies(long, long).distance == {"*": None}


def test_random_magnitudes() -> None:
    before = PolicySpec.from_text("time_mask p=0.5 m=0.4\ntime_mask p=0.5 m=0.2")
    after = PolicySpec.from_text("time_mask p=0.5 m=0.1..0.8\ntime_mask p=0.5 m=0.2")
    (change,) = compare_policies(before, after).changes
    assert change.magnitude == pytest.approx((0.3, (0.45 + 0.2) / 2))
    assert change.in_units == ("gap 0.3 s", "gap 0.15 to 0.5 s")
    same_mean = PolicySpec.from_text("time_mask p=0.5 m=0.2..0.4")
    (change,) = compare_policies(before, same_mean).changes
    assert change.is_change
    assert change.magnitude == pytest.approx((0.3, 0.3))


def test_with_no_augmentation() -> None:
    nothing, spec = PolicySpec.none(), PolicySpec.from_text("[a]\nnone\n[b]\nsign_flip p=0.3")
    difference = compare_policies(nothing, spec)
    assert difference.distance == {"a": 0, "b": pytest.approx(0.3)}
    (change,) = difference.changes
    assert (change.row, change.probability) == ("b", (0.0, pytest.approx(0.3)))
