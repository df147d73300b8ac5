"""Files of policies in a run folder, which people edit or exchange."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cadda._internal.files import JsonRecord, write_text_atomically
from cadda._internal.limits import read_bytes
from cadda._internal.user_warnings import warn_user
from cadda.runs.folder import RunFolder

__all__ = ["PolicyDigests", "describe_edited", "is_edited", "write_policy_file"]


@dataclass(frozen=True)
class PolicyDigests(JsonRecord):
    """SHA-256 of what a run has written last into its policy files, by name.

    There are two for each file: a process that was killed may have written the first one only.
    """

    digests: dict[str, tuple[str, ...]]


def write_policy_file(run: RunFolder, path: Path, text: str) -> None:
    """Write a policy file of a run; one that was edited is kept, with a warning."""
    known = _read_digests(run)
    if _differs(path, known.get(path.name, ())):
        warn_user(f"{run.folder}: {_describe([path.name])}.")
        return
    digest = _digest(text.encode())
    before = [other for other in known.get(path.name, ()) if other != digest]
    # First, so that a file always has one of them.
    PolicyDigests({**known, path.name: (*before[-1:], digest)}).save(run.digests)
    write_text_atomically(path, text)


def is_edited(path: str | os.PathLike[str]) -> bool:
    """Check whether a file is one that a run has written, and that was edited or exchanged."""
    file = Path(path)
    return _differs(file, _read_digests(RunFolder(file.parent)).get(file.name, ()))


def describe_edited(run: RunFolder) -> str:
    """Return a note on policy files that are not as the run has written them; empty if all are."""
    names = list(_edited_names(run))
    return _describe(names) if names else ""


def _edited_names(run: RunFolder) -> Iterator[str]:
    for name, digests in _read_digests(run).items():
        if _differs(run.folder / name, digests):
            yield name


def _describe(names: list[str]) -> str:
    was, it = ("were", "them") if len(names) > 1 else ("was", "it")
    return (
        f"{' and '.join(names)} {was} changed after the run wrote {it}: model, scores and curves "
        f"are of the policy before; delete {it} and run the same command again to restore {it}"
    )


def _read_digests(run: RunFolder) -> dict[str, tuple[str, ...]]:
    """Return the digests of a run; those of names that are no files of policies are ignored."""
    try:
        digests = PolicyDigests.load(run.digests).digests
    # Without them, or with damaged ones, nothing is known to be edited.
    except (OSError, ValueError):
        return {}
    names = {path.name for path in (run.policy, run.policy_text, run.schedule)}
    return {name: value for name, value in digests.items() if name in names}


def _differs(path: Path, digests: tuple[str, ...]) -> bool:
    if not digests or not path.exists():
        return False
    try:
        return _digest(read_bytes(path)) not in digests
    except OSError:
        return True


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
