"""Fewer entries in the policy of a class: merge subpolicies, drop what is rare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from cadda.policies.spec.mixture import Mixture

__all__ = ["prune"]

MAX_MERGED = 200
"""Subpolicies above which none are merged."""

MAX_REFINED = 60
"""Entries above which single changes are not tried."""

N_STARTS = 3
"""Numbers of subpolicies to drop entries from, from the fewest that can be reached."""

Distance = Callable[[Mixture], float]


def prune(mixture: Mixture, distance: Distance, max_distance: float) -> Mixture:
    """Return a smaller mixture within a distance, or the mixture itself."""
    reached = (level for level in _merge_levels(mixture) if distance(level) <= max_distance)
    starts = [_drop_rare(level, distance, max_distance) for level in islice(reached, N_STARTS)]
    best = min([*starts, mixture], key=lambda small: small.size)
    return best if best.size[0] > MAX_REFINED else _refine(best, distance, max_distance)


def _merge_levels(mixture: Mixture) -> Iterator[Mixture]:
    """Yield mixtures of 1, 2, … subpolicies, of which the most similar ones are merged first."""
    mixture = mixture.compact()
    n = len(mixture.weight)
    levels = [mixture]
    cost = np.full((n, n), np.inf)
    if n <= MAX_MERGED:
        for i in range(n - 1):
            cost[i, i + 1 :] = mixture.merge_costs(i)[i + 1 :]
    while np.isfinite(cost).any():
        both = [int(place) for place in np.unravel_index(cost.argmin(), cost.shape)]
        mixture = mixture.merged(*both)
        levels.append(mixture)
        # The merged subpolicy is the last one now.
        cost = np.delete(np.delete(cost, both, 0), both, 1)
        cost = np.pad(cost, (0, 1), constant_values=np.inf)
        cost[:-1, -1] = mixture.merge_costs(-1)[:-1]
    return reversed(levels)


def _drop_rare(mixture: Mixture, distance: Distance, max_distance: float) -> Mixture:
    """Drop as many entries as possible, the rarest first."""
    used = mixture.weight[:, None, None] * mixture.applied[..., 1:]
    flat = np.flatnonzero(mixture.applied[..., 1:])
    order = flat[np.argsort(used.ravel()[flat], kind="stable")]

    def drop(n_dropped: int, *, renormalise: bool) -> Mixture:
        return mixture.drop(_mask(order[:n_dropped], used.shape), renormalise=renormalise)

    best = mixture
    for renormalise in (True, False):
        low, high = 0, len(order)
        while low < high:
            middle = (low + high + 1) // 2
            small = drop(middle, renormalise=renormalise)
            if distance(small) <= max_distance:
                low, best = middle, min(best, small.compact(), key=lambda found: found.size)
            else:
                high = middle - 1
    return best


def _refine(mixture: Mixture, distance: Distance, max_distance: float) -> Mixture:
    """Make single changes as long as they fit, those first that cost least for what they save."""
    while True:
        start, size = distance(mixture), mixture.size
        best, best_cost = None, np.inf
        for changed in _changes(mixture):
            if changed.size < size and (reached := distance(changed)) <= max_distance:
                cost = (reached - start) / max(size[0] - changed.size[0], 0.5)
                if cost < best_cost:
                    best, best_cost = changed, cost
        if best is None:
            return mixture
        mixture = best


def _changes(mixture: Mixture) -> Iterator[Mixture]:
    """Yield mixtures without an entry, a stage or a subpolicy, or with two merged."""
    shape = mixture.applied[..., 1:].shape
    entries = np.flatnonzero(mixture.applied[..., 1:])
    n_subpolicies, _, n_choices = shape
    for n in entries:
        for renormalise in (True, False):
            yield mixture.drop(_mask(n, shape), renormalise=renormalise).compact()
    for stage in np.unique(entries // n_choices):
        inside = np.arange(stage * n_choices, (stage + 1) * n_choices)
        yield mixture.drop(_mask(inside, shape), renormalise=False).compact()
    if n_subpolicies > 1:
        yield from map(mixture.without, range(n_subpolicies))
    for i, j in combinations(range(n_subpolicies), 2):
        yield mixture.merged(i, j)


def _mask(places: NDArray[np.intp] | np.intp, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    mask = np.zeros(shape, dtype=bool)
    mask.ravel()[places] = True
    return mask
