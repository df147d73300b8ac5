"""Windows in, out comes which operations help, do nothing or hurt, before any search."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from cadda._files import reason_of, write_text_atomically
from cadda._validation import did_you_mean
from cadda._version import __version__
from cadda.data.windows import Windows
from cadda.exceptions import DataError
from cadda.fitting import Device, check_pair, model_for, pick_device
from cadda.models.critic import make_critic
from cadda.models.registry import ModelSource
from cadda.operations.pool import OperationPool
from cadda.pools import operation_pool
from cadda.searchers.controls import destructive_controls
from cadda.searchers.screening import ScreeningProgress, ScreeningSettings, collect_trials
from cadda.searchers.task import SearchTask
from cadda.searchers.verdicts import ALL_CLASSES, ScreeningRow, Verdict, judge

__all__ = ["Screening", "screen"]

FORMAT = "cadda-screening"
FORMAT_VERSION = 1
FEWEST_SUBJECTS = 5
"""With fewer subjects their number is too small to judge by; windows are counted instead."""

_DECIDED: tuple[Verdict, ...] = ("helps", "hurts")


@dataclass(frozen=True, eq=False)
class Screening:
    """What a screening found.

    Parameters
    ----------
    table : tuple of ScreeningRow
        For each operation, and for each control after them: reward, standard error and verdict,
        for all classes and for each, over all magnitudes and at each.
    by : 'subject' | 'window'
        What standard errors count as independent.
    n_clusters : int
        How many of them there were.
    accuracy : float
        Accuracy on the training windows when the rewards began.
    left_out : dict of str to str
        Operations that were not tried, each with the reason.
    settings : dict
        How it was done.
    """

    table: tuple[ScreeningRow, ...]
    by: Literal["subject", "window"]
    n_clusters: int
    accuracy: float
    left_out: dict[str, str]
    settings: dict[str, Any]

    @property
    def class_names(self) -> tuple[str, ...]:
        """Classes that were screened."""
        names = dict.fromkeys(row.class_name for row in self.table)
        return tuple(name for name in names if name != ALL_CLASSES)

    def named(self, verdict: Verdict, class_name: str = ALL_CLASSES) -> tuple[str, ...]:
        """Name the operations with a verdict, over all magnitudes.

        Parameters
        ----------
        verdict : 'helps' | 'hurts' | 'undecided' | 'control'
            The verdict.
        class_name : str
            Class of the windows; ``"*"`` for all.

        Returns
        -------
        tuple of str
            Names of operations.
        """
        return tuple(
            row.operation
            for row in self.table
            if (row.verdict, row.class_name, row.magnitude) == (verdict, class_name, None)
        )

    def summary(self) -> str:
        """Say the result in plain words.

        Returns
        -------
        str
            Such as ``"sign_flip helps, frequency_shift hurts, 7 are undecided."``.
        """
        parts = [
            f"{_listed(names)} {verdict.removesuffix('' if len(names) == 1 else 's')}"
            for verdict in _DECIDED
            if (names := self.named(verdict))
        ]
        n_undecided = len(self.named("undecided"))
        if n_undecided:
            parts.append(f"{n_undecided} {'is' if n_undecided == 1 else 'are'} undecided")
        by_class = [
            f"{verdict} in {class_name}: {', '.join(here)}"
            for class_name in self.class_names
            for verdict in _DECIDED
            if (here := sorted({*self.named(verdict, class_name)} - {*self.named(verdict)}))
        ]
        more = f" Beyond that, {'; '.join(by_class)}." if by_class else ""
        return f"{'; '.join(parts)}.{more}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON.

        Parameters
        ----------
        path : path-like
            Where to write.
        """
        head = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "by": self.by,
            "n_clusters": self.n_clusters,
            "accuracy": self.accuracy,
            "left_out": self.left_out,
            "settings": self.settings,
        }
        lines = ",\n  ".join(json.dumps(_plain(row), ensure_ascii=False) for row in self.table)
        body = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
        write_text_atomically(path, f'{body},\n "table": [\n  {lines}\n ]\n}}\n')

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Screening:
        """Read what `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        Screening
            The result.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"{path} cannot be read: {reason_of(error)}.") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise DataError(f"{path} is not the result of a screening.")
        if content.get("version") != FORMAT_VERSION:
            raise DataError(
                f"{path} is of version {content.get('version')}, and this cadda reads version "
                f"{FORMAT_VERSION}."
            )
        try:
            table = tuple(_row(one) for one in content["table"])
            rest = {field.name: content[field.name] for field in fields(cls)[1:]}
        except (KeyError, TypeError) as error:
            raise DataError(f"{path} is not whole: {reason_of(error)}.") from error
        return cls(table, **rest)


def screen(
    train: Windows,
    valid: Windows,
    *,
    model: ModelSource = "chambon2018",
    operations: Sequence[str] | OperationPool | None = None,
    level: float = 0.05,
    by: Literal["auto", "subject", "window"] = "auto",
    seed: int = 0,
    device: Device = "auto",
    on_event: Callable[[ScreeningProgress], None] | None = None,
    **settings: Any,
) -> Screening:
    """Say which operations help, do nothing or hurt, class by class, from one training.

    A model is trained without augmentation until it begins to overfit. From then on operations are
    tried on training windows, and their rewards compared with those of the same windows unchanged,
    and with those of two controls that destroy the window: see `cadda.searchers.screening` for
    rewards and `cadda.searchers.verdicts.judge` for what follows from them.

    Parameters
    ----------
    train : Windows
        What the model learns from, and what operations are tried on.
    valid : Windows
        What they are judged by: other subjects.
    model : str | nn.Module | callable
        The model that augmentation shall help; see `cadda.fit`.
    operations : sequence of str | OperationPool | None
        What to try: names or a pool; None takes all that mean something on the montage.
    level : float
        Probability of any wrong verdict over all operations.
    by : 'auto' | 'subject' | 'window'
        What counts as independent. With subjects, verdicts hold for other subjects too; with
        windows only for those here. Auto takes subjects if there are at least five.
    seed : int
        Decides everything that is random: same seed, same bytes.
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        Where to compute.
    on_event : callable | None
        Called after every epoch and every round.
    **settings : object
        Further settings, such as ``n_rounds=160`` or ``calibrate=True``: see
        `cadda.searchers.screening.ScreeningSettings`.

    Returns
    -------
    Screening
        Rewards, standard errors and verdicts.
    """
    chosen = _settings(settings, seed)
    check_pair(train, valid)
    _check_classes(train, valid)
    kind, cluster = _clusters(train, by)
    pool = _pool(train, operations)
    task = SearchTask(
        x_train=train.x,
        y_train=train.y,
        x_valid=valid.x,
        y_valid=valid.y,
        class_names=train.class_names,
        pool=pool,
        make_model=lambda seed: model_for(model, train, seed=seed),
        make_critic=lambda seed: make_critic(tuple(train.x.shape[1:]), train.n_classes, seed=seed),
        device=pick_device(device),
    )
    trials, accuracy = collect_trials(
        task, destructive_controls(train.sfreq), chosen, on_event=on_event
    )
    if accuracy < chosen.min_accuracy:
        warnings.warn(
            f"the model knew {accuracy:.0%} of its training windows after {chosen.max_warmup} "
            f"epochs, less than `min_accuracy` {chosen.min_accuracy:.0%}: before it overfits, "
            "little can help. Take a higher `max_warmup` or `lr`, or fewer windows.",
            stacklevel=2,
        )
    share = torch.bincount(train.y, minlength=train.n_classes) / len(train)
    return Screening(
        table=judge(trials, train.class_names, share, cluster, level=level),
        by=kind,
        n_clusters=len(torch.unique(cluster)),
        accuracy=accuracy,
        left_out=dict(pool.left_out),
        settings={
            "model": model if isinstance(model, str) else "custom",
            "level": level,
            **asdict(chosen),
            "package_version": __version__,
        },
    )


def _settings(settings: dict[str, Any], seed: int) -> ScreeningSettings:
    known = [field.name for field in fields(ScreeningSettings)]
    for name in settings:
        if name not in known:
            raise TypeError(f"`screen` has no setting `{name}`{did_you_mean(name, known)}.")
    return ScreeningSettings(seed=seed, **settings)


def _pool(windows: Windows, operations: Sequence[str] | OperationPool | None) -> OperationPool:
    if isinstance(operations, OperationPool):
        return operations
    if isinstance(operations, str):
        raise TypeError(f"`operations` must be a list of names, got the text {operations!r}.")
    try:
        return operation_pool(windows, operations=operations)
    except KeyError as error:
        raise ValueError(f"`operations`: {error.args[0]}") from error


def _check_classes(train: Windows, valid: Windows) -> None:
    """Refuse classes that cannot be judged because validation has none of them."""
    missing = (train.class_counts() > 0) & (valid.class_counts() == 0)
    if missing.any():
        name = train.class_names[int(missing.argmax())]
        raise ValueError(
            f"`valid` must have windows of every class of `train`, but has none of {name!r}; "
            "leave the class out, or split the subjects by another seed."
        )


def _clusters(
    windows: Windows, by: Literal["auto", "subject", "window"]
) -> tuple[Literal["subject", "window"], torch.Tensor]:
    """Give each window the number of what counts as independent of the others."""
    if by not in ("auto", "subject", "window"):
        raise ValueError(f"`by` must be 'auto', 'subject' or 'window', got {by!r}.")
    subject = torch.from_numpy(np.unique(windows.subject, return_inverse=True)[1])
    if by == "window" or (by == "auto" and len(windows.subjects) < FEWEST_SUBJECTS):
        return "window", torch.arange(len(windows))
    return "subject", subject


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _plain(row: ScreeningRow) -> dict[str, Any]:
    """Give a row as JSON has it, which knows no NaN."""
    known = not math.isnan(row.standard_error)
    return asdict(row) | {"standard_error": row.standard_error if known else None}


def _row(plain: dict[str, Any]) -> ScreeningRow:
    error = plain["standard_error"]
    return ScreeningRow(**plain | {"standard_error": math.nan if error is None else error})
