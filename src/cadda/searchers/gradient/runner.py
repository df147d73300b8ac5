"""Running a search by gradients, with one seed or several."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean
from time import perf_counter

from cadda.exceptions import TrainingError
from cadda.policies.relaxed.values import PolicyValues
from cadda.policies.spec.model import PolicySpec
from cadda.searchers.events import ClassRewards, SearchEpoch, SearchStep
from cadda.searchers.gradient.averaging import PolicyTrail, mean_policy, mean_shared
from cadda.searchers.gradient.base import Searcher
from cadda.searchers.gradient.chance import CHANCE_EPOCHS, ChanceLevel
from cadda.searchers.gradient.diagnostics import ClassSums, class_rewards, reward_warnings
from cadda.searchers.retraining import AnyPolicy
from cadda.searchers.runner import SearchContext, SearchRunner, policy_tables
from cadda.searchers.warnings import cap_warnings, epoch_warnings
from cadda.training import Problem, predict_logits
from cadda.training.checkpoint import State
from cadda.training.step import score_validation

__all__ = ["GradientRunner"]


class GradientRunner(SearchRunner):
    """Runs a method that learns a policy step by step.

    The result is the mean of the policy over the last third of the epochs after the warm-up; with
    several searchers, which differ in their seeds and take turns epoch by epoch, it is the mean
    over them as well. No searcher is better than the others by anything that was measured, and
    what only one of them believes in counts less in the mean, whereas the most central one would
    keep all of its own noise.

    An operation of the policy tells at most ``max_leak`` bits about the class; None for no limit.
    """

    def __init__(
        self,
        problem: Problem,
        searchers: Sequence[Searcher],
        context: SearchContext,
        *,
        max_leak: float | None = None,
    ) -> None:
        super().__init__(problem, context)
        self.searchers, self.max_leak, self._keeps = searchers, max_leak, context.probe
        self.trails = [PolicyTrail() for _ in searchers]
        self.chance = ChanceLevel.of(problem)
        self.restore()

    def best_policy(self) -> AnyPolicy:
        return self._capped(mean_policy(self._mean_policies()))

    def state_dict(self) -> State:
        return {
            "searchers": [searcher.state_dict() for searcher in self.searchers],
            "trails": [trail.state_dict() for trail in self.trails],
        }

    def load_state_dict(self, state: State) -> None:
        for searcher, saved in zip(self.searchers, state["searchers"], strict=True):
            searcher.load_state_dict(saved)
        for trail, last in zip(self.trails, state["trails"], strict=True):
            trail.load_state_dict(last)

    def advance(self) -> SearchEpoch:
        start = perf_counter()
        steps: list[SearchStep] = []
        sums: list[ClassSums | None] = []
        for searcher, trail in zip(self.searchers, self.trails, strict=True):
            steps += searcher.run(searcher.steps_per_epoch)
            sums.append(searcher.class_sums)
            if searcher.has_learned:
                trail.add(searcher.policy.values)
        self.epoch += 1
        self.seconds += perf_counter() - start
        event = self._summary(steps, class_rewards(sums))
        self._check_model(event)
        return event

    def _check_model(self, event: SearchEpoch) -> None:
        """Raise if the model of the search has been worse than chance for some epochs."""
        if not self.searchers[0].uses_validation:
            return
        learning = [
            epoch
            for epoch in (*self.history, event)
            if isinstance(epoch, SearchEpoch) and epoch.reward is not None
        ]
        reason = self.chance.why_worse(learning[-CHANCE_EPOCHS:])
        if reason is not None:
            raise TrainingError(f"the search was stopped after epoch {self.epoch}: {reason}")

    def _capped(self, policy: PolicySpec) -> PolicySpec:
        return policy if self.max_leak is None else policy.capped(self.max_leak, keeps=self._keeps)

    def _specs(self, values: Sequence[PolicyValues | None]) -> list[PolicySpec]:
        """Return the policies of the searchers with some values; None for those of now."""
        return [
            searcher.to_spec(value) for searcher, value in zip(self.searchers, values, strict=True)
        ]

    def _mean_policies(self) -> list[PolicySpec]:
        return self._specs([trail.mean() for trail in self.trails])

    def _shared(self, learned: Sequence[PolicySpec]) -> float | None:
        """Return what the policies have in common with those of a third of the search ago."""
        earlier = [trail.earlier() for trail in self.trails]
        if any(values is None for values in earlier):
            return None
        return mean_shared(zip(self._specs(earlier), learned, strict=True))

    def _agreement(self) -> float | None:
        """Return what the mean policies of two seeds have in common; None for one seed."""
        if len(self.searchers) == 1 or not self.trails[0].n_epochs:
            return None
        return mean_shared(combinations(self._mean_policies(), 2))

    def _summary(self, steps: list[SearchStep], rewards: ClassRewards | None) -> SearchEpoch:
        policies = self._specs([None] * len(self.searchers))
        learned = mean_policy(policies)
        policy = self._capped(learned)
        table, tables = policy_tables(policy, self.problem)
        x, n_classes = self.problem.valid.x, self.problem.n_classes
        scores = [
            score_validation(self.problem, predict_logits(searcher.model, x, n_classes))
            for searcher in self.searchers
        ]
        valid_loss, valid_accuracy = map(fmean, zip(*scores, strict=True))
        gains = [step.reward for step in steps if step.reward is not None]
        warnings = (
            *epoch_warnings(table, steps),
            *cap_warnings(learned, policy),
            *reward_warnings(rewards, self.problem.class_names),
        )
        if gains and self.searchers[0].uses_validation:
            warnings += self.chance.warnings(valid_loss, valid_accuracy)
        return SearchEpoch(
            epoch=self.epoch,
            n_epochs=self.n_epochs,
            train_loss=fmean(step.train_loss for step in steps),
            valid_loss=valid_loss,
            valid_balanced_accuracy=valid_accuracy,
            reward=fmean(gains) if gains else None,
            entropy=fmean(float(searcher.entropy()) for searcher in self.searchers),
            **tables,
            seconds=self.seconds,
            warnings=warnings,
            shared=self._shared(policies),
            agreement=self._agreement(),
            n_averaged=self.trails[0].n_averaged,
            rewards=rewards,
        )
