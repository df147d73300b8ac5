"""Comparisons in paired blocks against closed forms, and the rule that recommends."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import stats

from cadda.experiments.comparison import (
    BlockScores,
    CompareJob,
    common_blocks,
    compare_conditions,
)
from cadda.experiments.recommendation import comparison_table, recommend, subject_table
from cadda.experiments.study import Record
from cadda.searchers.race.candidates import Level

N_WINDOWS = 20


def record(
    method: str,
    fold: int,
    correct: np.ndarray,
    *,
    seed: int = 0,
    level: Level = Level.NONE,
    n_steps: int | None = None,
    is_undecided: bool = False,
) -> Record[CompareJob, BlockScores]:
    """Return the result of a block; each subject has as many windows of each class."""
    n_subjects, n_classes = correct.shape
    scores = BlockScores(
        balanced_accuracy=float(correct.mean()) / N_WINDOWS,
        macro_f1=0.5,
        f1_per_class={},
        valid_balanced_accuracy=0.5,
        valid_loss=1.0,
        best_epoch=1,
        n_epochs=1,
        n_train=10,
        subjects=tuple(f"{fold}-{i}" for i in range(n_subjects)),
        correct=tuple(map(tuple, correct.tolist())),
        n_windows=((N_WINDOWS,) * n_classes,) * n_subjects,
        n_usable=8,
        level=level,
        n_entries=int(level),
        n_steps=n_steps,
        is_undecided=is_undecided,
    )
    return Record(CompareJob(fold=fold, seed=seed, method=method), scores)


def made_up(gains: dict[str, float], levels: dict[str, Level], noise: float = 1.0, **more):
    """Return results whose gains scatter over 12 subjects in 6 folds."""
    rng = np.random.default_rng(0)
    plain = rng.integers(8, 12, size=(6, 2, 2))
    records = [record("none", fold, plain[fold]) for fold in range(6)]
    for name, gain in gains.items():
        scatter = rng.normal(size=plain.shape)
        scatter -= scatter.mean((0, 1))
        counts = np.clip(plain + N_WINDOWS * gain + noise * scatter, 0, N_WINDOWS)
        records += [
            record(name, fold, counts[fold].round().astype(int), level=levels[name], **more)
            for fold in range(6)
        ]
    return records


def test_the_gain_is_a_t_interval_over_subjects_of_means_over_seeds() -> None:
    rng = np.random.default_rng(1)
    # Conditions, folds, seeds, subjects of a fold, classes.
    counts = rng.integers(0, N_WINDOWS + 1, size=(3, 5, 2, 2, 3))
    records = [
        record(name, fold, counts[i, fold, seed], seed=seed)
        for seed in range(2)
        for fold in range(5)
        for i, name in enumerate(("none", "adda", "guided"))
    ]
    plain, adda, guided = compare_conditions(common_blocks(records))
    by_subject = (counts / N_WINDOWS).mean((2, 4)).reshape(3, 10)
    gains = by_subject[1:] - by_subject[0]
    # Eight of ten subjects are usable in each fold.
    errors = stats.sem(gains, axis=1) * math.sqrt(1 + 10 / 8)
    for found, values, error in zip((adda, guided), gains, errors, strict=True):
        assert found.gain.value == pytest.approx(values.mean())
        low, high = stats.t.interval(0.9, 9, loc=values.mean(), scale=error)
        assert (found.gain.interval.low, found.gain.interval.high) == pytest.approx((low, high))
        assert found.by_subject == pytest.approx(values)
    for found, values in zip((plain, adda, guided), by_subject, strict=True):
        assert found.accuracy.value == pytest.approx(values.mean())
        error = stats.sem(values) * math.sqrt(1 + 10 / 8)
        low, high = stats.t.interval(0.9, 9, loc=values.mean(), scale=error)
        assert (found.accuracy.low, found.accuracy.high) == pytest.approx((low, high))
    single = sorted(stats.t.sf(gains.mean(1) / errors, 9))
    holm = sorted(item.p_value for item in (adda, guided))
    assert holm == pytest.approx([2 * single[0], max(2 * single[0], single[1])])


def test_only_blocks_that_all_conditions_have_are_compared() -> None:
    counts = np.full((2, 2), 10)
    records = [record("none", fold, counts, seed=seed) for fold in range(3) for seed in range(2)]
    records += [record("adda", 0, counts + 2), record("adda", 2, counts + 4)]
    scores = common_blocks(records)
    assert list(scores["none"]) == list(scores["adda"]) == [(0, 0), (2, 0)]
    _, adda = compare_conditions(scores)
    assert adda.gain.value == pytest.approx(3 / N_WINDOWS)
    assert adda.gain.n_subjects == 4


def test_subjects_are_in_natural_order() -> None:
    counts = np.full((12, 2), 10)
    names = [row[0] for row in subject_table([record("none", 0, counts)]).rows]
    assert names == [f"0-{i}" for i in range(12)]


def test_each_subject_has_its_own_accuracy_and_gain() -> None:
    plain, better = np.array([[10, 20], [0, 10]]), np.array([[12, 20], [4, 8]])
    records = [record("none", 0, plain), record("adda", 0, better)]
    table = subject_table(records)
    assert table.columns == ("subject", "none", "adda", "gain of adda")
    assert table.rows == (("0-0", 0.75, 0.8, 0.05), ("0-1", 0.25, 0.3, 0.05))
    two_seeds = [*records, record("none", 0, better, seed=1), record("adda", 0, plain, seed=1)]
    assert [row[1:] for row in subject_table(two_seeds).rows] == [
        (0.775, 0.775, 0.0),
        (0.275, 0.275, 0.0),
    ]


def test_a_subject_of_one_class_has_an_empty_row() -> None:
    records = [record(name, 0, np.array([[10, 20], [0, 10]])) for name in ("none", "adda")]
    assert "Empty" not in subject_table(records).note
    for each in records:
        counts = ((N_WINDOWS, 0), (N_WINDOWS, N_WINDOWS))
        results = each.result.model_copy(
            update={"n_windows": counts, "correct": ((9, 0), (0, 10))}
        )
        object.__setattr__(each, "result", results)
    table = subject_table(records)
    assert table.rows == (("0-0", None, None, None), ("0-1", 0.25, 0.25, 0.0))
    assert "Empty: the subject has windows of one class only" in table.note


def test_models_that_recognise_one_class_only_are_named() -> None:
    one_class = [record("none", fold, np.array([[20, 0], [20, 0]])) for fold in range(3)]
    learned = [record("adda", fold, np.array([[15, 5], [15, 10]])) for fold in range(3)]
    note = comparison_table("title", [*one_class, *learned]).note
    assert "the model of none recognises one class only in 3 of 3 blocks; try another `lr`" in note
    assert "the model of adda recognises" not in note


def test_searches_without_time_are_undecided() -> None:
    """Nothing follows from them, and what else was compared is recommended or not as before."""
    counts = np.array([[10, 12], [9, 14]])
    plain = [record("none", fold, counts) for fold in range(4)]
    early = [record("auto", fold, counts, n_steps=2, is_undecided=True) for fold in range(4)]
    table = comparison_table("title", [*plain, *early])
    assert table.note.startswith("auto is undecided in 4 of 4 blocks: its search ended before")
    assert "Undecided: nothing else was compared with no augmentation." in table.note
    assert "Train without" not in table.note
    assert "answered no augmentation" not in table.note
    assert table.rows[0][-1] == "close"
    chain = made_up({"chain.txt": 0.2}, {"chain.txt": Level.CHAIN})
    alone = comparison_table("title", chain)
    base = [each.result for each in chain if each.job.method == "none"]
    beside = [
        record("auto", fold, np.array(own.correct), n_steps=2, is_undecided=True)
        for fold, own in enumerate(base)
    ]
    both = comparison_table("title", [*chain, *beside])
    assert "auto is undecided in 6 of 6 blocks" in both.note
    assert alone.note.startswith("Use 'chain.txt'")
    assert alone.note.partition(", p = ")[0] in both.note
    assert [row[-1] for row in alone.rows] == [row[-1] for row in both.rows[:2]]
    some = [record("auto", 0, counts, n_steps=2, is_undecided=True)]
    some += [record("auto", fold, counts, n_steps=30) for fold in range(1, 4)]
    note = comparison_table("title", [*plain, *some]).note
    assert "auto is undecided in 1 of 4 blocks" in note
    assert "Train without augmentation" in note
    assert "auto answered no augmentation in 3 of 4 blocks." in note


def test_before_any_common_block_nothing_is_compared() -> None:
    counts = np.full((2, 2), 10)
    table = comparison_table("title", [record("none", 0, counts), record("adda", 1, counts)])
    assert table.note == "No block is finished under all conditions yet."
    assert [row[:2] for row in table.rows] == [("none", None), ("adda", None)]
    alone = comparison_table("title", [record("none", 0, counts)])
    assert alone.note == "Nothing was compared with `none`."


@pytest.mark.parametrize(
    ("gains", "chosen", "words"),
    [
        # Within the error, the simplest; beyond it, the best.
        ({"chain.txt": 0.21, "single.txt": 0.2}, "single.txt", "Use 'single.txt': +0.2"),
        ({"chain.txt": 0.3, "single.txt": 0.1}, "chain.txt", "Use 'chain.txt': +0.29"),
        ({"cadda": 0.21, "chain.txt": 0.2}, "chain.txt", "Use 'chain.txt': +0.2"),
        ({"cadda": -0.2, "chain.txt": 0.0}, "none", "Train without augmentation: nothing is"),
        (
            {"chain.txt": 0.2, "duplicates": 0.2},
            "none",
            "No policy is better than more steps without augmentation",
        ),
    ],
)
def test_the_simplest_of_the_best_is_recommended(gains, chosen, words) -> None:
    levels = {
        "duplicates": Level.DUPLICATES,
        "single.txt": Level.SINGLE,
        "chain.txt": Level.CHAIN,
        "cadda": Level.CLASSWISE,
    }
    compared = compare_conditions(common_blocks(made_up(gains, levels)))
    found = recommend(compared)
    assert found.name == chosen
    assert found.sentence.startswith(words)
    assert "90 % interval" in found.sentence
    assert "6 blocks, over 12 subjects" in found.sentence
    assert re.search(r"p = \S+ [<≥] 0\.05 adjusted for 2 comparisons", found.sentence)


def test_a_gain_that_cannot_be_told_from_none_is_not_recommended() -> None:
    records = made_up({"chain.txt": 0.1}, {"chain.txt": Level.CHAIN}, noise=4.0)
    compared = compare_conditions(common_blocks(records))
    assert compared[1].is_close
    assert not compared[0].is_close
    assert compared[1].p_value > 0.05
    found = recommend(compared)
    assert found.name == "none"
    assert found.sentence.startswith(
        "Train without augmentation: the best, 'chain.txt', is not distinguishable from it: +0."
    )


def test_a_close_gain_that_can_be_told_from_none_is_preferred_to_a_simpler_one_that_cannot():
    rng = np.random.default_rng(0)
    plain = np.full((6, 2, 2), 8)
    wild = 4 * rng.permutation([-1, 1] * 12).reshape(plain.shape)
    records = [record("none", fold, plain[fold]) for fold in range(6)]
    records += [record("a.txt", i, (plain + 1 + wild)[i], level=Level.SINGLE) for i in range(6)]
    tame = rng.permutation([1, 2] * 12).reshape(plain.shape)
    records += [record("b.txt", i, (plain + tame)[i], level=Level.CHAIN) for i in range(6)]
    _, single, chain = compared = compare_conditions(common_blocks(records))
    assert single.is_close
    assert (single.is_gain, chain.is_gain) == (False, True)
    assert recommend(compared).name == "b.txt"


@pytest.mark.parametrize(("n_steps", "said"), [(5, True), (6, False)])
def test_a_search_that_did_not_search_is_named(n_steps, said) -> None:
    records = made_up({"adda": 0.1}, {"adda": Level.CHAIN}, n_steps=n_steps)
    table = comparison_table("title", records)
    assert ("adda ended within its warm-up of 5 epochs" in table.note) == said
    steps = table.columns.index("steps")
    assert [row[steps] for row in table.rows] == [None, n_steps]


@pytest.mark.parametrize(("level", "said"), [(Level.CLASSWISE, True), (Level.CHAIN, False)])
def test_copies_are_told_where_they_differ(level, said) -> None:
    records = made_up({"a.txt": 0.1, "b.txt": 0.1}, {"a.txt": Level.SINGLE, "b.txt": level})
    assert ("beside an augmented copy" in comparison_table("title", records).note) == said


def test_searches_that_answer_none_are_named() -> None:
    counts = np.full((2, 2), 10)
    levels = [Level.NONE, Level.CHAIN, Level.NONE]
    records = [record("none", fold, counts) for fold in range(3)]
    records += [
        record("auto", fold, counts + level, level=level, n_steps=200)
        for fold, level in enumerate(levels)
    ]
    table = comparison_table("title", records)
    assert "auto answered no augmentation in 2 of 3 blocks." in table.note
    assert dict(zip(table.columns, table.rows[1], strict=True))["policy"] == "several"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"correct": ((9, 6), (2, 3))}, "`correct` must be at most `n_windows`"),
        ({"correct": ((2, 6), (2, 3))}, "`balanced_accuracy` must be that of"),
        ({"n_windows": ((9, 8), (8, 8))}, "`balanced_accuracy` must be that of"),
        ({"balanced_accuracy": 0.9}, "`balanced_accuracy` must be that of"),
        ({"subjects": ("a",)}, "by subject and class"),
    ],
)
def test_numbers_that_contradict_each_other(changed, reason):
    """As a damaged digit of a file of results."""
    content = record("none", 0, np.array([[1, 6], [2, 3]])).result.model_dump()
    content["n_windows"] = ((8, 8), (8, 8))
    content["balanced_accuracy"] = 12 / 32
    BlockScores(**content)
    with pytest.raises(ValueError, match=reason):
        BlockScores(**content | changed)
