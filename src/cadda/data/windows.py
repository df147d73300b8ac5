"""`Windows`: windows of signal with labels and subjects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from cadda._internal.frames import make_frame
from cadda._internal.notebook import Cell, block, paragraph, table
from cadda._internal.rows import Rows
from cadda._internal.user_warnings import warn_user
from cadda._internal.validation import check_rate
from cadda.data.checks import (
    check_finite,
    check_labels,
    check_names,
    check_per_window,
    check_plain,
    check_positions,
    check_signals,
)
from cadda.data.copies import warn_of_copies
from cadda.exceptions import DataWarning

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Windows"]

N_DRAWN = 6
"""Channels that a plot draws."""
N_LISTED = 20
"""Channels that a notebook lists."""


class Windows:
    """Windows of signal, each with a label and the subject it comes from.

    Parameters
    ----------
    x : array-like of shape (n_windows, n_channels, n_times) or (n_windows, n_times)
        Signals; without an axis of channels, there is one. They become float32; arrays that are
        float32, memory-mapped too, are not copied.
    y : array-like of shape (n_windows,)
        Labels: text, booleans or integers. With ``class_names``, names of these, or integers from
        0 to ``len(class_names) - 1``; booleans are 0 and 1.
    subject : array-like of shape (n_windows,)
        The subject of each window, as text or numbers. Splits never divide a subject.
    sfreq : float | None
        Sampling rate in Hz. None if it is not known: it is never guessed, and operations in hertz
        or seconds are then not applicable.
    ch_names : sequence of str | None
        Names of the channels; None names them "0", "1", …, and operations that need electrodes
        are not applicable.
    class_names : sequence of str | None
        Names of the classes, in the order of the labels; None takes the different labels, sorted.
    positions : array-like of shape (n_channels, 3) | None
        Sensors in MNE's head frame in metres, NaN where unknown.
    recording : array-like of shape (n_windows,) | None
        The recording of each window; None means one per subject. Windows of one recording are in
        the order of time.

    Attributes
    ----------
    filters : mapping of str to float | None
        Arguments of `read_windows` for the filters that it applied; None if it is not known.

    Examples
    --------
    >>> windows = Windows(np.random.randn(4, 2, 100), [0, 1, 0, 1], subject=["a", "a", "b", "b"],
    ...                   sfreq=100, ch_names=["C3", "C4"], class_names=["left", "right"])
    >>> windows
    Windows: 4 windows of 2 channels × 1 s at 100 Hz, 2 subjects; left 2, right 2
    >>> len(windows[windows.subject == "a"])
    2
    >>> Windows(np.random.randn(2, 100), ["left", "right"], subject=["a", "b"])
    Windows: 2 windows of 1 channel × 100 samples, 2 subjects; left 1, right 1
    """

    def __init__(
        self,
        x: ArrayLike | Tensor,
        y: ArrayLike | Tensor,
        *,
        subject: ArrayLike,
        sfreq: float | None = None,
        ch_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        positions: ArrayLike | None = None,
        recording: ArrayLike | None = None,
    ) -> None:
        self.signals = check_signals(x)
        n_windows, n_channels, n_times = self.signals.shape
        if ch_names is None:
            _check_axes(n_channels, n_times)
            ch_names = [str(channel) for channel in range(n_channels)]
        self.ch_names = check_names("ch_names", ch_names, n_channels, "channels of `x`")
        check_plain("ch_names", self.ch_names)
        self.y, self.class_names = check_labels(y, n_windows, class_names)
        self.subject = check_per_window("subject", subject, n_windows)
        self.recording = (
            self.subject
            if recording is None
            else check_per_window("recording", recording, n_windows)
        )
        self.sfreq = None if sfreq is None else float(check_rate(sfreq))
        self.positions = None if positions is None else check_positions(positions, n_channels)
        self.filters: Mapping[str, float | None] | None = None
        check_finite(self.signals)
        warn_of_copies(self.signals, self.subject, self.recording)

    def __len__(self) -> int:
        return len(self.signals)

    @property
    def x(self) -> Tensor:
        """Signals of shape (n_windows, n_channels, n_times)."""
        if isinstance(self.signals, Rows):
            if self.signals.whole is not None:
                return self.signals.whole
            self.signals = self.signals[:]
        return self.signals

    @x.setter
    def x(self, value: Tensor) -> None:
        self.signals = value

    @property
    def n_channels(self) -> int:
        """Number of channels."""
        return self.signals.shape[1]

    @property
    def n_times(self) -> int:
        """Samples per window."""
        return self.signals.shape[2]

    @property
    def n_classes(self) -> int:
        """Number of classes, present or not."""
        return len(self.class_names)

    @property
    def subjects(self) -> list[str]:
        """The different subjects, in order of first appearance."""
        return list(dict.fromkeys(self.subject.tolist()))

    def class_counts(self) -> NDArray[np.int64]:
        """Count the windows of each class.

        Returns
        -------
        array of shape (n_classes,)
            Numbers of windows.
        """
        return np.bincount(self.y.numpy(), minlength=self.n_classes)

    def __getitem__(self, index: Any) -> Windows:
        """Return some of the windows by a slice, a mask or indices, of NumPy or torch.

        A slice with a positive step is a view; everything else is a copy. Memory-mapped windows
        stay in their file: `x` copies those that were selected when it is first used.
        """
        where = index if isinstance(index, slice) else np.asarray(index)
        if isinstance(where, np.ndarray) and not where.size:
            where = where.astype(int)
        chosen = np.array(np.arange(len(self))[where], ndmin=1)
        if not len(chosen):
            raise ValueError(
                f"`index` must select at least one of the {len(self)} windows, got none."
            )
        forwards = isinstance(index, slice) and (index.step or 1) > 0
        torch_index = index if forwards else torch.from_numpy(chosen)
        part = object.__new__(Windows)
        # All of it has been validated.
        part.__dict__.update(self.__dict__)
        part.y = self.y[torch_index]
        if not isinstance(self.signals, Rows):
            part.signals = self.signals[torch_index]
        elif forwards:
            part.signals = self.signals.part(index)
        else:
            part.signals = self.signals.take(torch.from_numpy(chosen))
        part.subject, part.recording = self.subject[chosen], self.recording[chosen]
        return part

    def of_subjects(self, subjects: Sequence[str]) -> Windows:
        """Return the windows of some subjects.

        Parameters
        ----------
        subjects : sequence of str
            Subjects to keep.

        Returns
        -------
        Windows
            Their windows, in the present order.
        """
        if isinstance(subjects, str) or not isinstance(subjects, Iterable):
            raise TypeError(f"`subjects` must be a list of subjects, got {subjects!r}.")
        unknown = sorted(set(subjects) - set(self.subjects))
        if unknown:
            raise ValueError(f"`subjects` must be among the subjects here, got {unknown}.")
        return self[np.isin(self.subject, list(subjects))]

    def split(
        self, *, valid: float = 0.2, test: float | None = None, seed: int = 0
    ) -> tuple[Windows, Windows, Windows]:
        """Split by subject into training, validation and test windows.

        Parameters
        ----------
        valid : float
            Fraction of the subjects for validation.
        test : float | None
            Fraction of the subjects for testing. None takes a fifth, but at least six of twelve or
            more subjects: with fewer, no gain can be distinguished from chance.
        seed : int
            Same seed, same split.

        Returns
        -------
        train, valid, test : Windows
            No subject is in two of them. The parts depend on the seed and the names of the
            subjects only, so that all preprocessings of a data set are split alike.

        Warns
        -----
        DataWarning
            If fewer than six subjects are for testing, or a class is missing in a part.
        """
        from cadda.data.splits import make_split, split_notes

        split = make_split(self, valid=valid, test=test, seed=seed)
        for note in split_notes(self, split):
            warn_user(note, DataWarning)
        return (
            self.of_subjects(split.train),
            self.of_subjects(split.valid),
            self.of_subjects(split.test),
        )

    def folds(self, n_folds: int = 5, *, seed: int = 0) -> Iterator[tuple[Windows, Windows]]:
        """Split by subject for cross-validation.

        Parameters
        ----------
        n_folds : int
            Number of folds.
        seed : int
            Same seed and same subjects, same folds.

        Yields
        ------
        train, test : Windows
            Every subject is in exactly one test set.
        """
        from cadda.data.splits import subject_folds

        return subject_folds(self, n_folds, seed=seed)

    def standardised(self, per: Literal["window", "recording"] = "window") -> Windows:
        """Scale each channel of each window, or of each recording, to mean 0 and variance 1.

        Parameters
        ----------
        per : "window" | "recording"
            Over what mean and standard deviation are computed.

        Returns
        -------
        Windows
            New windows. No recording influences another, so nothing can leak.
        """
        from cadda.data.standardise import standardise_as

        if per not in ("window", "recording"):
            raise ValueError(f"`per` must be 'window' or 'recording', got {per!r}.")
        part = self[:]
        part.x = self.signals[:].clone()
        groups = np.stack([self.subject, self.recording], axis=1)
        standardise_as(per, part.x.numpy(), groups)
        return part

    def to_epochs(self) -> Any:
        """Convert to MNE epochs.

        Returns
        -------
        mne.EpochsArray
            Events named like the classes, metadata with subject and recording: a table, or
            where pandas is not installed, a list of dicts.
        """
        from cadda.data.io.epochs import windows_to_epochs

        return windows_to_epochs(self)

    def to_frame(self) -> Any:
        """Return what is known of each window as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per window: ``class_name``, ``subject`` and ``recording``.
        """
        names = ("class_name", "subject", "recording")
        class_name = np.array(self.class_names)[self.y.numpy()]
        values = zip(class_name, self.subject, self.recording, strict=True)
        return make_frame((dict(zip(names, row, strict=True)) for row in values), names)

    def plot(self, channels: Sequence[str] | None = None) -> Figure:
        """Draw a typical window of each class, and the median spectra of the classes.

        Parameters
        ----------
        channels : sequence of str | None
            Channels to draw; None for the first six.

        Returns
        -------
        matplotlib.figure.Figure
            The picture.
        """
        from cadda.data.channels import find_channels
        from cadda.drawing.signals import plot_windows

        if channels is None:
            return plot_windows(self, range(min(N_DRAWN, self.n_channels)))
        found = find_channels(channels, self.ch_names, "the data")
        return plot_windows(self, [self.ch_names.index(name) for name in found])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the windows as a ``.npz`` file that `read_windows` reads.

        Parameters
        ----------
        path : path-like
            Where to write.
        """
        from cadda.data.io.npz import save_npz

        save_npz(self, path)

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{name} {count}"
            for name, count in zip(self.class_names, self.class_counts(), strict=True)
        )
        n_subjects = len(self.subjects)
        length = (
            f"{self.n_times} samples"
            if self.sfreq is None
            else f"{self.n_times / self.sfreq:.4g} s at {self.sfreq:g} Hz"
        )
        return (
            f"Windows: {len(self)} windows of {self.n_channels} channel"
            f"{'s' if self.n_channels > 1 else ''} × {length}, "
            f"{n_subjects} subject{'s' if n_subjects > 1 else ''}; {counts}"
        )

    def _repr_html_(self) -> str:
        _, subject = np.unique(self.subject, return_inverse=True)
        pairs = np.unique(np.stack([self.y.numpy(), subject]), axis=1)
        n_subjects = np.bincount(pairs[0], minlength=self.n_classes)
        counts = self.class_counts()
        rows = [
            (name, Cell(str(count), count / max(counts)), str(n))
            for name, count, n in zip(self.class_names, counts, n_subjects, strict=True)
        ]
        more = self.n_channels - N_LISTED
        names = ", ".join(self.ch_names[:N_LISTED]) + (f" and {more} more" if more > 0 else "")
        return block(
            repr(self).partition("; ")[0],
            table(("class", "windows", "subjects"), rows),
            paragraph(f"channels: {names}"),
        )


def _check_axes(n_channels: int, n_times: int) -> None:
    """Warn of more channels without names than samples, which may be exchanged."""
    if n_channels > n_times > 1:
        warn_user(
            f"`x` has {n_channels} channels of {n_times} samples: if these are {n_channels} "
            f"samples of {n_times} channels, its axes are exchanged, as they must be (n_windows, "
            "n_channels, n_times); otherwise pass the names of the channels as `ch_names`.",
            DataWarning,
        )
