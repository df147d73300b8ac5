"""Proposals and evaluators of trials, against known answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from problems import tensor_problem
from torch import nn

from cadda.api.prepare import operation_pool
from cadda.compute import SerialEngine
from cadda.operations.pool import OperationPool
from cadda.operations.pools import image_pool
from cadda.policies.spec.model import PolicySpec
from cadda.runs.folder import RunFolder
from cadda.searchers.registry import METHODS
from cadda.searchers.retraining import SearchBudget
from cadda.searchers.runner import SearchContext
from cadda.searchers.trials.encoding import GridEncoding, PolicyEncoding
from cadda.searchers.trials.optuna_search import StudySearch, make_folds
from cadda.searchers.trials.population import PopulationSearch
from cadda.searchers.trials.protocol import HeldOutEvaluator, Outcome, Proposal, TrialSearch
from cadda.testing.planted import CLASS_NAMES, planted_windows
from cadda.training import TrainingSettings
from cadda.training.problem import Problem

OPERATIONS = ("sign_flip", "time_reverse", "gaussian_noise", "time_mask", "frequency_shift")
TRUTH = {"gaussian_noise": (0.8, 0.3), "time_mask": (0.4, 0.9)}
"""Operations of the known surface, each with its best p and µ."""


def network(seed: int) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv1d(1, 4, 25, stride=4),
            nn.ReLU(),
            nn.AdaptiveMaxPool1d(4),
            nn.Flatten(),
            nn.Linear(16, 4),
        )


def make_problem(n_windows: int = 64) -> Problem:
    train, valid = (planted_windows(n_windows, varied=varied) for varied in (False, True))
    return tensor_problem(
        (train.x, train.y),
        (valid.x, valid.y),
        train.class_names,
        network,
        pool=operation_pool(train).select(OPERATIONS),
        subject=tuple(train.subject),
    )


def make_search(
    method: str,
    n_trials: int,
    *,
    classwise: bool = False,
    folder: Path | None = None,
    resume: bool = False,
    **own: Any,
) -> Any:
    kind = METHODS[method]
    settings = kind.resolve_settings(own, seed=own.pop("seed", 0))
    budget = SearchBudget(n_trials, training=TrainingSettings(max_epochs=2))
    files = None if folder is None else RunFolder(folder).search_files
    context = SearchContext(budget, SerialEngine(), classwise, files, resume)
    return kind.make_runner(make_problem(), settings, context).search


def surface(policy: PolicySpec) -> float:
    """Give the distance of the one subpolicy of a policy to the truth, stage by stage."""
    total = 0.0
    stages = policy.policy["*"][0].stages
    for (entry,), (name, (p, level)) in zip(stages, TRUTH.items(), strict=True):
        if entry.operation == name:
            total += abs(entry.probability - p) + abs((entry.magnitude or 0.0) - level)
        else:
            total += 2.0
    return total


def drive(search: TrialSearch) -> list[float]:
    """Ask and tell as a driver does, with the known surface as evaluator."""
    asked, values = 0, []
    proposals: dict[int, Proposal] = {}
    for number in range(search.n_trials):
        while asked < search.n_trials and search.n_required(asked) <= number:
            proposals[asked] = search.ask(asked)
            asked += 1
        values.append(surface(proposals[number].policy))
        search.tell(number, Outcome(values[-1], state=b"weights"))
    return values


SHAPE = {"n_subpolicies": 1, "n_stages": 2}


@pytest.mark.parametrize("multivariate", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_tpe_learns_from_earlier_trials(multivariate: bool) -> None:
    """Over 8 seeds, the last ten of fifty proposals are nearer to the truth than by chance."""
    n_seeds, n_trials = 8, 50
    by_chance = [
        drive(make_search("random", n_trials, seed=seed, **SHAPE)) for seed in range(n_seeds)
    ]
    learned = [
        drive(make_search("autoaugment", n_trials, seed=seed, multivariate=multivariate, **SHAPE))
        for seed in range(n_seeds)
    ]
    best = np.array([[min(values) for values in runs] for runs in (learned, by_chance)])
    late = np.array([[np.mean(values[-10:]) for values in runs] for runs in (learned, by_chance)])
    # A sign test: 7 or more of 8 happen by chance in 4 % of cases.
    assert (late[0] < late[1]).sum() >= 7
    assert best[0].mean() < best[1].mean()
    assert late[0].mean() < 0.75 * late[1].mean()


def test_chance_does_not_learn() -> None:
    values = np.array([drive(make_search("random", 60, seed=seed, **SHAPE)) for seed in range(12)])
    assert abs(values[:, :30].mean() - values[:, 30:].mean()) < 0.15


def test_a_proposal_depends_on_a_fixed_part_of_the_past() -> None:
    """With four at once, the outcome of a trial is first used by the fourth one after it."""

    def policies(changed: int | None) -> list[PolicySpec]:
        search = make_search("autoaugment", 24, trials_at_once=4, **SHAPE)
        asked: list[PolicySpec] = []
        for number in range(24):
            while len(asked) < 24 and search.n_required(len(asked)) <= number:
                asked.append(search.ask(len(asked)).policy)
            value = surface(asked[number])
            search.tell(number, Outcome(-1.0 if number == changed else value))
        return asked

    plain, other = policies(None), policies(12)
    assert plain[:16] == other[:16]
    assert plain[16:] != other[16:]


@pytest.mark.parametrize("multivariate", [False, True])
def test_an_interrupted_estimator_goes_on_as_if_nothing_had_happened(
    multivariate: bool, tmp_path: Path
) -> None:
    """A new process knows nothing but the study, and proposes the same to the last digit."""

    def policies(folder: Path, interruptions: tuple[int, ...]) -> list[PolicySpec]:
        own = {"folder": folder, "multivariate": multivariate, **SHAPE}
        search = make_search("autoaugment", 24, **own)
        asked: list[PolicySpec] = []
        for number in range(24):
            if number in interruptions:
                search = make_search("autoaugment", 24, resume=True, **own)
                assert len(search.outcomes) == number
                # What was running is asked for once more.
                asked = asked[:number]
            while len(asked) < 24 and search.n_required(len(asked)) <= number:
                asked.append(search.ask(len(asked)).policy)
            search.tell(number, Outcome(surface(asked[number])))
        return asked

    (tmp_path / "whole").mkdir()
    (tmp_path / "cut").mkdir()
    whole = policies(tmp_path / "whole", ())
    assert policies(tmp_path / "cut", (1, 12, 13, 20)) == whole


@pytest.mark.parametrize("classwise", [False, True])
def test_randaugment_covers_its_grid(classwise: bool) -> None:
    search = make_search("randaugment", 1000 if not classwise else 30, classwise=classwise)
    assert isinstance(search, StudySearch)
    n_cells = 2 * 10
    assert search.n_trials == (30 if classwise else n_cells)
    seen: dict[str, list[tuple[int, float]]] = {}
    for number in range(search.n_trials):
        spec = search.ask(number).policy
        for row in spec.rows:
            (subpolicy,) = spec.policy[row]
            levels = {
                entry.magnitude
                for stage in subpolicy.stages
                for entry in stage
                if entry.magnitude is not None
            }
            for stage in subpolicy.stages:
                assert [entry.operation for entry in stage] == list(OPERATIONS)
                assert len({(entry.weight, entry.probability) for entry in stage}) == 1
            assert len(levels) == 1
            seen.setdefault(row, []).append((len(subpolicy.stages), levels.pop()))
        search.tell(number, Outcome(1.0))
    everything = {(n, m / 10) for n in (1, 2) for m in range(1, 11)}
    for cells in seen.values():
        assert set(cells[:n_cells]) == everything
    if classwise:
        assert len({tuple(cells) for cells in seen.values()}) == len(CLASS_NAMES)


def test_population_beats_its_first_generation() -> None:
    gains = []
    for seed in range(12):
        search = make_search("population", 8 * 12, n_members=8, seed=seed, **SHAPE)
        values = np.array(drive(search)).reshape(12, 8)
        gains.append(values[0].min() - values[-1].min())
        # Only the worst members are replaced, so the best is never lost.
        assert (np.diff(values.min(1)) <= 1e-12).all()
    assert sum(gain > 0 for gain in gains) >= 11
    assert np.mean(gains) > 0.4


def test_who_takes_over_from_whom() -> None:
    search = make_search("population", 24, n_members=8, **SHAPE)
    assert isinstance(search, PopulationSearch)
    first = [search.ask(number).policy for number in range(8)]
    assert len({spec.to_json() for spec in first}) == 8
    for number in range(8):
        value = None if number == 3 else float(number)
        search.tell(number, Outcome(value, state=f"weights {number}".encode()))
    second = [search.ask(8 + number) for number in range(8)]
    for number in (0, 1, 2, 4, 5, 6):
        assert second[number].state == f"weights {number}".encode()
        assert second[number].policy == first[number]
    # 7 is the worst, and 3 has failed.
    for number in (3, 7):
        assert second[number].state in (b"weights 0", b"weights 1")
        assert second[number].policy not in first
    for number in range(8, 16):
        search.tell(number, Outcome(1.0 if number == 15 else 2.0, state=b"later"))
    schedule = search.policy_as_result(15)
    parent = int(str(second[7].state)[-2])
    assert [segment.policy for segment in schedule.segments] == [first[parent], second[7].policy]


def direct_loss(evaluator: HeldOutEvaluator, transformed: torch.Tensor) -> float:
    """Compute what Fast AutoAugment asks for, window by window."""
    losses = []
    for fold in evaluator.folds:
        model = network(0)
        model.load_state_dict(fold.weights)
        model.eval()
        for window in fold.held_out.tolist():
            with torch.no_grad():
                logits = model(transformed[window][None])[0].double().numpy()
            label = int(evaluator.problem.train.y[window])
            losses.append(np.log(np.exp(logits).sum()) - logits[label])
    assert len(losses) == len(transformed)
    return float(np.mean(losses))


def test_fast_autoaugment_evaluates_augmented_windows_that_models_have_not_seen() -> None:
    search = make_search("fast_autoaugment", 5, n_folds=3)
    evaluator = search.make_evaluator(SerialEngine())
    x, y = evaluator.problem.train.x, evaluator.problem.train.y
    for fold in evaluator.folds:
        held_out = {evaluator.problem.train.subject[i] for i in fold.held_out.tolist()}
        kept = set(range(len(x))) - set(fold.held_out.tolist())
        assert held_out.isdisjoint(evaluator.problem.train.subject[i] for i in kept)
    for text, transformed in (
        ("sign_flip p=0", x),
        ("sign_flip p=1 > time_reverse p=1", -x.flip(-1)),
    ):
        loss, _ = evaluator(Proposal(PolicySpec.from_text(text)))
        assert loss == pytest.approx(direct_loss(evaluator, transformed), rel=1e-5)
    lines = [f"[{name}]\n{'sign_flip' if name == 'dip' else 'time_reverse'} p=1"
             for name in CLASS_NAMES]  # fmt: skip
    loss, _ = evaluator(Proposal(PolicySpec.from_text("\n".join(lines))))
    is_dip = (y == CLASS_NAMES.index("dip"))[:, None, None]
    expected = torch.where(is_dip, -x, x.flip(-1))
    assert loss == pytest.approx(direct_loss(evaluator, expected), rel=1e-5)
    # The same policy gets the same loss, also where chance decides.
    half = Proposal(PolicySpec.from_text("sign_flip p=0.5"))
    assert evaluator(half) == evaluator(half)


def test_folds_are_by_subject_where_there_are_enough() -> None:
    problem = make_problem()
    by_subject = make_folds(problem, 4, seed=0)
    assert all(len({problem.train.subject[i] for i in fold.tolist()}) == 1 for fold in by_subject)
    by_window = make_folds(problem, 8, seed=0)
    assert sorted(int(i) for fold in by_window for i in fold) == list(range(64))
    for fold in by_window:
        assert torch.bincount(problem.train.y[fold]).tolist() == [2, 2, 2, 2]


def test_operations_without_magnitude_have_none() -> None:
    encoding = PolicyEncoding(image_pool(), None, 2, 1)
    spec = encoding.decode(encoding.draw(torch.Generator().manual_seed(0)))
    assert set(spec.operations_used) <= set(image_pool().names)
    assert all(
        entry.magnitude is None for subpolicy in spec.policy["*"] for (entry,) in subpolicy.stages
    )


def test_trials_try_magnitudes_below_the_limits_of_the_pool(pool: OperationPool) -> None:
    limited = pool.select(["sign_flip", "time_mask"]).with_limits({"time_mask": 0.5})
    encoding, grid = PolicyEncoding(limited, None, 2, 2), GridEncoding(limited, None, 2)
    generator = torch.Generator().manual_seed(0)
    drawn = [encoding.decode(encoding.draw(generator)) for _ in range(20)]
    drawn += [grid.decode({"*/n_operations": 2, "*/magnitude": m}) for m in (0.1, 1.0)]
    magnitudes = [
        entry.magnitude
        for spec in drawn
        for entry in spec.entries
        if entry.operation == "time_mask" and entry.magnitude is not None
    ]
    assert max(magnitudes) == 0.5
