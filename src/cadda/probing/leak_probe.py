"""Whether a trained model reads operations in place of classes, on windows of other classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from cadda._internal.random import Seeds
from cadda.operations.label_maps import plain_name
from cadda.policies.policy import Policy
from cadda.policies.schedule import ScheduledPolicy
from cadda.policies.spec.leakage import trace_operations, with_classes
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.summary import mean_uses
from cadda.training import Fitted, LeakReading, Samples, predict_logits
from cadda.training.augmenter import Augmentation

__all__ = ["with_leak_probe"]

MIN_EXCESS = 0.05
"""Operations are tried that change this share more of a class than of the others on average."""

N_WINDOWS = 200
"""Windows that each operation is tried on, as many of each class as possible."""


def with_leak_probe(fitted: Fitted, valid: Samples, policy: Augmentation | None) -> Fitted:
    """Add to a trained model what it makes of the operations of its policy on other classes.

    Of a policy that changes with the epochs, that of the epoch of the weights counts. A policy
    that treats all classes alike, or that is any function, gives no readings.
    """
    if isinstance(policy, ScheduledPolicy):
        policy = policy.at_epoch(fitted.best_epoch)
    if not isinstance(policy, Policy):
        return fitted
    readings = _read(fitted.model, valid, policy, fitted.description.class_names)
    return replace(fitted, leaks=tuple(sorted(readings, key=lambda reading: -reading.change)))


def _read(
    model: nn.Module, valid: Samples, policy: Policy, class_names: tuple[str, ...]
) -> Iterator[LeakReading]:
    """Yield a reading for each operation and each class that it is notably more often used for."""
    spec = with_classes(policy.spec, class_names)
    traces = trace_operations(spec)
    applied, n_classes = traces.applied, len(class_names)
    others = (applied.sum(0) - applied) / (n_classes - 1)
    notable = np.argwhere(applied - others >= MIN_EXCESS).tolist()
    if not notable:
        return
    index = _spread(valid.y, n_classes)
    x, y = valid.x[index], valid.y[index]
    before = predict_logits(model, x, n_classes).softmax(1)
    for label, n in notable:
        name, is_other = traces.operations[n], y != label
        if not is_other.any():
            continue
        magnitude = _magnitude(spec, name, class_names[label])
        changed = _apply(policy, name, magnitude, x[is_other], y[is_other])
        after = predict_logits(model, changed, n_classes).softmax(1)
        change = after[:, label] - before[is_other, label]
        yield LeakReading(
            operation=name,
            class_name=class_names[label],
            applied=float(applied[label, n]),
            others=float(others[label, n]),
            change=float(change.double().mean()),
            n_windows=len(changed),
        )


def _spread(y: Tensor, n_classes: int) -> Tensor:
    """Return indices of windows of every class, evenly spread over those that there are."""
    n_each = -(-N_WINDOWS // (n_classes - 1))
    places = [(y == label).nonzero().flatten() for label in range(n_classes)]
    chosen = [
        place[torch.linspace(0, len(place) - 1, min(len(place), n_each)).long()]
        for place in places
    ]
    return torch.cat(chosen)


def _apply(policy: Policy, name: str, magnitude: float | None, x: Tensor, y: Tensor) -> Tensor:
    operation, generator = policy.pool[name], Seeds(0).stream(f"leak probe of {name}")
    return operation.transform(x, magnitude, operation.draw(x, y=y, generator=generator))


def _magnitude(spec: PolicySpec, operation: str, class_name: str) -> float | None:
    """Return the mean magnitude of an operation for a class, or for all if it gets none there.

    A label map may bring windows with the operation from other classes.
    """
    for rows in ([class_name], spec.rows):
        uses = [
            (use.probability, use.magnitude)
            for row in rows
            if row in spec.policy
            for choice, use in mean_uses(spec.policy[row], row).items()
            if plain_name(choice) == operation and use.magnitude is not None
        ]
        total = sum(probability for probability, _ in uses)
        if total:
            return sum(probability * magnitude for probability, magnitude in uses) / total
    return None
