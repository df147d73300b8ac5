"""Operations that a probe lets pass, from tables written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cadda import ProbeMatrix, ProbeResult, ProbeRow, operation_pool
from cadda.probing.passing import passing_operations

POOL = operation_pool(sfreq=100, ch_names=["C3", "C4", "Cz"], class_names=["a", "b"])


def probe(
    shares: dict[tuple[str, float | None], list[list[float]]], width: float = 0.1
) -> ProbeResult:
    """Make a result of two classes; the plain model recognises 0.8 of both."""
    plain = ProbeMatrix(None, None, ((0.8, 0.2), (0.2, 0.8)))
    matrices = [
        ProbeMatrix(name, magnitude, tuple(map(tuple, share)))
        for (name, magnitude), share in shares.items()
    ]
    rows = tuple(
        ProbeRow(
            operation=matrix.operation or "",
            magnitude=matrix.magnitude,
            class_name="ab"[i],
            plain=0.8,
            kept=matrix.share[i][i],
            kept_low=matrix.share[i][i] - width / 2,
            kept_high=matrix.share[i][i] + width / 2,
            other="ba"[i],
            other_share=matrix.share[i][1 - i],
            other_low=matrix.share[i][1 - i] - width / 2,
            other_high=matrix.share[i][1 - i] + width / 2,
            verdict="undecided",
        )
        for matrix in matrices
        for i in range(2)
    )
    return ProbeResult(
        class_names=("a", "b"),
        accuracy=0.8,
        accuracy_low=0.75,
        accuracy_high=0.85,
        is_useful=True,
        n_subjects=6,
        proposals=(),
        table=rows,
        matrices=(plain, *matrices),
        left_out={},
        settings={},
    )


def kept(share: float) -> list[list[float]]:
    return [[share, 1 - share], [1 - share, share]]


def test_passes_up_to_the_largest_magnitude_that_retains_enough() -> None:
    # 0.725 is three quarters of the way from chance to 0.8, 0.65 is half of it.
    result = probe(
        {
            ("time_mask", 0.25): kept(0.8),
            ("time_mask", 0.5): kept(0.73),
            ("time_mask", 0.75): kept(0.66),
            ("time_mask", 1.0): kept(0.74),
        }
    )
    (strict,) = passing_operations(result, POOL)
    assert (strict.operation, strict.magnitude, strict.label_map) == ("time_mask", 0.5, None)
    assert strict.retained == pytest.approx(0.23 / 0.3)
    (lenient,) = passing_operations(result, POOL, retained=0.5)
    assert lenient.magnitude == 1.0


def test_an_exchange_passes_with_its_label_map() -> None:
    result = probe({("channel_symmetry", None): kept(0.22), ("sign_flip", None): kept(0.5)})
    (mirror,) = passing_operations(result, POOL)
    assert mirror.label_map == {"a": "b", "b": "a"}
    assert mirror.magnitude is None
    assert mirror.entry(0.5).choice == "channel_symmetry (a ↔ b)"


def test_a_biased_model_may_still_show_an_exchange() -> None:
    # Most windows are taken for b, mirrored ones of class a even more often.
    share = [[0.15, 0.85], [0.65, 0.35]]
    (mirror,) = passing_operations(probe({("channel_symmetry", None): share}), POOL)
    assert mirror.label_map == {"a": "b", "b": "a"}


def test_an_exchange_must_be_closer_by_half() -> None:
    # Distances from the rows of the plain model are 0.3 and 0.3, then 0.33 and 0.27.
    shares = {("sign_flip", None): kept(0.5)}, {("sign_flip", None): kept(0.47)}
    for share in shares:
        assert passing_operations(probe(share), POOL, retained=0.05) == ()
    # 0.45 and 0.15: a ninth of the squared distance.
    assert passing_operations(probe({("sign_flip", None): kept(0.35)}), POOL, retained=0.4)


def test_confusions_of_the_plain_model_are_no_label_map() -> None:
    # Windows of b are taken for a and those of a for b, with or without the operation.
    confused = ((0.45, 0.55), (0.5, 0.5))
    result = probe({("sign_flip", None): [[0.44, 0.56], [0.51, 0.49]]})
    plain = replace(result.matrices[0], share=confused)
    weak = replace(result, matrices=(plain, *result.matrices[1:]), accuracy=0.51)
    assert all(item.label_map is None for item in passing_operations(weak, POOL, retained=-9))


def test_nothing_passes_if_the_model_is_at_chance_or_the_pool_lacks_it() -> None:
    result = probe({("sign_flip", None): kept(0.8)})
    assert len(passing_operations(result, POOL)) == 1
    assert passing_operations(replace(result, accuracy=0.5), POOL) == ()
    assert passing_operations(result, POOL.select(["time_mask"])) == ()
