"""`.npz` files and arrays made elsewhere."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from losses import Losses

from cadda.data.io.read import read_windows
from cadda.data.windows import Windows
from cadda.exceptions import CaddaError, DataError

RNG = np.random.default_rng(0)
ARRAYS: dict[str, Any] = {
    "x": 1e-5 * RNG.standard_normal((6, 2, 50)) + 3e-5,
    "y": np.array([0, 1, 0, 1, 0, 1]),
    "subject": np.array(["a", "a", "b", "b", "c", "c"]),
    "sfreq": 100.0,
    "ch_names": np.array(["C3", "C4"]),
}


@pytest.fixture
def windows() -> Windows:
    return Windows(
        **ARRAYS, class_names=["ä", "b"], positions=RNG.standard_normal((2, 3)), recording=range(6)
    )


def test_saved_windows_come_back_exactly(tmp_path: Path, windows: Windows) -> None:
    windows.save(tmp_path / "w.npz")
    back = read_windows(tmp_path / "w.npz")
    np.testing.assert_array_equal(back.x, windows.x)
    assert back.y.tolist() == windows.y.tolist()
    assert back.subject.tolist() == windows.subject.tolist()
    assert back.recording.tolist() == windows.recording.tolist()
    assert (back.sfreq, back.ch_names, back.class_names) == (100, ("C3", "C4"), ("ä", "b"))
    np.testing.assert_array_equal(back.positions, windows.positions)
    assert [file.name for file in tmp_path.iterdir()] == ["w.npz"]


def test_names_in_capital_letters(tmp_path: Path, windows: Windows) -> None:
    windows.save(tmp_path / "w.npz")
    path = (tmp_path / "w.npz").rename(tmp_path / "W.NPZ")
    np.testing.assert_array_equal(read_windows(path).x, windows.x)


def test_saving_replaces_in_one_step(
    tmp_path: Path, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "w.npz"
    windows.save(path)
    before = path.read_bytes()

    def fail(file: Any, **_: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(CaddaError, match=f"cannot write {path}: No space left on device"):
        windows[:3].save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["w.npz"]


def test_name_must_end_in_npz(tmp_path: Path, windows: Windows) -> None:
    with pytest.raises(ValueError, match=r"`path` must end in .npz, got '.*w.dat'"):
        windows.save(tmp_path / "w.dat")


def test_arrays_by_hand_are_standardised(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **ARRAYS)
    from_file = read_windows(tmp_path / "a.npz")
    before = ARRAYS["x"].copy()
    from_memory = read_windows(ARRAYS)
    np.testing.assert_array_equal(ARRAYS["x"], before)
    for windows in (from_file, from_memory):
        np.testing.assert_allclose(windows.x.std(-1, correction=0), 1, rtol=1e-4)
        assert windows.class_names == ("0", "1")
    np.testing.assert_allclose(read_windows(ARRAYS, standardise=None).x, before, rtol=1e-6)


def test_bad_windows(tmp_path: Path, losses: Losses) -> None:
    x = ARRAYS["x"].copy()
    x[0, 0, 3] = np.nan
    x[3, 1] = 2.0
    np.savez(tmp_path / "a.npz", **{**ARRAYS, "x": x})
    text = r"a.npz: 2 of 6 windows have NaN or a flat channel, C3 \(1\), C4 \(1\); drop them .*; "
    text += r"they are of a \(1 of 2\), b \(1 of 2\)\.$"
    with pytest.raises(DataError, match=text):
        read_windows(tmp_path / "a.npz")
    windows = read_windows(tmp_path / "a.npz", on_bad="drop")
    assert windows.subject.tolist() == ["a", "b", "c", "c"]
    assert windows.y.tolist() == [1, 0, 0, 1]
    bad = "not used: a (1 of 2), b (1 of 2); channels are C3 (1), C4 (1)."
    # Only by the second call; the first was refused.
    assert losses.messages == [f"2 of 6 windows have NaN or a flat channel and are {bad}"]
    assert not any("no window left" in text for text in losses.messages)
    with pytest.raises(DataError, match="arrays: all 6 windows have NaN or a flat channel"):
        read_windows({**ARRAYS, "x": np.zeros((6, 2, 50))}, on_bad="drop")


def test_arrays_of_one_channel(tmp_path: Path) -> None:
    """`Windows` takes them without an axis of channels, and so do files."""
    arrays = {**ARRAYS, "x": ARRAYS["x"][:, 0], "ch_names": ["C3"]}
    np.savez(tmp_path / "a.npz", **arrays)
    expected = Windows(**arrays).standardised()
    for source in (tmp_path / "a.npz", arrays):
        windows = read_windows(source)
        np.testing.assert_allclose(windows.x, expected.x, atol=1e-5)
        assert windows.ch_names == ("C3",)
    flat = {**arrays, "x": np.zeros((6, 50))}
    with pytest.raises(DataError, match=r"all 6 windows have NaN or a flat channel, C3 \(6\);"):
        read_windows(flat)


def test_subjects_that_lose_all_windows_are_named(losses: Losses) -> None:
    x = ARRAYS["x"].copy()
    x[2:4, 1] = 0
    x[0, 0, 0] = np.inf
    recording = ["run-1", "run-2"] * 3
    windows = read_windows({**ARRAYS, "x": x, "recording": recording}, on_bad="drop")
    assert windows.subjects == ["a", "c"]
    bad = "not used: a/run-1 (1 of 1), b/run-1 (1 of 1), b/run-2 (1 of 1); channels are C4 (2), C3"
    assert any(bad in text for text in losses.messages)
    assert any("1 of 3 subjects have no window left: b;" in text for text in losses.messages)


def test_what_is_not_taken_may_be_bad(tmp_path: Path) -> None:
    """A channel that was not recorded, and a class with NaN."""
    x = np.concatenate([ARRAYS["x"], np.zeros((6, 1, 50))], axis=1)
    x[[0, 2], :2] = np.nan
    arrays = {**ARRAYS, "x": x, "y": np.array([2, 1, 2, 1, 2, 0]), "positions": np.eye(3)}
    arrays["ch_names"] = ["C3", "C4", "EOG"]
    np.savez(tmp_path / "a.npz", **arrays)
    for source in (arrays, tmp_path / "a.npz"):
        with pytest.raises(DataError, match=r"all 6 windows have NaN .*`channels`"):
            read_windows(source)
        with pytest.raises(DataError, match="2 of 6 windows have NaN or a flat channel"):
            read_windows(source, channels=["C4", "C3"])
        windows = read_windows(source, channels=["C4", "C3"], classes=["1", "0"])
        assert windows.subject.tolist() == ["a", "b", "c"]
        assert windows.y.tolist() == [0, 0, 1]
        assert windows.ch_names == ("C4", "C3")
        np.testing.assert_array_equal(windows.positions, np.eye(3)[[1, 0]])


def test_some_channels_and_classes(tmp_path: Path, windows: Windows) -> None:
    windows.save(tmp_path / "w.npz")
    for source in (windows, tmp_path / "w.npz"):
        part = read_windows(source, channels=["c4"], classes=["b", "ä"])
        assert part.ch_names == ("c4",)
        assert part.y.tolist() == [1, 0] * 3
        np.testing.assert_array_equal(part.x, windows.x[:, 1:])
        np.testing.assert_array_equal(part.positions, windows.positions[1:])
    assert read_windows(windows) is windows


@pytest.mark.parametrize("per", ["window", "recording"])
def test_saved_windows_are_standardised_when_asked(
    tmp_path: Path, windows: Windows, per: Any
) -> None:
    windows.save(tmp_path / "w.npz")
    assert float(windows.x.std()) < 1e-4
    for source in (windows, tmp_path / "w.npz"):
        np.testing.assert_array_equal(read_windows(source).x, windows.x)
        np.testing.assert_array_equal(read_windows(source, standardise=None).x, windows.x)
        expected = windows.standardised(per).x
        np.testing.assert_array_equal(read_windows(source, standardise=per).x, expected)
        np.testing.assert_allclose(expected.std(-1, correction=0), 1, rtol=1e-3)


def test_classes_without_windows(windows: Windows) -> None:
    three = Windows(**ARRAYS, class_names=["a", "b", "c"])
    assert read_windows(three, channels=["C3"]).class_names == ("a", "b", "c")
    with pytest.raises(DataError, match=r"no window of 'c'; .*`min_windows`=1"):
        read_windows(three, classes=["a", "b", "c"])
    assert read_windows(three, min_windows=1).class_names == ("a", "b")
    assert read_windows(three, min_windows=0).class_names == ("a", "b", "c")
    with pytest.raises(DataError, match=r"at least two classes must have windows, got 3 of 'a'"):
        read_windows(three, classes=["a", "c"], min_windows=0)
    with pytest.raises(ValueError, match="`min_windows` must be 0 or more, or None, got -1"):
        read_windows(three, min_windows=-1)


@pytest.mark.parametrize("sfreq", [np.array([100.0]), np.array([[100]])])
def test_sampling_rate_from_other_programs(sfreq: Any) -> None:
    assert read_windows({**ARRAYS, "sfreq": sfreq}).sfreq == 100


@pytest.mark.parametrize("sfreq", [np.array([100.0, 200.0]), "100"])
def test_sampling_rate_is_one_number(sfreq: Any) -> None:
    with pytest.raises(DataError, match="arrays: `sfreq` must be one number, got"):
        read_windows({**ARRAYS, "sfreq": sfreq})


@pytest.mark.parametrize("missing", ["x", "y", "subject"])
def test_arrays_that_are_needed(tmp_path: Path, missing: str) -> None:
    np.savez(tmp_path / "a.npz", **{k: v for k, v in ARRAYS.items() if k != missing})
    with pytest.raises(
        DataError, match=rf"a.npz has no '{missing}'; it must have 'x', 'y', 'subject', and may "
    ):
        read_windows(tmp_path / "a.npz")


def test_arrays_that_are_not_needed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As in `Windows`; but names may be misspelt."""
    needed = {name: ARRAYS[name] for name in ("x", "y", "subject")}
    np.savez(tmp_path / "a.npz", **needed)
    for source, where in ((tmp_path / "a.npz", str(tmp_path / "a.npz")), (needed, "arrays")):
        caplog.clear()
        windows = read_windows(source)
        assert (windows.sfreq, windows.ch_names) == (None, ("0", "1"))
        assert caplog.messages == [
            f"{where} has no 'sfreq' and no 'ch_names'; operations that need them are left out: "
            "pass sfreq=... and ch_names=... to cadda.Windows, whose save(path) keeps them."
        ]
    caplog.clear()
    assert read_windows({**needed, "ch_names": ["C3", "C4"]}).ch_names == ("C3", "C4")
    way_out = "pass sfreq=... to cadda.Windows, whose save(path) keeps it."
    assert caplog.messages == [
        f"arrays has no 'sfreq'; operations that need it are left out: {way_out}"
    ]


@pytest.mark.parametrize("missing", ["sfreq", "ch_names", "x"])
def test_saved_windows_are_complete(tmp_path: Path, missing: str) -> None:
    """Also those in the first format, which does not list its arrays."""
    arrays = {k: v for k, v in ARRAYS.items() if k != missing}
    np.savez(tmp_path / "a.npz", format="cadda windows 1", **arrays)
    with pytest.raises(DataError, match=r"a\.npz is damaged: it lacks arrays that were saved"):
        read_windows(tmp_path / "a.npz")


def test_wrong_arrays_are_refused_by_windows() -> None:
    with pytest.raises(ValueError, match="`ch_names` must name the 1 channels of `x`, got 2"):
        read_windows({**ARRAYS, "x": ARRAYS["x"][:, 0]})
    with pytest.raises(TypeError, match="`y` must hold text, booleans or integers"):
        read_windows({**ARRAYS, "y": ARRAYS["y"] / 2})


class Trap:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("trapped"),)


def test_nothing_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "a.npz", **{**ARRAYS, "subject": np.array([Trap()], dtype=object)})
    with pytest.raises(DataError, match="holds Python objects, which are never loaded"):
        read_windows(tmp_path / "a.npz")
    (tmp_path / "b.npz").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(DataError, match=r"b.npz"):
        read_windows(tmp_path / "b.npz")
    assert not (tmp_path / "trapped").exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"hello"])
def test_damaged_files(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"a.npz"):
        read_windows(tmp_path / "a.npz")


def test_file_that_is_cut_off(tmp_path: Path, windows: Windows) -> None:
    path = tmp_path / "w.npz"
    windows.save(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"w.npz is truncated or not a .npz file"):
        read_windows(path)


def test_sampling_rate_of_arrays_is_not_an_option(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **{name: ARRAYS[name] for name in ("x", "y", "subject")})
    with pytest.raises(ValueError, match=r"save them again with cadda\.Windows\(\.\.\., sfreq="):
        read_windows(tmp_path / "a.npz", sfreq=100.0)
