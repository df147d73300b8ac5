"""Training waits for a GPU once per epoch."""

from __future__ import annotations

import pytest
import torch
from host_reads import HostReads, counted_reads, noise_of_two
from torch import nn

import cadda
from cadda.api.prepare import make_problem
from cadda.training import Trainer, TrainingSettings
from cadda.training.problem import Problem

POLICY = """\
sign_flip p=0.5 > gaussian_noise p=0.5 m=0.2..0.8
channel_dropout p=0.5 m=0.5 > segment_recombination p=0.7 m=0.5
"""
CLASSWISE = "[A]\ntime_reverse p=0.5\n[B]\nft_surrogate p=0.5 m=0.5"
MAPPED = "channel_symmetry p=0.5 -> {A: B, B: A}"


def network(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(n_channels, 4, 5),
        nn.BatchNorm1d(4),
        nn.AdaptiveAvgPool1d(4),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(16, n_classes),
    )


def small_problem() -> Problem:
    parts = noise_of_two(33, 100, ["A", "B"])
    return make_problem(*parts, model=network, operations=["all"], device="cpu")


@pytest.mark.parametrize("text", [None, POLICY, CLASSWISE, MAPPED])
@pytest.mark.parametrize("copies", [0, 1])
def test_one_read_per_epoch(
    text: str | None, copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = small_problem()
    policy = None
    if text is not None:
        policy = cadda.Policy(cadda.PolicySpec.from_text(text), problem.pool)
    settings = TrainingSettings(max_epochs=4, batch_size=8, copies=copies, class_weights=True)
    trainer = Trainer(problem, settings, policy)
    with counted_reads(trainer.model.state_dict(keep_vars=True).values(), monkeypatch) as counts:
        trainer.run()
    assert counts == {"cpu": 4}


def test_numbers_do_not_depend_on_where_decisions_are_made() -> None:
    """With two generators in the same state as with one, as far as decisions are concerned."""
    policy = cadda.Policy(cadda.PolicySpec.from_text("sign_flip p=0.5"), small_problem().pool)
    x = torch.randn(16, 2, 100, generator=torch.Generator().manual_seed(0))
    first, second, other = (torch.Generator().manual_seed(seed) for seed in (1, 1, 2))
    expected, _ = policy(x, generator=first)
    draw = policy.draw(x, generator=other, decisions=second)
    assert torch.equal(policy.transform(x, draw), expected)


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.mean().item(),
        lambda x: float(x.exp()[0]),
        lambda x: (x * 2).tolist(),
        lambda x: x[x > 0],
        lambda x: bool((x > 0).any()),
        lambda x: (x + torch.rand(3)).cpu(),
        lambda x: torch.unique(x.long()),
        lambda x: x.nonzero(),
    ],
)
def test_each_kind_of_read_is_counted(read) -> None:
    x = torch.ones(3)
    reads = HostReads()
    reads.mark(x)
    with reads:
        read(x)
        assert sum(reads.counts.values()) == 1
        read(torch.ones(3))
    assert sum(reads.counts.values()) == 1
