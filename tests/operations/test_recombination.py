"""Segments from other windows of the same class, alone and in policies."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from scipy import stats
from torch import Tensor

import cadda
from cadda import LabelMap, OperationPool, Policy, PolicySpec, StagedPolicy
from cadda.operations.base import Batch
from cadda.operations.recombination import SegmentRecombination, draw_partners
from cadda.policies.relaxed.policies import EnumeratedPolicy, MixturePolicy

CLASSES = ("a", "b", "c")
SWAP = {"a": "b", "b": "a"}


@pytest.fixture
def pool() -> OperationPool:
    return cadda.operation_pool(sfreq=100, ch_names=["C3", "C4"], class_names=CLASSES)


def numbered(n_windows: int, n_times: int = 40) -> Tensor:
    """Return windows whose samples all are the number of the window."""
    return torch.arange(float(n_windows))[:, None, None].expand(-1, 2, n_times).clone()


def test_partners_are_others_of_the_class_and_equally_likely(generator: torch.Generator) -> None:
    y = torch.tensor([5, -1, 5, 5, -1, 7])
    batch = Batch(numbered(6), y, y)
    partner = draw_partners(batch, torch.arange(6), 6000, generator)
    expected = {0: {2, 3}, 1: {4}, 2: {0, 3}, 3: {0, 2}, 4: {1}, 5: {5}}
    for window, others in expected.items():
        counts = Counter(partner[window].tolist())
        assert set(counts) == others
        if len(others) > 1:
            assert stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_partners_have_the_class_that_windows_have_by_now(generator: torch.Generator) -> None:
    y, label = torch.tensor([0, 0, 1, 1]), torch.tensor([1, 0, 1, 9])
    partner = draw_partners(Batch(numbered(4), y, label), torch.arange(4), 200, generator)
    found = [set(row.tolist()) for row in partner]
    # The first has changed into class 1, the last into one that no other window has.
    assert found == [{2, 3}, {0}, {3}, {3}]


def test_partners_of_some_windows_of_a_batch(generator: torch.Generator) -> None:
    y = torch.arange(300) % 3
    windows = torch.tensor([7, 1, 250])
    partner = draw_partners(Batch(numbered(300), y, y), windows, 500, generator)
    assert torch.equal(y[partner], y[windows][:, None].expand(-1, 500))
    assert not bool((partner == windows[:, None]).any())
    assert len(set(partner[0].tolist())) > 90


@pytest.mark.parametrize("n_times", [40, 43, 5])
def test_segments_keep_their_time_and_their_class(
    n_times: int, generator: torch.Generator
) -> None:
    y = torch.arange(30) % 3
    x = numbered(30, n_times) * 100 + torch.arange(n_times)
    result = SegmentRecombination()(x, 1.0, y=y, generator=generator)
    source, time = result.div(100, rounding_mode="floor").long(), result.remainder(100)
    assert torch.equal(time, torch.arange(n_times).expand_as(time).float())
    assert torch.equal(source[:, 0], source[:, 1])
    assert torch.equal(y[source[:, 0]], y[:, None].expand(-1, n_times))
    assert not bool((source[:, 0] == torch.arange(30)[:, None]).any())
    boundaries = source[:, 0].diff(dim=1).ne(0).any(0).nonzero().flatten() + 1
    edges = [len(part) for part in torch.arange(n_times).tensor_split(8)]
    allowed = set(torch.tensor(edges).cumsum(0).tolist())
    assert set(boundaries.tolist()) <= allowed


def test_magnitude_is_the_share_of_segments(generator: torch.Generator) -> None:
    y = torch.zeros(2000, dtype=torch.long)
    x = numbered(2000)
    result = SegmentRecombination()(x, 0.3, y=y, generator=generator)
    assert float((result != x).float().mean()) == pytest.approx(0.3, abs=0.01)


def test_a_window_without_partner_does_not_change(generator: torch.Generator) -> None:
    x = torch.randn(4, 2, 40, generator=generator)
    y = torch.tensor([0, 1, 1, 2])
    result = SegmentRecombination()(x, 1.0, y=y, generator=generator)
    assert torch.equal(result[[0, 3]], x[[0, 3]])
    assert torch.equal(result[1], x[2])
    assert torch.equal(result[2], x[1])


def test_labels_are_needed() -> None:
    with pytest.raises(ValueError, match="`y` is missing"):
        SegmentRecombination()(torch.randn(4, 2, 40), 1.0)
    with pytest.raises(ValueError, match="one label per window"):
        SegmentRecombination()(torch.randn(4, 2, 40), 1.0, y=torch.zeros(3).long())


@pytest.mark.parametrize("text", ["segment_recombination p=1 m=1", "sign_flip p=0 > {}"])
def test_policies_that_mix_windows_need_labels(text: str, pool: OperationPool) -> None:
    policy = Policy(PolicySpec.from_text(text.format("segment_recombination p=0.5 m=1")), pool)
    with pytest.raises(ValueError, match="mixes windows of a class, needs the labels"):
        policy(torch.randn(4, 2, 40))
    plain = Policy(PolicySpec.from_text("sign_flip p=1"), pool.with_extra())
    assert plain(torch.ones(4, 2, 40))[0].sum() == -320


def test_policy_takes_segments_from_the_whole_batch(
    pool: OperationPool, generator: torch.Generator
) -> None:
    """Partners are windows as they came, whether or not they drew the operation."""
    spec = PolicySpec.from_text("sign_flip p=0.5 > segment_recombination p=0.5 m=1")
    y = torch.arange(60) % 3
    x = numbered(60) + 1
    result, labels = Policy(spec, pool)(x, y, generator=generator)
    assert labels is not None
    assert torch.equal(labels, y)
    changed = (result.abs() != x).flatten(1).any(1)
    assert 15 < int(changed.sum()) < 45
    assert bool((result[changed] > 0).all())
    source = result[changed][:, 0].long() - 1
    assert torch.equal(y[source], y[changed][:, None].expand_as(source))
    assert not bool(changed[source].all())


def test_class_wise_policies_mix_within_the_class(
    pool: OperationPool, generator: torch.Generator
) -> None:
    spec = PolicySpec.from_text("[a]\nsegment_recombination p=1 m=1\n[b]\nnone\n[c]\nnone")
    y = torch.arange(60) % 3
    x = numbered(60)
    result, _ = Policy(spec, pool)(x, y, generator=generator)
    assert torch.equal(result[y != 0], x[y != 0])
    assert bool((result[y == 0] != x[y == 0]).all())
    assert torch.equal(result.remainder(3), x.remainder(3))


def test_after_a_label_map_segments_are_those_of_the_new_class(
    pool: OperationPool, generator: torch.Generator
) -> None:
    spec = PolicySpec.from_text(
        "channel_symmetry p=0.5 -> {a: b, b: a} > segment_recombination p=1 m=1"
    )
    y = torch.arange(90) % 3
    result, labels = Policy(spec, pool)(numbered(90), y, generator=generator)
    assert labels is not None
    assert 20 < int((labels != y).sum()) < 40
    source = result[:, 0].long()
    assert torch.equal(y[source], labels[:, None].expand_as(source))


def test_recombination_with_a_label_map_of_its_own(
    pool: OperationPool, generator: torch.Generator
) -> None:
    spec = PolicySpec.from_text("segment_recombination p=1 m=1 -> {a: b, b: a}")
    y = torch.arange(60) % 3
    x = numbered(60)
    result, labels = Policy(spec, pool)(x, y, generator=generator)
    assert labels is not None
    assert torch.equal(labels, torch.tensor([1, 0, 2])[y])
    assert torch.equal(result[y == 2], x[y == 2])
    assert torch.equal(y[result[:, 0].long()], y[:, None].expand(-1, 40))


@pytest.mark.parametrize("kind", [StagedPolicy, EnumeratedPolicy, MixturePolicy])
@pytest.mark.parametrize("with_map", [False, True])
def test_policies_with_gradients_learn_its_magnitude(
    kind: type[StagedPolicy], with_map: bool, pool: OperationPool, generator: torch.Generator
) -> None:
    chosen = pool.select(["segment_recombination", "channel_symmetry"])
    if with_map:
        chosen = chosen.with_label_maps([LabelMap("channel_symmetry", SWAP)])
    policy = kind(chosen)
    x = torch.randn(60, 2, 40, generator=generator)
    draw = policy.draw(x, torch.arange(60) % 3, generator=generator)
    once, again = policy.transform(x, draw), policy.transform(x, draw)
    assert torch.equal(once, again)
    (slope,) = torch.autograd.grad(once.square().sum(), policy.magnitude_logit)
    assert bool(slope.isfinite().all())
    assert float(slope.abs().sum()) > 0
