"""Small images of digits that scikit-learn brings along, for when MNIST is not at hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.nn.functional import interpolate

from cadda.data.windows import Windows

__all__ = ["read_digits"]

N_PIXELS = 28
LARGEST = 16.0
"""Largest value of a pixel."""


def read_digits(*, digits: Sequence[int], n_chunks: int = 20) -> Windows:
    """Read scikit-learn's digits, enlarged from 8 × 8 to the 28 × 28 pixels of MNIST."""
    images, labels = load_digits(return_X_y=True)
    kept = np.isin(labels, digits)
    chunk = np.arange(len(labels)) * n_chunks // len(labels)
    x = torch.from_numpy(images[kept] / LARGEST).float().view(-1, 1, 8, 8)
    large = interpolate(x, size=(N_PIXELS, N_PIXELS), mode="bilinear", align_corners=False)
    return Windows(
        large[:, 0],
        [list(digits).index(label) for label in labels[kept]],
        subject=[f"chunk-{number}" for number in chunk[kept]],
        sfreq=1.0,
        ch_names=[f"row {i}" for i in range(N_PIXELS)],
        class_names=[str(digit) for digit in digits],
    )
