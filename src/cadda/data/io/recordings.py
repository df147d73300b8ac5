"""The windows of planned recordings, from the cache or from the files."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from cadda._internal.text import describe_paths, storable
from cadda.compute import Engine, open_engine
from cadda.data.io.cache import CachedRecording, SourceFile, cache_key, hash_file, load_entry
from cadda.data.io.cutting import ReadPlan, Recording, cut_recording
from cadda.data.io.losses import Part, warn_of_losses
from cadda.data.io.options import ReadOptions, select_classes
from cadda.data.io.preprocess import Preprocessing
from cadda.data.io.window_store import WindowStore, warn_not_written, write_recording
from cadda.data.quality import Quality, WindowQuality, raise_if_bad, raise_if_rejected
from cadda.data.standardise import Standardise, standardise_as
from cadda.data.windows import Windows
from cadda.exceptions import DataError

__all__ = ["read_recordings"]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class _Prepared:
    """All labelled windows of a recording, in volts, whatever classes are asked for."""

    x: NDArray[np.float32]
    quality: WindowQuality
    sha256: dict[str, str]  # of each file; empty if the windows are not cached


@dataclass(frozen=True)
class _Keys:
    """Names of the entries for one call: of each recording, and of the selection."""

    files: list[tuple[SourceFile, ...]]  # of each recording
    recordings: list[str]
    selection: str
    verify: bool


def read_recordings(plan: ReadPlan, options: ReadOptions) -> tuple[Windows, Quality]:
    """Read recordings as planned; return the good windows, and the quality of all of them."""
    plan = _select_classes(plan, options)
    _check_sampling_rates(plan)
    # A recording in memory may change without notice.
    in_memory = any(recording.raw is not None for recording in plan.recordings)
    is_cached = options.cache and not in_memory and _have_storable_names(plan)
    keys = _keys(plan, options) if is_cached else None
    entry = None if keys is None else load_entry(keys.selection, verify=keys.verify)
    if entry is not None:
        x, y = entry.arrays["x"], entry.arrays["y"]
        qualities = [recording.quality for recording in entry.recordings]
    else:
        x, y, qualities = _read(plan, options, keys)
    warn_of_losses(_parts(plan, qualities), plan.ch_names, options.raise_bad_of)
    overall = Quality.of_all(qualities)
    raise_if_rejected(overall, y, _where(plan))
    counts = [quality.n_good for quality in qualities]
    windows = Windows(
        x,
        y,
        subject=np.repeat([recording.subject for recording in plan.recordings], counts),
        recording=np.repeat([recording.name for recording in plan.recordings], counts),
        sfreq=plan.preprocessing.rate(plan.recordings[0].sfreq),
        ch_names=plan.ch_names,
        class_names=plan.class_names,
        positions=plan.positions,
    )
    return windows, overall


def _where(plan: ReadPlan) -> str:
    """Return what the recordings are called in messages."""
    first = plan.recordings[0]
    if first.raw is not None:
        return type(first.raw).__name__
    return describe_paths([recording.path for recording in plan.recordings])


def _parts(plan: ReadPlan, qualities: Sequence[Quality]) -> list[Part]:
    pairs = zip(plan.recordings, qualities, strict=True)
    return [Part(recording.subject, recording.name, quality) for recording, quality in pairs]


def _select_classes(plan: ReadPlan, options: ReadOptions) -> ReadPlan:
    """Label windows that are not selected with -1; leave out recordings without any other."""
    labels = np.concatenate([recording.labels for recording in plan.recordings])
    class_names, labels = select_classes(
        plan.class_names, labels, options.classes, options.min_windows
    )
    ends = np.cumsum([len(recording.labels) for recording in plan.recordings])[:-1]
    recordings = [
        replace(recording, labels=new)
        for recording, new in zip(plan.recordings, np.split(labels, ends), strict=True)
        if (new >= 0).any()
    ]
    return replace(plan, recordings=recordings, class_names=class_names)


def _check_sampling_rates(plan: ReadPlan) -> None:
    paths = {recording.sfreq: recording.path for recording in plan.recordings}
    if len(paths) > 1 and plan.preprocessing.sfreq is None:
        # Files in several folders can have the same name.
        are_different = len({path.name for path in paths.values()}) == len(paths)
        names = {rate: path.name if are_different else str(path) for rate, path in paths.items()}
        raise DataError(
            "the recordings must have one sampling rate, but "
            + ", ".join(f"{name} has {rate:g} Hz" for rate, name in sorted(names.items()))
            + "; resample them with `sfreq` of the preprocessing."
        )


def _have_storable_names(plan: ReadPlan) -> bool:
    """Check that the cache can tell which files it is made of, by names that are UTF-8."""
    names = (str(path) for recording in plan.recordings for path in recording.all_files)
    odd = next((storable(name) for name in names if name != storable(name)), None)
    if odd is not None:
        _logger.warning("The name of %s is not UTF-8: continuing without the cache.", odd)
    return odd is None


def _keys(plan: ReadPlan, options: ReadOptions) -> _Keys:
    files = [tuple(map(SourceFile.of, recording.all_files)) for recording in plan.recordings]
    settings = [version("mne"), asdict(plan.preprocessing)]
    recordings = [
        cache_key(
            "recording",
            [asdict(file) for file in own],
            recording.picks,
            recording.reference,
            recording.starts.tolist(),
            settings,
            # Without any, entries have the keys that they had before projectors were applied.
            *([recording.projectors] if recording.projectors else []),
        )
        for own, recording in zip(files, plan.recordings, strict=True)
    ]
    labels = [recording.labels.tolist() for recording in plan.recordings]
    selection = cache_key("selection", recordings, labels, options.standardise_signals)
    return _Keys(files, recordings, selection, options.cache == "verify")


def _read(
    plan: ReadPlan, options: ReadOptions, keys: _Keys | None
) -> tuple[NDArray[np.float32], NDArray[np.int64], list[Quality]]:
    """Collect the selected windows of all recordings."""
    total = len(plan.recordings)
    on_progress = options.on_progress or (lambda _done, _total, _name: None)
    n_windows = sum(int((recording.labels >= 0).sum()) for recording in plan.recordings)
    n_times = round(plan.preprocessing.seconds * plan.preprocessing.rate(plan.recordings[0].sfreq))
    shape = (n_windows, len(plan.ch_names), n_times)
    qualities: list[Quality] = []
    with (
        open_engine(options.engine) as workers,
        WindowStore(None if keys is None else keys.selection, shape) as store,
    ):
        prepared = _prepare_all(plan, keys, workers)
        for done, recording in enumerate(plan.recordings):
            on_progress(done, total, recording.name)
            windows = next(prepared)
            x, labels, quality = _select_windows(
                windows, recording.labels, options.standardise_signals
            )
            qualities.append(quality)
            store.append(x, labels, CachedRecording(recording.name, windows.sha256, quality))
        on_progress(total, total, "")
        overall = Quality.of_all(qualities)
        if not overall.n_good:
            raise_if_bad(overall, _where(plan), plan.ch_names)
        changed = keys is not None and _have_changed(*keys.files)
        return *store.finish(keep=not changed), qualities


def _prepare_all(plan: ReadPlan, keys: _Keys | None, workers: Engine) -> Iterator[_Prepared]:
    """Yield the windows of each recording, from the cache or preprocessed and then cached."""
    prepare = partial(_prepare, preprocessing=plan.preprocessing, hashed=keys is not None)

    def start(i: int) -> _Prepared | Future[_Prepared]:
        cached = None if keys is None else _load(keys.recordings[i], verify=keys.verify)
        return cached or workers.submit(prepare, plan.recordings[i])

    # One more than there are workers: none waits, and memory holds a few recordings only.
    waiting = map(start, range(len(plan.recordings)))
    ahead = deque(islice(waiting, workers.n_workers + 1))
    writing = keys
    for i, recording in enumerate(plan.recordings):
        task = ahead.popleft()
        prepared = task if isinstance(task, _Prepared) else task.result()
        # Workers may have come or gone.
        ahead.extend(islice(waiting, max(0, workers.n_workers + 1 - len(ahead))))
        if writing is not None and not isinstance(task, _Prepared):
            try:
                _write(recording, prepared, writing.files[i], writing.recordings[i])
            except OSError as error:
                warn_not_written(error)
                writing = None
        yield prepared


def _prepare(recording: Recording, *, preprocessing: Preprocessing, hashed: bool) -> _Prepared:
    """Filter one recording and cut it into windows, perhaps in another process."""
    x, quality = cut_recording(recording, preprocessing)
    sha256 = {str(path.resolve()): hash_file(path) for path in recording.all_files if hashed}
    return _Prepared(x, quality, sha256)


def _load(key: str, *, verify: bool) -> _Prepared | None:
    entry = load_entry(key, verify=verify)
    if entry is None:
        return None
    arrays = dict(entry.arrays)
    x = arrays.pop("x")
    return _Prepared(x, WindowQuality(**arrays), entry.recordings[0].sha256)


def _write(
    recording: Recording, prepared: _Prepared, files: tuple[SourceFile, ...], key: str
) -> None:
    if _have_changed(files):
        _logger.warning("%s changed while it was read and is not cached.", recording.path)
        return
    cached = CachedRecording(recording.name, prepared.sha256, prepared.quality.summary())
    write_recording(key, prepared.x, prepared.quality.arrays(), cached)


def _have_changed(*files: tuple[SourceFile, ...]) -> bool:
    return any(file.has_changed() for own in files for file in own)


def _select_windows(
    prepared: _Prepared, labels: NDArray[np.int64], standardise: Standardise
) -> tuple[NDArray[np.float32], NDArray[np.int64], Quality]:
    """Return a copy of the good windows with a label, standardised; and the quality of all."""
    selected = labels >= 0
    quality = prepared.quality[selected]
    good = selected & ~prepared.quality.bad & ~prepared.quality.rejected
    x = np.array(prepared.x[good])
    standardise_as(standardise, x)
    return x, labels[good], quality.summary()
