"""What to read: the options of `read_windows`, and the channels and classes that they select."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cadda._internal.rows import Signals
from cadda._internal.text import did_you_mean
from cadda._internal.validation import check_class_name
from cadda.compute import check_engine
from cadda.data.channels import find_channels
from cadda.data.checks import check_names, plain_names
from cadda.data.io.mapping import check_class_source, match_class
from cadda.data.io.preprocess import Preprocessing
from cadda.data.standardise import Standardise
from cadda.data.windows import Windows
from cadda.exceptions import DataError

__all__ = [
    "CacheUse",
    "Progress",
    "ReadOptions",
    "Selection",
    "argument_of",
    "check_classes",
    "given_settings",
    "map_classes",
    "select",
    "select_classes",
]

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the number of recordings done, their total, and the name of the next one."""

CacheUse: TypeAlias = bool | Literal["verify"]
"""Whether to use the cache, and whether to compare the content of the files with it."""


ARGUMENT_OF = {"seconds": "window_seconds", "baseline": "baseline_seconds"}
"""Arguments with another name than the setting of `Preprocessing`; commands have others so."""


def given_settings(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the preprocessing that are not ``"auto"``, after a check."""
    names = {argument: name for name, argument in ARGUMENT_OF.items()}
    given = {
        names.get(argument, argument): value
        for argument, value in arguments.items()
        if not (isinstance(value, str) and value == "auto")
    }
    try:
        checked = Preprocessing(**given)
    except ValueError as error:
        text = re.sub(r"`(\w+)`", lambda found: f"`{argument_of(found[1])}`", str(error))
        raise ValueError(text) from error
    return {name: getattr(checked, name) for name in given}


def argument_of(setting: str) -> str:
    """Return the argument of `read_windows` for a setting of `Preprocessing`."""
    return ARGUMENT_OF.get(setting, setting)


@dataclass(frozen=True)
class ReadOptions:
    """The options of `read_windows`, where they are documented."""

    subject: str | Sequence[str] | None = None
    channels: Sequence[str] | None = None
    classes: Sequence[str] | None = None
    min_windows: int | None = None
    standardise: Standardise | Literal["auto"] = "auto"
    preprocessing: Preprocessing | None = None
    cache: CacheUse = True
    engine: str = "serial"
    on_progress: Progress | None = None
    label: str | None = None
    keep_stage_4: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the preprocessing, if given
    class_from: str | None = None
    class_map: Mapping[str, str] | None = None
    within: Sequence[str] | None = None
    repeat: bool | None = None
    participants: str | None = None
    raise_bad_of: str | None = None  # name of the source, if bad windows are an error

    def __post_init__(self) -> None:
        if self.standardise not in ("auto", "window", "recording", None):
            raise ValueError(
                "`standardise` must be 'auto', 'window', 'recording' or None, "
                f"got {self.standardise!r}."
            )
        if self.min_windows is not None and self.min_windows < 0:
            raise ValueError(f"`min_windows` must be 0 or more, or None, got {self.min_windows}.")
        if self.cache not in (True, False, "verify"):
            raise ValueError(f"`cache` must be True, False or 'verify', got {self.cache!r}.")
        check_engine(self.engine)
        for name in ("channels", "classes"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"`{name}` must be a list of names, got {getattr(self, name)!r}.")
        if self.channels is not None and not len(self.channels):
            raise ValueError("`channels` must name at least one channel, got none.")
        self._check_rules()

    def _check_rules(self) -> None:
        """Raise if an option that assigns classes is not what a mapping file may say."""
        if self.class_from is not None:
            try:
                check_class_source(self.class_from)
            except ValueError as error:
                raise ValueError(f"`class_from` {error}, got {self.class_from!r}.") from error
        if isinstance(self.within, str) or (self.within is not None and not len(self.within)):
            raise ValueError(
                f"`within` must be a list of at least one annotation, got {self.within!r}."
            )
        if self.class_map is not None:
            _check_class_map(self.class_map)

    @property
    def subject_rule(self) -> str | None:
        """Column of the metadata, or regular expression, that tells the subjects."""
        return self.subject if isinstance(self.subject, str) else None

    def subject_names(self, n_sources: int, kind: str) -> list[str | None]:
        """Return the subject of each source if `subject` lists them; raise if some are missing."""
        if self.subject is None or isinstance(self.subject, str):
            return [None] * n_sources
        if len(self.subject) != n_sources:
            raise ValueError(
                f"`subject` must list one name per source, {n_sources} for {n_sources} {kind}, "
                f"got {len(self.subject)}; for the subject of each window, name a column of the "
                "metadata of epochs, or make `Windows` of arrays."
            )
        return list(plain_names(np.array(self.subject, dtype=object)).tolist())

    @property
    def recording_rules(self) -> dict[str, Any]:
        """Keys of a mapping file of recordings that are given as options."""
        given = {
            "subject": self.subject_rule,
            "class_from": self.class_from,
            "classes": None if self.class_map is None else dict(self.class_map),
            "within": None if self.within is None else list(self.within),
            "repeat": self.repeat,
            "participants": self.participants,
        }
        return {key: value for key, value in given.items() if value is not None}

    @property
    def metadata_column(self) -> str | None:
        """Column of the metadata that `class_from` names."""
        source, _, column = (self.class_from or "").partition(":")
        return column if source == "metadata" else None

    def refuse_rules(self, reason: str, *names: str) -> None:
        """Raise if one of the options that assign classes to recordings is given."""
        for name in names or ("class_from", "within", "repeat", "participants"):
            value = getattr(self, name)
            if value is not None:
                raise ValueError(f"`{name}` {reason}, got {value!r}.")

    def check_for_recordings(self, *, are_stages: bool) -> None:
        """Raise for options that recordings have no use for."""
        if self.label is not None:
            raise ValueError(
                f"`label` is for epochs, got {self.label!r}; set `class_from` to what names the "
                "class of recordings."
            )
        if self.keep_stage_4 and not are_stages:
            raise ValueError(
                "`keep_stage_4` is for sleep stages, and the classes of these recordings are "
                "others; leave it out."
            )

    def for_epochs(self) -> ReadOptions:
        """Return the options of epochs, where `class_from` can name a column of the metadata."""
        self.refuse_rules(
            "is for recordings; epochs are windows already", "within", "repeat", "participants"
        )
        if self.class_from is None:
            return self
        if self.metadata_column is None:
            raise ValueError(
                f"`class_from` must be 'metadata:COLUMN' for epochs, got {self.class_from!r}; "
                "without it, events are the classes."
            )
        if self.label not in (None, self.metadata_column):
            raise ValueError(
                f"pass `label` or `class_from`, not both: got {self.label!r} and "
                f"{self.class_from!r}."
            )
        return replace(self, label=self.metadata_column)

    @property
    def given_seconds(self) -> float | None:
        """Length of a window, or None if that is left to the source."""
        given = self.settings.get("seconds")
        return given if self.preprocessing is None else self.preprocessing.seconds

    def preprocess(self, default: Preprocessing) -> Preprocessing:
        """Return the preprocessing: that of the source, unless another is given."""
        return replace(self.preprocessing or default, **self.settings)

    @property
    def standardise_signals(self) -> Standardise:
        """How to standardise signals in their original unit."""
        return "window" if self.standardise == "auto" else self.standardise

    @property
    def standardise_windows(self) -> Standardise:
        """How to standardise `Windows`."""
        return None if self.standardise == "auto" else self.standardise


@dataclass(frozen=True, eq=False)
class Selection:
    """The selected channels, windows and classes."""

    rows: list[int]  # indices of the channels
    ch_names: tuple[str, ...]
    kept: NDArray[np.int64]  # indices of the windows
    labels: NDArray[np.int64]  # of the windows kept, indices into the new names
    class_names: tuple[str, ...]

    def take(self, windows: Windows, x: ArrayLike | Signals) -> Windows:
        """Make windows of `x`, the selected signals, and what else is selected."""
        positions = windows.positions
        taken = Windows(
            x,
            self.labels,
            subject=windows.subject[self.kept],
            recording=windows.recording[self.kept],
            sfreq=windows.sfreq,
            ch_names=self.ch_names,
            class_names=self.class_names,
            positions=None if positions is None else positions[self.rows],
        )
        taken.filters = windows.filters
        return taken


def select(windows: Windows, options: ReadOptions, where: str) -> Selection:
    """Select channels, classes and the windows of these classes; None selects all."""
    present = windows.ch_names
    wanted = tuple(present if options.channels is None else options.channels)
    rows = [present.index(name) for name in find_channels(wanted, present, where)]
    chosen, labels = windows.class_names, windows.y.numpy()
    if options.class_map is not None:
        chosen, labels = map_classes(chosen, labels, options.class_map, where)
    # Without a selection, classes may have no windows.
    mapped = options.class_map is not None
    if mapped or options.classes is not None or options.min_windows is not None:
        chosen, labels = select_classes(chosen, labels, options.classes, options.min_windows)
    kept = np.flatnonzero(labels >= 0)
    return Selection(rows, wanted, kept, labels[kept], chosen)


def map_classes(
    names: Sequence[str], labels: NDArray[np.int64], class_map: Mapping[str, str], where: str
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return new classes and labels, -1 for a class that no pattern matches."""
    matched = [match_class(name, class_map) for name in names]
    new_names = tuple(dict.fromkeys(class_map.values()))
    if not any(matched):
        raise DataError(
            f"`class_map` must match a class, but {where} has {list(names)}, and its patterns are "
            f"{list(class_map)}."
        )
    # The last entry is where -1 points to.
    new = np.array([-1 if name is None else new_names.index(name) for name in (*matched, None)])
    return new_names, new[labels]


def _check_class_map(class_map: Mapping[str, str]) -> None:
    """Raise if names of classes cannot be such."""
    if not isinstance(class_map, Mapping) or not class_map:
        raise ValueError(
            "`class_map` must assign at least one pattern to a class, such as {'left/*': 'left'}, "
            f"got {class_map!r}."
        )
    for pattern, name in class_map.items():
        if not isinstance(pattern, str) or not isinstance(name, str):
            raise TypeError(f"`class_map` must be texts, got {pattern!r}: {name!r}.")
        try:
            check_class_name(name)
        except ValueError as error:
            raise ValueError(f"`class_map`: {error}") from error


def check_classes(classes: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Raise unless the selected classes are among those that there are; return them."""
    selected = check_names("classes", classes)
    for name in selected:
        if name not in names:
            raise ValueError(
                f"`classes` must be among {list(names)}, got {name!r}{did_you_mean(name, names)}."
            )
    return selected


def select_classes(
    names: Sequence[str],
    labels: NDArray[np.int64],
    classes: Sequence[str] | None,
    min_windows: int | None,
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the names of the selected classes and new labels, -1 where a window is left out.

    A class with fewer than `min_windows` windows is left out; a class without any is an error
    unless `min_windows` is given. Labels are indices into the names, -1 for no class.
    """
    chosen = list(names if classes is None else check_classes(classes, names))
    counts = np.bincount(labels[labels >= 0], minlength=len(names))
    count_of = {name: int(counts[names.index(name)]) for name in chosen}
    empty = [name for name in chosen if not count_of[name]]
    if min_windows is None and empty:
        raise DataError(
            f"no window of {', '.join(map(repr, empty))}; leave out classes without windows with "
            "`min_windows`=1, or select others with `classes`."
        )
    chosen = [name for name in chosen if count_of[name] >= (min_windows or 0)]
    if sum(count_of[name] > 0 for name in chosen) < 2:
        raise DataError(
            "at least two classes must have "
            f"{f'{min_windows} windows or more' if min_windows else 'windows'}, got "
            f"{', '.join(f'{count} of {name!r}' for name, count in count_of.items())}."
        )
    # The last entry is where -1 points to.
    new = np.full(len(names) + 1, -1, dtype=np.int64)
    new[[names.index(name) for name in chosen]] = np.arange(len(chosen))
    return tuple(chosen), new[labels]
