"""Windows in one ``.npz`` file, and arrays made elsewhere."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._internal.files import replace_atomically
from cadda._internal.text import short_reason
from cadda.data.quality import Quality, assess_windows, raise_if_bad
from cadda.data.selection import select
from cadda.data.standardise import Standardise, standardise_as
from cadda.data.windows import Windows
from cadda.exceptions import DataError

__all__ = ["arrays_to_windows", "load_npz", "save_npz"]

_FORMAT = "cadda windows 1"
_NEEDED = ("x", "y", "subject", "sfreq", "ch_names")
_OPTIONAL = ("class_names", "positions", "recording")


def save_npz(windows: Windows, path: str | os.PathLike[str]) -> None:
    """Write windows as a ``.npz`` file, in one step."""
    target = Path(path)
    if target.suffix != ".npz":
        raise ValueError(f"`path` must end in .npz, got {str(path)!r}.")
    arrays: dict[str, Any] = {
        "format": np.array(_FORMAT),
        "x": windows.x.numpy(),
        "y": windows.y.numpy(),
        "subject": windows.subject,
        "recording": windows.recording,
        "sfreq": np.array(windows.sfreq),
        "ch_names": np.array(windows.ch_names),
        "class_names": np.array(windows.class_names),
    }
    if windows.positions is not None:
        arrays["positions"] = windows.positions
    with replace_atomically(target) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def load_npz(path: Path) -> Windows | dict[str, Any]:
    """Load a ``.npz`` file; nothing in it is ever executed."""
    try:
        # NumPy leaves a file open that it opened itself and then cannot read.
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise zipfile.BadZipFile
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
    except OSError as error:
        raise DataError(f"{path} cannot be read: {short_reason(error)}.") from error
    except (zipfile.BadZipFile, EOFError, KeyError) as error:
        raise DataError(f"{path} is cut off, or is not a .npz file.") from error
    except ValueError as error:
        raise DataError(
            f"{path} holds Python objects, which are never read; save names as arrays of text."
        ) from error
    is_ours = str(arrays.pop("format", "")) == _FORMAT
    return Windows(**_arguments(arrays, str(path))) if is_ours else arrays


def arrays_to_windows(
    arrays: Mapping[str, Any],
    *,
    channels: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    min_windows: int | None = None,
    standardise: Standardise = "window",
    where: str = "arrays",
) -> tuple[Windows, Quality]:
    """Make windows of arrays, without those that no model should learn from."""
    arguments = _arguments(arrays, where)
    x = np.asarray(arguments.pop("x"))
    if x.ndim != 3 or x.dtype.kind not in "fiu" or not x.size:
        # Windows says what is wrong.
        return Windows(x, **arguments), Quality(0, 0, 0, ())
    # Everything but the signals is checked first, with signals that are nothing.
    outline = Windows(np.zeros((*x.shape[:2], 1), dtype=np.float32), **arguments)
    choice = select(
        outline.ch_names,
        outline.class_names,
        outline.y.numpy(),
        channels=channels,
        classes=classes,
        min_windows=min_windows,
        where=where,
    )
    with np.errstate(over="ignore"):
        x = np.array(x[np.ix_(choice.kept, np.array(choice.rows))], dtype=np.float32)
    flaws = assess_windows(x)
    quality = flaws.quality()
    if not quality.n_good:
        raise_if_bad(quality, where)
    if quality.n_bad:
        x = x[~flaws.bad]
    good = np.flatnonzero(choice.kept)[~flaws.bad]
    subject, recording = outline.subject[good], outline.recording[good]
    standardise_as(standardise, x, np.stack([subject, recording], axis=1))
    windows = Windows(
        x,
        choice.labels[~flaws.bad],
        subject=subject,
        recording=recording,
        sfreq=outline.sfreq,
        ch_names=choice.ch_names,
        class_names=choice.class_names,
        positions=None if outline.positions is None else outline.positions[choice.rows],
    )
    return windows, quality


def _arguments(arrays: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Give the arguments of `Windows`, with names for classes that have none."""
    missing = [name for name in _NEEDED if arrays.get(name) is None]
    if missing:
        raise DataError(
            f"{where} has no {', '.join(map(repr, missing))}; it must have "
            f"{', '.join(map(repr, _NEEDED))}, and may have {', '.join(map(repr, _OPTIONAL))}."
        )
    sfreq = np.asarray(arrays["sfreq"])
    if sfreq.size != 1 or sfreq.dtype.kind not in "fiu":
        raise DataError(f"{where}: `sfreq` must be one number, got {arrays['sfreq']!r}.")
    y = np.asarray(arrays["y"])
    class_names = arrays.get("class_names")
    if class_names is None:
        whole = y.dtype.kind in "iu" and y.size
        class_names = [str(i) for i in range(max(int(y.max()) + 1, 2) if whole else 2)]
    return {
        "x": arrays["x"],
        "y": y,
        "subject": arrays["subject"],
        "sfreq": float(sfreq.item()),
        "ch_names": _names(arrays["ch_names"]),
        "class_names": _names(class_names),
        "positions": arrays.get("positions"),
        "recording": arrays.get("recording"),
    }


def _names(values: Any) -> list[str]:
    array: NDArray[Any] = np.asarray(values)
    return [str(value) for value in array.reshape(-1).tolist()]
