"""Commands on a few windows that write everything a long one writes, in a second or less."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from commands import Finished, run

from cadda import Windows

SMALL = ("--model", "shallow", "--operations", "sign_flip,time_reverse,channel_dropout")
SEARCH = (*SMALL, "--max-epochs", "1", "--engine", "serial", "--valid", "0.3", "--test", "0.3")

COMMANDS: dict[str, tuple[str, ...]] = {
    "train": ("train", "--model", "shallow", "--max-epochs", "2", "--policy", "{policy}"),
    "probe": ("probe", *SMALL, "--folds", "2", "--epochs", "1", "--draws", "1"),
    "randaugment": ("search", *SEARCH, "--method", "randaugment", "--budget", "2"),
    "adda": ("search", *SEARCH, "--method", "adda", "--budget", "2", "--retrain-every", "1"),
    "population": (
        *("search", *SEARCH, "--method", "population", "--budget", "4"),
        *("--set", "n_members=2", "--set", "segment_epochs=1"),
    ),
    "auto": ("search", *SEARCH, "--method", "auto", "--budget", "24", "--no-baseline"),
    "compare": ("compare", *SMALL, "--methods", "none,{policy}", "--folds", "2"),
}
"""Arguments by name; `--out` and the data are added."""

CHANGING = re.compile(r"seconds|^made$|^started$")
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
        self.name, self.out = name, root / "out"
        policy = data.parent / "policy.txt"
        policy.write_text("time_reverse p=0.5\n")
        words = [word.format(policy=policy) for word in COMMANDS[name]]
        self.arguments = [words[0], str(data), *words[1:], "--out", str(self.out)]

    def start(self, code: int = 0) -> Finished:
        """Run the command."""
        return run(*self.arguments, code=code)

    def resume(self) -> None:
        """Run it once more as a user would after an interruption."""
        run(*self.arguments)

    def results(self) -> dict[str, object]:
        """Return the content of each file, without what differs between two runs."""
        files = [path for path in sorted(self.out.rglob("*")) if path.is_file()]
        return {str(path.relative_to(self.out)): _content(path) for path in files}


def _content(path: Path) -> object:
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
