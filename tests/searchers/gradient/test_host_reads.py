"""Searches by gradients wait for a GPU once in ten steps."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from host_reads import counted_reads, noise_of_two

from cadda.api.prepare import make_problem
from cadda.policies.dispatch import draw_stages, transform_groups
from cadda.searchers.gradient.bilevel import BilevelSearcher
from cadda.searchers.gradient.faster_autoaugment import FasterSearcher, FasterSettings
from cadda.searchers.registry import find_method
from cadda.training.problem import Problem

METHODS: list[tuple[str, dict[str, Any]]] = [
    ("adda", {}),
    ("adda", {"reuse_inner_gradient": False, "confidence": "calibrate"}),
    ("adda", {"paired": False, "smoothing": 0.0, "estimator": "straight-through"}),
    ("adda", {"granularity": "batch"}),
    ("adda", {"sampling": "mixture"}),
    ("cadda", {}),
    ("cadda", {"granularity": "batch"}),
    ("dada", {}),
    ("faster_autoaugment", {}),
]


def small_problem() -> Problem:
    parts = noise_of_two(40, 300, ["A", "B", "C"])
    return make_problem(*parts, model="chambon2018", operations=["all"], device="cpu")


def make_searcher(problem: Problem, name: str, changes: dict[str, Any]) -> Any:
    method = find_method(name)
    settings = method.resolve_settings({"warmup_epochs": 0, "batch_size": 8} | changes)
    kind = FasterSearcher if isinstance(settings, FasterSettings) else BilevelSearcher
    return kind(problem, settings, classwise=method.classwise)


@pytest.mark.parametrize(("name", "changes"), METHODS)
def test_one_read_in_ten_steps(
    name: str, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    searcher = make_searcher(small_problem(), name, changes)
    parts = (searcher.model, searcher.policy, getattr(searcher, "critic", searcher.policy))
    remote = [value for part in parts for value in part.state_dict(keep_vars=True).values()]
    if isinstance(searcher, BilevelSearcher):
        remote += [*searcher.mean_weights.values(), *searcher.ascent.control.parameters()]
        remote += [common for _, common in searcher.ascent.pooled] + [searcher.ascent.scale]
    with counted_reads(remote, monkeypatch, transfers=True) as counts:
        searcher.run(20)
    assert counts == {"tolist": 2}


def test_whole_batches_are_transformed_as_groups_are() -> None:
    """Each operation is applied to all windows and to those that drew it, with one draw."""
    pool = small_problem().pool
    x = torch.randn(12, 2, 100, generator=torch.Generator().manual_seed(0))
    y = torch.arange(12) % 2
    choice = torch.arange(24).view(12, 2) % (len(pool) + 1)
    strength = torch.linspace(0.1, 0.9, 12)
    whole = draw_stages(
        pool, x, [y] * 3, choice, torch.Generator().manual_seed(1), whole_batch=True
    )
    for groups, column in zip(whole, choice.T, strict=True):
        changed = transform_groups(pool, x, groups, strength)
        for group in groups:
            windows = (column == group.operation).nonzero().squeeze(1)
            if len(windows):
                draw = {name: value[windows] for name, value in group.draw.items()}
                expected = pool[group.operation].apply(x[windows], strength[windows], draw)
                torch.testing.assert_close(changed[windows], expected)
        kept = column == len(pool)
        assert torch.equal(changed[kept], x[kept])
