"""Windows in one ``.npz`` file, and arrays made elsewhere."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda._files import replace_atomically
from cadda.data.checks import Quality, find_flaws, refuse_bad
from cadda.data.preprocess import Standardise, standardise_as
from cadda.data.windows import Windows
from cadda.exceptions import DataError

__all__ = ["arrays_to_windows", "read_npz", "save_npz"]

_FORMAT = "cadda windows 1"
_NEEDED = ("x", "y", "subject", "sfreq", "ch_names")
_OPTIONAL = ("class_names", "positions", "recording")


def save_npz(windows: Windows, path: str | os.PathLike[str]) -> None:
    """Write windows as a ``.npz`` file, in one step.

    Parameters
    ----------
    windows : Windows
        What to write.
    path : path-like
        Where to write; must end in ``.npz``.
    """
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


def read_npz(path: Path, *, standardise: Standardise = "window") -> tuple[Windows, Quality]:
    """Read windows from a ``.npz`` file; nothing in it is ever executed.

    Parameters
    ----------
    path : Path
        A file written by `save_npz`, which gives back exactly the windows that were saved, or one
        with the arrays that `arrays_to_windows` takes.
    standardise : "window" | "recording" | None
        What gets mean 0 and standard deviation 1, in a file that is not from `save_npz`.

    Returns
    -------
    windows : Windows
        The windows without bad ones.
    quality : Quality
        What is known of all of them.
    """
    try:
        # NumPy leaves a file open that it opened itself and then cannot read.
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise zipfile.BadZipFile
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (zipfile.BadZipFile, EOFError, KeyError) as error:
        raise DataError(f"{path} is cut off, or is not a .npz file.") from error
    except ValueError as error:
        raise DataError(
            f"{path} holds Python objects, which are never read; save names as arrays of text."
        ) from error
    if str(arrays.pop("format", "")) == _FORMAT:
        windows = _windows(arrays, str(path))
        # Even a flat channel was meant, as in images.
        quality = replace(find_flaws(windows.x.numpy()).quality(), n_bad=0, n_good=len(windows))
        return windows, quality
    return arrays_to_windows(arrays, standardise=standardise, where=str(path))


def arrays_to_windows(
    arrays: Mapping[str, Any], *, standardise: Standardise = "window", where: str = "arrays"
) -> tuple[Windows, Quality]:
    """Make windows of arrays, without those that no model should learn from.

    Parameters
    ----------
    arrays : mapping of str to array-like
        The arguments of `Windows`: ``x``, ``y``, ``subject``, ``sfreq``, ``ch_names``, and where
        there are any, ``class_names``, ``positions`` and ``recording``. They are left as they are.
    standardise : "window" | "recording" | None
        What gets mean 0 and standard deviation 1.
    where : str
        Name of the source, for messages.

    Returns
    -------
    windows : Windows
        The windows without bad ones.
    quality : Quality
        What is known of all of them.
    """
    arrays = dict(arrays)
    x = np.asarray(arrays.get("x"))
    if x.ndim != 3 or x.dtype.kind not in "fiu" or not x.size:
        # Windows says what is wrong.
        return _windows(arrays, where), Quality(0, 0, 0, ())
    with np.errstate(over="ignore"):
        arrays["x"] = x = np.array(x, dtype=np.float32)
    flaws = find_flaws(x)
    quality = flaws.quality()
    if not quality.n_good:
        refuse_bad(quality, where)
    if quality.n_bad:
        for name in {"x", "y", "subject", "recording"} & arrays.keys():
            values = np.asarray(arrays[name])
            arrays[name] = values[~flaws.bad] if len(values) == len(x) else values
    windows = _windows(arrays, where)
    groups = np.stack([windows.subject, windows.recording], axis=1)
    standardise_as(standardise, windows.x.numpy(), groups)
    return windows, quality


def _windows(arrays: Mapping[str, Any], where: str) -> Windows:
    missing = [name for name in _NEEDED if arrays.get(name) is None]
    if missing:
        raise DataError(
            f"{where} has no {', '.join(map(repr, missing))}; it must have "
            f"{', '.join(map(repr, _NEEDED))}, and may have {', '.join(map(repr, _OPTIONAL))}."
        )
    y = np.asarray(arrays["y"])
    class_names = arrays.get("class_names")
    if class_names is None:
        whole = y.dtype.kind in "iu" and y.size
        class_names = [str(i) for i in range(max(int(y.max()) + 1, 2) if whole else 2)]
    return Windows(
        arrays["x"],
        y,
        subject=arrays["subject"],
        sfreq=float(arrays["sfreq"]),
        ch_names=_names(arrays["ch_names"]),
        class_names=_names(class_names),
        positions=arrays.get("positions"),
        recording=arrays.get("recording"),
    )


def _names(values: Any) -> list[str]:
    array: NDArray[Any] = np.asarray(values)
    return [str(value) for value in array.reshape(-1).tolist()]
