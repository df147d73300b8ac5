"""What a run leaves behind for its report, beside policy, model and scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from cadda._internal.files import replace_atomically, write_text_atomically
from cadda.api.pool import operation_pool, pool_for_policy
from cadda.data.windows import Windows
from cadda.policies.spec.model import PolicySpec
from cadda.runs.examples import gallery_of
from cadda.runs.folder import RunFolder, digest_of
from cadda.training import predict_logits

__all__ = ["leave_records", "predict_labels"]


def predict_labels(model: nn.Module, windows: Windows) -> Tensor:
    """Predict the class of each window.

    Parameters
    ----------
    model : nn.Module
        A trained model.
    windows : Windows
        What to classify.

    Returns
    -------
    Tensor
        Labels of shape (n_windows,).
    """
    return predict_logits(model, windows.x, windows.n_classes).argmax(1)


def leave_records(
    run: RunFolder,
    parts: Mapping[str, Windows],
    predicted: Mapping[str, Tensor],
    policy: PolicySpec | None,
    split: Mapping[str, float],
) -> None:
    """Write down the split, what was predicted for the test windows, and examples of the policy.

    Parameters
    ----------
    run : RunFolder
        Where to.
    parts : mapping of str to Windows
        The windows by part: ``train``, ``valid`` and ``test``.
    predicted : mapping of str to Tensor
        Predicted labels of the test windows: ``predicted`` by the model of the run and, where
        there is one, ``without_augmentation`` by the model to compare it with.
    policy : PolicySpec | None
        What training windows were augmented with.
    split : mapping of str to float
        Arguments of `Windows.split` that gave the parts.
    """
    facts = _facts(parts) | {"split": dict(split)}
    write_text_atomically(run.data, json.dumps(facts, indent=1))
    test = parts["test"]
    columns = {
        "subject": test.subject,
        "recording": test.recording,
        "position": _positions(test),
        "truth": test.y.numpy(),
    }
    _save(run.predictions, columns | {name: one.numpy() for name, one in predicted.items()})
    if policy is None:
        return
    gallery = gallery_of(policy, parts["train"], pool_for_policy(policy, parts["train"]))
    if gallery is not None:
        _save(run.gallery, gallery)


def _facts(parts: Mapping[str, Windows]) -> dict[str, object]:
    train = parts["train"]
    return {
        "sfreq": train.sfreq,
        "n_times": train.n_times,
        "ch_names": train.ch_names,
        "class_names": train.class_names,
        "left_out": operation_pool(train).left_out,
        "parts": {
            name: {
                "subjects": part.subjects,
                "windows": part.class_counts().tolist(),
                "digest": digest_of(part),
            }
            for name, part in parts.items()
        },
    }


def _positions(windows: Windows) -> NDArray[np.int64]:
    """Count the windows of each recording in the order of time, from 0."""
    positions = np.zeros(len(windows), dtype=np.int64)
    seen: dict[tuple[str, str], int] = {}
    for i, key in enumerate(zip(windows.subject, windows.recording, strict=True)):
        positions[i] = seen.get(key, 0)
        seen[key] = positions[i] + 1
    return positions


def _save(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    with replace_atomically(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
