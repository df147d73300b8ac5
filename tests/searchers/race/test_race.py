"""The course of a race, with scores drawn from known effects in place of training runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from scipy.stats import binomtest

from cadda import PolicySpec
from cadda.exceptions import TrainingError
from cadda.reporting.race import COVERAGE
from cadda.searchers.race.blocks import Block, RunScore
from cadda.searchers.race.candidates import DUPLICATES, NONE, Candidate, Level
from cadda.searchers.race.race import Race
from cadda.searchers.race.settings import RaceSettings
from cadda.searchers.race.verdict import make_verdict

SINGLE = PolicySpec.from_text("sign_flip p=0.5")
CHAIN = PolicySpec.from_text("sign_flip p=0.5 > time_reverse p=0.5")
N_SUBJECTS, N_WINDOWS = 9, 20


def candidate(name: str, *, chain: bool = False) -> Candidate:
    return Candidate(name, CHAIN if chain else SINGLE, Level.CHAIN if chain else Level.SINGLE)


class Simulation:
    """Draws scores: a block and each subject have effects, and so has a candidate.

    Training runs can have luck, which all subjects of their block share, and candidates can help
    some subjects more than others; both change losses, too.
    """

    def __init__(
        self,
        effects: Mapping[str, float],
        seed: int = 0,
        *,
        n_subjects: int = N_SUBJECTS,
        luck: float = 0.0,
        spread: float = 0.0,
    ) -> None:
        self.effects, self.rng = effects, np.random.default_rng(seed)
        self.n_subjects, self.luck = n_subjects, luck
        self.ability = self.rng.normal(0.7, 0.05, size=n_subjects)
        names = [item.name for item in CANDIDATES if item is not NONE]
        self.by_subject = {name: self.rng.normal(0, spread, size=n_subjects) for name in names}
        self.trained: list[tuple[str, int]] = []

    def score(self, item: Candidate, block: Block) -> RunScore:
        self.trained.append((item.name, block.number))
        rows = [int(name[1:]) for name in block.valid]
        own = self.by_subject.get(item.name, np.zeros(self.n_subjects))[rows]
        effect = self.effects.get(item.name, 0.0)
        luck = own + self.rng.normal(0, self.luck)
        difficulty = np.random.default_rng(block.seed).normal(0, 0.3)
        loss = np.exp(difficulty - effect - luck.mean() + 0.03 * self.rng.normal())
        accuracy = np.clip(self.ability[rows] + effect + luck, 0, 1)
        correct = self.rng.binomial(N_WINDOWS, accuracy[:, None], (len(rows), 2))
        return RunScore(float(loss), tuple(map(tuple, correct.tolist())), 1.0)

    def run(self, candidates: list[Candidate], settings: RaceSettings | None = None) -> Race:
        subjects = {f"s{i}": np.array([N_WINDOWS, N_WINDOWS]) for i in range(self.n_subjects)}
        race = Race(subjects, settings or RaceSettings(), candidates)
        while runs := race.next_runs():
            race.tell(runs, [self.score(entrant.candidate, block) for entrant, block in runs])
        race.decide()
        while runs := race.next_runs():
            race.tell(runs, [self.score(entrant.candidate, block) for entrant, block in runs])
        return race


CANDIDATES = [
    NONE,
    DUPLICATES,
    *(candidate(name) for name in "abcdef"),
    candidate("g", chain=True),
]


def test_the_best_candidate_wins_and_its_gain_is_measured() -> None:
    race = Simulation({"c": 0.12, "d": 0.04, "e": -0.2}).run(CANDIDATES)
    verdict = make_verdict(race)
    assert verdict is not None
    assert verdict.candidate == "c"
    assert verdict.is_gain
    assert verdict.low is not None
    assert verdict.high is not None
    assert 0 < verdict.low < verdict.gain < verdict.high
    assert verdict.gain == pytest.approx(0.12, abs=0.03)
    assert verdict.sentence.startswith("Use 'c': +0.")
    assert "90 % interval" in verdict.sentence


def test_worse_candidates_are_dropped_with_the_reason() -> None:
    race = Simulation({"c": 0.12, "e": -0.2}).run(CANDIDATES)
    rows = {row.name: row for row in race.rows()}
    assert rows["e"].status == "dropped"
    assert rows["e"].reason == "worse than c after 3 blocks"
    assert rows["e"].n_blocks == 3
    assert rows["c"].status == "measured"
    assert rows["none"].status == "racing"
    assert rows["none"].gain == 0


def test_none_is_never_dropped_and_nothing_useless_is_recommended() -> None:
    race = Simulation(dict.fromkeys("abcdefg", -0.1)).run(CANDIDATES)
    verdict = make_verdict(race)
    assert race.winner is None or race.winner.candidate is DUPLICATES
    assert verdict is not None
    assert not verdict.is_gain


@pytest.mark.parametrize("n_subjects", [6, 12])
@pytest.mark.parametrize("luck", [0.0, 0.04])
@pytest.mark.parametrize("effect", [0.0, 0.1])
def test_claims_are_rare_and_intervals_wide_enough(
    effect: float, luck: float, n_subjects: int
) -> None:
    # Of races with recordings, training runs differ by 0.04 and gains of subjects by 0.06.
    n_races, claimed, covered = 300, 0, []
    for seed in range(n_races):
        simulation = Simulation(
            {"c": effect}, seed, n_subjects=n_subjects, luck=luck, spread=1.5 * luck
        )
        race = simulation.run(CANDIDATES, RaceSettings(seed=seed))
        verdict = make_verdict(race)
        assert verdict is not None
        claimed += verdict.is_gain
        if race.winner is not None:
            truth = effect if verdict.candidate == "c" else 0.0
            assert verdict.low is not None
            assert verdict.high is not None
            covered.append(verdict.low <= truth <= verdict.high)
    if effect:
        assert claimed > (0.5 if luck else 0.9) * n_races
    else:
        assert claimed <= 0.05 * n_races
    assert len(covered) > n_races / 3
    assert binomtest(sum(covered), len(covered), COVERAGE, alternative="less").pvalue > 0.01


def test_a_model_at_chance_is_said() -> None:
    n_said = {0.5: 0, 0.7: 0}
    for ability in n_said:
        for seed in range(20):
            simulation = Simulation({}, seed)
            simulation.ability[:] = ability
            verdict = make_verdict(simulation.run(CANDIDATES, RaceSettings(seed=seed)))
            assert verdict is not None
            n_said[ability] += (
                "The model itself is not distinguishable from chance: balanced accuracy 0."
                in verdict.sentence
            )
    # At chance, one model of twenty seems to be better.
    assert n_said[0.5] >= 17
    assert n_said[0.7] == 0


def test_balanced_accuracy_is_that_of_all_blocks() -> None:
    race = Simulation({"c": 0.12}).run(CANDIDATES)
    scores = [*race.none.scores, *race.none.decisive]
    n_windows = 2 * N_WINDOWS * sum(len(score.correct) for score in scores)
    n_correct = sum(np.sum(score.correct) for score in scores)
    # Classes have the same number of windows.
    assert race.balanced_accuracy(race.none).value == pytest.approx(n_correct / n_windows)


def test_of_equally_good_candidates_the_simplest_is_chosen() -> None:
    chosen = []
    for seed in range(40):
        race = Simulation({"c": 0.1, "g": 0.1}, seed).run([*CANDIDATES[:5], CANDIDATES[-1]])
        assert race.winner is not None
        chosen.append(race.winner.candidate.name)
    # By more than one standard error, the chain leads by luck in about one race of five.
    assert chosen.count("c") > 25


def test_decisive_blocks_have_no_part_in_the_choice() -> None:
    simulation = Simulation({"c": 0.12})
    race = simulation.run(CANDIDATES)
    choice = {block for _, block in simulation.trained if block < race.first_decisive}
    decisive = [entry for entry in simulation.trained if entry[1] >= race.first_decisive]
    assert choice == set(range(3))
    assert len(decisive) == 2 * RaceSettings().n_decisive
    assert {name for name, _ in decisive} == {"none", "c"}


@pytest.mark.parametrize("n_blocks", [4, 100])
def test_several_blocks_of_the_decision_at_once_give_the_same_verdict(n_blocks: int) -> None:
    one_by_one = Simulation({"c": 0.12}).run(CANDIDATES)
    simulation = Simulation({"c": 0.12})
    race = Race(one_by_one.n_windows, RaceSettings(), CANDIDATES)
    while runs := race.next_runs(n_blocks):
        assert len({block.number for _, block in runs}) == 1
        race.tell(runs, [simulation.score(entrant.candidate, block) for entrant, block in runs])
    race.decide()
    sizes = []
    while runs := race.next_runs(n_blocks):
        sizes.append(len(runs))
        race.tell(runs, [simulation.score(entrant.candidate, block) for entrant, block in runs])
    assert sizes == ([8, 8, 8, 6] if n_blocks == 4 else [30])
    assert make_verdict(race) == make_verdict(one_by_one)


def test_those_who_join_later_catch_up_in_the_same_blocks() -> None:
    simulation = Simulation({"c": 0.1, "late": 0.3})
    race = Race(
        {f"s{i}": np.array([N_WINDOWS, N_WINDOWS]) for i in range(N_SUBJECTS)},
        RaceSettings(),
        CANDIDATES,
    )
    while runs := race.next_runs():
        race.tell(runs, [simulation.score(entrant.candidate, block) for entrant, block in runs])
    race.join("combinations", [candidate("late"), candidate("c")])
    assert [entrant.candidate.name for entrant in race.entrants].count("c") == 1
    while runs := race.next_runs():
        race.tell(runs, [simulation.score(entrant.candidate, block) for entrant, block in runs])
    late = race.entrants[-1]
    assert [block for name, block in simulation.trained if name == "late"] == list(range(5))
    assert race.simplest() is late


def test_a_limited_number_survives() -> None:
    simulation = Simulation({})
    race = Race(
        {f"s{i}": np.array([N_WINDOWS, N_WINDOWS]) for i in range(N_SUBJECTS)},
        RaceSettings(n_survivors=2),
        CANDIDATES,
    )
    while runs := race.next_runs():
        race.tell(runs, [simulation.score(entrant.candidate, block) for entrant, block in runs])
    race.join("combinations", [])
    assert len(race.alive) == 3
    assert race.none in race.alive
    assert {entrant.dropped for entrant in race.entrants} >= {
        "not among the best 2 after 3 blocks"
    }


def test_only_finalists_get_all_blocks() -> None:
    simulation = Simulation({name: 0.01 * place for place, name in enumerate("abcdef")})
    race = Race(
        {f"s{i}": np.array([N_WINDOWS, N_WINDOWS]) for i in range(N_SUBJECTS)},
        RaceSettings(n_survivors=4),
        CANDIDATES,
    )
    late = [candidate(f"late {i}") for i in range(6)]
    for phase, joining in (("combinations", late), ("finalists", [])):
        while runs := race.next_runs():
            race.tell(runs, [simulation.score(item.candidate, block) for item, block in runs])
        race.join(phase, joining)
    while runs := race.next_runs():
        race.tell(runs, [simulation.score(item.candidate, block) for item, block in runs])
    counts = {item.candidate.name: item.n_blocks for item in race.entrants}
    finalists = [item for item in race.alive if item is not race.none]
    # Some may be dropped because they are worse, but never are there more.
    assert 1 <= len(finalists) <= 3
    assert counts["none"] == 9
    assert sum(n > 5 for n in counts.values()) <= 4
    assert sum(n > 3 for n in counts.values()) <= 5
    assert all(counts[item.candidate.name] == 9 for item in finalists)
    assert race.first_decisive >= 9


def test_failed_runs_drop_a_candidate_but_not_none() -> None:
    race = Race({"a": np.array([2, 2]), "b": np.array([2, 2])}, RaceSettings(), CANDIDATES[:4])
    runs = race.next_runs()
    good, bad = RunScore(0.5, ((1, 1),), 1.0), RunScore(float("inf"), (), 1.0, "Error: no")
    race.tell(runs, [good, good, bad, good])
    assert [entrant.dropped for entrant in race.entrants] == [
        "",
        "",
        "training failed: Error: no",
        "",
    ]
    assert race.rows()[-1].reason == "training failed: Error: no"
    with pytest.raises(TrainingError, match=r"without augmentation failed: Error: no\."):
        race.tell(race.next_runs(), [bad, good, good])
