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
    """Read scikit-learn's digits, enlarged from 8 × 8 to the 28 × 28 pixels of MNIST.

    Parameters
    ----------
    digits : sequence of int
        Digits to keep, in the order that the labels shall have.
    n_chunks : int
        Who wrote a digit is not known. So that splits by subject work, the images are cut into
        this many chunks of neighbours, and a chunk counts as a subject.

    Returns
    -------
    Windows
        About 180 images of each digit with values from 0 to 1, rows as channels.
    """
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
