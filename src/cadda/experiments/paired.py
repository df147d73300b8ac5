"""Whether a method is better than none, judged over the same folds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import t

from cadda.screening.inference import holm

__all__ = ["Comparison", "compare_with", "recommendation"]

COVERAGE = 0.95
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Comparison:
    """A method against none.

    Parameters
    ----------
    name : str
        The method.
    gain : float
        Mean difference of the scores over folds.
    low : float
        Lower end of its 95 % interval, -1 at the least: no two scores differ by more.
    high : float
        Upper end of its 95 % interval, 1 at the most.
    p_value : float
        Two-sided, corrected by Holm's method for the number of methods.
    """

    name: str
    gain: float
    low: float
    high: float
    p_value: float


def compare_with(
    plain: Sequence[float], scores: Mapping[str, Sequence[float]]
) -> list[Comparison]:
    r"""Compare methods with none, fold by fold.

    Folds of a cross-validation share training subjects, so their differences d are not
    independent. The t-test corrected for that (Nadeau & Bengio, 2003) takes

    .. math:: t = \bar d \Big/ \sqrt{s^2 \left(\frac1n + \frac{1}{n - 1}\right)}

    with n folds, n − 1 being how many times more subjects are trained on than tested on.

    Parameters
    ----------
    plain : sequence of float
        Score of each fold without augmentation.
    scores : mapping of str to sequence of float
        Scores of the same folds by method.

    Returns
    -------
    list of Comparison
        In the order of the methods.
    """
    n_folds = len(plain)
    if n_folds < 2:
        raise ValueError(f"`plain` must have the scores of at least two folds, got {n_folds}.")
    found = []
    for name, values in scores.items():
        difference = np.asarray(values, dtype=float) - np.asarray(plain, dtype=float)
        error = difference.std(ddof=1) * math.sqrt(1 / n_folds + 1 / (n_folds - 1))
        found.append((name, float(difference.mean()), float(error)))
    corrected = holm(torch.tensor([_p_value(gain, error, n_folds) for _, gain, error in found]))
    half = float(t.ppf((1 + COVERAGE) / 2, n_folds - 1))
    return [
        Comparison(
            name, gain, max(-1.0, gain - half * error), min(1.0, gain + half * error), float(p)
        )
        for (name, gain, error), p in zip(found, corrected, strict=True)
    ]


def recommendation(comparisons: Sequence[Comparison], n_folds: int) -> str:
    """Say in a sentence what to do.

    Parameters
    ----------
    comparisons : sequence of Comparison
        Methods against none.
    n_folds : int
        Number of folds.

    Returns
    -------
    str
        The best method and how sure that is.
    """
    best = max(comparisons, key=lambda one: one.gain)
    n_methods = f"{len(comparisons)} method{'s' if len(comparisons) > 1 else ''}"
    numbers = (
        f"{best.gain:+.3f} of balanced accuracy over no augmentation (95 % interval "
        f"{best.low:+.3f} to {best.high:+.3f}, p = {best.p_value:.3g} over {n_folds} folds, "
        f"corrected for {n_methods})"
    )
    is_sure = best.p_value < SIGNIFICANT
    if best.gain <= 0:
        doubt = "" if is_sure else f", though {n_folds} folds cannot tell that none would"
        return (
            f"Train without augmentation: no method gained{doubt}; {best.name} came nearest, "
            f"{numbers}."
        )
    if is_sure:
        return f"Use {best.name}: {numbers}."
    return (
        f"{best.name} looks best, but may be no better than no augmentation: {numbers}; more "
        "subjects or folds would tell."
    )


def _p_value(gain: float, error: float, n_folds: int) -> float:
    if error == 0:
        return 1.0 if gain == 0 else 0.0
    return float(2 * t.sf(abs(gain / error), n_folds - 1))
