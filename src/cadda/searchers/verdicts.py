"""From paired rewards to verdicts: what helps, what hurts, and what remains undecided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import torch
from torch import Tensor

from cadda.searchers.inference import Cells, Trials, average, holm

__all__ = ["ALL_CLASSES", "ScreeningRow", "Verdict", "judge"]

Verdict = Literal["helps", "hurts", "undecided", "control"]

ALL_CLASSES = "*"
HARM = 0.05
"""Harm that counts, as a fraction of the size of the change that destroying a window makes."""


@dataclass(frozen=True)
class ScreeningRow:
    """What was seen of one operation.

    Parameters
    ----------
    operation : str
        Name of the operation or control.
    magnitude : float | None
        Its magnitude; None for the mean over all magnitudes that were tried.
    class_name : str
        Class of the windows; ``"*"`` for all, each class as often as in the training windows.
    reward : float
        Mean reward beyond that of the same windows unchanged. 1 is the size of the change that
        destroying a window makes.
    standard_error : float
        Standard error of the reward; NaN where the windows come from one subject only.
    n : int
        Number of rewards in the mean.
    p_value : float
        Two-sided p-value of the verdict, corrected for the number of operations; 1 for a control.
    verdict : 'helps' | 'hurts' | 'undecided' | 'control'
        What follows.
    """

    operation: str
    magnitude: float | None
    class_name: str
    reward: float
    standard_error: float
    n: int
    p_value: float
    verdict: Verdict


def judge(
    trials: Trials,
    class_names: tuple[str, ...],
    share: Tensor,
    cluster: Tensor,
    *,
    level: float = 0.05,
) -> tuple[ScreeningRow, ...]:
    """Say which operations help and which hurt.

    An operation **helps** where its mean reward is above that of the unchanged windows and above
    that of every control. An over-confident model is rewarded for whatever makes it less sure, and
    a destroyed window does that too.

    It **hurts** where its mean reward is below that of the unchanged windows by more than a
    twentieth of the size of the change that destroying a window makes. So much is asked because
    what is merely unfamiliar costs a little at first: weak noise has a small negative reward with
    a tiny standard error, and does no harm in a full training. To be worse than the controls is
    not asked for: nothing is expected to be worse than to destroy the window, and over-confidence
    can only hide harm. There is one exception. Where a control is above the unchanged windows in
    some class, validation wants other class frequencies than the model predicts, and rewards of
    classes are bent up and down by that. Harm in a single class must then also be worse than every
    control in that class.

    All else is **undecided**, which is not to say that there is no effect.

    p-values are two-sided and corrected by Holm's method over all operations, for each of four
    tables by itself: all classes or each class, all magnitudes or each magnitude.

    Parameters
    ----------
    trials : Trials
        The rewards.
    class_names : tuple of str
        Names of the classes.
    share : Tensor
        Share of each class in the training windows, shape (n_classes,).
    cluster : Tensor
        What each training window shares with others, such as the number of its subject, shape
        (n_windows,).
    level : float
        Probability of any wrong verdict in a table.

    Returns
    -------
    tuple of ScreeningRow
        For each operation the means over magnitudes, then each magnitude.
    """
    cells = average(trials, share, cluster)
    names = [ALL_CLASSES, *(class_names[i] for i in share.nonzero().flatten().tolist())]
    everything = range(len(trials.operations))
    graded = [i for i in everything if trials.graded[i]]
    rows = [
        *_rows(trials, cells.over_magnitudes(), everything, (None,), names, level),
        *_rows(trials, cells, graded, trials.magnitudes, names, level),
    ]
    return tuple(sorted(rows, key=lambda row: trials.operations.index(row.operation)))


def _rows(
    trials: Trials,
    table: Cells,
    operations: Sequence[int],
    magnitudes: Sequence[float | None],
    names: Sequence[str],
    level: float,
) -> Iterator[ScreeningRow]:
    """Judge one table of means and go through it operation by operation."""
    first_control = len(trials.operations) - trials.n_controls
    tried = torch.tensor([i for i in operations if i < first_control], dtype=torch.long)
    p_value, helps = _p_values(table, range(first_control, len(trials.operations)), tried, level)
    error = table.standard_error()
    for place in product(operations, range(len(magnitudes)), range(len(names))):
        operation, magnitude, column = place
        p = float(p_value[place])
        verdict: Verdict = "control" if operation >= first_control else "undecided"
        if p < level:
            verdict = "helps" if helps[place] else "hurts"
        yield ScreeningRow(
            trials.operations[operation],
            magnitudes[magnitude],
            names[column],
            float(table.mean[place]),
            float(error[place]),
            int(table.count[place]),
            p,
            verdict,
        )


def _p_values(
    table: Cells, controls: Sequence[int], tried: Tensor, level: float
) -> tuple[Tensor, Tensor]:
    """Give corrected two-sided p-values, and whether each speaks of help rather than of harm."""
    helps, hurts = table.p_above(0.0), table.p_below(-HARM)
    bent = _is_bent(table.over_magnitudes(), controls, level)
    for control in controls:
        difference = table.less(control)
        helps = torch.maximum(helps, difference.p_above(0.0))
        if bent:
            worse = difference.p_below(0.0)
            hurts[..., 1:] = torch.maximum(hurts[..., 1:], worse[..., 1:])
    p_value = (2 * torch.minimum(helps, hurts)).clamp(max=1)
    corrected = torch.ones_like(p_value)
    for columns in (slice(0, 1), slice(1, None)):
        corrected[tried, :, columns] = holm(p_value[tried, :, columns])
    return corrected, helps < hurts


def _is_bent(table: Cells, controls: Sequence[int], level: float) -> bool:
    """Say whether a control helps in some class, which a destroyed window cannot do in earnest."""
    p_value = table.p_above(0.0)[list(controls), :, 1:]
    return bool((holm(p_value) < level).any())
