"""Which operations a search chooses from after a probe."""

from __future__ import annotations

from dataclasses import replace

import pytest
from mirrored import SWAP, mirrored_pool, mirrored_windows

import cadda
from cadda import OperationPool, ProbeResult
from cadda.probing.probed_pool import probed_pool
from cadda.testing.planted import planted_network

NAMES = ("time_mask", "time_reverse", "channel_symmetry")


@pytest.fixture(scope="module")
def pool() -> OperationPool:
    return mirrored_pool("time_mask", "time_reverse").select(NAMES)


@pytest.fixture(scope="module")
def probe() -> ProbeResult:
    windows = mirrored_windows(48, n_subjects=6)
    return cadda.probe(
        windows,
        model=planted_network,
        operations=NAMES,
        n_folds=3,
        n_epochs=20,
        magnitudes=(0.25, 1.0),
    )


def destroying(probe: ProbeResult, *names: str) -> ProbeResult:
    """Return a probe in which operations destroy every class at every magnitude."""
    table = (
        replace(row, verdict="destroys") if row.operation in names else row for row in probe.table
    )
    kept = tuple(item for item in probe.proposals if item.operation not in names)
    return replace(probe, table=tuple(table), proposals=kept)


def test_a_map_replaces_the_operation_that_keeps_no_class(
    pool: OperationPool, probe: ProbeResult
) -> None:
    larger, change = probed_pool(pool, probe)
    assert larger.names == ("time_mask", "time_reverse", "channel_symmetry (left ↔ right)")
    assert change.left_out == ("channel_symmetry",)
    assert change.added == ("channel_symmetry (left ↔ right)",)
    assert change.note == (
        "The probe changes the operations: it adds channel_symmetry (left ↔ right); it leaves out "
        "what keeps no class: channel_symmetry"
    )
    again, change = probed_pool(larger, probe)
    assert again.names == larger.names
    assert "leaves the operations as they are" in change.note


def test_a_map_stands_beside_an_operation_that_may_keep_a_class(
    pool: OperationPool, probe: ProbeResult
) -> None:
    table = tuple(
        replace(row, verdict="undecided") if row.class_name == "left" else row
        for row in probe.table
    )
    larger, _ = probed_pool(pool, replace(probe, table=table))
    assert larger.names == (*NAMES, "channel_symmetry (left ↔ right)")


def test_what_destroys_every_class_is_left_out(pool: OperationPool, probe: ProbeResult) -> None:
    larger, change = probed_pool(pool, destroying(probe, "time_reverse", "no_such_operation"))
    assert larger.names == ("time_mask", str(SWAP))
    assert change.left_out == ("time_reverse", "channel_symmetry")


def test_what_destroys_at_some_magnitudes_stays(pool: OperationPool, probe: ProbeResult) -> None:
    table = [
        replace(row, verdict="destroys")
        if row.operation == "time_mask" and row.magnitude != 0.25
        else row
        for row in probe.table
    ]
    assert "time_mask" in probed_pool(pool, replace(probe, table=tuple(table)))[0]


def test_maps_of_operations_that_are_not_wanted(pool: OperationPool, probe: ProbeResult) -> None:
    fewer = pool.select(["time_mask", "time_reverse"])
    assert probed_pool(fewer, probe)[0].names == fewer.names


def test_a_model_at_chance_decides_nothing(pool: OperationPool, probe: ProbeResult) -> None:
    same, change = probed_pool(pool, replace(destroying(probe, *NAMES), is_useful=False))
    assert same is pool
    assert "not better than chance" in change.note


@pytest.mark.parametrize("names", [NAMES, NAMES[1:]])
def test_something_must_be_left(
    names: tuple[str, ...], pool: OperationPool, probe: ProbeResult
) -> None:
    same, change = probed_pool(pool, destroying(probe, *names))
    assert same is pool
    assert "of 3 operations keep no class" in change.note


def test_classes_of_other_data(pool: OperationPool, probe: ProbeResult) -> None:
    with pytest.raises(ValueError, match=r"of the classes \['left', 'right'\], got one of \['a"):
        probed_pool(pool, replace(probe, class_names=("a", "b")))


def test_a_map_that_holds_at_some_magnitudes_only_is_not_searched(
    pool: OperationPool, probe: ProbeResult
) -> None:
    (row, *_), (proposal,) = probe.rows("channel_symmetry"), probe.proposals
    kept = replace(row, magnitude=0.25, verdict="keeps")
    mixed = replace(
        probe, table=(*probe.table, kept), proposals=(replace(proposal, magnitude=1.0),)
    )
    assert probed_pool(pool, mixed)[0].names == NAMES
