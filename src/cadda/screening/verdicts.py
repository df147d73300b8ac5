"""From paired rewards to verdicts: what helps, what hurts, and what remains undecided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import torch
from torch import Tensor

from cadda._internal.statistics import holm
from cadda.screening.inference import Means, Trials, average

__all__ = ["ALL_CLASSES", "NEEDED", "UNIT", "ScreeningRow", "Verdict", "judge"]

Verdict = Literal["helps", "hurts", "undecided", "control"]

ALL_CLASSES = "*"

UNIT = "1 is the typical size of that of a single destroyed window"
"""The unit of rewards, for those who read a table or a picture."""

NEEDED = (
    "To help, an operation must be better than the unchanged windows, the controls and random "
    "labels; to hurt, worse (over all classes, the controls aside); both after correction for the "
    "number of operations. All else is undecided."
)
"""What `judge` asks for, in short, for them."""


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
        Mean reward beyond that of the same windows unchanged; 1 is the typical size of the reward
        of a single destroyed window.
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

    @property
    def in_errors(self) -> float:
        """The reward in standard errors; 0 for one that never differed, NaN where unknown."""
        return self.reward / self.standard_error if self.standard_error else 0.0


def judge(
    trials: Trials,
    class_names: tuple[str, ...],
    share: Tensor,
    cluster: Tensor,
    *,
    level: float = 0.05,
) -> tuple[ScreeningRow, ...]:
    """Say which operations help and which hurt.

    An operation **helps** where its mean reward is above

    - that of the unchanged windows,
    - that of every control, and
    - that of the same augmented windows with random labels.

    An over-confident model is rewarded for whatever makes it less sure. A destroyed window does
    that, and so does a strange one whatever its label.

    It **hurts** where its mean reward is below that of the unchanged windows, and below that of
    the same augmented windows with random labels: then their own labels are worse than none. What
    merely costs a little, as anything unfamiliar does at first, is not said to hurt. To be worse
    than the controls is asked for only in a single class: whether validation wants more or less of
    that class bends its rewards, and those of the controls alike. Over all classes this cancels.

    All else is **undecided**, which is not to say that there is no effect.

    A verdict needs all of its comparisons, so its p-value is the largest of theirs. p-values are
    two-sided and corrected by Holm's method over all operations, for each of four tables by
    itself: all classes or each class, all magnitudes or each magnitude.

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
    table = average(trials, trials.reward, share, cluster)
    by_label = average(trials, trials.reward - trials.relabelled, share, cluster)
    names = [ALL_CLASSES, *(class_names[i] for i in share.nonzero().flatten().tolist())]
    everything = range(len(trials.operations))
    graded = [i for i in everything if trials.graded[i]]
    whole = (table.over_magnitudes(), by_label.over_magnitudes())
    rows = [
        *_rows(trials, *whole, everything, (None,), names, level),
        *_rows(trials, table, by_label, graded, trials.magnitudes, names, level),
    ]
    return tuple(sorted(rows, key=lambda row: trials.operations.index(row.operation)))


def _rows(
    trials: Trials,
    table: Means,
    by_label: Means,
    operations: Sequence[int],
    magnitudes: Sequence[float | None],
    names: Sequence[str],
    level: float,
) -> Iterator[ScreeningRow]:
    """Judge one table of means and go through it operation by operation."""
    first_control = len(trials.operations) - trials.n_controls
    helps, hurts = _p_values(table, by_label, range(first_control, len(trials.operations)))
    smaller = (2 * torch.minimum(helps, hurts)).clamp(max=1)
    p_value, error = torch.ones_like(smaller), table.standard_error()
    tried = [i for i in operations if i < first_control]
    for columns in (slice(0, 1), slice(1, None)):
        p_value[tried, :, columns] = torch.from_numpy(holm(smaller[tried, :, columns]))
    for place in product(operations, range(len(magnitudes)), range(len(names))):
        operation, magnitude, column = place
        verdict: Verdict = "control" if operation >= first_control else "undecided"
        if p_value[place] < level:
            verdict = "helps" if helps[place] < hurts[place] else "hurts"
        yield ScreeningRow(
            trials.operations[operation],
            magnitudes[magnitude],
            names[column],
            float(table.mean[place]),
            float(error[place]),
            int(table.count[place]),
            float(p_value[place]),
            verdict,
        )


def _p_values(table: Means, by_label: Means, controls: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Test all means for help and for harm, one-sidedly."""
    above = torch.stack([table.p_above(), by_label.p_above()])
    above_controls = torch.stack([table.less(control).p_above() for control in controls])
    helps = torch.cat([above, above_controls]).amax(0)
    hurts = 1 - above.amin(0)
    hurts[..., 1:] = torch.maximum(hurts, 1 - above_controls.amin(0))[..., 1:]
    return helps, hurts
