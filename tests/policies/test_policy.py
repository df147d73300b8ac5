"""Policies that run: what they do, how often, to whom."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from host_reads import HostReads
from scipy import stats

from cadda import Operation, OperationPool, Policy, PolicySpec, operation_pool
from cadda.operations.frequency import FrequencyShift

SIGNIFICANCE = 1e-3


class Marker(Operation):
    """Writes its own number, scaled by the magnitude, so that results show what was applied."""

    def __init__(self, number: int, *, magnitude: bool = True) -> None:
        self.name = f"marker_{number}"
        self.number = number

    def apply(self, x: torch.Tensor, magnitude: torch.Tensor, draw: object) -> torch.Tensor:
        return 10 * x + self.number + 0.5 * magnitude.view(-1, *(1,) * (x.ndim - 1))


@pytest.fixture
def markers() -> OperationPool:
    return OperationPool([Marker(1), Marker(2), Marker(3)])


def make(text: str, pool: OperationPool, granularity: str = "window") -> Policy:
    spec = PolicySpec.from_text(text, known=pool.names)
    named = pool.for_classes(spec.class_names) if spec.is_classwise else pool
    return Policy(spec, named, granularity=granularity)


def seen(x: torch.Tensor) -> list[int]:
    return x.flatten().round().long().tolist()


def test_stages_come_in_order(markers: OperationPool) -> None:
    policy = make("marker_1 p=1 m=0 > marker_3 p=1 m=0 > marker_2 p=1 m=0", markers)
    result, labels = policy(torch.zeros(4, 1, 1))
    assert seen(result) == [132] * 4
    assert labels is None


def test_labels_come_back(markers: OperationPool) -> None:
    y = torch.tensor([1, 0])
    assert make("marker_1 p=1 m=0", markers)(torch.zeros(2, 1, 1), y)[1] is y


def test_magnitude_reaches_the_operation(markers: OperationPool) -> None:
    result, _ = make("marker_1 p=1 m=0.5", markers)(torch.zeros(1, 1, 1))
    assert result.item() == 1.25


def test_random_magnitudes_are_uniform_for_each_window(markers: OperationPool) -> None:
    policy = make("marker_1 p=1 m=0.2..0.8 > marker_2 p=1 m=0.5", markers)
    generator = torch.Generator().manual_seed(0)
    x = torch.zeros(4000, 1, 1)
    draw = policy.draw(x, generator=generator)
    drawn, fixed = draw.magnitude.double().T.numpy()
    assert stats.kstest(drawn, stats.uniform(0.2, 0.6).cdf).pvalue > SIGNIFICANCE
    assert drawn.max() <= 0.8 + 1e-7
    assert set(fixed) == {0.5}
    expected = 10 * (1 + 0.5 * draw.magnitude[:, 0]) + 2.25
    torch.testing.assert_close(policy.transform(x, draw).flatten(), expected)


@pytest.mark.parametrize("probability", [0.5, 1])
def test_windows_with_and_without_gradients_are_transformed_alike(probability: float) -> None:
    pool = operation_pool(sfreq=100.0, ch_names=["C3", "C4"], operations=["all"])
    stage = " | ".join(f"{name} p={probability} m=0.5" for name in pool.names)
    policy = make(f"{stage} > {stage}", pool)
    x, y = torch.randn(40, 2, 300), torch.arange(40) % 2
    draw = policy.draw(x, y, generator=torch.Generator().manual_seed(0))
    with_graph = policy.transform(x.clone().requires_grad_(), draw)
    assert with_graph.requires_grad
    assert torch.equal(policy.transform(x, draw), with_graph.detach())


@pytest.mark.parametrize("granularity", ["window", "batch"])
def test_a_range_only_changes_magnitudes(markers: OperationPool, granularity: str) -> None:
    """Each window has its own magnitude, but operation and subpolicy are those without a range."""
    line = "marker_1 p=0.5 m={} | marker_2 p=1 m=1\nmarker_3 p=0.5 m={}"
    x = torch.zeros(50, 1, 1)
    fixed, random = (
        make(line.format(m, m), markers, granularity).draw(
            x, generator=torch.Generator().manual_seed(3)
        )
        for m in ("0.5", "0..0.5")
    )
    for before, after in zip(fixed.groups[0], random.groups[0], strict=True):
        assert before.operation == after.operation
        assert torch.equal(before.windows, after.windows)
    ranged = fixed.magnitude == 0.5
    assert len(random.magnitude[ranged].unique()) == ranged.sum() > 10
    assert (random.magnitude[~ranged] == 1).all()


FROZEN_POLICY = """
[a]
w=3: marker_1 p=0.5 m=0.25 | marker_2 p=1 m=0.5 w=2 > marker_3 p=0.25 m=1
marker_3 p=0.5 m=0.75
[b]
marker_2 p=0.8 m=0.125
"""

FROZEN = {
    "window": (
        [0, 3.375, 2.25, 2.0625, 2.25, 2.25, 0, 0, 3.375, 0, 0, 2.25],
        [0.22247940301895142, 0.2148410677909851],
    ),
    "batch": (
        [3.375, 3.375, 0, 2.0625, 0, 0, 2.0625, 0, 3.375, 0, 2.0625, 3.375],
        [0.16613507270812988, 0.2636159658432007],
    ),
}
"""Results, and the random numbers after them, before magnitudes could be random."""


@pytest.mark.parametrize("granularity", ["window", "batch"])
def test_without_ranges_random_numbers_are_those_of_older_versions(
    markers: OperationPool, granularity: str
) -> None:
    policy = make(FROZEN_POLICY, markers, granularity)
    generator = torch.Generator().manual_seed(5)
    y = torch.tensor([0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0])
    result, _ = policy(torch.zeros(12, 1, 1), y, generator=generator)
    assert (result.flatten().tolist(), torch.rand(2, generator=generator).tolist()) == FROZEN[
        granularity
    ]


@pytest.mark.parametrize("text", ["none", "[a]\nnone\n[b]\nnone"])
def test_no_augmentation(markers: OperationPool, text: str) -> None:
    policy, generator = make(text, markers), torch.Generator().manual_seed(0)
    x, y = torch.randn(5, 1, 1), torch.tensor([0, 1, 1, 0, 1])
    state = generator.get_state()
    draw = policy.draw(x, y, generator=generator)
    result = policy.transform(x, draw)
    assert torch.equal(result, x)
    assert result is not x
    assert torch.equal(draw.y, y)
    assert draw.magnitude.shape == (5, 0)
    assert policy.operations_of(draw, 0) == []
    assert torch.equal(generator.get_state(), state)


def test_a_class_without_augmentation(markers: OperationPool) -> None:
    policy = make("[a]\nnone\n[b]\nmarker_2 p=1 m=0 > marker_3 p=1 m=0", markers)
    y = torch.tensor([0, 1, 1, 0, 1])
    assert seen(policy(torch.zeros(5, 1, 1), y)[0]) == [0, 23, 23, 0, 23]


def test_each_class_gets_its_own_policy(markers: OperationPool) -> None:
    policy = make("[a]\nmarker_1 p=1 m=0\n[b]\nmarker_2 p=1 m=0 > marker_3 p=1 m=0", markers)
    y = torch.tensor([0, 1, 1, 0, 1])
    assert seen(policy(torch.zeros(5, 1, 1), y)[0]) == [1, 23, 23, 1, 23]


def test_frequencies_match_the_spec(markers: OperationPool) -> None:
    """Chi-square over all outcomes of a policy with every kind of weight."""
    policy = make(
        "w=3: marker_1 p=0.5 m=0 | marker_2 p=1 m=0 w=2 > marker_3 p=0.25 m=0\nmarker_3 p=0.1 m=0",
        markers,
    )
    n = 40_000
    generator = torch.Generator().manual_seed(0)
    outcome = torch.tensor(seen(policy(torch.zeros(n, 1, 1), generator=generator)[0]))
    first = {0: 1 / 6, 1: 1 / 6, 2: 4 / 6}
    expected = dict.fromkeys([0, 1, 2, 3, 13, 23], 0.0)
    for value, share in first.items():
        expected[value] += 0.75 * share * 0.75
        expected[10 * value + 3] += 0.75 * share * 0.25
    expected[0] += 0.25 * 0.9
    expected[3] += 0.25 * 0.1
    counts = [int((outcome == value).sum()) for value in expected]
    assert sum(counts) == n
    assert stats.chisquare(counts, [n * p for p in expected.values()]).pvalue > SIGNIFICANCE


@pytest.mark.parametrize("granularity", ["window", "batch"])
def test_frequencies_match_the_table_of_the_spec(markers: OperationPool, granularity: str) -> None:
    policy = make(
        "[a]\nmarker_1 p=0.5 m=0 > marker_1 p=0.5 m=0\nmarker_2 p=1 m=0\n[b]\nmarker_3 p=0.2 m=0",
        markers,
        granularity,
    )
    generator = torch.Generator().manual_seed(0)
    y = torch.tensor([0, 1]).repeat(5)
    results = torch.stack(
        [policy(torch.zeros(10, 1, 1), y, generator=generator)[0].flatten() for _ in range(4000)]
    )
    table = policy.spec.operation_probabilities()
    for row in (0, 1):
        outcome = results[:, y == row].round().long()
        applied = [((outcome == n) | (outcome == 11 * n)).float().mean() for n in (1, 2, 3)]
        for column, share in enumerate(applied):
            assert share == pytest.approx(table[row, column], abs=0.02)


def test_one_choice_per_batch_and_class(markers: OperationPool) -> None:
    line = "marker_1 p=1 m=0 | marker_2 p=1 m=0 | marker_3 p=1 m=0\n"
    policy = make(f"[a]\n{line}[b]\n{line}", markers, "batch")
    generator = torch.Generator().manual_seed(0)
    y = torch.tensor([0, 0, 0, 1, 1, 1])
    pairs = set()
    for _ in range(100):
        outcome = seen(policy(torch.zeros(6, 1, 1), y, generator=generator)[0])
        assert len(set(outcome[:3])) == len(set(outcome[3:])) == 1
        pairs.add((outcome[0], outcome[3]))
    assert len(pairs) == 9


def test_unlikely_choices_are_never_made(markers: OperationPool) -> None:
    policy = make("marker_1 p=1 m=0 w=0 | marker_2 p=1 m=0 | marker_3 p=1 m=0 w=0", markers)
    assert set(seen(policy(torch.zeros(20_000, 1, 1))[0])) == {2}


@pytest.mark.parametrize("n_windows", [0, 1, 17])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_any_batch(pool: OperationPool, n_windows: int, dtype: torch.dtype) -> None:
    x = torch.randn(n_windows, 6, 200, dtype=dtype)
    copy = x.clone()
    text = " > ".join(
        " | ".join(f"{op.name} p=0.8" + (" m=0.5" if op.has_magnitude else "") for op in pool)
        for _ in range(2)
    )
    result, _ = make(text, pool)(x)
    assert result.shape == x.shape
    assert result.dtype is dtype
    assert torch.equal(x, copy)
    assert result.isfinite().all()


def test_replay_and_reproducibility(pool: OperationPool) -> None:
    text = "\n".join(f"{op.name} p=0.9 " + ("m=0.5" if op.has_magnitude else "") for op in pool)
    policy, x = make(text, pool), torch.randn(32, 6, 200)
    draw = policy.draw(x, generator=torch.Generator().manual_seed(1))
    once = policy.transform(x, draw)
    assert torch.equal(once, policy.transform(x, draw))
    again, _ = policy(x, generator=torch.Generator().manual_seed(1))
    assert torch.equal(once, again)
    other, _ = policy(x, generator=torch.Generator().manual_seed(2))
    assert not torch.equal(once, other)


def test_a_window_gets_what_the_operation_alone_would_give(pool: OperationPool) -> None:
    policy, x = make("frequency_shift p=1 m=0.5", pool), torch.randn(8, 6, 200)
    draw = policy.draw(x)
    (group,) = draw.groups[0]
    expected = pool["frequency_shift"].transform(x[group.windows], 0.5, group.draw)
    torch.testing.assert_close(policy.transform(x, draw)[group.windows], expected)


def test_differentiable_in_the_windows(pool: OperationPool) -> None:
    x = torch.randn(8, 6, 50, requires_grad=True)
    result, _ = make("sign_flip p=1 > frequency_shift p=0.5 m=0.5", pool)(x)
    result.square().sum().backward()
    assert x.grad is not None
    assert (x.grad.abs().flatten(1).amax(1) > 0).all()


def test_images() -> None:
    from cadda import image_pool

    x = torch.randn(10, 1, 8, 8)
    result, _ = make("rotation_90 p=1 > rotation_180 p=1", image_pool())(x)
    assert torch.equal(result, x.rot90(3, (-2, -1)))


def test_shows_itself(pool: OperationPool) -> None:
    policy = make("sign_flip p=0.51234 > bandstop p=1 m=0.3", pool)
    assert repr(policy) == "Policy(sign_flip p=0.512 > bandstop p=1 m=0.3)"


@pytest.mark.parametrize(
    ("y", "error", "match"),
    [
        (None, ValueError, "`y` is missing: a policy that is class-wise"),
        (torch.tensor([0, 1]), ValueError, r"one label per window, shape \(3,\), got \(2,\)"),
        (torch.tensor([0, 2, 1]), ValueError, "`y` must be in 0 … 1, .* got 2"),
        (torch.tensor([0, -1, 1]), ValueError, "got -1"),
        (torch.tensor([0.0, 1.0, 1.0]), TypeError, "`y` must be integers, got torch.float32"),
    ],
)
def test_labels_of_a_class_wise_policy(
    markers: OperationPool, y: torch.Tensor | None, error: type[Exception], match: str
) -> None:
    policy = make("[a]\nmarker_1 p=1 m=0\n[b]\nmarker_2 p=1 m=0", markers)
    with pytest.raises(error, match=match):
        policy(torch.zeros(3, 1, 1), y)


def test_pool_that_lacks_an_operation(pool: OperationPool) -> None:
    small = pool.select(["sign_flip"])
    with pytest.raises(ValueError, match=r"the policy does not fit the windows: .*`time_re"):
        make("time_reverse p=1", small.select(["sign_flip"]))


def test_classes_of_a_pool_without_names(pool: OperationPool) -> None:
    spec = PolicySpec.from_text("[right]\nsign_flip p=1\n[left]\nnone")
    with pytest.warns(UserWarning, match=r"labels 0 to 1 .* \['right', 'left'\].*`class_names`"):
        policy = Policy(spec, pool)
    x, y = torch.randn(4, 6, 50), torch.arange(4) % 2
    assert torch.equal(policy(x, y)[0], torch.where(y[:, None, None] == 0, -x, x))
    by_name = Policy(spec, pool.for_classes(["left", "right"]))
    assert torch.equal(by_name(x, y)[0], torch.where(y[:, None, None] == 1, -x, x))


def test_labels_as_names_of_classes_are_not_ambiguous(pool: OperationPool) -> None:
    # Warnings are errors here.
    Policy(PolicySpec.from_text("[0]\nsign_flip p=1\n[1]\nnone"), pool)


def test_a_policy_has_its_own_settings(pool: OperationPool) -> None:
    data = {
        "policy": {
            "*": [
                {"stages": [[{"operation": "frequency_shift", "probability": 1, "magnitude": 1}]]}
            ]
        },
        "operations": {"frequency_shift": pool["frequency_shift"].settings},
    }
    spec = PolicySpec.from_dict(data)
    assert Policy(spec, pool).pool is pool
    other = pool.with_operation(FrequencyShift(100.0, max_shift=2.0))
    x = torch.randn(8, 6, 100)
    same = [
        Policy(spec, item)(x, generator=torch.Generator().manual_seed(0))[0]
        for item in (pool, other)
    ]
    assert torch.equal(*same)


def test_own_operation_without_its_magnitude(markers: OperationPool) -> None:
    with pytest.raises(ValueError, match="must have a magnitude for `marker_1`, got None"):
        make("marker_1 p=1", markers)


def test_unknown_granularity(markers: OperationPool) -> None:
    with pytest.raises(ValueError, match="'window' or 'batch', got 'epoch'"):
        make("marker_1 p=1 m=0", markers, "epoch")


CHANNELS = ["Fp1", "Fp2", "F3", "F4", "C3", "C4", "P3", "P4", "O1", "O2"]


def eeg_policy(text: str) -> Policy:
    return Policy(PolicySpec.from_text(text), operation_pool(sfreq=100, ch_names=CHANNELS))


@pytest.mark.parametrize("scale", [1e-5, 50.0])
def test_the_first_batch_in_volts_is_warned_of(scale: float) -> None:
    policy = eeg_policy("gaussian_noise p=1 m=1")
    x = scale * torch.randn(8, 10, 50, generator=torch.Generator().manual_seed(0))
    with pytest.warns(UserWarning, match="gaussian_noise adds noise") as issued:
        policy(x)
    assert f"up to 0.2; the windows have a standard deviation of {x.std():.2g}" in str(
        issued[0].message
    )
    assert issued[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy(x)
        eeg_policy("gaussian_noise p=1 m=1")(x / scale)
        eeg_policy("sign_flip p=1")(x)


def test_the_scale_is_read_once() -> None:
    policy, reads = eeg_policy("gaussian_noise p=1 m=1"), HostReads()
    generator = torch.Generator().manual_seed(0)
    decisions = torch.Generator().manual_seed(0)
    x = torch.randn(8, 10, 50)
    reads.mark(x)
    with reads:
        policy.transform(x, policy.draw(x, generator=generator, decisions=decisions))
        assert not reads.counts
        counts = []
        for _ in range(3):
            policy(x, generator=generator)
            counts.append(reads.counts.total())
    assert counts == [1, 1, 1]


def test_arrays_and_text_are_refused() -> None:
    policy, x = eeg_policy("sign_flip p=0.5"), torch.randn(2, 10, 50)
    with pytest.raises(TypeError, match=r"`x` must be a torch.Tensor, got ndarray; use torch.as_"):
        policy(x.numpy(), np.array([0, 1]))
    for y in (np.array(["a", "b"]), ["a", "b"], np.array(["a", "b"], dtype=object)):
        with pytest.raises(TypeError, match="`y` must be integers, got text such as 'a'"):
            policy(x, y)


def test_only_operations_of_the_policy_are_checked() -> None:
    x = torch.randn(4, 3, 50)
    with pytest.raises(ValueError, match="the 10 channels that `rotation_x` was made for, got 3"):
        eeg_policy("rotation_x p=1 m=1")(x)
    changed, _ = eeg_policy("sign_flip p=1")(x)
    assert torch.equal(changed, -x)


def test_text_is_no_policy(markers: OperationPool) -> None:
    with pytest.raises(TypeError, match=r"`spec` must be a PolicySpec, got str; .*from_text"):
        Policy("marker_1 p=1", markers)  # type: ignore[arg-type]
