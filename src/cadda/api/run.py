"""Training, searching and scoring in a run folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cadda._internal.files import write_text_atomically
from cadda.api.fit import evaluate
from cadda.api.prepare import Device, check_fits, prepare_training
from cadda.api.search import SearchResult, search
from cadda.data.windows import Windows
from cadda.exceptions import LeakError, RunError
from cadda.models.serialization import load_model
from cadda.policies.schedule import PolicySchedule
from cadda.policies.spec.model import PolicySpec
from cadda.runs.folder import RunFolder, digest_of
from cadda.runs.records import leave_records, predict_labels
from cadda.tracking.jsonl import JsonlSink, both
from cadda.training import Fitted, Scores, TrainingEvent, TrainingSettings, score

__all__ = [
    "SearchOutcome",
    "TrainingOutcome",
    "evaluate_run",
    "search_in_folder",
    "train_in_folder",
]


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
    policy: PolicySpec | PolicySchedule | None,
    valid: float,
    test: float,
    settings: dict[str, Any],
    device: Device,
    on_event: Callable[[TrainingEvent], None],
    reading: Mapping[str, Any] | None = None,
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
    policy : PolicySpec | PolicySchedule | None
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
    reading : mapping of str to object | None
        How the windows were made, for the record: the name of a function and its arguments.

    Returns
    -------
    TrainingOutcome
        The model and its scores.
    """
    split = {"valid": valid, "test": test, "seed": settings["seed"]}
    train_part, valid_part, test_part = windows.split(**split)
    parts = {"train": train_part, "valid": valid_part, "test": test_part}
    # A mistake in these shall leave no folder behind.
    own = TrainingSettings(**{key: value for key, value in settings.items() if key != "model"})
    trainer = prepare_training(
        train_part, valid_part, own, model=settings["model"], policy=policy, device=device
    )
    run = RunFolder(folder, "training")
    run.begin(
        {
            "reading": reading,
            "data": data,
            "data_digest": digest_of(windows),
            "settings": settings,
            "policy": _plain(policy),
            "split": {name: part.subjects for name, part in parts.items()},
        }
    )
    if policy is not None:
        policy.save(run.policy)
    fitted = trainer.run(on_event=both(JsonlSink(run.events), on_event), checkpoint=run.checkpoint)
    fitted.save(run.model)
    predicted = predict_labels(fitted.model, test_part)
    last = policy.last if isinstance(policy, PolicySchedule) else policy
    leave_records(run, parts, {"predicted": predicted}, last, split)
    scores = score(test_part.y, predicted, test_part.class_names)
    write_text_atomically(run.scores, json.dumps(scores.to_dict(), indent=1))
    return TrainingOutcome(fitted, scores, len(test_part.subjects))


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """What came of a search in a folder.

    Parameters
    ----------
    result : SearchResult
        The policy, and the models trained with and without it.
    scores : Scores
        Scores on the test subjects of the model trained with the policy.
    baseline : Scores | None
        The same for the model trained without augmentation.
    n_test_subjects : int
        How many subjects they were tested on.
    """

    result: SearchResult
    scores: Scores
    baseline: Scores | None
    n_test_subjects: int


def search_in_folder(
    windows: Windows,
    folder: Path,
    *,
    valid: float,
    test: float,
    retrain_every: int | None,
    baseline: bool,
    arguments: dict[str, Any],
) -> SearchOutcome:
    """Split, search, train with and without the policy, test, and keep everything in a folder.

    Parameters
    ----------
    windows : Windows
        All windows.
    folder : Path
        Where results go.
    valid : float
        Fraction of subjects for validation.
    test : float
        Fraction of subjects for testing, which neither search nor training sees.
    retrain_every : int | None
        Epochs or trials between retrainings; None retrains at the end only.
    baseline : bool
        Whether to train without augmentation too.
    arguments : dict
        Other arguments of `cadda.search`, with ``seed`` and ``budget`` among them.

    Returns
    -------
    SearchOutcome
        The policy and the scores.
    """
    split = {"valid": valid, "test": test, "seed": arguments["seed"]}
    train_part, valid_part, test_part = windows.split(**split)
    result = search(
        train_part,
        valid_part,
        run_dir=folder,
        retrain_every=retrain_every or arguments["budget"],
        baseline=baseline,
        **arguments,
    )
    if result.fitted is None:
        raise RunError(f"{folder} holds a search that has not come to its end.")
    models = {"predicted": result.fitted, "without_augmentation": result.baseline}
    predicted = {name: predict_labels(one.model, test_part) for name, one in models.items() if one}
    parts = {"train": train_part, "valid": valid_part, "test": test_part}
    run = RunFolder(folder, "search")
    leave_records(run, parts, predicted, result.policy, split)
    scores = {
        name: score(test_part.y, labels, test_part.class_names)
        for name, labels in predicted.items()
    }
    plain = scores.get("without_augmentation")
    content = scores["predicted"].to_dict() | {
        "test_subjects": test_part.subjects,
        "without_augmentation": None if plain is None else plain.to_dict(),
    }
    write_text_atomically(run.scores, json.dumps(content, indent=1))
    return SearchOutcome(result, scores["predicted"], plain, len(test_part.subjects))


def evaluate_run(
    folder: Path, windows: Windows, *, skip_seen: bool, different_subjects: bool = False
) -> tuple[Scores, int]:
    """Score the model of a run on subjects that it has not seen.

    Parameters
    ----------
    folder : Path
        Folder of a training.
    windows : Windows
        What to score it on.
    skip_seen : bool
        Whether to leave out subjects of training and validation instead of refusing them.
    different_subjects : bool
        Whether subjects with the names of those are other people, as in another data set.

    Returns
    -------
    scores : Scores
        The scores.
    n_subjects : int
        How many subjects they are of.
    """
    run = RunFolder(folder, "training")
    split = run.read_config()["split"]
    model, description = load_model(run.model)
    check_fits(description, windows)
    used = set() if different_subjects else {*split["train"], *split["valid"]}
    seen = used & set(windows.subjects)
    if seen and not skip_seen:
        raise LeakError(
            f"{len(seen)} subjects have the names of subjects that were used to train this model, "
            f"such as {min(seen)!r}; skip them with `skip_seen=True`, or pass "
            "`different_subjects=True` if they are other people of another data set."
        )
    unseen = [subject for subject in windows.subjects if subject not in seen]
    if not unseen:
        raise LeakError("every subject was used to train this model; nobody is left to test it.")
    return evaluate(model, windows.of_subjects(unseen)), len(unseen)


def _plain(policy: PolicySpec | PolicySchedule | None) -> dict[str, Any] | None:
    if isinstance(policy, PolicySchedule):
        return policy.to_dict()
    return None if policy is None else policy.model_dump(mode="json")
