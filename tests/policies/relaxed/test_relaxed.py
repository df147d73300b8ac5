"""Policies that learn: their gradients, and what they do meanwhile."""

from __future__ import annotations

import pytest
import torch
from scipy import stats

from cadda import (
    EnumeratedPolicy,
    MixturePolicy,
    OperationPool,
    Policy,
    RelaxedPolicy,
    StagedPolicy,
)

SAMPLING = [StagedPolicy, EnumeratedPolicy]
ALL = [StagedPolicy, EnumeratedPolicy, MixturePolicy]
CLASSES = ("W", "N1", "N2")


@pytest.fixture
def small(pool: OperationPool) -> OperationPool:
    return pool.select(["sign_flip", "gaussian_noise", "time_mask", "frequency_shift"])


def scrambled(policy: RelaxedPolicy, seed: int = 0) -> RelaxedPolicy:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return policy


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("granularity", ["window", "batch"])
@pytest.mark.parametrize("class_names", [None, CLASSES])
def test_starts_uniform_and_runs(kind, granularity, class_names, small: OperationPool) -> None:
    policy = kind(small, class_names=class_names, granularity=granularity)
    x, y = torch.randn(16, 6, 100), torch.arange(16) % 3
    copy = x.clone()
    result, labels = policy(x, y)
    assert result.shape == x.shape
    assert labels is y
    assert torch.equal(x, copy)
    assert (policy.probability == 0.5).all()
    assert (policy.magnitude == 0.5).all()
    table = policy.to_spec().operation_probabilities()
    assert table.shape == (1 if class_names is None else 3, 4)
    # Two stages, each choosing the operation with 1/4 and applying it with 1/2.
    assert table == pytest.approx(1 - (1 - 1 / 8) ** 2)


@pytest.mark.parametrize("kind", SAMPLING)
def test_no_window_is_ever_a_blend(kind, small: OperationPool) -> None:
    """With one operation that turns the sign, every window is x or −x, bit for bit."""
    policy = scrambled(kind(small.select(["sign_flip"])))
    x = torch.randn(64, 6, 10)
    result, _ = policy(x)
    same = (result == x).flatten(1).all(1)
    flipped = (result == -x).flatten(1).all(1)
    assert (same ^ flipped).all()
    assert same.any()
    assert flipped.any()


@pytest.mark.parametrize("kind", SAMPLING)
@pytest.mark.parametrize("class_names", [None, CLASSES])
@pytest.mark.parametrize("granularity", ["window", "batch"])
def test_gradient_reaches_what_was_used_and_nothing_else(
    kind, class_names, granularity, small: OperationPool
) -> None:
    # At a low temperature many slopes are so small that they are rounded to zero.
    kwargs = {"class_names": class_names, "granularity": granularity, "gate_temperature": 1.0}
    policy = scrambled(kind(small, **kwargs))
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(6, 6, 100, generator=generator), torch.tensor([0, 0, 1, 1, 0, 1])
    draw = policy.draw(x, y, generator=generator)
    target = torch.randn(x.shape, generator=generator)
    (policy.transform(x, draw) * target).sum().backward()

    used_w, used_p, used_mu = (
        torch.zeros(p.shape, dtype=torch.bool)
        for p in (policy.weight, policy.probability_logit, policy.magnitude_logit)
    )
    for i in range(len(x)):
        row, subpolicy = int(draw.row[i]), int(draw.subpolicy[i])
        for k in range(2):
            operation = int(draw.operation[i, k])
            place = (row, subpolicy, k)
            if kind is StagedPolicy:
                place += (operation,)
            used_p[place] = True
            applied = bool(draw.gate[i, k] > 1 - policy.probability[place])
            used_mu[place] |= applied and small[operation].has_magnitude
            if kind is StagedPolicy:
                used_w[row, subpolicy, k] |= applied
            else:
                used_w[row] |= applied
    for parameter, used in (
        (policy.weight, used_w),
        (policy.probability_logit, used_p),
        (policy.magnitude_logit, used_mu),
    ):
        assert parameter.grad is not None
        assert (parameter.grad[~used] == 0).all()
        assert (parameter.grad[used] != 0).all()
        assert used.any()
        assert not used.all() or parameter is policy.weight


@pytest.mark.parametrize("kind", SAMPLING)
@pytest.mark.parametrize("class_names", [None, CLASSES])
def test_relaxed_and_hard_policy_agree_in_distribution(
    kind, class_names, small: OperationPool
) -> None:
    """Mean and spread of what happens to a window, over many draws, against Policy(to_spec())."""
    relaxed = scrambled(kind(small, class_names=class_names))
    hard = Policy(relaxed.to_spec(), small.for_classes(class_names or ()))
    window = torch.randn(1, 6, 8, generator=torch.Generator().manual_seed(3))
    n = 6000
    x, y = window.expand(n, 6, 8), torch.arange(n) % 3
    with torch.no_grad():
        a, _ = relaxed(x, y, generator=torch.Generator().manual_seed(1))
        b, _ = hard(x, y, generator=torch.Generator().manual_seed(2))
    for row in range(3):
        some_a, some_b = a[y == row], b[y == row]
        for statistic in (some_a[:, 0, 0], (some_a - window).square().sum((1, 2))):
            assert statistic.isfinite().all()
        for f in (lambda z: z[:, 0, 0], lambda z: (z - window).square().sum((1, 2))):
            p_value = stats.ks_2samp(f(some_a).numpy(), f(some_b).numpy()).pvalue
            assert p_value > 1e-4
        unchanged = [(z == window).flatten(1).all(1).double().mean() for z in (some_a, some_b)]
        assert unchanged[0] == pytest.approx(float(unchanged[1]), abs=0.04)


def test_slope_of_the_probability_is_the_relaxed_one(small: OperationPool) -> None:
    """d loss / d logit p = ⟨d loss / d x', O(x) − x⟩ · σ'(·)/τ, computed by hand."""
    policy = StagedPolicy(small.select(["sign_flip"]), n_subpolicies=1, n_stages=1).double()
    x = torch.randn(20, 6, 4, dtype=torch.float64)
    draw = policy.draw(x)
    target = torch.randn_like(x)
    (policy.transform(x, draw) * target).sum().backward()
    tau = policy.gate_temperature
    soft = torch.sigmoid((torch.logit(draw.gate[:, 0]) + 0.0) / tau)
    slope = soft * (1 - soft) / tau
    expected = (slope * (target * (-x - x)).sum((1, 2))).sum()
    grad = policy.probability_logit.grad
    assert grad is not None
    assert float(grad.sum()) == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("kind", ALL)
def test_slopes_point_the_right_way(kind, pool: OperationPool) -> None:
    """Asked to stay near the input, a policy learns to do little; and the value then matters."""
    policy = kind(pool.select(["sign_flip", "gaussian_noise"]), n_stages=1)
    if isinstance(policy, EnumeratedPolicy):
        assert policy.sequences.tolist() == [[0], [1]]
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(64, 6, 50, generator=generator)

    def change() -> torch.Tensor:
        return (policy(x, generator=generator)[0] - x).square().mean()

    before = change().item()
    for _ in range(60):
        optimizer.zero_grad()
        change().backward()
        optimizer.step()
    assert change().item() < 0.1 * before
    probability = policy.to_spec().operation_probabilities()
    assert (probability < 0.35).all()
    assert probability[0, 0] < 0.1


def test_mixture_is_the_convex_combination(small: OperationPool) -> None:
    policy = scrambled(MixturePolicy(small, n_subpolicies=1, n_stages=1))
    with torch.no_grad():
        policy.probability_logit.fill_(50.0)
    x = torch.randn(5, 6, 100)
    draw = policy.draw(x)
    share = (policy.weight / policy.choice_temperature).softmax(-1)[0, 0, 0]
    magnitude = policy.magnitude[0, 0, 0]
    expected = sum(
        share[n] * operation.transform(x, magnitude[n].detach(), draw.groups[0][n].draw)
        for n, operation in enumerate(small)
    )
    torch.testing.assert_close(policy.transform(x, draw), expected)


def test_mixture_gradient_reaches_every_operation(small: OperationPool) -> None:
    policy = scrambled(MixturePolicy(small, n_subpolicies=2))
    x = torch.randn(32, 6, 100)
    policy(x)[0].square().sum().backward()
    assert policy.weight.grad is not None
    assert policy.probability_logit.grad is not None
    assert (policy.weight.grad != 0).all()
    assert (policy.probability_logit.grad != 0).all()


def test_enumerated_policy_has_all_sequences(small: OperationPool) -> None:
    policy = EnumeratedPolicy(small)
    assert policy.weight.shape == (1, 16)
    assert policy.sequences.unique(dim=0).shape == (16, 2)
    spec = policy.to_spec()
    assert len(spec.policy["*"]) == 16
    with pytest.raises(ValueError, match=r"4 \*\* 7 = 16384; take fewer operations"):
        EnumeratedPolicy(small, n_stages=7)


@pytest.mark.parametrize("kind", ALL)
def test_replaying_a_draw_is_bit_equal(kind, small: OperationPool) -> None:
    policy = scrambled(kind(small))
    x = torch.randn(16, 6, 100)
    draw = policy.draw(x)
    assert torch.equal(policy.transform(x, draw), policy.transform(x, draw))


@pytest.mark.parametrize("kind", ALL)
def test_state_dict_round_trip(kind, small: OperationPool) -> None:
    policy = scrambled(kind(small, class_names=CLASSES))
    other = kind(small, class_names=CLASSES)
    other.load_state_dict(policy.state_dict())
    assert other.to_spec() == policy.to_spec()


def test_spec_knows_where_it_belongs(small: OperationPool) -> None:
    spec = StagedPolicy(small, class_names=CLASSES).to_spec()
    assert spec.class_names == CLASSES
    assert spec.sfreq == 100
    assert spec.ch_names == ("C3", "C4", "F3", "F4", "O1", "O2")
    assert spec.operations["frequency_shift"] == {"max_shift": 5.0, "symmetric": False}
    assert spec.operation_names == small.names


def test_class_wise_needs_labels(small: OperationPool) -> None:
    with pytest.raises(ValueError, match="`y` is missing: a policy that is class-wise"):
        StagedPolicy(small, class_names=CLASSES)(torch.zeros(2, 6, 10))


@pytest.mark.parametrize("argument", ["n_subpolicies", "n_stages", "gate_temperature"])
def test_wrong_sizes(argument: str, small: OperationPool) -> None:
    with pytest.raises(ValueError, match=f"`{argument}` must be a finite number above 0, got 0"):
        StagedPolicy(small, **{argument: 0})


@pytest.mark.parametrize("kind", ALL)
def test_magnitudes_stay_below_the_limits_of_the_pool(kind, small: OperationPool) -> None:
    limits = {"gaussian_noise": 0.25, "time_mask": 0.5}
    free, limited = (scrambled(kind(pool)) for pool in (small, small.with_limits(limits)))
    for mine, other in zip(limited.to_spec().entries, free.to_spec().entries, strict=True):
        assert mine.operation == other.operation
        if other.magnitude is not None:
            expected = limits.get(mine.operation, 1.0) * other.magnitude
            assert mine.magnitude == pytest.approx(expected)
    # The noise itself is smaller by the limit: its standard deviation is proportional to µ.
    quiet, loud = (
        kind(pool.select(["gaussian_noise"]), n_stages=1)
        for pool in (small.with_limits(limits), small)
    )
    x = torch.zeros(64, 6, 100)
    deviation = [
        policy(x, generator=torch.Generator().manual_seed(0))[0].std().item()
        for policy in (quiet, loud)
    ]
    assert deviation[0] / deviation[1] == pytest.approx(0.25, rel=1e-4)
