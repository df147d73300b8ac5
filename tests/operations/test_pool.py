"""Pools: what is in them on which montage, and how they are used."""

from __future__ import annotations

import mne
import numpy as np
import pytest
import torch

from cadda import OperationPool, Policy, PolicySpec, operation_pool
from cadda.operations.catalogue import CATALOGUE
from cadda.operations.frequency import FrequencyShift
from cadda.operations.time import TimeReverse

EEG_OPERATIONS = tuple(name for name, row in CATALOGUE.items() if row.domain != "image")
DEFAULT_OPERATIONS = tuple(name for name in EEG_OPERATIONS if CATALOGUE[name].in_default)
MASS_CHANNELS = ["C3", "C4", "F3", "F4", "O1", "O2"]
PHYSIONET_CHANNELS = ["EEG Fpz-Cz", "EEG Pz-Oz"]


def test_all_on_six_channels(pool: OperationPool) -> None:
    assert pool.names == DEFAULT_OPERATIONS
    assert len(pool) == 13
    assert pool.left_out == {}
    assert [operation.name for operation in pool] == list(pool.names)


def test_left_out_on_two_midline_derivations() -> None:
    pool = operation_pool(sfreq=100, ch_names=PHYSIONET_CHANNELS)
    assert set(pool.left_out) == {"channel_symmetry", "rotation_x", "rotation_y", "rotation_z"}
    assert "2 are known" in pool.left_out["rotation_x"]
    assert set(pool.names) | set(pool.left_out) == set(DEFAULT_OPERATIONS)
    assert "left out: channel_symmetry" in repr(pool)


def test_left_out_on_one_channel() -> None:
    left_out = operation_pool(sfreq=100, ch_names=["Cz"]).left_out
    reason = "it needs at least 2 channels, and there is 1"
    assert left_out["channel_shuffle"] == left_out["channel_dropout"] == reason


def test_extra_operations_are_found_by_name_only(pool: OperationPool) -> None:
    extra = [operation.name for operation in pool.extra]
    assert extra == [name for name in EEG_OPERATIONS if name not in DEFAULT_OPERATIONS]
    assert "time_warp" not in pool
    assert "time_warp" not in pool.settings
    assert pool["time_warp"].name == pool.plain("time_warp").name == "time_warp"
    chosen = pool.select(["time_warp", "sign_flip"])
    assert chosen.names == ("time_warp", "sign_flip")
    assert chosen.extra == ()
    assert pool.with_operation(pool["time_warp"]).names == (*pool.names, "time_warp")
    assert pool.for_classes(["a", "b"])["time_warp"] is pool["time_warp"]


@pytest.mark.parametrize("operations", [["all"], "all"])
def test_all_operations(operations: list[str]) -> None:
    pool = operation_pool(sfreq=100, ch_names=MASS_CHANNELS, operations=operations)
    assert pool.names == EEG_OPERATIONS
    assert pool.extra == ()
    assert "re_reference" in operation_pool(sfreq=100, ch_names=["Cz"]).left_out


@pytest.mark.parametrize("operations", [["paper"], "paper"])
def test_operations_of_the_paper(operations: list[str]) -> None:
    pool = operation_pool(sfreq=100, ch_names=MASS_CHANNELS, operations=operations)
    assert pool.names == tuple(name for name in DEFAULT_OPERATIONS if name != "bandstop")


def test_a_policy_finds_extra_operations(pool: OperationPool) -> None:
    spec = PolicySpec.from_text("time_warp p=1 m=1 > amplitude_scale p=1 m=0.5")
    policy = Policy(spec, pool)
    assert policy.pool.names == (*pool.names, "time_warp", "amplitude_scale")
    x = torch.randn(4, 6, 300)
    assert not torch.allclose(policy(x)[0], x)
    with pytest.raises(ValueError, match="unknown operation `time_warp`"):
        Policy(spec, pool.select(["sign_flip"]))


def test_lookup(pool: OperationPool) -> None:
    assert pool["bandstop"] is pool[pool.index("bandstop")]
    assert "bandstop" in pool
    assert "bandstopp" not in pool
    with pytest.raises(KeyError, match=r"unknown operation `bandstopp` .did you mean `bandstop`"):
        pool["bandstopp"]


def test_lookup_of_what_was_left_out() -> None:
    pool = operation_pool(sfreq=100, ch_names=PHYSIONET_CHANNELS)
    with pytest.raises(KeyError, match="`rotation_x` was left out of this pool: it needs"):
        pool["rotation_x"]


def test_select_and_add(pool: OperationPool) -> None:
    small = pool.select(["sign_flip", "bandstop"])
    assert small.names == ("sign_flip", "bandstop")
    assert small.sfreq == 100
    other = small.with_operation(FrequencyShift(100.0, symmetric=True))
    assert other.names == ("sign_flip", "bandstop", "frequency_shift")
    with pytest.raises(TypeError, match="got the class FrequencyShift; pass an instance"):
        small.with_operation(FrequencyShift)  # type: ignore[arg-type]
    replaced = pool.with_operation(FrequencyShift(100.0, symmetric=True))
    assert replaced.names == pool.names
    assert replaced["frequency_shift"].settings["symmetric"] is True
    assert operation_pool(sfreq=100, ch_names=MASS_CHANNELS, operations=["sign_flip"]).names == (
        "sign_flip",
    )


def test_two_of_the_same_name() -> None:
    with pytest.raises(ValueError, match="different names, got `time_reverse` twice"):
        OperationPool([TimeReverse(), TimeReverse()])
    with pytest.raises(ValueError, match="at least one operation"):
        OperationPool([])


def test_pool_from_mne_epochs_uses_its_own_positions() -> None:
    info = mne.create_info(["A", "B", "C", "D"], 128.0, "eeg")
    positions = np.array([[-0.07, 0, 0.06], [0.07, 0, 0.06], [0, 0.08, 0.05], [0, 0, 0.13]])
    info.set_montage(
        mne.channels.make_dig_montage(
            dict(zip("ABCD", positions, strict=True)), coord_frame="head"
        )
    )
    epochs = mne.EpochsArray(np.zeros((3, 4, 256)), info, verbose="error")
    pool = operation_pool(epochs)
    assert pool.sfreq == 128
    assert pool.ch_names == ("A", "B", "C", "D")
    assert pool.left_out == {}
    x = torch.randn(2, 4, 10)
    swapped = pool["channel_symmetry"](x)
    assert torch.equal(swapped[:, [1, 0, 2, 3]], x)


def test_pool_from_an_object_with_names_and_rate() -> None:
    class Recording:
        sfreq = 250.0
        ch_names = ("C3", "C4")

    pool = operation_pool(Recording())
    assert pool.sfreq == 250
    assert "channel_symmetry" in pool


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({}, ValueError, "give `windows`, or both"),
        ({"sfreq": 100}, ValueError, "^`ch_names` is missing: give both"),
        ({"ch_names": ["C3"]}, ValueError, "^`sfreq` is missing: give both"),
        ({"sfreq": 100, "ch_names": "C3"}, ValueError, "`ch_names` must be a list"),
        ({"sfreq": 100, "ch_names": []}, ValueError, "`ch_names` must be a list"),
        ({"sfreq": 0, "ch_names": ["C3"]}, ValueError, "`sfreq` must be a finite number above 0"),
        ({"windows": 3}, TypeError, "`windows` must have `sfreq` and `ch_names`"),
        (
            {"sfreq": 1, "ch_names": ["C3"], "positions": [[0, 0]]},
            ValueError,
            r"`positions` must have shape \(1, 3\)",
        ),
    ],
)
def test_wrong_arguments(arguments: dict, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        operation_pool(**arguments)


@pytest.mark.parametrize(
    ("operation", "magnitude", "words"),
    [
        ("frequency_shift", 0.5, "2.5 Hz"),
        ("ft_surrogate", 0.641, "230°"),
        ("channel_dropout", 0.777, "78%"),
        ("gaussian_noise", 0.43, "0.086"),
    ],
)
def test_amounts_are_said_without_exponents(operation: str, magnitude: float, words: str) -> None:
    assert CATALOGUE[operation].amount(magnitude) == words
    assert "e+" not in CATALOGUE[operation].describe(magnitude)
