"""The table of a policy against sums done by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cadda import EnumeratedPolicy, OperationPool, PolicySpec, StagedPolicy
from cadda.policies.spec.summary import describe_magnitude, short_magnitude, summarise


def test_by_hand() -> None:
    """Two subpolicies drawn 3 : 1; in the first, two alternatives drawn 1 : 3."""
    table = summarise(
        PolicySpec.from_text(
            "w=3: sign_flip p=0.4 w=1 | time_mask p=0.8 m=0.5 w=3\nw=1: time_mask p=0.2 m=1.0"
        )
    )
    assert table.operations == ("sign_flip", "time_mask")
    assert table.share.tolist() == pytest.approx(np.array([[0.1875, 0.8125]]))
    applied = 0.75 * 0.75 * 0.8 + 0.25 * 0.2
    assert table.probability[0] == pytest.approx([0.4, applied / 0.8125])
    assert table.magnitude[0, 1] == pytest.approx(
        (0.75 * 0.75 * 0.8 * 0.5 + 0.25 * 0.2 * 1.0) / applied
    )
    assert np.isnan(table.magnitude[0, 0])
    assert table.applied[0] == pytest.approx([0.75 * 0.25 * 0.4, applied])


@pytest.mark.parametrize("kind", [StagedPolicy, EnumeratedPolicy])
def test_start_of_a_search(kind: type, pool: OperationPool) -> None:
    table = summarise(kind(pool, class_names=["a", "b"]).to_spec())
    assert table.rows == ("a", "b")
    assert np.allclose(table.share, 1 / len(pool))
    assert np.allclose(table.probability, 0.5)
    with_magnitude = [operation.has_magnitude for operation in pool]
    assert np.allclose(table.magnitude[:, with_magnitude], 0.5)


def test_what_is_never_chosen(pool: OperationPool) -> None:
    policy = StagedPolicy(pool)
    with torch.no_grad():
        policy.weight[..., 0] = -1e9
    table = summarise(policy.to_spec())
    assert table.share[0, 0] == 0
    assert table.probability[0, 0] == 0


def test_random_magnitudes() -> None:
    table = summarise(PolicySpec.from_text("w=3: time_mask p=1 m=0.2..0.6\ntime_mask p=1 m=0.2"))
    assert table.magnitudes(0, 0) == pytest.approx((0.2, 0.5))
    assert table.magnitude.tolist() == [[pytest.approx(0.35)]]
    never = summarise(PolicySpec.from_text("time_mask p=0 m=0.2..0.6 > sign_flip p=1"))
    assert [never.magnitudes(0, column) for column in (0, 1)] == [None, None]


def test_magnitudes_in_words() -> None:
    assert describe_magnitude("time_mask", (0.0, 0.5)) == "gap 0 to 0.5 s"
    assert describe_magnitude("time_mask", (0.5, 0.5)) == "gap 0.5 s"
    assert short_magnitude("frequency_shift", (0.2, 0.4)) == "1 to 2 Hz"
    assert short_magnitude("frequency_shift", (np.nan, np.nan)) == ""
    assert describe_magnitude("my_operation", (0.25, 0.5)) == "magnitude 0.25 to 0.50"
    assert short_magnitude("my_operation", 0.5) == "µ 0.50"
    assert describe_magnitude("sign_flip", None) == ""


def test_without_augmentation() -> None:
    table = summarise(PolicySpec.from_text("[a]\nnone\n[b]\ntime_mask p=0.5 m=1"))
    assert table.share.tolist() == [[0], [1]]
    assert table.applied.tolist() == [[0], [0.5]]
    assert [table.magnitudes(row, 0) for row in (0, 1)] == [None, (1, 1)]
    nothing = summarise(PolicySpec.none())
    assert nothing.share.shape == nothing.magnitude.shape == (1, 0)
    assert nothing.for_operations(["sign_flip"]).applied.tolist() == [[0]]
