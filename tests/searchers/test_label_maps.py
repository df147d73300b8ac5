"""Searches with operations that change the class."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
from mirrored import CLASSES, SWAP, mirrored_pool, mirrored_windows, sided_windows

import cadda
from cadda import LabelMap, Policy, SearchResult, StagedPolicy
from cadda.api.prepare import make_problem
from cadda.searchers.events import Retrained, SearchEpoch, SearchStart, TrialEnd
from cadda.searchers.registry import METHODS
from cadda.searchers.trials.encoding import PolicyEncoding, PolicySpace
from cadda.testing.planted import planted_network
from cadda.training import TrainingSettings

POOL = mirrored_pool("time_mask")
SEARCHES = [name for name in METHODS if not METHODS[name].decides_classes]
SMALL: dict[str, dict[str, Any]] = {
    "fast_autoaugment": {"n_folds": 2},
    "population": {"n_members": 2, "segment_epochs": 1},
}


def run(method: str, **changes: Any) -> SearchResult:
    arguments: dict[str, Any] = {
        "retrain": False,
        "baseline": False,
        "model": planted_network,
        "operations": POOL,
        "budget": 4,
        "training": TrainingSettings(max_epochs=1, batch_size=16),
        **SMALL.get(method, {}),
        **changes,
    }
    train, valid = mirrored_windows(32), mirrored_windows(32, seed=1)
    return cadda.search(train, valid, method=method, **arguments)


class Killed(BaseException):
    """Ends a search from within."""


@pytest.mark.parametrize("classwise", [False, True])
@pytest.mark.parametrize("method", SEARCHES)
def test_every_table_has_a_column_for_every_choice(method: str, classwise: bool) -> None:
    if METHODS[method].classwise and not classwise:
        pytest.skip("the method is class-wise")
    starts: list[SearchStart] = []

    def note(event: object) -> None:
        if isinstance(event, SearchStart):
            starts.append(event)

    result = run(method, classwise=classwise, on_event=note)
    expected = POOL.names if method != "faster_autoaugment" else ("time_mask", "channel_symmetry")
    assert result.operations == starts[0].operations == expected
    for event in result.history:
        if isinstance(event, SearchEpoch | TrialEnd):
            table = torch.tensor(event.share)
            assert table.shape == (2 if classwise else 1, len(expected))
            torch.testing.assert_close(table.sum(1), torch.ones(len(table)))
    mapped = {entry.choice for entry in result.policy.entries} - {"time_mask", "channel_symmetry"}
    assert mapped <= {str(SWAP)}
    assert method != "faster_autoaugment" or "(left ↔ right)" in starts[0].notes[0]


def test_faster_autoaugment_without_any_operation_that_keeps_the_class() -> None:
    with pytest.raises(ValueError, match="one without a label map for Faster AutoAugment"):
        run("faster_autoaugment", operations=POOL.select([str(SWAP)]))


@pytest.mark.parametrize("method", ["autoaugment", "population", "adda"])
def test_resumes_to_the_same_result(method: str, tmp_path: Path) -> None:
    def kill(event: object) -> None:
        if isinstance(event, SearchEpoch | TrialEnd) and len(killed) < 2:
            killed.append(event)
            if len(killed) == 2:
                raise Killed

    killed: list[object] = []
    with pytest.raises(Killed):
        run(method, run_dir=tmp_path, on_event=kill)
    resumed, whole = run(method, run_dir=tmp_path, resume=True), run(method)
    assert resumed.policy == whole.policy
    assert (tmp_path / "figures" / "evolution.png").exists()


def test_another_map_is_another_search(tmp_path: Path) -> None:
    run("random", run_dir=tmp_path)
    with pytest.raises(cadda.exceptions.RunError, match="another `operations`"):
        run("random", run_dir=tmp_path, resume=True, operations=("time_mask", "channel_symmetry"))


def test_mapped_choices_count() -> None:
    names = ("time_mask", "channel_symmetry", str(SWAP))
    policies = set(
        itertools.product(itertools.product(names, (0.5, 1.0), (0.1, 0.2, 0.3)), repeat=2)
    )
    space = PolicySpace(len(POOL), n_subpolicies=1, n_stages=2, n_probabilities=2, n_magnitudes=3)
    assert space.size() == len(policies)
    encoding = PolicyEncoding(POOL, None, 1, 1)
    choices = [len(values) for values in encoding.choices().values()]
    assert 10**encoding.log10_size == pytest.approx(choices[0] * choices[1] * choices[2])


def test_log10_policies_counts_mapped_choices() -> None:
    sizes: list[float] = []

    def note(event: object) -> None:
        if isinstance(event, SearchStart) and event.log10_policies is not None:
            sizes.append(event.log10_policies)

    for method in ("adda", "autoaugment", "population"):
        for operations in (POOL, POOL.names[:2]):
            run(method, operations=operations, on_event=note, n_subpolicies=1, n_stages=1)
    ratios = 10 ** (torch.tensor(sizes[::2]) - torch.tensor(sizes[1::2]))
    torch.testing.assert_close(ratios, torch.full((3,), 1.5))


def test_a_map_that_is_never_applied_is_not_written() -> None:
    encoding = PolicyEncoding(POOL, None, 1, 2)
    values = {name: choice[-1] for name, choice in encoding.choices().items()}
    assert len(encoding.decode(values).label_maps) == 1
    values |= {name: 0.0 for name in values if name.endswith("probability")}
    spec = encoding.decode(values)
    assert not spec.label_maps
    x, y = torch.randn(8, 2, 200), torch.arange(8) % 2
    augmented, labels = Policy(spec, POOL)(x, y)
    assert torch.equal(augmented, x)
    assert torch.equal(labels, y)


def test_a_choice_that_has_vanished_is_still_another_choice() -> None:
    policy = StagedPolicy(POOL, n_subpolicies=1, n_stages=1)
    torch.nn.init.constant_(policy.probability_logit, -200.0)
    policy.weight.data[..., -1] = -400.0
    assert policy.to_spec().operation_names == POOL.names


def test_randaugment_draws_kept_and_mapped() -> None:
    policy = run("randaugment").policy
    for stage in policy.policy["*"][0].stages:
        assert [entry.choice for entry in stage] == list(POOL.names)


def test_policies_of_a_schedule_train_with_their_maps() -> None:
    result = run("population", budget=6, retrain_every=6)
    assert result.schedule is not None
    assert any(segment.policy.label_maps for segment in result.schedule.segments)
    assert any(isinstance(event, Retrained) for event in result.history)


def planted(method: str, **changes: Any) -> dict[str, float]:
    """Search where only channel symmetry with exchanged classes helps; return the use of each."""
    result = cadda.search(
        sided_windows(128, varied=False),
        sided_windows(128, varied=True),
        method=method,
        model=planted_network,
        operations=mirrored_pool("time_reverse"),
        **changes,
        retrain=False,
        baseline=False,
    )
    use = result.policy.operation_probabilities()[0]
    return dict.fromkeys(result.operations, 0.0) | dict(
        zip(result.policy.operation_names, use.tolist(), strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize(("method", "seed"), [("adda", 0), ("adda", 1), ("dada", 0)])
def test_rewards_tell_the_map_from_kept_classes(method: str, seed: int) -> None:
    use = planted(method, seed=seed, budget=20, policy_lr=0.05)
    assert use[str(SWAP)] > 0.5
    assert use["channel_symmetry"] < 0.1


@pytest.mark.slow
def test_trials_find_the_map() -> None:
    settings = TrainingSettings(max_epochs=15, batch_size=16)
    use = planted("random", budget=15, training=settings, n_subpolicies=1, n_stages=1)
    assert use[str(SWAP)] > 0.1
    assert use["channel_symmetry"] == 0


def test_images_have_no_unit() -> None:
    """Windows of another scale than 1 raise a warning, unless all operations are for images."""
    maps = [LabelMap(name, SWAP.mapping) for name in ("rotation_180", "vertical_flip")]
    pool = cadda.image_pool().for_classes(CLASSES).with_label_maps(maps)
    train, valid = mirrored_windows(32), mirrored_windows(32, seed=1)
    train.x *= 100
    mapped = pool.select(pool.names[-2:])
    problem = make_problem(train, valid, model=planted_network, operations=mapped)
    assert problem.pool.names == ("rotation_180 (left ↔ right)", "vertical_flip (left ↔ right)")
