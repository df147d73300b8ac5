"""A folder that holds all that a training or a search leaves behind, readable without cadda."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from cadda._internal.files import make_folder, write_text_atomically
from cadda._internal.text import short_reason
from cadda._version import __version__
from cadda.data.windows import Windows
from cadda.exceptions import RunError
from cadda.training import Samples

__all__ = ["RunFolder", "digest_of", "versions"]


@dataclass(frozen=True)
class RunFolder:
    """The folder of one training or search.

    Parameters
    ----------
    folder : Path
        Where it is.
    kind : str
        What it is of: ``"training"`` or ``"search"``.
    """

    folder: Path
    kind: str

    @property
    def config(self) -> Path:
        """What was asked for, and who is in which part of the split."""
        return self.folder / "config.json"

    @property
    def model(self) -> Path:
        """The trained model."""
        return self.folder / "model.safetensors"

    @property
    def policy(self) -> Path:
        """The policy that augments it."""
        return self.folder / "policy.json"

    @property
    def schedule(self) -> Path:
        """Policies by epoch, if it is a schedule that augments it."""
        return self.folder / "schedule.json"

    @property
    def events(self) -> Path:
        """One line for everything that happened."""
        return self.folder / "events.jsonl"

    @property
    def scores(self) -> Path:
        """Scores on the test subjects."""
        return self.folder / "scores.json"

    @property
    def checkpoint(self) -> Path:
        """State of an unfinished training."""
        return self.folder / "checkpoint.pt"

    @property
    def figures(self) -> Path:
        """Pictures."""
        return self.folder / "figures"

    @property
    def data(self) -> Path:
        """Who and what is in which part of the split."""
        return self.folder / "data.json"

    @property
    def predictions(self) -> Path:
        """Truth and predictions of every test window."""
        return self.folder / "predictions.npz"

    @property
    def gallery(self) -> Path:
        """A few training windows before and after each operation of the policy."""
        return self.folder / "gallery.npz"

    @property
    def sessions(self) -> Path:
        """By which commands, when and where the run was computed."""
        return self.folder / "sessions.json"

    @property
    def report(self) -> Path:
        """All of it on one page."""
        return self.folder / "report.html"

    def begin(self, config: dict[str, Any]) -> None:
        """Start the run, or go on with it if it was begun with the same configuration.

        Parameters
        ----------
        config : dict
            What is asked for.
        """
        if self.config.exists():
            self._check_same(config)
            return
        if self.folder.is_dir() and any(self.folder.iterdir()):
            raise RunError(
                f"{self.folder} must be empty or an earlier run, but holds other files."
            )
        make_folder(self.folder)
        content = {"kind": self.kind} | config | {"versions": versions()}
        write_text_atomically(self.config, json.dumps(content, indent=1))

    def read_config(self) -> dict[str, Any]:
        """Read what was asked for.

        Returns
        -------
        dict
            The configuration.
        """
        try:
            config: dict[str, Any] = json.loads(self.config.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(
                f"{self.folder} is not the folder of a {self.kind}: its config.json cannot be "
                f"read, {short_reason(error)}."
            ) from error
        return config

    def _check_same(self, config: dict[str, Any]) -> None:
        earlier = self.read_config()
        if earlier.get("kind") != self.kind:
            raise RunError(
                f"{self.folder} holds a {earlier.get('kind')}, not a {self.kind}; "
                "choose another folder."
            )
        now = json.loads(json.dumps(config))
        # What an older version did not write down cannot be compared.
        known = [key for key in now if key in earlier]
        for key, before, after in _differences(
            {key: earlier[key] for key in known}, {key: now[key] for key in known}
        ):
            raise RunError(
                f"{self.folder} holds a {self.kind} with another `{key}`: {_short(before)}, and "
                f"now {_short(after)}; choose another folder, or give the same arguments to go "
                "on with it."
            )


def _differences(
    before: Mapping[str, Any], after: Mapping[str, Any], path: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Go through the values of nested dictionaries that differ, each with its dotted name."""
    for key in dict.fromkeys([*after, *before]):
        old, new = before.get(key), after.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _differences(old, new, f"{path}{key}.")
        elif old != new:
            yield f"{path}{key}", old, new


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


def versions() -> dict[str, str]:
    """Say what computed a result.

    Returns
    -------
    dict of str to str
        Versions of cadda, Python and torch, and the kind of machine.
    """
    return {
        "cadda": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "machine": platform.platform(),
    }


def digest_of(windows: Windows) -> str:
    """Return a SHA-256 of subjects, labels and values, so that no run is resumed on others."""
    return Samples(windows.x, windows.y, tuple(windows.subject)).digest
