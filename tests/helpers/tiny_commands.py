"""Commands on a few windows that write everything a long one writes, in a second or less."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
from commands import Finished, run

from cadda import Windows

DATA = ("{data}", "--model", "shallow", "--out", "{out}")
FEW = ("--operations", "sign_flip,time_reverse,channel_dropout")
SPLIT = ("--valid", "0.3", "--test", "0.3")
SEARCH = ("search", *DATA, *FEW, *SPLIT, "--max-epochs", "1", "--engine", "serial")
SIMULATE = ("data", "simulate", "sleep", "--subjects", "1", "--windows", "10")

COMMANDS: dict[str, tuple[str, ...]] = {
    "train": ("train", *DATA, "--max-epochs", "2", "--policy", "{policy}"),
    "folds": ("train", *DATA, "--max-epochs", "1", "--folds", "2"),
    "probe": ("probe", *DATA, *FEW, "--folds", "2", "--epochs", "1", "--draws", "1"),
    "randaugment": (*SEARCH, "--method", "randaugment", "--budget", "2"),
    "adda": (*SEARCH, "--method", "adda", "--budget", "2", "--retrain-every", "1"),
    "seeds": (*SEARCH, "--method", "adda", "--budget", "1", "--seeds", "2", "--no-baseline"),
    "population": (
        *(*SEARCH, "--method", "population", "--budget", "4"),
        *("--set", "n_members=2", "--set", "segment_epochs=1"),
    ),
    "auto": (*SEARCH, "--method", "auto", "--budget", "24", "--no-baseline"),
    "compare": ("compare", *DATA, *FEW, "--methods", "none,{policy}", "--folds", "2"),
    "study": ("experiment", "run", "frequency-shift", "--scale", "quick", "--out", "{out}"),
    "report": ("report", "{out}"),
    "simplify": ("policy", "simplify", "{policy}", "--out", "{out}.json"),
    "cap": ("policy", "cap", "{policy}", "--out", "{out}.json"),
    "simulate": (*SIMULATE, "{out}.npz", "--overwrite"),
    "nights": (*SIMULATE, "{out}", "--format", "edf", "--overwrite"),
}
"""Arguments of all commands that write files."""

MIN_OPERATIONS = dict.fromkeys(COMMANDS, 31) | {
    **{"report": 6, "simplify": 6, "cap": 6, "nights": 13},
}
"""Operations on files that a command has at least, so that none is overlooked."""

CHANGING = re.compile(r"seconds|^made$|^started$|^crc32$")
"""Keys of values that differ between two runs."""

NO_RESULT = {"sessions.json", "report.html", "checkpoint.pt", "population.pt"}
"""Files with durations and dates, or that are no result."""


def tiny_windows() -> Windows:
    """Two classes of noise, one of them louder, from eight subjects."""
    y = np.tile([0, 1], 32)
    x = np.random.default_rng(0).standard_normal((64, 2, 100))
    return Windows(
        x * (1 + y)[:, None, None],
        y,
        subject=np.repeat(list("abcdefgh"), 8),
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=["soft", "loud"],
    )


class Command:
    """A command on a few windows, whose results are below a folder."""

    def __init__(self, name: str, data: Path, root: Path) -> None:
        self.name, self.root, self.out = name, root, root / "out"
        self._finished = data.parent / "finished"
        policy = data.parent / "policy.txt"
        policy.write_text("time_reverse p=0.5\n")
        names = {"data": data, "out": self.out, "policy": policy}
        self.arguments = [word.format(**names) for word in COMMANDS[name]]
        if name == "report":
            self._make_run(data)
            self.clear()

    def _make_run(self, data: Path) -> None:
        """Train once for all reports."""
        if not self._finished.exists():
            Command("train", data, self._finished).start()

    def clear(self) -> None:
        """Remove all that the command has written."""
        for path in self.root.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if self.name == "report":
            shutil.copytree(self._finished, self.root, dirs_exist_ok=True)

    def start(self, code: int = 0) -> Finished:
        """Run the command."""
        return run(*self.arguments, code=code)

    def resume(self) -> None:
        """Run it once more as a user would after an interruption."""
        run(*self.arguments)

    def results(self) -> dict[str, object]:
        """Return the content of each file, without what differs between two runs."""
        files = [path for path in sorted(self.root.rglob("*")) if path.is_file()]
        return {str(path.relative_to(self.root)): self._content(path) for path in files}

    def _content(self, path: Path) -> object:
        if self.name == "report":
            return path.read_bytes()
        if path.name in NO_RESULT or path.suffix == ".log":
            return None
        if path.suffix == ".jsonl":
            return [_without_changing(json.loads(line)) for line in path.read_text().splitlines()]
        if path.suffix == ".json":
            return _without_changing(json.loads(path.read_text()))
        return path.read_bytes()


def _without_changing(value: object) -> object:
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if not CHANGING.search(key)}
        return {key: _without_changing(item) for key, item in kept.items()}
    if isinstance(value, list):
        return list(map(_without_changing, value))
    # NaN is not equal to itself.
    return repr(value)
