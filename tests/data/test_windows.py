"""The container: what it refuses, how it is indexed, and that it copies nothing needlessly."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import cadda
from cadda.data.io.read import read_windows
from cadda.data.windows import Windows
from cadda.exceptions import CaddaError, DataError, DataWarning

X = np.random.default_rng(0).standard_normal((6, 2, 50)).astype(np.float32)
GOOD: dict[str, Any] = {
    "x": X,
    "y": [0, 1, 0, 1, 0, 1],
    "subject": [1, 1, 2, 2, 3, 3],
    "sfreq": 100,
    "ch_names": ["C3", "C4"],
    "class_names": ["left", "right"],
}


def windows(**changes: Any) -> Windows:
    return Windows(**{**GOOD, **changes})


def test_attributes() -> None:
    made = windows()
    assert len(made) == 6
    assert (made.n_channels, made.n_times, made.n_classes) == (2, 50, 2)
    assert made.x.dtype is torch.float32
    assert made.y.dtype is torch.int64
    assert made.subjects == ["1", "2", "3"]
    assert made.recording.tolist() == made.subject.tolist()
    assert made.class_counts().tolist() == [3, 3]
    assert repr(made) == (
        "Windows: 6 windows of 2 channels × 0.5 s at 100 Hz, 3 subjects; left 3, right 3"
    )


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"x": X[:, 0, 0]}, ValueError, r"`x` must have shape .*for one channel, got \(6,\)"),
        ({"x": X[:, 0]}, ValueError, "`ch_names` must name the 1 channels of `x`, got 2"),
        ({"x": X[:0]}, ValueError, r"`x` must not be empty, got shape \(0, 2, 50\)"),
        ({"x": X > 0}, TypeError, "`x` must hold real numbers, got bool"),
        ({"x": torch.ones(6, 2, 50, dtype=torch.cfloat)}, TypeError, "got torch.complex64"),
        ({"x": X.astype(object)}, TypeError, "`x` must hold real numbers, got object"),
        (
            {"x": np.where(X > 2, np.nan, X)},
            ValueError,
            r"`x` must be finite, but \d of 6 windows",
        ),
        ({"x": X.astype(float) * 1e300}, ValueError, "`x` must be finite, but 6 of 6 windows"),
        ({"y": [0, 1, 0, 1, 0]}, ValueError, r"one label per window, shape \(6,\), got \(5,\)"),
        ({"y": [0.0, 1, 0, 1, 0, 1]}, TypeError, "text, booleans or integers, got float64"),
        ({"y": ["left", None] * 3}, TypeError, "text, booleans or integers, got NoneType"),
        (
            {"y": ["left", "rihgt"] * 3},
            ValueError,
            r"`y` must name classes of `class_names`, .*got 'rihgt' \(did you mean `right`\?\)",
        ),
        ({"y": ["left"] * 6}, ValueError, "at least two classes, got only 'left'"),
        ({"y": [7] * 6, "class_names": None}, ValueError, "at least two classes, got only '7'"),
        (
            {"y": [0, 1, 2, 1, 0, 1]},
            ValueError,
            r"`y` must be in 0 … 1, .*'left', 'right'.* got 2",
        ),
        ({"y": [0, 1, -1, 1, 0, 1]}, ValueError, "got -1"),
        ({"y": [1] * 6}, ValueError, "at least two classes, got only 'right'"),
        (
            {"subject": [1, 2]},
            ValueError,
            r"`subject` must have one entry per window, shape \(6,\)",
        ),
        ({"subject": [1, 2, 3, 4, 5, np.nan]}, ValueError, "`subject` .* is missing for 1"),
        ({"subject": ["a", None, "b", None, "c", "d"]}, ValueError, "is missing for 2"),
        ({"subject": [pd.NA, 1, 2, 3, pd.NA, 5]}, ValueError, "is missing for 2"),
        ({"recording": ["a"]}, ValueError, "`recording` must have one entry per window"),
        ({"sfreq": 0}, ValueError, "`sfreq` must be a finite number above 0, got 0"),
        ({"ch_names": ["C3"]}, ValueError, "`ch_names` must name the 2 channels of `x`, got 1"),
        ({"ch_names": ["C3", "C3"]}, ValueError, r"different from each other, got \['C3'\] twice"),
        ({"ch_names": "C3"}, TypeError, "`ch_names` must be a list of names, got 'C3'"),
        ({"class_names": ["left"]}, ValueError, "`class_names` must name at least two classes"),
        ({"positions": np.zeros((3, 3))}, ValueError, r"`positions` must have shape \(2, 3\)"),
    ],
)
def test_refuses(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        windows(**changes)


@pytest.mark.parametrize(
    "x",
    [
        X.astype(">f4"),
        X[::-1],
        X[..., ::-1],
        X.astype(np.float16),
        X.astype(np.longdouble),
        torch.from_numpy(X).double().requires_grad_(),
        X.tolist(),
    ],
    ids=["byteswapped", "backwards", "reversed", "half", "long", "tensor", "list"],
)
def test_any_numbers(x: Any) -> None:
    values = x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
    np.testing.assert_array_equal(windows(x=x).x.numpy(), values.astype(np.float32))


def test_memory_maps_are_not_copied(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    made = windows(x=mapped)
    assert np.shares_memory(made.x.numpy(), mapped)
    assert np.shares_memory(made[2:4].x.numpy(), mapped)
    assert not np.shares_memory(made[[2, 3]].x.numpy(), mapped)


def test_labels_are_copied() -> None:
    y = np.array(GOOD["y"])
    made = windows(y=y)
    y[:] = 0
    assert made.y.tolist() == GOOD["y"]


@pytest.mark.parametrize("make", [list, np.array, pd.Series, lambda y: np.array(y, dtype=object)])
@pytest.mark.parametrize(
    ("labels", "class_names", "numbers", "names"),
    [
        (["b", "a", "c"], None, [1, 0, 2], ("a", "b", "c")),
        (["b", "a", "c"], ["c", "b", "a"], [1, 2, 0], ("c", "b", "a")),
        (["b", "a", "b"], ["c", "b", "a"], [1, 2, 1], ("c", "b", "a")),
    ],
)
def test_labels_as_text(
    make: Any, labels: Any, class_names: Any, numbers: list[int], names: tuple[str, ...]
) -> None:
    made = windows(y=make(labels * 2), class_names=class_names)
    assert made.y.dtype is torch.int64
    assert (made.y.tolist(), made.class_names) == (numbers * 2, names)
    assert [made.class_names[number] for number in made.y.tolist()] == labels * 2


@pytest.mark.parametrize("make", [list, np.array, pd.Series, torch.tensor])
@pytest.mark.parametrize(
    ("labels", "class_names", "numbers", "names"),
    [
        ([True, False, True], None, [1, 0, 1], ("False", "True")),
        ([True, False, True], ["rest", "task"], [1, 0, 1], ("rest", "task")),
        ([10, 2, 5], None, [2, 0, 1], ("2", "5", "10")),
        ([1, 0, 1], None, [1, 0, 1], ("0", "1")),
        ([-1, 1, 1], None, [0, 1, 1], ("-1", "1")),
    ],
)
def test_labels_as_booleans_or_integers(
    make: Any, labels: Any, class_names: Any, numbers: list[int], names: tuple[str, ...]
) -> None:
    made = windows(y=make(labels * 2), class_names=class_names)
    assert made.y.dtype is torch.int64
    assert (made.y.tolist(), made.class_names) == (numbers * 2, names)


def test_one_channel_without_its_axis() -> None:
    for x in (X[:, 0], torch.from_numpy(X[:, 0])):
        made = windows(x=x, ch_names=["C3"])
        assert made.x.shape == (6, 1, 50)
        np.testing.assert_array_equal(made.x[:, 0].numpy(), X[:, 0])
    unnamed = windows(x=X[:, 0], ch_names=None)
    assert unnamed.ch_names == ("0",)
    assert np.shares_memory(unnamed.x.numpy(), X)


def test_the_sampling_rate_is_never_guessed(tmp_path: Path) -> None:
    made = windows(sfreq=None, ch_names=None)
    assert made.sfreq is None
    assert made[:3].sfreq is None
    assert repr(made).startswith("Windows: 6 windows of 2 channels × 50 samples, 3 subjects; left")
    made.save(tmp_path / "windows.npz")
    assert read_windows(tmp_path / "windows.npz").sfreq is None
    with pytest.raises(ValueError, match=r"MNE epochs needs the sampling rate.*pass it .*`sfreq`"):
        made.to_epochs()
    with pytest.raises(ValueError, match="a picture of windows needs the sampling rate"):
        made.plot()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint64, np.int8])
def test_labels_of_any_integer_type(dtype: type) -> None:
    assert windows(y=np.array(GOOD["y"], dtype=dtype)).y.tolist() == GOOD["y"]


@given(
    st.one_of(
        st.slices(6),
        st.integers(-6, 5),
        st.lists(st.integers(-6, 5), max_size=8),
        st.lists(st.booleans(), min_size=6, max_size=6).map(np.array),
        st.lists(st.integers(0, 5), min_size=1, max_size=8).map(torch.tensor),
    )
)
def test_index_as_in_numpy(index: Any) -> None:
    as_numpy = slice(0) if isinstance(index, list) and not index else index
    expected = np.atleast_1d(np.arange(6)[as_numpy])
    made = windows(recording=list("abcdef"))
    if not len(expected):
        with pytest.raises(ValueError, match="`index` must select at least one of the 6 windows"):
            made[index]
        return
    part = made[index]
    np.testing.assert_array_equal(part.x.numpy(), X[expected])
    assert part.y.tolist() == [GOOD["y"][i] for i in expected]
    assert part.recording.tolist() == ["abcdef"[i] for i in expected]
    assert part.ch_names == made.ch_names


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ([1.0, 1.0, 2.0, 2.0, 3.5, 3.5], ["1", "2", "3.5"]),
        (np.array([1, 1, 2, 2, 0.1, 0.1], dtype=np.float32), ["1", "2", "0.1"]),
        (np.array([1, 1.0, np.float32(2), "2 ", " b", "b"], dtype=object), ["1", "2", "b"]),
        (np.array(["a", "a ", " a", "b", "b", "c"]), ["a", "b", "c"]),
        (np.array([b"a", b"a", b"b", b"b", b"c", b"c"]), ["a", "b", "c"]),
        ([1e20, 1e20, 0.0, -0.0, -2.0, -2.0], ["100000000000000000000", "0", "-2"]),
    ],
)
def test_names_of_subjects(subject: Any, expected: list[str]) -> None:
    assert windows(subject=subject).subjects == expected


def test_of_subjects() -> None:
    part = windows().of_subjects(["3", "1"])
    assert part.subject.tolist() == ["1", "1", "3", "3"]
    with pytest.raises(
        ValueError, match=r"`subjects` must be among the subjects here, got \['4'\]"
    ):
        windows().of_subjects(["4"])
    with pytest.raises(TypeError, match="`subjects` must be a list of subjects, got '1'"):
        windows().of_subjects("1")


def test_standardised_leaves_the_original() -> None:
    made = windows(x=3 * X + 7)
    before = made.x.clone()
    scaled = made.standardised()
    assert torch.equal(made.x, before)
    np.testing.assert_allclose(scaled.x.numpy().std(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(scaled.x.numpy().mean(-1), 0, atol=1e-6)


def test_standardised_per_recording() -> None:
    made = windows(x=X * np.arange(1, 7)[:, None, None] + 5, recording=list("ababab"))
    before = made.x.clone()
    scaled = made.standardised("recording")
    assert torch.equal(made.x, before)
    for subject in made.subjects:
        for name in "ab":
            here = scaled[(scaled.subject == subject) & (scaled.recording == name)].x.numpy()
            np.testing.assert_allclose(here.std(axis=(0, 2)), 1, rtol=1e-4)
            np.testing.assert_allclose(here.mean(axis=(0, 2)), 0, atol=1e-5)
    together = windows(x=X * np.arange(1, 7)[:, None, None]).standardised("recording").x.numpy()
    # The windows of a recording keep their differences.
    assert together[0].std() < together[1].std()
    with pytest.raises(ValueError, match="`per` must be 'window' or 'recording', got 'subject'"):
        made.standardised("subject")


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"x": [[1.0, 2.0], [3.0]]}, ValueError, "`x` must be an array, but its lists have diff"),
        (
            {"x": torch.zeros(6, 2, 9).to_sparse()},
            TypeError,
            "`x` must be a dense tensor .*sparse_coo",
        ),
        ({"x": torch.zeros(6, 2, 9, device="meta")}, TypeError, "dense tensor .* on meta"),
        ({"y": [[0], [1, 1]] * 3}, ValueError, "`y` must be an array, but its lists have diff"),
        ({"subject": [[0], [1, 1]] * 3}, ValueError, "`subject` must be an array, but its lists"),
        ({"sfreq": True}, ValueError, "`sfreq` must be a finite number above 0, got True"),
        ({"sfreq": "100"}, ValueError, "`sfreq` must be a finite number above 0, got '100'"),
        ({"sfreq": 10**400}, ValueError, "`sfreq` must be from 0.001 to 1e\\+06 Hz, got 1000"),
        ({"ch_names": 3}, TypeError, "`ch_names` must be a list of names, got 3"),
        # A set has another order each time, and so would the names of the classes.
        ({"class_names": {"a", "b"}}, TypeError, "`class_names` must be a list of names, got {"),
        ({"positions": [["a"] * 3] * 2}, TypeError, "`positions` must be three numbers for each"),
        ({"positions": np.full((2, 3), np.inf)}, ValueError, "NaN where unknown, got infinity"),
    ],
)
def test_arguments_of_other_kinds(
    arguments: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        windows(**arguments)


def test_splits_of_other_kinds(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"`valid` must be a fraction of .* got 'half'"):
        windows().split(valid="half")
    with pytest.raises(ValueError, match=r"`valid` must be a fraction of .* got nan"):
        windows().split(valid=float("nan"))
    with pytest.raises(ValueError, match=r"`test` must be a fraction .* with `Windows.of_"):
        windows().split(test=["S1"])
    with pytest.raises(ValueError, match=r"`test` must be a fraction .* below 1, got 0"):
        windows().split(test=0)
    with pytest.raises(ValueError, match="`n_folds` must be a whole number of at least 2, got '2"):
        list(windows().folds("2"))
    with pytest.raises(TypeError, match="`subjects` must be a list of subjects, got None"):
        windows().of_subjects(None)
    with pytest.raises(CaddaError, match="the name of a file cannot have a null character"):
        windows().save(tmp_path / "a\0.npz")
    with pytest.raises(DataError, match=r"cannot read a.*: File name too long"):
        read_windows("a" * 5000)


def test_exchanged_axes_are_warned_of() -> None:
    x, y, subject = np.zeros((4, 500, 10)), [0, 1, 0, 1], list("aabb")
    with pytest.warns(DataWarning, match="500 channels of 10 samples.*its axes are exchanged"):
        Windows(x, y, subject=subject)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Windows(x.transpose(0, 2, 1), y, subject=subject)
        Windows(x, y, subject=subject, ch_names=[f"E{i}" for i in range(500)])


def test_arrays_without_names_are_not_warned_of(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((12, 8, 400))
    np.savez(tmp_path / "a.npz", x=x, y=np.arange(12) % 2, subject=np.arange(12) // 4)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*axes are exchanged")
        read_windows(tmp_path / "a.npz")


def test_first_window_that_is_not_finite() -> None:
    x = np.random.default_rng(0).standard_normal((200, 2, 50))
    x[150, 1, 3], x[170, 0, 0] = np.nan, np.inf
    with pytest.raises(ValueError, match=r"2 of 200 windows have .*, first x\[150\]; leave them"):
        Windows(x, np.arange(200) % 2, subject=np.arange(200) // 20)


@pytest.mark.parametrize("call", [lambda w: w.split(), cadda.probe])
def test_hint_for_one_subject_fits_all_kinds_of_data(call: Callable[[Windows], object]) -> None:
    x = np.random.default_rng(0).standard_normal((20, 2, 50))
    windows = Windows(x, np.arange(20) % 2, subject=["a"] * 20, sfreq=100.0)
    with pytest.raises(ValueError, match=r"for recordings a regular expression .* for epochs a"):
        call(windows)
