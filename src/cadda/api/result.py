"""The result of a search, and its files."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from cadda._internal.files import make_folder
from cadda._internal.frames import make_frame
from cadda._internal.notebook import Html, block, folded, paragraph
from cadda.api.conclusion import describe_search
from cadda.operations.pool import OperationPool
from cadda.policies.fitting import record_settings, record_windows
from cadda.policies.schedule import PolicySchedule, build_policy
from cadda.policies.spec.leakage import record_leak
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.provenance import Provenance
from cadda.policies.spec.simplify import crisp_policy, describe_loss, largest_distance
from cadda.probing.leak_probe import with_leak_probe
from cadda.reporting.race import RaceFacts, candidate_table
from cadda.reporting.records import SearchCurves
from cadda.reporting.stability import limit_notes, stability_notes
from cadda.runs.events import search_curves
from cadda.runs.folder import RunFolder
from cadda.runs.policy_files import write_policy_file
from cadda.runs.records import save_fitted
from cadda.searchers.events import HistoryEvent, Retrained, SearchEpoch, TrialEnd
from cadda.searchers.race.runner import RaceRunner
from cadda.searchers.retraining import AnyPolicy, RetrainedModel
from cadda.searchers.runner import SearchRunner
from cadda.training import Fitted
from cadda.training.diagnosis import NO_WINDOWS, with_warnings
from cadda.training.progress import describe_accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SearchResult", "result_of", "write_policy", "write_result"]

SERIES = {
    *("applied", "share", "probability", "magnitude", "warnings", "rewards"),
    *("train_losses", "valid_losses", "missing_classes"),
}
"""Fields of events that are no single value."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """A policy and how it was found.

    Parameters
    ----------
    policy : PolicySpec
        The policy found: that of the best retraining, if any, else that of the best trial or, for
        methods by gradients, the mean over the last third of the epochs after the warm-up. The
        last policy of a schedule.
    operations : tuple of str
        Operations to choose from, each with its label map if it has one: columns of `curves`.
    schedule : PolicySchedule | None
        Policies by epoch of training, found by the method ``"population"``.
    history : list of SearchEpoch, TrialEnd and Retrained
        Events of the search, in order.
    seconds : float
        Duration of the search, without probe and retraining.
    fitted : Fitted | None
        The model trained from scratch with the policy; None if ``retrain=False``.
    baseline : Fitted | None
        The model trained without augmentation; None if ``baseline=False``.
    race : RaceFacts | None
        Candidates of the method ``"auto"``, their gains, and the verdict.
    probe_seconds : float
        Duration of the probe before the search.
    probe_notes : tuple of str
        What the probe, and the method, have done to the operations.
    """

    policy: PolicySpec
    operations: tuple[str, ...]
    schedule: PolicySchedule | None
    history: list[HistoryEvent]
    seconds: float
    fitted: Fitted | None
    baseline: Fitted | None
    race: RaceFacts | None = None
    probe_seconds: float = 0.0
    probe_notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """What to use and what it gains, or that the search has not measured its gain."""
        if self.race is None:
            return describe_search(self.schedule_or_policy, self.fitted, self.baseline)
        return self.race.sentence

    @property
    def candidates(self) -> RaceFacts | None:
        """Candidates of the race, a table; None for other methods."""
        return self.race

    @property
    def gain(self) -> float | None:
        """Gain in balanced accuracy over no augmentation that the race measured, if it did."""
        verdict = None if self.race is None else self.race.verdict
        return None if verdict is None else verdict.gain

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 90 % interval of `gain`; None if there are too few subjects or blocks."""
        verdict = None if self.race is None else self.race.verdict
        if verdict is None or verdict.low is None or verdict.high is None:
            return None
        return verdict.low, verdict.high

    def __str__(self) -> str:
        if self.race is not None:
            return self.verdict
        return "\n".join((self._headline, str(self.policy), self.verdict, *self.notes))

    def __repr__(self) -> str:
        names = ", ".join(self.policy.operations_used) or "none"
        found = f"operations: {names}" if self.race is None else self.verdict
        return f"SearchResult({self._headline}; {found})"

    def to_frame(self) -> Any:
        """Return the progress of the search as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per candidate of a race, otherwise per epoch or trial, or per retrained model
            of a method without either; without the tables of operations, which `curves` has.
        """
        if self.race is not None:
            return self.race.to_frame()
        occurring = {type(event) for event in self.history}
        kind = next((each for each in (SearchEpoch, TrialEnd) if each in occurring), Retrained)
        names = [field.name for field in fields(kind) if field.name not in SERIES]
        return make_frame((asdict(e) for e in self.history if isinstance(e, kind)), names)

    def plot(self) -> Figure:
        """Draw the search.

        Returns
        -------
        matplotlib.figure.Figure
            The candidates of a race, otherwise how the policy changed from epoch to epoch or from
            trial to trial; the policy itself if there was neither.
        """
        from cadda.reporting.evolution import plot_evolution
        from cadda.reporting.figures.candidates import plot_race

        if self.race is not None:
            return plot_race(self.race)
        if self.curves is not None:
            return plot_evolution(self.curves, self.operations, self.policy)
        return self.policy.plot()

    @property
    def _headline(self) -> str:
        return f"{self.policy.provenance.method} searched for {self.seconds:.0f} s"

    def _repr_html_(self) -> str:
        notes = self.notes if self.race is None else ()
        parts = [paragraph(text) for text in (self.verdict, *notes)]
        for name, fitted in (("policy", self.fitted), ("no augmentation", self.baseline)):
            if fitted is not None:
                best = fitted.best
                parts.append(
                    paragraph(
                        f"{name}: validation loss {best.valid_loss:.3f}, "
                        + describe_accuracy(best.valid_balanced_accuracy, best.missing_classes)
                    )
                )
        parts += [paragraph(f"{text}.") for text in self.warnings]
        parts.append(Html(self.policy._repr_html_()))
        if self.race is not None:
            parts.append(folded("candidates", candidate_table(self.race)))
        return block(self._headline, *parts)

    @property
    def schedule_or_policy(self) -> PolicySpec | PolicySchedule:
        """What to train with: the schedule of a method that finds one, or else the policy."""
        return self.policy if self.schedule is None else self.schedule

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about the policy, a sentence each.

        What the probe did to the operations, and of a search by epochs or trials: which epochs the
        policy is the mean of, how much it still moved, whether several seeds agree, and the
        operations that it uses at their largest magnitude.
        """
        probed = tuple(f"{note}." for note in self.probe_notes)
        if self.curves is None:
            return probed
        limits = (f"{note}." for note in limit_notes(self.policy))
        return (*probed, *stability_notes(self.curves), *limits)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What suggests that a trained model has learned nothing, and classes missing in `valid`.

        Empty if there is nothing to be careful about.
        """
        models = {"with the policy": self.fitted, "without augmentation": self.baseline}
        # Without a policy, both are the same.
        if self.policy.is_none and self.schedule is None and self.baseline is not None:
            del models["with the policy"]
        texts = (
            text if text.startswith(NO_WINDOWS) else f"trained {name}, {text}"
            for name, fitted in models.items()
            if fitted is not None
            for text in fitted.warnings
        )
        return tuple(dict.fromkeys(texts))

    @property
    def curves(self) -> SearchCurves | None:
        """Progress of the search, for `plot_evolution`; None if no epoch or trial was done."""
        return search_curves(self.history)


def result_of(
    runner: SearchRunner, provenance: Provenance, probe_notes: tuple[str, ...]
) -> SearchResult:
    """Return the result of a search that has run."""
    best = runner.retrainer.best()
    plain = runner.retrainer.done.get(0)
    provenance = provenance.model_copy(update={"scores": _scores(best, plain)})
    policy = runner.best_policy() if best is None or best.policy is None else best.policy
    last, schedule = _signed_parts(policy, provenance, runner.problem.pool)
    return SearchResult(
        policy=last,
        operations=runner.problem.pool.names,
        schedule=schedule,
        history=runner.history,
        seconds=runner.seconds,
        probe_seconds=runner.probe_seconds,
        fitted=None if best is None else _checked(best, runner),
        baseline=None if plain is None else _checked(plain, runner),
        race=runner.facts() if isinstance(runner, RaceRunner) else None,
        probe_notes=probe_notes,
    )


def _checked(trained: RetrainedModel, runner: SearchRunner) -> Fitted:
    """Return a model with what it makes of operations, and with whether it has learned nothing."""
    problem = runner.problem
    policy = None if trained.policy is None else build_policy(trained.policy, problem.pool)
    fitted = with_warnings(trained.fitted, problem, runner.budget.training)
    return with_leak_probe(fitted, problem.valid, policy)


def _scores(best: RetrainedModel | None, plain: RetrainedModel | None) -> dict[str, float]:
    """Return validation scores of the models with the policy and without augmentation."""
    scores = {}
    for suffix, retraining in (("", best), ("_without_augmentation", plain)):
        if retraining is not None:
            end = retraining.fitted.best
            scores[f"valid_loss{suffix}"] = end.valid_loss
            scores[f"valid_balanced_accuracy{suffix}"] = end.valid_balanced_accuracy
    return scores


def write_policy(
    folder: RunFolder, policy: AnyPolicy, provenance: Provenance, pool: OperationPool
) -> None:
    """Write the policy that a search has found, before any model is trained with it."""
    _save_policy(folder, *_signed_parts(policy, provenance, pool))


def _save_policy(folder: RunFolder, policy: PolicySpec, schedule: PolicySchedule | None) -> None:
    write_policy_file(folder, folder.policy, policy.to_json())
    write_policy_file(folder, folder.policy_text, _text_of(policy))
    if schedule is not None:
        write_policy_file(folder, folder.schedule, schedule.to_json())


def write_result(folder: RunFolder, result: SearchResult) -> None:
    """Write policy, model and figures of a finished search."""
    _save_policy(folder, result.policy, result.schedule)
    if result.race is not None:
        result.race.save(folder.race)
    if result.fitted is not None:
        save_fitted(folder, result.fitted)
    _save_figures(folder, result)


def _save_figures(folder: RunFolder, result: SearchResult) -> None:
    # Training does without matplotlib, and its 50 MB.
    from cadda.reporting.evolution import plot_evolution
    from cadda.reporting.figures.candidates import plot_race
    from cadda.reporting.figures.saving import save_figure

    make_folder(folder.operations_figure.parent, parents=False)
    save_figure(result.policy.plot(), folder.operations_figure)
    if result.curves is not None:
        figure = plot_evolution(result.curves, result.operations, result.policy)
        save_figure(figure, folder.evolution_figure)
    if result.race is not None:
        save_figure(plot_race(result.race), folder.race_figure)


def _text_of(policy: PolicySpec) -> str:
    """Return a policy in few lines, after a comment that says what this costs."""
    crisp = crisp_policy(policy)
    loss = largest_distance(policy, crisp)
    how = describe_loss(loss) if loss else "as it is"
    return f"# policy.json {how}\n{crisp.to_text()}"


def _signed_parts(
    policy: AnyPolicy, provenance: Provenance, pool: OperationPool
) -> tuple[PolicySpec, PolicySchedule | None]:
    """Return a policy with its provenance; of a schedule, the last one and the schedule."""
    if isinstance(policy, PolicySpec):
        return _signed(policy, provenance, pool), None
    schedule = policy.map(lambda segment: _signed(segment, provenance, pool))
    return _signed(schedule.last, provenance, pool), schedule


def _signed(policy: PolicySpec, provenance: Provenance, pool: OperationPool) -> PolicySpec:
    complete = record_windows(record_settings(policy, pool), pool)
    return record_leak(complete.model_copy(update={"provenance": provenance}))
