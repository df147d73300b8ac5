"""The formats that cadda reads: a healthy example of each, its files, and who reads it."""

from __future__ import annotations

import gzip
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from eeg_files import write_cnt, write_gdf, write_mff
from tiny_commands import Command, tiny_windows

from cadda import PolicySpec, load_model, read_windows
from cadda.data.datasets.mnist import read_mnist
from cadda.data.io import cache
from cadda.experiments.folder import StudyFolder
from cadda.experiments.registry import find_study
from cadda.experiments.run import draw_study
from cadda.experiments.study import make_config, read_toml
from cadda.models.registry import make_model
from cadda.models.serialization import ModelDescription, save_model
from cadda.policies.schedule import PolicySchedule, Segment, load_policy
from cadda.policies.spec.yaml import to_yaml
from cadda.probing.probe_result import ProbeResult
from cadda.runs.report import write_report
from cadda.searchers.trials.optuna_store import Sampling, StudyMemory
from cadda.searchers.trials.protocol import Outcome

POLICY = """[left]
w=0.5: time_reverse p=0.5 > time_mask p=0.2 m=0.4
w=2: sign_flip p=1

[right]
none
"""
MAPPED = """[left]
time_reverse p=0.5 -> {left: right, right: left} > frequency_shift p=0.3 m=0.1..0.4 max_shift=3

[right]
sign_flip p=0.5 | time_mask p=0.1 m=0.2 w=3
"""
STUDY = "search-race"
CHOICES: dict[str, Any] = {
    "operation": ("a", "b"),
    "probability": tuple(k / 10 for k in range(1, 11)),
    "count": tuple(range(1, 6)),
}


@dataclass(frozen=True)
class Format:
    """A kind of input."""

    name: str
    share: int
    """Files of a thousand."""

    make: Callable[[Path], Path]
    """Writes a healthy example into an empty folder, and returns what `read` gets."""

    files: tuple[str, ...]
    """Patterns of the files to damage, below the folder."""

    read: Callable[[Path], object]
    """Reads it as a user would."""

    names_file: bool = False
    """Whether a message must name the file that was damaged, one of many."""


def make_raw() -> Any:
    """Make thirty seconds of two channels with events of two kinds."""
    import mne

    rng = np.random.default_rng(0)
    info = mne.create_info(["C3", "C4", "STI"], 100.0, ["eeg", "eeg", "stim"])
    signals = 2e-5 * rng.standard_normal((3, 3000))
    signals[2] = 0
    raw = mne.io.RawArray(signals, info, verbose="error")
    onsets = [1.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0]
    texts = ["left", "right", "left", "right", "left", "right", "bad"]
    raw.set_annotations(mne.Annotations(onsets, 2.0, texts))
    return raw


def _recording(folder: Path, name: str) -> Path:
    import mne

    path, raw = folder / name, make_raw()
    if ".fif" in name:
        raw.save(path, overwrite=True, verbose="error")
    else:
        mne.export.export_raw(path, raw.drop_channels("STI"), overwrite=True, verbose="error")
    return path


def _written(folder: Path, suffix: str) -> Path:
    """Write a recording in a format that MNE reads only."""
    writers = {".gdf": write_gdf, ".cnt": write_cnt, ".mff": write_mff}
    signals = 20 * np.random.default_rng(0).standard_normal((2, 3000))
    events = [(100 + 400 * i, ("769", "770")[i % 2]) for i in range(6)]
    return writers[suffix](folder / f"a{suffix}", signals, ["C3", "C4"], 100, events)


def _epochs(folder: Path, name: str) -> Path:
    import mne

    raw = make_raw()
    events, ids = mne.events_from_annotations(raw, regexp="left|right", verbose="error")
    epochs = mne.Epochs(raw, events, ids, 0, 1, baseline=None, preload=True, verbose="error")
    path = folder / name
    if path.suffix == ".set":
        epochs.drop_channels("STI").export(path, overwrite=True, verbose="error")
    else:
        epochs.save(path, overwrite=True, verbose="error")
    return path


def _bdf(folder: Path) -> Path:
    """Write a BDF file by hand: two channels of 24 bits and a status channel."""
    n_channels, n_records, size = 3, 10, 100
    head = b"\xffBIOSEMI" + b" " * 160 + b"01.01.2001.00.00"
    head += str(256 * (n_channels + 1)).ljust(8).encode() + b"24BIT".ljust(44)
    head += str(n_records).ljust(8).encode() + b"1".ljust(8) + str(n_channels).ljust(4).encode()
    rows = [
        [b"C3", b"C4", b"Status"],
        [b""] * 3,
        [b"uV", b"uV", b"Boolean"],
        [b"-262144"] * 2 + [b"-8388608"],
        [b"262143"] * 2 + [b"8388607"],
        [b"-8388608"] * 3,
        [b"8388607"] * 3,
        [b""] * 3,
        [str(size).encode()] * 3,
        [b""] * 3,
    ]
    for width, row in zip([16, 80, 8, 8, 8, 8, 8, 80, 8, 32], rows, strict=True):
        head += b"".join(cell.ljust(width) for cell in row)
    rng = np.random.default_rng(0)
    body = b""
    for record in range(n_records):
        values = rng.integers(-1000, 1000, (2, size))
        status = np.where(np.arange(size) < 50, 1 + record % 2, 0)
        for value in np.concatenate([*values, status]).tolist():
            body += struct.pack("<i", value)[:3]
    path = folder / "recording.bdf"
    path.write_bytes(head + body)
    return path


def _night(folder: Path) -> Path:
    import edfio

    rng = np.random.default_rng(0)
    stages = ["W", "1", "2", "3", "R", "2"]
    channels = [
        edfio.EdfSignal(
            20 * rng.standard_normal(100 * 30 * len(stages)),
            100.0,
            label=label,
            physical_dimension="uV",
            physical_range=(-300, 300),
        )
        for label in ("EEG Fpz-Cz", "EEG Pz-Oz")
    ]
    edfio.Edf(channels).write(folder / "SC4001E0-PSG.edf")
    notes = [edfio.EdfAnnotation(30.0 * i, 30.0, f"Sleep stage {s}") for i, s in enumerate(stages)]
    edfio.Edf([], annotations=notes).write(folder / "SC4001EC-Hypnogram.edf")
    return folder


def _mapping(folder: Path) -> Path:
    _recording(folder, "s1_a.edf")
    path = folder / "mapping.toml"
    path.write_text(
        'seconds = 1.0\nlowpass = 30.0\nsfreq = 80.0\noffset = 0.5\nsubject = "(s[0-9]+)_"\n'
        'files = ["*.edf"]\nchannels = ["C3"]\nrepeat = true\nnotch = [20.0]\n\n'
        '[classes]\n"left*" = "L"\nright = "R"\n'
    )
    return path


def _participants(folder: Path) -> Path:
    for name in ("sub-1_a.edf", "sub-2_a.edf"):
        _recording(folder, name)
    (folder / "participants.tsv").write_text(
        "participant_id\tgroup\nsub-1\tpatient\nsub-2\tcontrol\n"
    )
    path = folder / "mapping.toml"
    path.write_text(
        'seconds = 2.0\nclass_from = "participants:group"\n\n'
        '[classes]\npatient = "P"\ncontrol = "C"\n'
    )
    return path


def _bids(folder: Path) -> Path:
    import mne_bids

    raw = make_raw().drop_channels("STI")
    raw.info["line_freq"] = 50
    place = mne_bids.BIDSPath(subject="01", task="motor", datatype="eeg", root=folder)
    mne_bids.write_raw_bids(
        raw, place, format="BrainVision", allow_preload=True, overwrite=True, verbose="error"
    )
    return folder


def _mnist(folder: Path, *, packed: bool) -> Path:
    rng = np.random.default_rng(0)
    for part in ("train", "t10k"):
        images = struct.pack(">4I", 0x803, 20, 28, 28) + rng.bytes(20 * 28 * 28)
        labels = struct.pack(">2I", 0x801, 20) + bytes(range(10)) * 2
        for kind, content in (("images-idx3", images), ("labels-idx1", labels)):
            path = folder / f"{part}-{kind}-ubyte{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(content, 1) if packed else content)
    return folder


def _windows(folder: Path) -> Path:
    path = folder / "windows.npz"
    tiny_windows().save(path)
    return path


def _arrays(folder: Path) -> Path:
    windows = tiny_windows()
    np.savez(
        folder / "arrays.npz",
        x=windows.x.numpy(),
        y=windows.y.numpy(),
        subject=windows.subject,
        sfreq=100.0,
        ch_names=["C3", "C4"],
        positions=np.zeros((2, 3)),
    )
    return folder / "arrays.npz"


def _policy(folder: Path, name: str, text: str = MAPPED) -> Path:
    path, spec = folder / name, PolicySpec.from_text(text)
    texts = {".txt": text, ".yaml": to_yaml(spec)}
    path.write_text(texts.get(path.suffix, spec.to_json()))
    return path


def _schedule(folder: Path) -> Path:
    path, spec = folder / "schedule.json", PolicySpec.from_text(POLICY)
    PolicySchedule((Segment(3, spec), Segment(2, PolicySpec.none()))).save(path)
    return path


def _model(folder: Path) -> Path:
    path = folder / "model.safetensors"
    model = make_model("chambon2018", n_channels=2, n_times=300, n_classes=2, sfreq=100.0, seed=0)
    description = ModelDescription("chambon2018", 2, 300, 100.0, ("C3", "C4"), ("soft", "loud"))
    save_model(model, description, path)
    return path


def _run(folder: Path, name: str) -> Path:
    """Run a command to its end."""
    data = folder / "windows.npz"
    tiny_windows().save(data)
    command = Command(name, data, folder)
    command.start()
    return command.out


def _unfinished(folder: Path) -> Path:
    """Write the checkpoint of a training run."""
    path = folder / "checkpoint.pt"
    _train(path, epochs=1)
    return path


def _train(path: Path, epochs: int = 2) -> object:
    from cadda import fit

    windows = tiny_windows()
    train, valid, _ = windows.split(seed=0)

    def stop(event: object) -> None:
        if getattr(event, "epoch", 0) >= epochs:
            raise KeyboardInterrupt

    try:
        return fit(
            train,
            valid,
            model="shallow",
            max_epochs=2,
            checkpoint=path,
            progress=False,
            device="cpu",
            on_event=stop if epochs < 2 else None,
        )
    except KeyboardInterrupt:
        return None


def _trials(folder: Path) -> Path:
    path = folder / "study.log"
    memory = StudyMemory(path, "search", CHOICES, resume=False)
    sampling = Sampling(memory, "tpe", multivariate=False, trials_at_once=1)
    for number in range(3):
        values = sampling.propose(number)
        memory.begin(values)
        outcome = Outcome(0.5 - number / 10, None, 1.0)
        memory.finish(number, outcome)
        sampling.tell(number, outcome)
    return path


def _read_trials(path: Path) -> object:
    memory = StudyMemory(path, "search", CHOICES, resume=True)
    sampling = Sampling(memory, "tpe", multivariate=False, trials_at_once=1)
    return memory.outcomes, sampling.propose(1)


def _settings(folder: Path) -> Path:
    path = folder / "settings.toml"
    path.write_text(
        'seed = 3\nn_subjects = 4\nn_windows = 12\nmethods = ["adda", "randaugment"]\n'
        "stops = [0.1, 0.2]\nn_folds = 2\nvalid = 0.2\ntest = 0.2\ncopies = 1\n"
        'max_epochs = 3\nbatch_size = 16\nlr = 0.001\nmodel = "shallow"\n'
    )
    return path


def _read_settings(path: Path) -> object:
    return make_config(find_study(STUDY), "quick", read_toml(path))


def _probe(folder: Path) -> Path:
    return _run(folder, "probe") / "probe.json"


def _read_probe(path: Path) -> object:
    result = ProbeResult.load(path)
    return str(result), result.facts


def _cached(folder: Path) -> Path:
    os.environ["CADDA_CACHE"] = str(folder / "cache")
    read_windows(_recording(folder, "recording.edf"), window_seconds=1.0)
    return folder / "cache"


def _read_cached(folder: Path) -> object:
    os.environ["CADDA_CACHE"] = str(folder)
    found = [cache.load_entry(entry.key) for entry in cache.cache_entries()]
    read_windows(folder.parent / "recording.edf", window_seconds=1.0)
    return found


def _read_policy(path: Path) -> object:
    policy = load_policy(path)
    return str(policy), policy.to_json()


def _read_recording(path: Path) -> object:
    windows = read_windows(path, window_seconds=1.0, cache=False, on_bad="drop")
    return repr(windows), windows.x.sum()


def _read_windows(path: Path) -> object:
    windows = read_windows(path, on_bad="drop", cache=False)
    return repr(windows), windows._repr_html_()


def _read_study(folder: Path) -> object:
    return draw_study(StudyFolder(folder).read_study(), folder).report


def _load_model(path: Path) -> object:
    return load_model(path)


def _run_format(name: str, share: int, command: str) -> Format:
    files = ("out/*.json", "out/*.jsonl", "out/*.npz", "out/policy.txt")
    make = partial(_run, name=command)
    return Format(name, share, make, files, write_report, names_file=True)


FORMATS = [
    Format("windows.npz", 110, _windows, ("*.npz",), _read_windows),
    Format("arrays.npz", 60, _arrays, ("*.npz",), _read_windows),
    Format("EDF", 60, partial(_recording, name="a.edf"), ("*.edf",), _read_recording),
    Format("BDF", 30, _bdf, ("*.bdf",), _read_recording),
    Format("FIF", 50, partial(_recording, name="a_raw.fif"), ("*.fif",), _read_recording),
    Format("FIF.gz", 25, partial(_recording, name="a_raw.fif.gz"), ("*.gz",), _read_recording),
    Format("epochs FIF", 50, partial(_epochs, name="a-epo.fif"), ("*.fif",), _read_windows),
    Format("BrainVision", 40, partial(_recording, name="a.vhdr"), ("a.*",), _read_recording),
    Format("EEGLAB", 30, partial(_recording, name="a.set"), ("*.set",), _read_recording),
    Format("EEGLAB epochs", 20, partial(_epochs, name="a.set"), ("*.set",), _read_windows),
    Format("GDF", 25, partial(_written, suffix=".gdf"), ("*.gdf",), _read_recording),
    Format("Neuroscan", 25, partial(_written, suffix=".cnt"), ("*.cnt",), _read_recording),
    Format("EGI", 25, partial(_written, suffix=".mff"), ("a.mff/*",), _read_recording),
    Format("hypnogram", 40, _night, ("*.edf",), _read_windows),
    Format("mapping", 60, _mapping, ("*.toml",), _read_windows),
    Format("participants", 20, _participants, ("*.tsv",), _read_windows),
    Format("BIDS", 15, _bids, ("*.json", "**/*.tsv", "**/*.json"), _read_recording),
    Format("idx", 30, partial(_mnist, packed=False), ("*-ubyte",), read_mnist),
    Format("idx.gz", 20, partial(_mnist, packed=True), ("*.gz",), read_mnist),
    Format("policy.json", 60, partial(_policy, name="policy.json"), ("*.json",), _read_policy),
    Format("policy.txt", 60, partial(_policy, name="policy.txt"), ("*.txt",), _read_policy),
    Format("policy.yaml", 25, partial(_policy, name="policy.yaml"), ("*.yaml",), _read_policy),
    Format("schedule.json", 40, _schedule, ("*.json",), _read_policy),
    Format("probe.json", 30, _probe, ("out/probe.json",), _read_probe),
    Format("cache", 20, _cached, ("cache/*/*",), _read_cached),
    Format("model", 30, _model, ("*.safetensors",), _load_model),
    Format("checkpoint", 30, _unfinished, ("*.pt",), _train),
    Format("study.log", 30, _trials, ("*.log",), _read_trials),
    Format("settings.toml", 30, _settings, ("*.toml",), _read_settings),
    _run_format("training run", 60, "train"),
    _run_format("search run", 70, "adda"),
    _run_format("race run", 60, "auto"),
    Format(
        "study",
        20,
        partial(_run, name="compare"),
        ("out/*.json*", "out/*.toml"),
        _read_study,
        names_file=True,
    ),
]
"""All formats; the shares add up to about a thousand."""
