"""Damages files of every format, has them read, and watches what happens.

    python tests/hostile/fuzz_harness.py 10000

Each file must be read, or refused by one sentence of cadda, within bounds of time and memory, and
nothing in it may be executed. Files that failed are in ``seeds.json`` and are tried again by the
tests.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from random import Random

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
    os.environ.setdefault("OMP_NUM_THREADS", "1")

from fuzz_formats import FORMATS, Format
from fuzz_mutations import CANARY, damage

import cadda
from cadda import CaddaError

MAX_SECONDS = 5.0
"""Time of a processor for a file; healthy ones take a tenth of that."""

MAX_WALL = 300
"""Seconds after which a reader waits for something that never comes."""

MAX_MEGABYTES = 400
"""Memory that a file of a few kilobytes may take."""

MAX_RESERVED = 2000
"""Megabytes that it may reserve, used or not; a reader that asks for more has failed."""

MAX_LENGTH = 1000
"""Characters of a message."""

SEEDS = Path(__file__).parent / "seeds.json"
PACKAGE = str(Path(cadda.__file__).parent)
FORBIDDEN = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "pty.spawn")
FORBIDDEN += ("pickle.find_class", "socket.connect", "webbrowser.open")


class Stuck(BaseException):
    """A reader did not end."""


@dataclass
class Tried:
    """What happened to the files of a format."""

    format: str
    n_files: int = 0
    n_refused: int = 0
    slowest: float = 0.0
    megabytes: float = 0.0
    failures: list[tuple[int, str]] = field(default_factory=list)  # seed and what went wrong


class _Watch:
    """Notes what is executed while a file is read; hooks of Python cannot be removed."""

    def __init__(self) -> None:
        self.active, self.seen = False, ""
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.active and event in FORBIDDEN:
            self.seen = f"{event}{arguments!r}"[:200]


_watch = _Watch()


class Fuzzer:
    """Damages copies of a healthy example of a format, one at a time."""

    def __init__(self, kind: Format, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        folder.mkdir()
        self._home = Path.cwd()
        with _quiet():
            self.target = kind.make(folder)
            self._read_healthy()
        found = {path for pattern in kind.files for path in folder.glob(pattern)}
        self.files = sorted(path for path in found if path.is_file() and path.suffix != ".html")
        self.healthy = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        self.tried = Tried(kind.name)

    def _read_healthy(self) -> None:
        """Warm up: imports and caches of libraries count as the example's own."""
        self.kind.read(self.target)

    def run(self, seed: int) -> None:
        """Damage a file, read it, and put the healthy one back."""
        random = Random(f"{self.kind.name} {seed}")
        path = random.choice(self.files)
        if random.random() < 0.03:
            _replace_by_special(random, path)
        else:
            with _quiet():
                path.write_bytes(damage(random, path.name, self.healthy[path]))
        try:
            self._read(seed, path)
        finally:
            self._heal(path)

    def _read(self, seed: int, path: Path) -> None:
        tried, before = self.tried, _resident()
        _reset_peak()
        start, problem = time.process_time(), ""
        _watch.active, _watch.seen = True, ""
        try:
            with _quiet(), _alarm(), _limited_memory():
                self.kind.read(self.target)
        except (Exception, Stuck) as error:
            tried.n_refused += 1
            problem = _what_is_wrong(error)
            if self.kind.names_file and path.name not in str(error):
                problem = problem or f"{path.name} is not named: {str(error)[:300]!r}"
        finally:
            _watch.active = False
        seconds, megabytes = time.process_time() - start, _peak() - before
        tried.n_files += 1
        tried.slowest = max(tried.slowest, seconds)
        tried.megabytes = max(tried.megabytes, megabytes)
        if seconds > MAX_SECONDS:
            problem = problem or f"it took {seconds:.1f} s"
        if megabytes > MAX_MEGABYTES:
            problem = problem or f"it took {megabytes:.0f} MB"
        if _watch.seen or Path(CANARY).exists():
            problem = f"something was executed: {_watch.seen or CANARY}"
            with suppress(OSError):
                Path(CANARY).rmdir()
        if problem:
            tried.failures.append((seed, problem))

    def _heal(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        elif path.is_symlink() or path.exists():
            path.unlink()
        for file, content in self.healthy.items():
            if not file.is_file() or file == path or file.stat().st_size != len(content):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)


def _what_is_wrong(error: BaseException) -> str:
    """Return what is wrong with an error; nothing if it is one sentence of cadda."""
    text = str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} at {last.filename}:{last.lineno}: {text[:300]!r}"
    if _is_of_memory(error):
        return f"it asked for too much memory: {where}"
    if not isinstance(error, CaddaError | ValueError | TypeError):
        return where
    if not last.filename.startswith(PACKAGE):
        return f"not raised by cadda: {where}"
    if not text.isprintable() or not text.endswith((".", "?")) or len(text) > MAX_LENGTH:
        return f"not one sentence: {where}"
    return ""


def _is_of_memory(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _replace_by_special(random: Random, path: Path) -> None:
    """Put a pipe, a device, a folder, a broken link, or a file of a terabyte in its place."""
    path.unlink()
    what = random.randrange(6)
    if what == 0:
        os.mkfifo(path)
    elif what == 1:
        path.symlink_to("/dev/zero")
    elif what == 2:
        path.mkdir()
    elif what == 3:
        path.symlink_to("nowhere")
    elif what == 4:
        path.symlink_to(path.name)
    else:
        with path.open("wb") as file:
            file.truncate(10**12)


@contextmanager
def _quiet() -> Iterator[None]:
    with (
        warnings.catch_warnings(),
        redirect_stdout(StringIO()),
        redirect_stderr(StringIO()),
    ):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Let the system refuse memory that a file should not have asked for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = int((_status("VmSize") + MAX_RESERVED) * 1024**2)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def _alarm() -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise Stuck(f"it did not end within {MAX_WALL} s.")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(MAX_WALL)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _status(name: str) -> float:
    """Return a memory of this process in megabytes."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _resident() -> float:
    return _status("VmRSS")


def _peak() -> float:
    return _status("VmHWM")


def _reset_peak() -> None:
    """Forget the largest memory so far, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def fuzz(kind: Format, seeds: range | list[int], folder: Path) -> Tried:
    """Try files of a format; the folder must not exist."""
    fuzzer = Fuzzer(kind, folder)
    for seed in seeds:
        fuzzer.run(seed)
    return fuzzer.tried


def kept_seeds() -> dict[str, list[int]]:
    """Return the seeds of files that failed once, by format."""
    seeds: dict[str, list[int]] = json.loads(SEEDS.read_text()) if SEEDS.exists() else {}
    return seeds


def main() -> None:
    """Try many files; keep the seeds of those that fail."""
    n_files = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    names = sys.argv[3:]
    kinds = [kind for kind in FORMATS if not names or kind.name in names]
    kept, n_failed, n_all = kept_seeds(), 0, 0
    root = Path(tempfile.mkdtemp(prefix="hostile-"))
    os.chdir(root)
    try:
        for kind in kinds:
            count = max(1, round(n_files * kind.share / sum(kind.share for kind in kinds)))
            start = time.perf_counter()
            tried = fuzz(kind, range(first, first + count), root / kind.name)
            seconds = time.perf_counter() - start
            print(
                f"{kind.name:15} {tried.n_files:6} files, {tried.n_refused:6} refused, slowest "
                f"{tried.slowest:.2f} s, {tried.megabytes:4.0f} MB, {seconds:5.0f} s in all, "
                f"{len(tried.failures)} failed",
                flush=True,
            )
            for seed, problem in tried.failures:
                print(f"  {kind.name} {seed}: {problem}", flush=True)
                kept[kind.name] = sorted({*kept.get(kind.name, []), seed})
            n_failed, n_all = n_failed + len(tried.failures), n_all + tried.n_files
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if n_failed:
        SEEDS.write_text(json.dumps(kept, indent=1) + "\n")
    print(f"{n_all} files, {n_failed} failed")
    sys.exit(bool(n_failed))


if __name__ == "__main__":
    main()
