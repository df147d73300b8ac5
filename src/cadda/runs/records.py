"""Records that a run keeps for its report: data, scores, predictions and example windows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cadda._internal.files import write_text_atomically
from cadda._internal.limits import parse_json, read_bytes
from cadda.data.channels import electrodes
from cadda.data.windows import Windows
from cadda.operations.label_maps import mapping_of
from cadda.operations.pool import OperationPool
from cadda.policies.spec.entries import ALL_CLASSES
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.summary import operation_info, summarise
from cadda.reporting.records import (
    DataFacts,
    Examples,
    LeakReadings,
    Part,
    Predictions,
)
from cadda.runs.folder import RunFolder
from cadda.runs.splits import WindowSplit
from cadda.training import Fitted, Problem, Scores, predict_logits, score_subjects

__all__ = ["RunScores", "check_scores", "make_examples", "save_fitted", "write_run_records"]

MIN_APPLIED = 0.01
"""Operations that change fewer windows of every class are not shown."""

MAX_CHANNELS = 3
MAX_SECONDS = 30.0
"""Length of a window that is kept."""

PREFERRED_CHANNELS = ("C3", "Cz", "C4", "Fz", "Pz", "Oz")
"""Channels to show if there are more than fit, in this order."""

N_CANDIDATES = 51
"""Windows of a class from which a typical one is chosen."""


@dataclass(frozen=True, eq=False)
class RunScores:
    """Scores on the test subjects, with the policy and without augmentation."""

    test_subjects: tuple[str, ...]
    scores: Scores
    without_augmentation: Scores | None

    def save(self, path: Path) -> None:
        """Write the scores as JSON, those of the model of the run at the top level."""
        plain = self.without_augmentation
        content = self.scores.to_dict() | {
            "test_subjects": self.test_subjects,
            "without_augmentation": None if plain is None else plain.to_dict(),
        }
        write_text_atomically(path, json.dumps(content, indent=1))


def check_scores(path: Path) -> None:
    """Raise `ValueError` for a file that is not that of scores; reports compute their own."""
    content = parse_json(read_bytes(path))
    if not isinstance(content, dict) or "test_subjects" not in content:
        raise ValueError("it has no scores")


def save_fitted(run: RunFolder, fitted: Fitted) -> None:
    """Write a trained model, and what it makes of operations that tell the class."""
    fitted.save(run.model)
    if fitted.leaks:
        LeakReadings(fitted.leaks).save(run.leaks)


def write_run_records(
    run: RunFolder,
    split: WindowSplit,
    problem: Problem,
    pool: OperationPool,
    policy: PolicySpec | None,
    model: nn.Module,
    baseline: nn.Module | None = None,
) -> RunScores:
    """Test the model, and the one without augmentation; write data, predictions and scores."""
    _data_facts(split, problem, pool).save(run.data)
    test = split.test
    labels, plain = _predict(model, test), None if baseline is None else _predict(baseline, test)
    Predictions(
        subject=test.subject,
        recording=test.recording,
        position=_positions(test),
        truth=test.y.numpy(),
        predicted=labels,
        without_augmentation=plain,
    ).save(run.predictions)
    examples = None if policy is None else make_examples(policy, split.train, pool)
    if examples is not None:
        examples.save(run.examples)
    scores = RunScores(
        test_subjects=tuple(test.subjects),
        scores=_score(test, labels),
        without_augmentation=None if plain is None else _score(test, plain),
    )
    scores.save(run.scores)
    return scores


def _score(windows: Windows, predicted: NDArray[np.int64]) -> Scores:
    return score_subjects(windows.y, predicted, windows.subject, windows.class_names)


def _data_facts(split: WindowSplit, problem: Problem, pool: OperationPool) -> DataFacts:
    train = split.train

    def part(windows: Windows, digest: str) -> Part:
        return Part(tuple(windows.subjects), tuple(windows.class_counts().tolist()), digest)

    return DataFacts(
        sfreq=train.sfreq,
        n_times=train.n_times,
        ch_names=tuple(train.ch_names),
        class_names=tuple(train.class_names),
        left_out=dict(pool.left_out),
        split=split.settings,
        parts={
            "train": part(train, problem.train.digest),
            "valid": part(split.valid, problem.valid.digest),
            "test": part(split.test, split.test_digest),
        },
    )


def _predict(model: nn.Module, windows: Windows) -> NDArray[np.int64]:
    return predict_logits(model, windows.signals, windows.n_classes).argmax(1).numpy()


def _positions(windows: Windows) -> NDArray[np.int64]:
    """Return the number of each window within its recording, from 0."""
    positions = np.zeros(len(windows), dtype=np.int64)
    seen: dict[tuple[str, str], int] = {}
    for i, key in enumerate(zip(windows.subject, windows.recording, strict=True)):
        positions[i] = seen.get(key, 0)
        seen[key] = positions[i] + 1
    return positions


def make_examples(policy: PolicySpec, windows: Windows, pool: OperationPool) -> Examples | None:
    """Apply each operation of a policy to a training window, as strongly as the policy may do.

    Windows are scaled to a standard deviation of 1. Returns None if no operation is for signals,
    or the sampling rate is not known.
    """
    from cadda.reporting.figures.signals import most_changed_draw

    table = summarise(policy)
    pool = pool.for_classes(windows.class_names).with_extra()
    own = {name: value for name, value in policy.operations.items() if name in pool.settings}
    pool = pool.with_settings(own).with_label_maps(policy.label_maps)
    order = np.argsort(-table.applied.max(0), kind="stable").tolist()
    shown = [n for n in order if _is_shown(table.operations[n], table.applied[:, n].max(), pool)]
    # Pictures have times and frequencies.
    if not shown or windows.sfreq is None:
        return None
    channels = _choose_channels(windows.ch_names)
    rows = table.applied[:, shown].argmax(0).tolist()
    maps = [mapping_of(pool[table.operations[n]]) or {} for n in shown]
    classes = [
        _class_to_show(table.rows[row], mapping, windows)
        for row, mapping in zip(rows, maps, strict=True)
    ]
    n_times = round(MAX_SECONDS * windows.sfreq)
    examples = {name: _typical_windows(windows, name, n_times) for name in dict.fromkeys(classes)}
    after = [
        most_changed_draw(
            pool[table.operations[n]],
            examples[name][0],
            table.max_magnitude[row, n] if pool[table.operations[n]].has_magnitude else None,
            channels=channels,
            seed=0,
            others=examples[name][1:],
        )
        for row, n, name in zip(rows, shown, classes, strict=True)
    ]
    return Examples(
        operation=np.array([table.operations[n] for n in shown]),
        class_name=np.array([table.rows[row] for row in rows]),
        class_before=np.array(classes),
        class_after=np.array(
            [mapping.get(name, name) for mapping, name in zip(maps, classes, strict=True)]
        ),
        applied=table.applied[rows, shown],
        magnitude=table.max_magnitude[rows, shown],
        min_magnitude=table.min_magnitude[rows, shown],
        window=np.array([list(examples).index(name) for name in classes]),
        before=_as_stored((same_class[0] for same_class in examples.values()), channels),
        after=_as_stored(after, channels),
        ch_names=np.array([windows.ch_names[i] for i in channels]),
    )


def _is_shown(name: str, applied: float, pool: OperationPool) -> bool:
    entry = operation_info(name)
    return applied >= MIN_APPLIED and name in pool and (entry is None or entry.domain != "image")


def _class_to_show(row: str, mapping: Mapping[str, str], windows: Windows) -> str:
    """Return a class that an operation with a label map changes, if it can that of the row."""
    if not mapping or row in mapping:
        return row
    changed = [name for name, new in mapping.items() if new != name]
    counts = dict(zip(windows.class_names, windows.class_counts().tolist(), strict=True))
    return next((name for name in changed if counts[name]), changed[0])


def _choose_channels(ch_names: Sequence[str]) -> list[int]:
    """Return the preferred channels, filled up with channels spread evenly over the list."""
    if len(ch_names) <= MAX_CHANNELS:
        return list(range(len(ch_names)))
    first = [electrodes(name)[:1] for name in ch_names]
    known = [first.index((name,)) for name in PREFERRED_CHANNELS if (name,) in first]
    spread = np.linspace(0, len(ch_names) - 1, MAX_CHANNELS).round().astype(int).tolist()
    return sorted(list(dict.fromkeys([*known, *spread]))[:MAX_CHANNELS])


def _typical_windows(windows: Windows, class_name: str, n_times: int) -> Tensor:
    """Return some windows of a class; that with the median peak, as free of artefacts, first."""
    chosen = torch.arange(len(windows))
    if class_name != ALL_CLASSES:
        chosen = torch.nonzero(windows.y == windows.class_names.index(class_name)).flatten()
    # A class may be absent from the training windows.
    chosen = chosen if len(chosen) else torch.arange(len(windows))
    chosen = chosen[torch.linspace(0, len(chosen) - 1, min(len(chosen), N_CANDIDATES)).long()]
    peaks = windows.signals[chosen].abs().amax(dim=(1, 2))
    order = chosen[peaks.argsort().roll(-(len(peaks) // 2))]
    signals = windows.signals[order][..., :n_times]
    return torch.stack([signal / signal.std() for signal in signals])


def _as_stored(signals: Iterable[Tensor], channels: Sequence[int]) -> NDArray[np.float16]:
    stacked = torch.stack([signal[list(channels)] for signal in signals])
    return stacked.numpy().astype(np.float16)
