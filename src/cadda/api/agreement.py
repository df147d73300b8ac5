"""Whether windows go together, and with a model."""

from __future__ import annotations

import logging
import warnings

import numpy as np

from cadda.data.channels import same_channels
from cadda.data.io.preprocess import describe_filters
from cadda.data.io.read import read_windows
from cadda.data.splits import check_no_leak
from cadda.data.windows import Windows
from cadda.exceptions import DataWarning, ModelError
from cadda.models.serialization import ModelDescription

__all__ = ["check_pair", "matched"]

_logger = logging.getLogger(__name__)


def check_pair(train: Windows, valid: Windows) -> None:
    """Raise if parts share subjects or differ in channels or classes; warn of absent classes."""
    for name, part in (("train", train), ("valid", valid)):
        if not isinstance(part, Windows):
            raise TypeError(f"`{name}` must be cadda.Windows, got {type(part).__name__}.")
    check_no_leak(train=train, valid=valid)
    for name in ("ch_names", "class_names", "sfreq", "n_times"):
        a, b = getattr(train, name), getattr(valid, name)
        if a != b:
            raise ValueError(f"`train` and `valid` must have the same `{name}`, got {a} and {b}.")
    if None not in (train.filters, valid.filters) and train.filters != valid.filters:
        a, b = (describe_filters(part.filters or {}) for part in (train, valid))
        raise ValueError(
            f"`train` and `valid` must have the same filters, got {a} and {b}; read both with the "
            "same `highpass` and `lowpass`."
        )
    absent = [train.class_names[i] for i in np.flatnonzero(train.class_counts() == 0)]
    if absent:
        _logger.warning(
            "No training window is of the class %s, which no model can learn then; take other "
            "subjects, or leave the class out.",
            " or ".join(absent),
        )


def matched(description: ModelDescription, windows: Windows) -> Windows:
    """Return windows with their classes in the order of a model; raise if they are not for it.

    Spelling of channels aside.
    """
    wanted = description.class_names
    if windows.class_names != wanted and sorted(windows.class_names) == sorted(wanted):
        with warnings.catch_warnings():
            # The windows are the same as when they were read.
            warnings.simplefilter("ignore", DataWarning)
            windows = read_windows(windows, classes=wanted, min_windows=0)
    _check_fits(description, windows)
    return windows


def _check_fits(description: ModelDescription, windows: Windows) -> None:
    """Raise if windows differ from those that a model was made for."""
    for name, way_out in (
        ("ch_names", "choose them with `channels`"),
        ("class_names", "choose them with `classes`, or rename them with `class_map`"),
        ("sfreq", "read them with this `sfreq`"),
        ("n_times", "read windows of that length"),
    ):
        wanted, got = getattr(description, name), getattr(windows, name)
        same = same_channels(wanted, got) if name == "ch_names" else wanted == got
        # A model that was trained without a sampling rate is for any.
        if not same and wanted is not None:
            raise ModelError(
                f"the model is for the `{name}` {wanted}, but the data have {got}; {way_out}."
            )
