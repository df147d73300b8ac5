"""Races made up by hand, to show and to draw."""

from __future__ import annotations

import numpy as np

from cadda.reporting.race import CandidateRow, CandidateStatus, RaceFacts, RaceVerdict

SWAP = "-> {left_fist: right_fist, right_fist: left_fist}"
GUIDED = (
    "time_reverse p=1 | time_mask p=1 m=0..0.5\n"
    "> time_reverse p=1 | time_mask p=1 m=0..0.5 | ft_surrogate p=1 m=0..0.8"
)
SURVIVORS = {
    "guided, 2 in a row": (GUIDED, 0.21),
    "channel_symmetry -> p=0.5 > time_mask m=0..0.5": (
        f"channel_symmetry p=0.5 {SWAP} > time_mask p=0.5 m=0..0.5",
        0.2,
    ),
    "channel_symmetry -> p=0.5": (f"channel_symmetry p=0.5 {SWAP}", 0.17),
    "channel_symmetry -> p=0.5 > time_mask m=0..0.5 > ft_surrogate m=0.8": (
        f"channel_symmetry p=0.5 {SWAP} > time_mask p=0.5 m=0..0.5 > ft_surrogate p=0.5 m=0.8",
        0.165,
    ),
    "time_mask m=0..0.5": ("time_mask p=0.5 m=0..0.5", 0.11),
    "none": ("none", 0.0),
}
DROPPED = {
    "guided, 3 in a row": (GUIDED, 0.12),
    "ft_surrogate m=0.8": ("ft_surrogate p=0.5 m=0.8", 0.06),
    "time_reverse p=1": ("time_reverse p=1", 0.03),
    "every window twice": ("none", 0.01),
    "time_mask m=0.5": ("time_mask p=0.5 m=0.5", 0.02),
    "sign_flip p=0.5": ("sign_flip p=0.5", -0.02),
    "gaussian_noise m=0.4": ("gaussian_noise p=0.5 m=0.4", -0.04),
    "sign_flip p=1": ("sign_flip p=1", -0.05),
    "bandstop m=0.3": ("bandstop p=0.5 m=0.3", -0.1),
    "one of all operations": ("time_mask p=1 m=0..1 | bandstop p=1 m=0..1", -0.3),
    "frequency_shift m=0..1": ("frequency_shift p=0.5 m=0..1", -0.6),
}


def candidate_row(
    name: str,
    policy: str,
    gain: float,
    *,
    n_blocks: int = 8,
    status: CandidateStatus = "racing",
    reason: str = "",
    seed: int = 0,
) -> CandidateRow:
    """Return a candidate whose gains scatter around a mean."""
    noise = np.random.default_rng(seed).normal(0, 0.05 * (name != "none"), n_blocks)
    gains = gain + noise - (noise.mean() if n_blocks else 0.0)
    error = float(gains.std(ddof=1) / np.sqrt(n_blocks)) if n_blocks > 1 else None
    half = 1.7 * (error or 0.0) / 2
    return CandidateRow(
        name=name,
        policy=policy,
        gains=tuple(gains.tolist()),
        gain=float(gains.mean()) if n_blocks else 0.0,
        error=error,
        accuracy_gain=gain / 3,
        accuracy_low=None if error is None else gain / 3 - half,
        accuracy_high=None if error is None else gain / 3 + half,
        status=status,
        reason=reason,
    )


def verdict_on(name: str, *, is_gain: bool) -> RaceVerdict:
    """Return the decision on a candidate."""
    gain, low, high = (0.062, 0.021, 0.103) if is_gain else (0.012, -0.021, 0.045)
    measured = (
        f"{gain:+.3f} (90 % interval {low:+.3f} to {high:+.3f}) balanced accuracy on new "
        "subjects, measured in 9 blocks that had no part in the choice, over 12 subjects"
    )
    sentence = f"Use {name}: {measured}."
    if not is_gain:
        sentence = (
            f"Train without augmentation: the best, {name}, is not distinguishable from it: "
            f"{measured}."
        )
    return RaceVerdict(name, gain, low, high, 9, 12, is_gain, sentence)


def made_up_race(
    chosen: str = "channel_symmetry -> p=0.5 > time_mask m=0..0.5", *, is_gain: bool = True
) -> RaceFacts:
    """Return a finished race; without a gain, its answer is no augmentation."""
    statuses: dict[str, CandidateStatus] = {chosen: "measured"}
    statuses[chosen if is_gain else "none"] = "chosen"
    rows = [
        candidate_row(name, policy, gain, seed=i, status=statuses.get(name, "racing"))
        for i, (name, (policy, gain)) in enumerate(SURVIVORS.items())
    ]
    leader = next(iter(SURVIVORS))
    rows += [
        candidate_row(
            name,
            policy,
            gain,
            n_blocks=3 + (gain > 0) * (i % 3),
            status="dropped",
            reason=f"worse than {leader} after {3 + (gain > 0) * (i % 3)} blocks",
            seed=100 + i,
        )
        for i, (name, (policy, gain)) in enumerate(DROPPED.items())
    ]
    verdict = verdict_on(chosen, is_gain=is_gain)
    return RaceFacts(tuple(rows), chosen if is_gain else "none", verdict, 200, 400.0)
