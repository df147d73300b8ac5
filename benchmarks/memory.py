"""Peak memory of commands on a data set that is larger than it, beside the mapped file.

Anonymous memory (RssAnon) of the command, or of the worker that takes more, is sampled while it
runs; pages of the mapped file are not counted, as the system takes them back when it needs them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

N_CHANNELS, N_TIMES, SFREQ = 4, 1000, 100.0
N_SUBJECTS = 24
N_SAME = 999  # windows after which the noise is repeated
LIMIT = 400  # MB
QUICK = ("--max-epochs", "1", "--batch-size", "64")
OPERATIONS = ("--operations", "gaussian_noise,time_reverse,frequency_shift")
COMMANDS = {
    "data info": ("data", "info"),
    "train": ("train", *QUICK),
    "probe": ("probe", *OPERATIONS, "--folds", "2", "--epochs", "1", "--draws", "1"),
    "search": (
        *("search", *OPERATIONS, "--method", "random", "--budget", "1", "--max-epochs", "1"),
        *("--no-baseline", "--engine", "processes:1"),
    ),
}


def write_windows(path: Path, n_windows: int) -> None:
    """Write noise as `Windows.save` does, a part at a time."""
    arrays: dict[str, NDArray[np.generic]] = {
        "format": np.array("cadda windows 1"),
        "y": np.arange(n_windows) % 2,
        "subject": np.repeat(np.arange(N_SUBJECTS), -(-n_windows // N_SUBJECTS))[:n_windows],
        "sfreq": np.array(SFREQ),
        "ch_names": np.array([f"EEG {number}" for number in range(N_CHANNELS)]),
        "class_names": np.array(["a", "b"]),
    }
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, array)
        with archive.open("x.npy", "w", force_zip64=True) as file:
            shape = (n_windows, N_CHANNELS, N_TIMES)
            header = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            noise = rng.standard_normal((N_SAME, N_CHANNELS, N_TIMES), dtype=np.float32)
            for start in range(0, n_windows, N_SAME):
                file.write(noise[: n_windows - start].data)


def anonymous_memory(process: int) -> int:
    """Return the anonymous memory of a process or of its largest child, in bytes."""
    largest = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:
            continue
        if process in (int(fields["Pid"]), int(fields["PPid"])) and "RssAnon" in fields:
            largest = max(largest, 1024 * int(fields["RssAnon"].split()[0]))
    return largest


def peak_of(arguments: list[str], **variables: str) -> tuple[int, float]:
    """Run a command; return the peak of its anonymous memory in bytes, and its seconds.

    ``variables`` are added to the environment.
    """
    start, peak = time.perf_counter(), 0
    process = subprocess.Popen(  # noqa: S603
        arguments, stdout=subprocess.DEVNULL, env=os.environ | variables
    )
    while process.poll() is None:
        peak = max(peak, anonymous_memory(process.pid))
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}")
    return peak, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=5.0, help="size of the data set")
    parser.add_argument("--folder", type=Path, help="where to write it; default: temporary files")
    parser.add_argument("--commands", nargs="*", default=list(COMMANDS), choices=COMMANDS)
    options = parser.parse_args()
    cadda = str(Path(sys.executable).parent / "cadda")
    n_windows = max(240, int(options.gigabytes * 1e9 / (4 * N_CHANNELS * N_TIMES)))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        data = Path(folder) / "windows.npz"
        write_windows(data, n_windows)
        size = data.stat().st_size / 1e9
        print(f"{n_windows} windows, {size:.2f} GB; the limit is {LIMIT} MB beside the mapping")
        base, _ = peak_of([cadda, "operations"])
        print(f"{'without data':12} {base / 1e6:6.0f} MB")
        for name in options.commands:
            out = [] if name == "data info" else ["--out", f"{folder}/{name}"]
            peak, seconds = peak_of([cadda, *COMMANDS[name], *out, str(data)])
            verdict = "" if peak < 1e6 * LIMIT else "  above the limit"
            print(f"{name:12} {peak / 1e6:6.0f} MB  {seconds:5.0f} s{verdict}", flush=True)
