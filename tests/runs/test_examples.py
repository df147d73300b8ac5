"""Examples of a policy are what its operations make of the user's own windows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from cadda import PolicySpec, Windows, image_pool, operation_pool
from cadda.reporting.html.pictures import panels_of
from cadda.reporting.records import Examples
from cadda.runs.records import make_examples

MONTAGE = ["Fp1", "F3", "C3..", "Cz", "EEG C4", "F4", "O1", "O2"]


def windows(ch_names: list[str] = MONTAGE, *, scale: float = 1.0, seconds: int = 4) -> Windows:
    generator = torch.Generator().manual_seed(0)
    x = scale * torch.randn(30, len(ch_names), 100 * seconds, generator=generator)
    y = torch.arange(30) % 3
    subject = [f"s{i % 5}" for i in range(30)]
    return Windows(
        x, y, subject=subject, sfreq=100, ch_names=ch_names, class_names=["a", "b", "c"]
    )


def examples(text: str, data: Windows) -> Examples:
    found = make_examples(PolicySpec.from_text(text), data, operation_pool(data))
    assert found is not None
    return found


def test_each_operation_does_what_it_says() -> None:
    data = windows()
    found = examples(
        "sign_flip p=0.9 > time_mask p=0.5 m=0.8 > channel_symmetry p=0.2 > time_reverse p=0.1",
        data,
    )
    assert found.operation.tolist() == [
        *("sign_flip", "time_mask", "channel_symmetry", "time_reverse")
    ]
    np.testing.assert_allclose(found.applied, [0.9, 0.5, 0.2, 0.1])
    np.testing.assert_allclose(found.magnitude, [np.nan, 0.8, np.nan, np.nan])
    assert found.ch_names.tolist() == ["C3..", "Cz", "EEG C4"]
    before, after = found.before[0].astype(float), found.after.astype(float)
    np.testing.assert_array_equal(after[0], -before)
    # A gap of 0.8 s at 100 Hz, with soft edges.
    nothing = (np.abs(after[1]) < 1e-3).all(0).sum()
    assert 70 <= nothing <= 85
    np.testing.assert_array_equal(after[2], before[[2, 1, 0]])
    np.testing.assert_array_equal(after[3], before[:, ::-1])


def test_of_random_magnitudes_the_largest_is_shown() -> None:
    data = windows()
    ranged = examples("time_mask p=0.5 m=0.2..0.8 > sign_flip p=0.1", data)
    fixed = examples("time_mask p=0.5 m=0.8 > sign_flip p=0.1", data)
    np.testing.assert_array_equal(ranged.after, fixed.after)
    panel, flip = panels_of(ranged, 100.0)
    assert panel.use == "gap 0.2 to 0.8 s; changes 50% of all windows"
    assert flip.use == "changes 10% of all windows"
    assert panels_of(fixed, 100.0)[0].use == "gap 0.8 s; changes 50% of all windows"


def test_settings_and_segments_of_other_windows() -> None:
    data = windows()
    text = "time_mask p=0.5 m=0.4 max_length=2 > segment_recombination p=0.4 m=0.5"
    found = examples(text, data)
    same = examples("time_mask p=0.5 m=0.8 > segment_recombination p=0.4 m=0.5", data)
    np.testing.assert_array_equal(found.after, same.after)
    mask, segments = panels_of(found, 100.0, PolicySpec.from_text(text).operations)
    assert mask.use == "gap 0.8 s; changes 50% of all windows"
    assert segments.use == "each segment 50%; changes 40% of all windows"
    changed = found.after[1] != found.before[0]
    assert 0 < changed.mean() < 1


def test_a_window_of_the_class_that_gets_it_most() -> None:
    data = windows()
    found = examples("[a]\nsign_flip p=0.2\n[b]\nsign_flip p=0.7\n[c]\ntime_reverse p=0.5", data)
    assert found.class_name.tolist() == ["b", "c"]
    assert found.window.tolist() == [0, 1]
    for i, label in enumerate((1, 2)):
        mine = data.x[data.y == label][:, [2, 3, 4]]
        scaled = mine / data.x[data.y == label].std((1, 2), keepdim=True)
        distance = (scaled - torch.from_numpy(found.before[i].astype("float32"))).abs()
        assert distance.amax((1, 2)).min() < 0.01


@pytest.mark.parametrize(
    ("text", "row", "before", "after"),
    [
        ("channel_symmetry p=0.5 -> {b: c, c: b}", "*", "b", "c"),
        ("channel_symmetry p=0.5 -> {a: a, b: c, c: b}", "*", "b", "c"),
        (
            "[a]\nsign_flip p=0\n[b]\nchannel_symmetry p=0.1 -> c\n"
            "[c]\nchannel_symmetry p=0.2 -> b",
            "c",
            "c",
            "b",
        ),
    ],
)
def test_a_window_that_an_operation_gives_another_class(
    text: str, row: str, before: str, after: str
) -> None:
    data = windows()
    found = examples(text, data)
    assert found.class_before is not None
    assert found.class_after is not None
    assert (found.class_name[0], found.class_before[0], found.class_after[0]) == (
        *(row, before, after),
    )
    mine = data.x[data.y == ("a", "b", "c").index(before)]
    scaled = mine[:, [2, 3, 4]] / mine.std((1, 2), keepdim=True)
    shown = torch.from_numpy(found.before[0].astype("float32"))
    assert (scaled - shown).abs().amax((1, 2)).min() < 0.01
    np.testing.assert_array_equal(found.after[0], found.before[0][[2, 1, 0]])
    whose = "classes that it names" if row == "*" else row
    assert panels_of(found, 100.0)[0].use.endswith(
        f"% of the windows of {whose}; shown is a window of {before}, which becomes {after}"
    )


def test_examples_of_older_runs_are_read(tmp_path: Path) -> None:
    found = examples("channel_symmetry p=0.5 -> {b: c, c: b}", windows())
    replace(found, class_before=None, class_after=None).save(tmp_path / "examples.npz")
    older = Examples.load(tmp_path / "examples.npz")
    assert panels_of(older, 100.0)[0].use == "changes 50% of the windows of classes that it names"


def test_operations_that_are_hardly_used_are_left_out() -> None:
    found = examples("sign_flip p=0.5 > time_reverse p=0.005", windows())
    assert found.operation.tolist() == ["sign_flip"]


@pytest.mark.parametrize(
    ("ch_names", "shown"),
    [
        (["Fpz-Cz", "Pz-Oz"], ["Fpz-Cz", "Pz-Oz"]),
        (["A", "B", "C", "D", "E"], ["A", "C", "E"]),
        (["A", "Oz", "B", "Pz", "D"], ["A", "Oz", "Pz"]),
    ],
)
def test_channels_that_people_know(ch_names: list[str], shown: list[str]) -> None:
    found = examples("sign_flip p=1", windows(ch_names))
    assert found.ch_names.tolist() == shown


def test_small_whatever_the_unit_and_the_length() -> None:
    found = examples("sign_flip p=1", windows(scale=1e-5, seconds=60))
    assert found.after.shape == (1, 3, 3000)
    assert found.before.std() == pytest.approx(1, abs=0.1)


def test_nothing_for_images() -> None:
    spec = PolicySpec.from_text("horizontal_flip p=1")
    assert make_examples(spec, windows(), image_pool()) is None
