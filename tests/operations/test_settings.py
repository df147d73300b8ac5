"""Settings of operations: in pools, in policies and their files, and in physical units."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from cadda import LabelMap, OperationPool, Policy, PolicySpec, operation_pool
from cadda.exceptions import PolicyFileError
from cadda.operations.catalogue import CATALOGUE
from cadda.policies.fitting import record_settings
from cadda.policies.spec.compare import compare_policies
from cadda.policies.spec.export import to_braindecode
from cadda.policies.spec.summary import describe_subpolicy, summarise

WIDE = {"frequency_shift": {"symmetric": True, "max_shift": 10.0}}


@pytest.mark.parametrize("name", [name for name, row in CATALOGUE.items() if row.full_setting])
def test_what_magnitude_1_means_is_a_setting(name: str, pool: OperationPool) -> None:
    """Half of the limit at magnitude 1 is the limit at magnitude 0.5."""
    row = CATALOGUE[name]
    half = pool.with_settings({name: {row.full_setting: row.full / 2}})[name]
    x = torch.randn(4, 6, 200, generator=torch.Generator().manual_seed(0)).double()
    draw = pool[name].draw(x, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(half.transform(x, 1.0, draw), pool[name].transform(x, 0.5, draw))
    assert row.with_settings(half.settings).full == row.full / 2


def test_settings_of_a_pool() -> None:
    pool = operation_pool(
        sfreq=100,
        ch_names=["C3", "C4"],
        operation_settings={**WIDE, "time_warp": {"max_change": 5}},
    )
    assert pool["frequency_shift"].settings == WIDE["frequency_shift"]
    assert pool["time_warp"].settings == {"max_change": 5.0}
    mapped = pool.for_classes(["a", "b"]).with_label_maps(
        [LabelMap("frequency_shift", {"a": "b", "b": "a"})]
    )
    changed = mapped.with_settings({"frequency_shift": {"max_shift": 3.0}})
    assert [item.settings["max_shift"] for item in changed if item.name.startswith("freq")] == [
        3.0,
        3.0,
    ]
    assert changed.digest != mapped.digest


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        (
            {"frequency_shift": {"symetric": True}},
            "no setting 'symetric'; it has max_shift, symmetric",
        ),
        ({"frequency_shift": {"symmetric": 1}}, "frequency_shift.symmetric must be true or false"),
        (
            {"time_mask": {"max_length": "long"}},
            "time_mask.max_length must be a number, got 'long'",
        ),
        ({"time_mask": {"max_length": 0.0}}, "must be a finite number above 0, got 0.0"),
        ({"time_mask": {"max_length": True}}, "must be a number, got True"),
        (
            {"time_mask": {"max_length": [1]}},
            r"setting time_mask.max_length must be a number, such as 1.0, got \[1\]",
        ),
        ({"time_mask": {"max_length": None}}, "max_length must be a number, .* got None"),
        ({"mask_encoding": {"n_segments": 2.5}}, "must be a whole number, got 2.5"),
        ({"mask_encoding": {"max_share": 120.0}}, "`max_share` must be above 0 and at most 100 %"),
        ({"sign_flip": {"p": 1}}, "`sign_flip` has no setting 'p'; it has none"),
        ({"time_max": {}}, "unknown operation `time_max` .did you mean `time_mask`"),
    ],
)
def test_wrong_settings(settings: dict, match: str) -> None:
    with pytest.raises(ValueError, match=f"`operation_settings`: .*{match}"):
        operation_pool(sfreq=100, ch_names=["C3", "C4"], operation_settings=settings)


def test_a_saved_policy_means_the_same(tmp_path: Path, pool: OperationPool) -> None:
    wide = pool.with_settings(WIDE)
    spec = record_settings(PolicySpec.from_text("frequency_shift p=1 m=0.5"), wide)
    x = torch.randn(8, 6, 200)
    expected, _ = Policy(spec, wide)(x, generator=torch.Generator().manual_seed(0))
    spec.save(tmp_path / "policy.json")
    (tmp_path / "policy.txt").write_text(spec.to_text(), encoding="utf-8")
    for name in ("policy.json", "policy.txt"):
        loaded = PolicySpec.load(tmp_path / name)
        # The pool has the default settings.
        again, _ = Policy(loaded, pool)(x, generator=torch.Generator().manual_seed(0))
        assert torch.equal(again, expected), name
    default, _ = Policy(PolicySpec.from_text("frequency_shift p=1 m=0.5"), pool)(
        x, generator=torch.Generator().manual_seed(0)
    )
    assert not torch.allclose(default, expected)


def test_default_settings_are_not_recorded(pool: OperationPool) -> None:
    spec = PolicySpec.from_text("frequency_shift p=1 m=0.5 > sign_flip p=1")
    assert record_settings(spec, pool) is spec
    recorded = record_settings(spec, pool.with_settings(WIDE))
    assert recorded.operations == {**WIDE, "sign_flip": {}}
    assert record_settings(recorded, pool) is recorded


def test_settings_in_the_short_form() -> None:
    text = (
        "frequency_shift p=1 m=0.5 max_shift=10.0 symmetric=true > sign_flip p=1\n"
        "frequency_shift p=0.5 m=1 max_shift=10.0 symmetric=true\n"
    )
    spec = PolicySpec.from_text(text)
    assert spec.operations == {**WIDE, "sign_flip": {}}
    assert spec.to_text() == text
    once = PolicySpec.from_text(text.replace(" max_shift=10.0 symmetric=true\n", "\n"))
    assert once == spec
    plain = PolicySpec.from_text("time_mask p=1 m=1 max_length=1")
    assert plain.to_text() == "time_mask p=1 m=1\n"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("time_mask p=1 m=1 max_len=2", r"a setting of time_mask \(max_length=, steepness=\)"),
        (
            "sign_flip p=1 max_shift=2",
            r"must be p=, m= or w= with a number, such as p=0.5, or fol",
        ),
        ("time_mask p=1 m=1 max_length=long", "time_mask.max_length must be a number"),
        (
            "time_mask p=1 m=1 max_length=2\ntime_mask p=1 m=1 max_length=3",
            "line 2: the settings of `time_mask` must be the same in all of a policy",
        ),
    ],
)
def test_wrong_settings_in_the_short_form(text: str, match: str) -> None:
    with pytest.raises(PolicyFileError, match=match):
        PolicySpec.from_text(text)


def test_units_are_those_of_the_settings() -> None:
    text = "frequency_shift p=1 m=0.5 max_shift=10 symmetric=true > time_mask p=1 m=0.5"
    spec = PolicySpec.from_text(text)
    (subpolicy,) = spec.policy["*"]
    assert describe_subpolicy(subpolicy, "*", spec.operations) == [
        ["100% frequency_shift, shift ±5 Hz"],
        ["100% time_mask, gap 0.5 s"],
    ]
    assert summarise(spec).amount(0, 0) == "5 Hz"
    assert "5 Hz" in spec._repr_html_()
    default = PolicySpec.from_text("frequency_shift p=1 m=0.5")
    change = compare_policies(default, spec).changes[-1]
    assert change.in_units == ("shift < 2.5 Hz", "shift ±5 Hz")
    assert change.is_change
    assert "FrequencyShift(1, sfreq=SFREQ, max_delta_freq=5)" in to_braindecode(spec, sfreq=100)
