"""Preprocessed windows on disk, so that a folder of nights is filtered once.

An entry is a folder with a memory map of the windows, ``x.npy``, their labels, ``y.npy``, and
``windows.json`` with everything else. It is written under another name and renamed when it is
whole, so that a reader finds all of it or nothing. Entries may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cadda.data.quality import Quality

__all__ = [
    "KEY_LENGTH",
    "CachedWindows",
    "Run",
    "cache_folder",
    "cache_key",
    "description_of",
    "load_entry",
    "read_runs",
]

_logger = logging.getLogger(__name__)

KEY_LENGTH = 40
"""Hexadecimal digits in the name of an entry."""

_VERSION = 1


@dataclass(frozen=True)
class Run:
    """The windows of one recording.

    Parameters
    ----------
    subject : str
        Who was recorded.
    recording : str
        Name of the recording.
    quality : Quality
        What is known of its windows.
    """

    subject: str
    recording: str
    quality: Quality


@dataclass(frozen=True, eq=False)
class CachedWindows:
    """Windows as they come out of the cache.

    Parameters
    ----------
    x : array of shape (n_windows, n_channels, n_times)
        The windows, memory-mapped if they are on disk.
    y : array of shape (n_windows,)
        Their labels.
    runs : list of Run
        The recordings that they come from, in order.
    """

    x: NDArray[np.float32]
    y: NDArray[np.int64]
    runs: list[Run]


def cache_folder() -> Path:
    """Say where the cache is.

    Returns
    -------
    Path
        The environment variable ``CADDA_CACHE``, or ``cadda`` in the cache folder of the system.
    """
    if chosen := os.environ.get("CADDA_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        root = "~/Library/Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "cadda"


def cache_key(files: Iterable[Path], parameters: Mapping[str, Any]) -> str:
    """Give the name of an entry: a digest of what goes in.

    Parameters
    ----------
    files : iterable of Path
        The files that are read; their content counts, not their name or date.
    parameters : mapping
        Everything else that matters, as JSON knows it.

    Returns
    -------
    str
        Hexadecimal digits.
    """
    digest = hashlib.sha256(_json({"version": _VERSION, **parameters}))
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:KEY_LENGTH]


def description_of(runs: Sequence[Run], sizes: Mapping[str, int]) -> bytes:
    """Write down what an entry holds.

    Parameters
    ----------
    runs : sequence of Run
        The recordings that its windows come from, in order.
    sizes : mapping of str to int
        Size of each of its other files in bytes.

    Returns
    -------
    bytes
        Content of ``windows.json``, with a digest of itself.
    """
    content = {"runs": [asdict(run) for run in runs], "sizes": dict(sizes)}
    return _json({"sha256": hashlib.sha256(_json(content)).hexdigest(), "content": content})


def read_runs(folder: Path) -> list[Run]:
    """Read what an entry holds, and refuse one that is not as it was written.

    Parameters
    ----------
    folder : Path
        The entry.

    Returns
    -------
    list of Run
        The recordings that its windows come from, in order. Whatever is wrong raises `OSError`,
        `ValueError`, `KeyError` or `TypeError`.
    """
    description = json.loads((folder / "windows.json").read_text(encoding="utf-8"))
    content = description["content"]
    if description["sha256"] != hashlib.sha256(_json(content)).hexdigest():
        raise ValueError("windows.json was changed")
    for name, size in content["sizes"].items():
        if (folder / name).stat().st_size != size:
            raise ValueError(f"{name} does not have its size")
    return [
        Run(one["subject"], one["recording"], _quality(one["quality"])) for one in content["runs"]
    ]


def load_entry(key: str) -> CachedWindows | None:
    """Load an entry, if it is there and whole.

    Parameters
    ----------
    key : str
        Its name.

    Returns
    -------
    CachedWindows | None
        Windows, memory-mapped so that only what is used is read; None if there is no such entry
        or if it cannot be believed.
    """
    folder = cache_folder() / key
    try:
        runs = read_runs(folder)
        # Copy on write: writing into the windows never reaches the file.
        x = np.load(folder / "x.npy", mmap_mode="c", allow_pickle=False)
        y = np.load(folder / "y.npy", allow_pickle=False)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        _logger.warning("The cache entry %s is not used: %s.", folder, error)
        return None
    return CachedWindows(x, y, runs)


def _quality(stored: Mapping[str, Any]) -> Quality:
    return Quality(**{**stored, "amplitude": tuple(stored["amplitude"])})


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
