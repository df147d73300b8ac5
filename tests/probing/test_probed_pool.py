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


def destroying(probe: ProbeResult, *names: str, above: float = 0.0) -> ProbeResult:
    """Return a probe in which operations send all windows to one class, from some magnitude on."""
    matrices = (
        replace(item, share=((1.0, 0.0),) * 2)
        if item.operation in names and (item.magnitude is None or item.magnitude > above)
        else item
        for item in probe.matrices
    )
    return replace(probe, matrices=tuple(matrices))


def test_a_map_replaces_the_operation_that_keeps_no_class(
    pool: OperationPool, probe: ProbeResult
) -> None:
    larger, change = probed_pool(pool, probe)
    assert larger.names == ("time_mask", "time_reverse", "channel_symmetry (left ↔ right)")
    assert larger.max_magnitudes == (1.0, 1.0, 1.0)
    assert change.left_out == ("channel_symmetry",)
    assert change.added == ("channel_symmetry (left ↔ right)",)
    assert change.note == (
        "The probe changes the operations: it adds channel_symmetry (left ↔ right); it leaves out "
        "what does not keep the classes: channel_symmetry"
    )
    again, change = probed_pool(larger, probe)
    assert again.names == larger.names
    assert "leaves the operations as they are" in change.note


def test_what_destroys_every_class_is_left_out(pool: OperationPool, probe: ProbeResult) -> None:
    larger, change = probed_pool(pool, destroying(probe, "time_reverse"))
    assert larger.names == ("time_mask", str(SWAP))
    assert change.left_out == ("time_reverse", "channel_symmetry")


def test_magnitudes_are_limited_to_those_that_keep_the_classes(
    pool: OperationPool, probe: ProbeResult
) -> None:
    smaller, change = probed_pool(pool, destroying(probe, "time_mask", above=0.25))
    assert smaller.limits == {"time_mask": 0.25}
    assert smaller.max_magnitudes == (0.25, 1.0, 1.0)
    assert change.note.endswith("; it limits magnitudes: time_mask up to 0.25")
    # A search that is resumed must have the same limits.
    assert smaller.digest != probed_pool(pool, probe)[0].digest


def test_operations_that_were_not_probed_stay(pool: OperationPool, probe: ProbeResult) -> None:
    larger = mirrored_pool(*NAMES[:2], "sign_flip").select([*NAMES, "sign_flip"])
    assert "sign_flip" in probed_pool(larger, probe)[0]


def test_maps_of_operations_that_are_not_wanted(pool: OperationPool, probe: ProbeResult) -> None:
    fewer = pool.select(["time_mask", "time_reverse"])
    assert probed_pool(fewer, probe)[0].names == fewer.names


def test_a_model_at_chance_decides_nothing(pool: OperationPool, probe: ProbeResult) -> None:
    same, change = probed_pool(pool, replace(probe, accuracy=0.52, accuracy_low=0.3))
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
