"""The windows of planned recordings, from the cache or from the files."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cadda.compute import open_engine
from cadda.data.classes import choose_classes
from cadda.data.io.cache import CachedWindows, Run, cache_key, load_entry
from cadda.data.io.preprocess import Preprocessing, ReadPlan, Recording
from cadda.data.io.window_store import WindowStore
from cadda.data.io.windowing import cut_recording
from cadda.data.quality import Quality, raise_if_bad
from cadda.data.standardise import Standardise, standardise_as
from cadda.data.windows import Windows
from cadda.exceptions import DataError

__all__ = ["Progress", "read_recordings"]

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the number of recordings done, their total, and the name of the next one."""


def read_recordings(
    plan: ReadPlan,
    *,
    classes: Sequence[str] | None = None,
    min_windows: int | None = None,
    standardise: Standardise = "window",
    cache: bool = True,
    engine: str = "serial",
    on_progress: Progress | None = None,
) -> tuple[Windows, Quality]:
    """Read recordings as planned.

    Parameters
    ----------
    plan : ReadPlan
        What to read.
    classes : sequence of str | None
        Names of the classes to take, in the order wanted; None takes all.
    min_windows : int | None
        Classes with fewer windows are left out; None refuses a class without any.
    standardise : "window" | "recording" | None
        What gets mean 0 and standard deviation 1.
    cache : bool
        Whether to look in the cache, and to put the windows there.
    engine : str
        Where recordings are preprocessed; the result is the same everywhere.
    on_progress : callable | None
        Called before each recording, and once at the end.

    Returns
    -------
    windows : Windows
        The windows without bad ones.
    quality : Quality
        What is known of all of them.
    """
    plan = _with_classes(plan, classes, min_windows)
    rates = {one.sfreq: one.path.name for one in plan.recordings}
    if len(rates) > 1 and plan.preprocessing.sfreq is None:
        raise DataError(
            "the recordings must have one sampling rate, but "
            + ", ".join(f"{name} has {rate:g} Hz" for rate, name in sorted(rates.items()))
            + "; resample them with `sfreq` of the preprocessing."
        )
    key = _key(plan, standardise) if cache else None
    entry = None if key is None else load_entry(key)
    if entry is None:
        entry = _read(plan, standardise, key, engine, on_progress or _ignore)
    counts = [run.quality.n_good for run in entry.runs]
    windows = Windows(
        entry.x,
        entry.y,
        subject=np.repeat([run.subject for run in entry.runs], counts),
        recording=np.repeat([run.recording for run in entry.runs], counts),
        sfreq=plan.preprocessing.rate(plan.recordings[0].sfreq),
        ch_names=plan.ch_names,
        class_names=plan.class_names,
    )
    return windows, Quality.of_all([run.quality for run in entry.runs])


def _with_classes(
    plan: ReadPlan, classes: Sequence[str] | None, min_windows: int | None
) -> ReadPlan:
    """Leave out classes before any signal is read."""
    labels = np.concatenate([one.labels for one in plan.recordings])
    class_names, labels = choose_classes(plan.class_names, labels, classes, min_windows)
    ends = np.cumsum([len(one.labels) for one in plan.recordings])[:-1]
    recordings = [
        replace(one, starts=one.starts[new >= 0], labels=new[new >= 0])
        for one, new in zip(plan.recordings, np.split(labels, ends), strict=True)
    ]
    recordings = [one for one in recordings if len(one.starts)]
    return replace(plan, recordings=recordings, class_names=class_names)


def _key(plan: ReadPlan, standardise: Standardise) -> str:
    parameters = {
        "mne": version("mne"),
        "preprocessing": asdict(plan.preprocessing),
        "standardise": standardise,
        "recordings": [
            [one.picks, one.starts.tolist(), one.labels.tolist(), one.subject, one.name]
            for one in plan.recordings
        ],
    }
    return cache_key([one.path for one in plan.recordings], parameters)


def _read(
    plan: ReadPlan, standardise: Standardise, key: str | None, engine: str, on_progress: Progress
) -> CachedWindows:
    """Read every recording, into the cache if there is a key."""
    total = len(plan.recordings)
    runs: list[Run] = []
    n_windows = sum(len(one.starts) for one in plan.recordings)
    n_times = round(plan.preprocessing.seconds * plan.preprocessing.rate(plan.recordings[0].sfreq))
    shape = (n_windows, len(plan.ch_names), n_times)
    with open_engine(engine) as workers, WindowStore(key, shape) as store:
        prepare = partial(_prepare, preprocessing=plan.preprocessing, standardise=standardise)
        # A few more than there are workers: nobody waits, and memory holds a few nights only.
        waiting = iter(plan.recordings)
        ahead = deque(
            workers.submit(prepare, one) for one in islice(waiting, workers.n_workers + 1)
        )
        for done, recording in enumerate(plan.recordings):
            on_progress(done, total, recording.name)
            x, labels, quality = ahead.popleft().result()
            ahead.extend(workers.submit(prepare, one) for one in islice(waiting, 1))
            runs.append(Run(recording.subject, recording.name, quality))
            store.append(x, labels, runs[-1])
        on_progress(total, total, "")
        overall = Quality.of_all([run.quality for run in runs])
        if not overall.n_good:
            raise_if_bad(overall, str(plan.recordings[0].path.parent))
        return store.finish()


def _prepare(
    recording: Recording, *, preprocessing: Preprocessing, standardise: Standardise
) -> tuple[NDArray[np.float32], NDArray[np.int64], Quality]:
    """Cut one recording into windows without the bad ones, perhaps in another process."""
    x, flaws = cut_recording(recording, preprocessing)
    labels = recording.labels
    if flaws.bad.any():
        x, labels = x[~flaws.bad], labels[~flaws.bad]
    standardise_as(standardise, x)
    return x, labels, flaws.quality()


def _ignore(_done: int, _total: int, _name: str) -> None:
    """Tell nobody."""
