"""Windows in ``.npz`` files, and windows from arrays."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cadda._internal.archives import load_arrays
from cadda._internal.files import replace_atomically
from cadda._internal.limits import MAX_CLASSES, open_regular
from cadda._internal.text import short_reason
from cadda.data.io.losses import parts_of, warn_of_losses
from cadda.data.io.npz_map import map_array
from cadda.data.io.options import ReadOptions, select
from cadda.data.quality import Quality, assess_windows, raise_if_bad
from cadda.data.rounding import to_single
from cadda.data.standardise import standardise_as
from cadda.data.windows import Windows
from cadda.exceptions import DataError

__all__ = ["Arrays", "arrays_to_windows", "load_npz", "save_npz"]

_logger = logging.getLogger(__name__)

Arrays: TypeAlias = Mapping[str, Any]  # what the user passes; checked by `Windows`
"""The arguments of `Windows`, by name."""

_FORMATS = "cadda windows 1", "cadda windows 2"
_REQUIRED = ("x", "y", "subject")
_OPTIONAL = ("sfreq", "ch_names", "class_names", "positions", "recording")
_SAVED = (*_REQUIRED, "sfreq", "ch_names")  # in files of every format


def save_npz(windows: Windows, path: str | os.PathLike[str]) -> None:
    """Write windows atomically as a ``.npz`` file."""
    target = Path(path)
    if target.suffix != ".npz":
        raise ValueError(f"`path` must end in .npz, got {str(path)!r}.")
    arrays: dict[str, NDArray[Any]] = {
        "x": windows.x.numpy(),
        "y": windows.y.numpy(),
        "subject": windows.subject,
        "recording": windows.recording,
        "sfreq": np.array(np.nan if windows.sfreq is None else windows.sfreq),
        "ch_names": np.array(windows.ch_names),
        "class_names": np.array(windows.class_names),
    }
    if windows.positions is not None:
        arrays["positions"] = windows.positions
    with replace_atomically(target) as file:
        # With the names of all arrays: a damaged list of files may lack some.
        content = np.array([_FORMATS[-1], *arrays])
        np.savez(file, allow_pickle=False, format=content, **arrays)


def load_npz(path: Path) -> Windows | dict[str, NDArray[Any]]:
    """Load windows that `save_npz` wrote, or other arrays; pickles are never loaded."""
    try:
        with open_regular(path) as file:
            mapped = map_array(file, path)
            arrays = load_arrays(file, path, without=() if mapped is None else ("x",))
            if mapped is not None:
                arrays["x"] = mapped
    except OSError as error:
        raise DataError(f"cannot read {path}: {short_reason(error)}.") from error
    # A damaged archive raises whatever zip files, compression and NumPy raise.
    except Exception as error:
        raise DataError(f"{path} is truncated or not a .npz file.") from error
    content = np.asarray(arrays.pop("format", ""))
    version, *names = content.astype(str).ravel().tolist() if content.size else [""]
    if version not in _FORMATS:
        return arrays
    if (names and set(names) != set(arrays)) or not set(arrays).issuperset(_SAVED):
        raise DataError(f"{path} is damaged: it lacks arrays that were saved; save it again.")
    return _make_windows(arrays.get("x"), arrays, str(path))


def arrays_to_windows(arrays: Arrays, options: ReadOptions, where: str) -> tuple[Windows, Quality]:
    """Make windows from arrays named like the arguments of `Windows`, without bad windows."""
    x = np.asarray(arrays.get("x"))
    if x.ndim == 2:
        x = x[:, None]
    if arrays.get("x") is None or x.ndim != 3 or x.dtype.kind not in "fiu" or not x.size:
        # `Windows` raises with the reason.
        return _make_windows(arrays.get("x"), arrays, where), Quality(0, 0, 0, ())
    # Everything but the signals is checked first, with a sample of zeros in place of them.
    outline = _make_windows(np.zeros((*x.shape[:2], 1), dtype=np.float32), arrays, where)
    _warn_about_absent(arrays, where)
    selection = select(outline, options, where)
    x = x[np.ix_(selection.kept, np.array(selection.rows))]
    if options.standardise_signals is None:
        x = to_single(x, where)
    elif x.dtype != np.float32:
        # Beside a large offset, float32 has too few digits for the signal.
        x = x.astype(np.float64)
    assessed = assess_windows(x)
    quality = assessed.summary()
    if not quality.n_good:
        raise_if_bad(quality, where, selection.ch_names)
    if quality.n_bad:
        groups = outline.subject[selection.kept], outline.recording[selection.kept]
        warn_of_losses(parts_of(assessed, *groups), selection.ch_names, options.raise_bad_of)
        x, good = x[~assessed.bad], ~assessed.bad
        selection = replace(selection, kept=selection.kept[good], labels=selection.labels[good])
    recordings = np.stack([outline.subject, outline.recording], axis=1)[selection.kept]
    x = standardise_as(options.standardise_signals, x, recordings)
    return selection.take(outline, x), quality


def _make_windows(x: Any, arrays: Arrays, where: str) -> Windows:
    """Make windows of `x` and the other arrays; classes without names are numbered."""
    missing = [name for name in _REQUIRED if arrays.get(name) is None]
    if missing:
        raise DataError(
            f"{where} has no {', '.join(map(repr, missing))}; it must have "
            f"{', '.join(map(repr, _REQUIRED))}, and may have {', '.join(map(repr, _OPTIONAL))}."
        )
    given = arrays.get("sfreq")
    sfreq = np.asarray(np.nan if given is None else given)
    if sfreq.size != 1 or sfreq.dtype.kind not in "fiu":
        raise DataError(f"{where}: `sfreq` must be one number, got {given!r}.")
    ch_names = arrays.get("ch_names")
    y = np.asarray(arrays["y"])
    class_names = arrays.get("class_names")
    if class_names is None:
        whole = y.dtype.kind in "iu" and y.size
        largest = int(y.max()) if whole else 0
        if largest >= MAX_CLASSES:
            raise DataError(
                f"{where}: `y` must be labels from 0 to {MAX_CLASSES - 1}, got {largest}; name "
                "the classes by `class_names`."
            )
        class_names = [str(i) for i in range(max(largest + 1, 2))] if whole else None
    return Windows(
        x,
        y,
        subject=arrays["subject"],
        sfreq=None if np.isnan(sfreq) else float(sfreq.item()),
        ch_names=None if ch_names is None else _names(ch_names),
        class_names=None if class_names is None else _names(class_names),
        positions=arrays.get("positions"),
        recording=arrays.get("recording"),
    )


def _warn_about_absent(arrays: Arrays, where: str) -> None:
    """Warn of arrays without which operations are left out, as they may be misspelt."""
    absent = [name for name in ("sfreq", "ch_names") if arrays.get(name) is None]
    pronoun = "it" if len(absent) == 1 else "them"
    if absent:
        _logger.warning(
            "%s has no %s; operations that need %s are left out: pass %s to cadda.Windows, whose "
            "save(path) keeps %s.",
            where,
            " and no ".join(map(repr, absent)),
            pronoun,
            " and ".join(f"{name}=..." for name in absent),
            pronoun,
        )


def _names(values: Any) -> list[str]:
    array: NDArray[Any] = np.asarray(values)
    return [str(value) for value in array.reshape(-1).tolist()]
