"""Saving the state of a training so that it can be killed at any moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from cadda._internal.files import replace_atomically
from cadda.exceptions import TrainingError

__all__ = ["load_checkpoint", "save_checkpoint"]


def save_checkpoint(path: Path, state: dict[str, Any], fingerprint: dict[str, Any]) -> None:
    """Write a checkpoint in one step.

    Parameters
    ----------
    path : Path
        Where to write.
    state : dict
        Tensors and plain values.
    fingerprint : dict
        What the training is; a checkpoint is only good for the same one.
    """
    with replace_atomically(path) as temporary:
        torch.save({"state": state, "fingerprint": fingerprint}, temporary)


def load_checkpoint(path: Path, fingerprint: dict[str, Any]) -> dict[str, Any]:
    """Read a checkpoint; nothing in it is executed.

    Parameters
    ----------
    path : Path
        Where it is.
    fingerprint : dict
        What the training is now.

    Returns
    -------
    dict
        The state that was saved.
    """
    try:
        content = torch.load(path, weights_only=True, map_location="cpu")
        state, saved = content["state"], content["fingerprint"]
    # torch raises anything from KeyError to UnpicklingError for a file that is not its own.
    except Exception as error:
        raise TrainingError(
            f"{path} cannot be resumed from: it is not a checkpoint of a training "
            f"({type(error).__name__})."
        ) from error
    for key, value in fingerprint.items():
        if saved.get(key) != value:
            raise TrainingError(
                f"{path} belongs to another training: `{key}` was {saved.get(key)}, "
                f"and is {value} now; use another folder or the same settings."
            )
    checked: dict[str, Any] = state
    return checked
