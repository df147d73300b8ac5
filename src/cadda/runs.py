"""Run folders: what a training leaves behind, readable without cadda."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from cadda._files import write_text_atomically
from cadda._version import __version__
from cadda.data.windows import Windows
from cadda.exceptions import LeakError, ModelError, RunError
from cadda.fitting import Device, Fitted, augmentation_for, evaluate, fit, model_for, pick_device
from cadda.models.files import load_model
from cadda.policies.spec import PolicySpec
from cadda.tracking.jsonl import JsonlSink
from cadda.training import Scores, TrainingEvent, TrainingSettings

__all__ = ["TrainingOutcome", "TrainingRun", "evaluate_run", "train_in_folder", "versions"]


@dataclass(frozen=True, eq=False)
class TrainingOutcome:
    """What came of a training in a folder.

    Parameters
    ----------
    fitted : Fitted
        The trained model.
    scores : Scores
        Scores on the test subjects.
    n_test_subjects : int
        How many subjects it was tested on.
    """

    fitted: Fitted
    scores: Scores
    n_test_subjects: int


def train_in_folder(
    windows: Windows,
    folder: Path,
    *,
    data: str,
    policy: PolicySpec | None,
    valid: float,
    test: float,
    settings: dict[str, Any],
    device: Device,
    on_event: Callable[[TrainingEvent], None],
) -> TrainingOutcome:
    """Split, train, test, and keep everything in a folder; go on if it was interrupted.

    Parameters
    ----------
    windows : Windows
        All windows.
    folder : Path
        Where results go.
    data : str
        Where the windows come from, for the record.
    policy : PolicySpec | None
        What to augment with.
    valid : float
        Fraction of subjects for validation.
    test : float
        Fraction of subjects for testing.
    settings : dict
        Arguments of `fit`, with ``seed`` among them.
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        Where to train.
    on_event : callable
        Called with every event.

    Returns
    -------
    TrainingOutcome
        The model and its scores.
    """
    train_part, valid_part, test_part = windows.split(
        valid=valid, test=test, seed=settings["seed"]
    )
    parts = {"train": train_part, "valid": valid_part, "test": test_part}
    # A mistake in these shall leave no folder behind.
    model_for(settings["model"], train_part, seed=0)
    augmentation_for(policy, train_part)
    TrainingSettings(**{key: value for key, value in settings.items() if key != "model"})
    pick_device(device)
    run = TrainingRun(folder)
    run.begin(
        {
            "data": data,
            "data_digest": _digest(windows),
            "settings": settings,
            "policy": None if policy is None else policy.model_dump(mode="json"),
            "split": {name: part.subjects for name, part in parts.items()},
        }
    )
    if policy is not None:
        policy.save(run.policy)
    sink = JsonlSink(run.events)

    def report(event: TrainingEvent) -> None:
        sink(event)
        on_event(event)

    fitted = fit(
        train_part,
        valid_part,
        policy=policy,
        device=device,
        on_event=report,
        checkpoint=run.checkpoint,
        **settings,
    )
    fitted.save(run.model)
    scores = evaluate(fitted.model, test_part)
    write_text_atomically(run.scores, json.dumps(scores.to_dict(), indent=1))
    return TrainingOutcome(fitted, scores, len(test_part.subjects))


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


@dataclass(frozen=True)
class TrainingRun:
    """The folder of one training.

    Parameters
    ----------
    folder : Path
        Where it is.
    """

    folder: Path

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
        """The policy that augmented it, if there was one."""
        return self.folder / "policy.json"

    @property
    def events(self) -> Path:
        """One line per epoch."""
        return self.folder / "events.jsonl"

    @property
    def scores(self) -> Path:
        """Scores on the test subjects."""
        return self.folder / "scores.json"

    @property
    def checkpoint(self) -> Path:
        """State of an unfinished training."""
        return self.folder / "checkpoint.pt"

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
        if self.folder.exists() and any(self.folder.iterdir()):
            raise RunError(
                f"{self.folder} must be empty or an earlier run, but holds other files."
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text_atomically(self.config, json.dumps(config | {"versions": versions()}, indent=1))

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
            raise RunError(f"{self.folder} is not the folder of a training: {error}.") from error
        return config

    def _check_same(self, config: dict[str, Any]) -> None:
        earlier = self.read_config()
        for key, value in config.items():
            if earlier.get(key) != json.loads(json.dumps(value)):
                raise RunError(
                    f"{self.folder} holds a training with another `{key}`; choose another folder, "
                    "or give the same arguments to go on with it."
                )


def _digest(windows: Windows) -> str:
    """Give a number of the content of windows, so that a run is not continued on others."""
    digest = hashlib.sha256("|".join(windows.subject).encode())
    digest.update(windows.y.numpy().tobytes())
    for chunk in torch.split(windows.x, 64):
        digest.update(chunk.contiguous().numpy().data)
    return digest.hexdigest()


def evaluate_run(folder: Path, windows: Windows, *, unseen_only: bool) -> tuple[Scores, int]:
    """Score the model of a run on subjects that it has not seen.

    Parameters
    ----------
    folder : Path
        Folder of a training.
    windows : Windows
        What to score it on.
    unseen_only : bool
        Whether to leave out subjects of training and validation instead of refusing them.

    Returns
    -------
    scores : Scores
        The scores.
    n_subjects : int
        How many subjects they are of.
    """
    run = TrainingRun(folder)
    split = run.read_config()["split"]
    model, description = load_model(run.model)
    for name in ("ch_names", "class_names", "n_times"):
        wanted, got = getattr(description, name), getattr(windows, name)
        if wanted != got:
            raise ModelError(
                f"the model is for the `{name}` {wanted}, but the data have {got}; choose with "
                "--channels and --classes."
            )
    seen = {*split["train"], *split["valid"]} & set(windows.subjects)
    if seen and not unseen_only:
        raise LeakError(
            f"{len(seen)} subjects were used to train this model, such as {min(seen)!r}; leave "
            "them out with --unseen-only."
        )
    unseen = [subject for subject in windows.subjects if subject not in seen]
    if not unseen:
        raise LeakError("every subject was used to train this model; nobody is left to test it.")
    return evaluate(model, windows.of_subjects(unseen)), len(unseen)
