"""Named streams."""

from __future__ import annotations

import torch

from cadda._internal.random import Seeds, normal, uniform


def test_streams_are_functions_of_seed_name_and_indices() -> None:
    keys = {
        Seeds(seed).integer(name, **indices)
        for seed in (0, 1)
        for name in ("draws", "model")
        for indices in ({}, {"fold": 0}, {"fold": 1}, {"fold": 1, "trial": 0})
    }
    assert len(keys) == 16
    assert all(0 <= key < 2**63 for key in keys)
    # Written down, because results must not change with a new version of Python or torch.
    assert Seeds(0).integer("draws") == 6222431225268679738


def test_order_of_indices_does_not_matter() -> None:
    assert Seeds(0).integer("a", fold=1, trial=2) == Seeds(0).integer("a", trial=2, fold=1)


def test_the_global_generator_is_left_alone() -> None:
    before = torch.random.get_rng_state()
    generator = Seeds(3).stream("draws")
    uniform((5,), torch.zeros(1), generator)
    normal((5,), torch.zeros(1), generator)
    assert torch.equal(before, torch.random.get_rng_state())


def test_uniform_is_open() -> None:
    sample = uniform((1_000_000,), torch.zeros(1), Seeds(0).stream("u"))
    assert sample.min() > 0
    assert sample.max() < 1
    assert sample.log().isfinite().all()
    assert torch.logit(sample).isfinite().all()
