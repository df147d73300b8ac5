"""Policies that change the class of windows."""

from __future__ import annotations

import itertools

import pytest
import torch

import cadda
from cadda import LabelMap, OperationPool, Policy, PolicySpec
from cadda.policies.relaxed.policies import EnumeratedPolicy, MixturePolicy, StagedPolicy

CLASSES = ("a", "b", "c")
SWAP = {"a": "b", "b": "a"}
CYCLE = {"a": "b", "b": "c", "c": "a"}


@pytest.fixture
def pool() -> OperationPool:
    return cadda.operation_pool(sfreq=100, ch_names=["C3", "C4"], class_names=CLASSES)


@pytest.fixture
def batch() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(600, 2, 20, generator=generator)
    return x, torch.arange(600) % 3


def run(
    text: str, pool: OperationPool, batch: tuple[torch.Tensor, torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return labels before and after, and whether each window was mirrored."""
    x, y = batch
    policy = Policy(PolicySpec.from_text(text), pool)
    augmented, labels = policy(x, y, generator=torch.Generator().manual_seed(1))
    mirrored = (augmented == x.flip(1)).flatten(1).all(1)
    assert bool((mirrored | (augmented == x).flatten(1).all(1)).all())
    return y, labels, mirrored


def test_label_changes_exactly_where_the_window_changed(pool, batch) -> None:
    y, labels, mirrored = run("channel_symmetry p=0.5 -> {a: b, b: c, c: a}", pool, batch)
    assert 200 < int(mirrored.sum()) < 400
    torch.testing.assert_close(labels, torch.where(mirrored, (y + 1) % 3, y))


def test_classes_that_a_map_does_not_name_are_left_alone(pool, batch) -> None:
    y, labels, mirrored = run("channel_symmetry p=1 -> {a: b, b: a}", pool, batch)
    torch.testing.assert_close(mirrored, y != 2)
    torch.testing.assert_close(labels, torch.tensor([1, 0, 2])[y])


def test_a_fixed_point_is_applied_and_kept(pool, batch) -> None:
    y, labels, mirrored = run("channel_symmetry p=1 -> {a: b, b: a, c: c}", pool, batch)
    assert bool(mirrored.all())
    torch.testing.assert_close(labels, torch.tensor([1, 0, 2])[y])


def test_maps_compose_in_a_chain(pool, batch) -> None:
    cycle = "channel_symmetry p=1 -> {a: b, b: c, c: a}"
    y, labels, mirrored = run(f"{cycle} > {cycle}", pool, batch)
    assert not bool(mirrored.any())
    torch.testing.assert_close(labels, (y + 2) % 3)


def test_a_later_stage_sees_the_label_that_an_earlier_one_made(pool, batch) -> None:
    # a becomes b, and only then is c's and b's exchange for it.
    text = "channel_symmetry p=1 -> {a: b, b: a} > channel_symmetry p=1 -> {b: c, c: b}"
    y, labels, mirrored = run(text, pool, batch)
    torch.testing.assert_close(labels, torch.tensor([2, 0, 1])[y])
    torch.testing.assert_close(mirrored, y != 0)


def test_class_wise_maps_are_those_of_all_rows_together(pool, batch) -> None:
    text = """[a]
    channel_symmetry p=1 -> b
    [b]
    channel_symmetry p=0.5 -> a
    [c]
    channel_symmetry p=0.25"""
    y, labels, mirrored = run(text, pool, batch)
    torch.testing.assert_close(labels, torch.where(mirrored, torch.tensor([1, 0, 2])[y], y))
    shares = [float(mirrored[y == label].float().mean()) for label in range(3)]
    assert shares == pytest.approx([1, 0.5, 0.25], abs=0.12)


def test_kept_and_mapped_stand_side_by_side(pool, batch) -> None:
    text = "channel_symmetry p=1 w=3 | channel_symmetry p=1 -> {a: b, b: a, c: c}"
    y, labels, mirrored = run(text, pool, batch)
    assert bool(mirrored.all())
    changed = float((labels != y)[y != 2].float().mean())
    assert changed == pytest.approx(0.25, abs=0.08)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
@pytest.mark.parametrize("kind", [StagedPolicy, EnumeratedPolicy, MixturePolicy])
def test_labels_of_other_integer_types(kind, dtype, pool) -> None:
    # As many windows as classes: bytes would be taken for a mask.
    x, y = torch.randn(3, 2, 20), torch.tensor([1, 1, 2])
    policy = Policy(PolicySpec.from_text("channel_symmetry p=1 -> {a: b, b: c, c: a}"), pool)
    assert policy(x, y.to(dtype))[1].tolist() == [2, 2, 0]
    mapped = pool.select(["channel_symmetry"]).with_label_maps(
        [LabelMap("channel_symmetry", CYCLE)]
    )
    relaxed = kind(mapped)
    expected, actual = (
        relaxed.draw(x, labels, generator=torch.Generator().manual_seed(0)).y
        for labels in (y, y.to(dtype))
    )
    torch.testing.assert_close(actual, expected)


def test_a_relaxed_policy_has_the_classes_of_its_maps(pool) -> None:
    mapped = pool.with_label_maps([LabelMap("channel_symmetry", CYCLE)])
    with pytest.raises(ValueError, match=r"those of the label maps of `pool`, \['a', 'b', 'c'\]"):
        StagedPolicy(mapped, class_names=("c", "b", "a"))


def test_labels_are_needed(pool, batch) -> None:
    policy = Policy(PolicySpec.from_text("channel_symmetry p=1 -> {a: b, b: a}"), pool)
    with pytest.raises(ValueError, match=r"has label maps, or .* needs the labels"):
        policy(batch[0])


@pytest.mark.parametrize(
    ("class_names", "match"),
    [
        (("x", "y"), r"name classes of the data, \['x', 'y'\], got 'a'"),
        ((), "`class_names` of the pool"),
    ],
)
def test_other_classes(class_names: tuple[str, ...], match: str) -> None:
    spec = PolicySpec.from_text("channel_symmetry p=1 -> {a: b, b: a}")
    pool = cadda.operation_pool(sfreq=100, ch_names=["C3", "C4"], class_names=class_names)
    with pytest.raises(ValueError, match=match):
        Policy(spec, pool)


def test_another_order_of_classes() -> None:
    spec = PolicySpec.from_text("[a]\nchannel_symmetry p=1 -> b\n[b]\nchannel_symmetry p=1 -> a")
    spec = PolicySpec.from_text(f"{spec.to_text()}[c]\nsign_flip p=1")
    pool = cadda.operation_pool(sfreq=100, ch_names=["C3", "C4"], class_names=("c", "b", "a"))
    policy = Policy(spec, pool)
    assert policy.spec.class_names == pool.class_names
    x = torch.randn(3, 2, 10)
    result, y = policy(x, torch.tensor([0, 1, 2]))
    assert y is not None
    assert y.tolist() == [0, 2, 1]
    assert torch.equal(result, torch.stack([-x[0], x[1].flip(0), x[2].flip(0)]))
    with pytest.raises(ValueError, match=r"for the classes \['a', 'b', 'c'\], but the windows"):
        Policy(spec, pool.for_classes(("a", "b")))


@pytest.mark.parametrize("kind", [StagedPolicy, EnumeratedPolicy])
@pytest.mark.parametrize("classwise", [False, True])
def test_relaxed_policies_change_labels_as_their_spec_does(kind, classwise, pool, batch) -> None:
    mapped = pool.select(["channel_symmetry"]).with_label_maps(
        [LabelMap("channel_symmetry", CYCLE), LabelMap("channel_symmetry", SWAP)]
    )
    relaxed = kind(mapped, class_names=CLASSES if classwise else None, n_stages=1)
    x, y = batch
    draw = relaxed.draw(x, y, generator=torch.Generator().manual_seed(2))
    mirrored = (relaxed.transform(x, draw) == x.flip(1)).flatten(1).all(1)
    targets = torch.tensor([[0, 1, 2], [1, 2, 0], [1, 0, 2]])
    torch.testing.assert_close(draw.y, torch.where(mirrored, targets[draw.operation[:, 0], y], y))
    # The exchange does not name c.
    assert not bool(mirrored[(draw.operation[:, 0] == 2) & (y == 2)].any())
    spec = relaxed.to_spec()
    assert {str(item) for item in spec.label_maps} == {
        "channel_symmetry (a → b → c → a)",
        "channel_symmetry (a ↔ b)",
    }
    Policy(spec, mapped)(x, y)


def test_the_label_of_a_mixture_is_the_mixture_of_labels(pool, batch) -> None:
    mapped = pool.select(["channel_symmetry"]).with_label_maps(
        [LabelMap("channel_symmetry", CYCLE)]
    )
    relaxed = MixturePolicy(mapped, n_subpolicies=1, n_stages=2)
    with torch.no_grad():
        relaxed.weight.copy_(torch.randn(relaxed.weight.shape))
    x, y = batch
    draw = relaxed.draw(x, y, generator=torch.Generator().manual_seed(3))
    assert draw.y is not None
    share = (relaxed.weight / relaxed.choice_temperature).softmax(-1)[0, 0]
    for window in range(20):
        expected = torch.zeros(3)
        for first, second in itertools.product(range(2), repeat=2):
            opened = [
                bool(draw.gate[window, k, n] > 0.5) and n == 1
                for k, n in enumerate((first, second))
            ]
            expected[(y[window] + sum(opened)) % 3] += share[0, first] * share[1, second]
        torch.testing.assert_close(draw.y[window], expected)


def test_pool_with_maps() -> None:
    pool = cadda.operation_pool(sfreq=100, ch_names=["C3", "C4"], class_names=CLASSES)
    swap = LabelMap("channel_symmetry", SWAP)
    larger = pool.with_label_maps([swap, swap])
    assert len(larger) == len(pool) + 1
    assert larger.names[-1] == "channel_symmetry (a ↔ b)"
    assert larger.digest != pool.digest
    assert larger.settings == pool.settings


def test_training_learns_the_labels_after_the_map() -> None:
    """Two classes told apart by the side of a wave; only one of them is in the training set."""
    generator = torch.Generator().manual_seed(0)
    x = 0.1 * torch.randn(240, 2, 100, generator=generator)
    y = torch.arange(240) % 2
    x[torch.arange(240), y] += torch.sin(torch.arange(100) * 0.6)
    windows = cadda.Windows(
        x,
        y,
        subject=[f"s{i // 24}" for i in range(240)],
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=["left", "right"],
    )
    train, valid = windows[torch.arange(120)], windows[torch.arange(120, 240)]
    only_left = train[(train.y == 0).nonzero().flatten()]
    spec = PolicySpec.from_text("channel_symmetry p=0.5 -> {left: right, right: left}")
    fitted = cadda.fit(
        only_left, valid, model="shallow", policy=spec, max_epochs=20, batch_size=16, seed=0
    )
    assert cadda.evaluate(fitted.model, valid).balanced_accuracy > 0.95
