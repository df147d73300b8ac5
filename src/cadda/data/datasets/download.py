"""Downloads with MNE's fetchers, on request: quiet, and with one sentence if they fail."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TypeVar

from cadda._internal.text import short_reason
from cadda.exceptions import DataError

__all__ = ["download_each"]

Files = TypeVar("Files")


def download_each(
    parts: Mapping[str, Callable[[], Files]],
    *,
    unit: str,
    address: str,
    on_progress: Callable[[int, int, str], None] | None,
) -> list[Files]:
    """Download the parts of a data set, given as fetchers by name, and return what each returns.

    Fetchers of MNE do not download existing files again, and a file appears only once it is
    complete and its checksum is correct, so a failure, which raises `DataError`, can be resumed.
    """
    report = on_progress or (lambda _done, _total, _name: None)
    files: list[Files] = []
    for done, (name, fetch) in enumerate(parts.items()):
        report(done, len(parts), name)
        try:
            with _quiet():
                files.append(fetch())
        # The network, the disk and checksums raise many kinds of errors.
        except Exception as error:
            raise DataError(
                f"cannot download {name} ({_reason(error)}); {done} of {len(parts)} {unit} are "
                "complete. Call this again to resume, or download the files from "
                f"{address} and pass their folder."
            ) from error
    report(len(parts), len(parts), "")
    return files


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence MNE's downloader, and nothing else."""
    # It has its own logger and handler, whatever the program has configured.
    downloader = import_module("pooch").get_logger()
    was_disabled, downloader.disabled = downloader.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        downloader.disabled = was_disabled


def _reason(error: Exception) -> str:
    """Return a short reason; those of network libraries are long."""
    if type(error).__name__ in ("ConnectionError", "ConnectTimeout", "ReadTimeout"):
        return "no connection to physionet.org"
    known = isinstance(error, OSError) and error.strerror
    return short_reason(error) if known else f"{type(error).__name__}: {short_reason(error)[:200]}"
