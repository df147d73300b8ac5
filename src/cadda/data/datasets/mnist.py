"""Images of digits as windows of 28 rows by 28 columns: MNIST, or those of scikit-learn."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from collections.abc import Sequence
from io import BufferedReader
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from torch.nn.functional import interpolate

from cadda._internal.limits import open_regular
from cadda._internal.text import short_reason
from cadda.data.windows import Windows
from cadda.exceptions import DataError

__all__ = ["read_digits", "read_mnist"]

_N_PIXELS = 28
_MAX_DIGITS_VALUE = 16.0  # of a pixel in scikit-learn's images
_MAX_VALUES = 100_000_000  # of a file, twice as many as MNIST has
_FILES = {"train": "train", "test": "t10k"}


def read_mnist(
    folder: Path | str,
    *,
    parts: Sequence[str] = ("train", "test"),
    digits: Sequence[int] | None = None,
    n_chunks: int = 10,
) -> Windows:
    """Read MNIST from its original files.

    Parameters
    ----------
    folder : path-like
        Folder with ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte`` and the same for
        ``t10k``, each as it is or with ``.gz``.
    parts : sequence of "train" | "test"
        Which of the two parts to read.
    digits : sequence of int | None
        Digits to keep, in the order of the labels; None keeps all ten.
    n_chunks : int
        Number of subjects per part. MNIST does not name its writers; neighbouring images often
        have the same one, so each part is cut into this many chunks, which count as subjects:
        ``train-0``, ``train-1``, …, ``test-0``, …. The `recording` is the part, and the usual
        split is ``windows[windows.recording == "train"]``.

    Returns
    -------
    Windows
        Images with values from 0 to 1, rows as channels; the sampling rate is one per pixel.
    """
    wanted = list(range(10)) if digits is None else list(digits)
    if len(set(wanted)) != len(wanted) or not set(wanted) <= set(range(10)) or len(wanted) < 2:
        raise ValueError(f"`digits` must be at least two different digits of 0 … 9, got {wanted}.")
    if not parts or isinstance(parts, str) or not set(parts) <= set(_FILES):
        raise ValueError(f"`parts` must be 'train', 'test' or both, in a list, got {parts!r}.")
    if n_chunks < 1:
        raise ValueError(f"`n_chunks` must be at least 1, got {n_chunks}.")
    images, labels, subjects, sources = [], [], [], []
    for part in parts:
        x = _read_idx(Path(folder), f"{_FILES[part]}-images-idx3-ubyte", 3)
        y = _read_idx(Path(folder), f"{_FILES[part]}-labels-idx1-ubyte", 1)
        if len(x) != len(y):
            raise DataError(f"{folder} has {len(x)} {part} images, but {len(y)} labels.")
        chunk = np.arange(len(y)) * n_chunks // max(len(y), 1)
        kept = np.isin(y, wanted)
        images.append(x[kept])
        labels.append(y[kept])
        subjects.append(np.array([f"{part}-{k}" for k in range(n_chunks)])[chunk[kept]])
        sources.append(np.full(int(kept.sum()), part))
    new_label = np.zeros(10, dtype=np.int64)
    new_label[wanted] = np.arange(len(wanted))
    x = np.concatenate(images)
    return Windows(
        x.astype(np.float32) / np.float32(255),
        new_label[np.concatenate(labels)],
        subject=np.concatenate(subjects),
        recording=np.concatenate(sources),
        sfreq=1.0,
        ch_names=[f"row {i}" for i in range(x.shape[1])],
        class_names=[str(digit) for digit in wanted],
    )


def read_digits(*, digits: Sequence[int], n_chunks: int = 20) -> Windows:
    """Read scikit-learn's digits, enlarged from 8 × 8 to the 28 × 28 pixels of MNIST."""
    images, labels = load_digits(return_X_y=True)
    kept = np.isin(labels, digits)
    chunk = np.arange(len(labels)) * n_chunks // len(labels)
    x = torch.from_numpy(images[kept] / _MAX_DIGITS_VALUE).float().view(-1, 1, 8, 8)
    large = interpolate(x, size=(_N_PIXELS, _N_PIXELS), mode="bilinear", align_corners=False)
    return Windows(
        large[:, 0],
        [list(digits).index(label) for label in labels[kept]],
        subject=[f"chunk-{number}" for number in chunk[kept]],
        sfreq=1.0,
        ch_names=[f"row {i}" for i in range(_N_PIXELS)],
        class_names=[str(digit) for digit in digits],
    )


def _read_idx(folder: Path, name: str, n_axes: int) -> NDArray[np.uint8]:
    """Read an array of bytes: two zeros, type 8, number of axes, their sizes, the values."""
    path = next((p for p in (folder / name, folder / f"{name}.gz") if p.exists()), None)
    if path is None:
        raise DataError(f"{folder} has neither {name} nor {name}.gz.")
    try:
        with open_regular(path) as file:
            return _parse_idx(
                gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file, path, n_axes
            )
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"cannot read {path}, which may be truncated: {short_reason(error)}."
        ) from error


def _parse_idx(file: gzip.GzipFile | BufferedReader, path: Path, n_axes: int) -> NDArray[np.uint8]:
    """Read no more than the header announces."""
    head = file.read(4 + 4 * n_axes)
    if head[:4] != bytes([0, 0, 8, n_axes]) or len(head) < 4 + 4 * n_axes:
        raise DataError(f"{path} is not an idx file of bytes with {n_axes} axes.")
    shape = struct.unpack(f">{n_axes}I", head[4:])
    n_values = math.prod(shape)
    if n_values > _MAX_VALUES:
        raise DataError(
            f"{path} must hold at most {_MAX_VALUES} values, and announces {shape}; MNIST has "
            "60000 images of 28 × 28."
        )
    content = file.read(n_values + 1)
    if len(content) != n_values:
        raise DataError(f"{path} is truncated: it must hold {shape} values.")
    return np.frombuffer(content, np.uint8).reshape(shape)
