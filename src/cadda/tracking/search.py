"""Progress of a search: a live display in a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from cadda._internal.text import warning_key
from cadda.probing.probe import ProbeProgress
from cadda.searchers.events import (
    PolicyProposed,
    RaceProgress,
    RaceRound,
    Retrained,
    SearchEnd,
    SearchEpoch,
    SearchEvent,
    SearchStart,
    TrialEnd,
)
from cadda.tracking.displays import Display
from cadda.tracking.policy_table import policy_table, sparkline
from cadda.tracking.race import RaceView
from cadda.training.progress import EpochEnd, TrainingEvent, describe_accuracy

__all__ = ["SearchDisplay"]

N_LINES = 10
"""Approximate number of lines that a search prints outside a terminal."""


class SearchDisplay(Display):
    """Shows the progress of a search; a context manager that receives events.

    `format_warning` returns a warning as it is shown, such as with options for arguments.
    """

    def __init__(
        self,
        title: str,
        console: Console | None = None,
        *,
        format_warning: Callable[[str], str] = str,
    ) -> None:
        super().__init__(console)
        self.title, self._format_warning = title, format_warning
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
        )
        self._drawn = self._live = Live(console=self.console, refresh_per_second=4, transient=True)
        self._tasks: dict[str, TaskID] = {}
        self._start: SearchStart | None = None
        self._epochs: list[SearchEpoch] = []
        self._trials: list[TrialEnd] = []
        self._race: RaceView | None = None
        self._is_proposed = False
        self._fold = 0
        self._shown: set[str] = set()

    def __call__(self, event: ProbeProgress | SearchEvent | TrainingEvent) -> None:
        """Show an event."""
        match event:
            case ProbeProgress():
                self._show_probe(event)
            case SearchStart():
                self._start = event
                self._print(
                    "\n".join([self._header(event), *(f"{note}." for note in event.notes)])
                )
                self._print_warnings(event.warnings)
                self._advance("searching", event.epoch, event.n_epochs)
            case SearchEpoch():
                self._epochs.append(event)
                self._advance("searching", event.epoch, event.n_epochs)
                self._print_epoch(event)
            case TrialEnd():
                self._trials.append(event)
                self._advance("searching", event.number, event.n_trials)
                self._print_trial(event)
            case PolicyProposed():
                self._is_proposed = True
                self._print(f"policy:\n{event.policy.rstrip()}")
            case RaceProgress():
                self._show_progress(event)
            case RaceRound():
                self._show_round(event)
            case EpochEnd():
                self._advance("retraining", event.epoch, event.max_epochs)
            case Retrained():
                self._remove_bar("retraining")
                self._print(f"trained from scratch {self._describe_retraining(event)}")
            case SearchEnd():
                self._remove_bar("searching")
                if self._race is not None:
                    self._print(self._race.last_line())
                    self._print(self._describe_early_end(event))
                    self._race = None
        if self.console.is_terminal:
            is_news = isinstance(event, SearchEpoch | TrialEnd | RaceRound)
            self._live.update(self._display(), refresh=is_news)

    def _show_probe(self, event: ProbeProgress) -> None:
        done, total = event.done, event.total
        self._advance("probing", done, total)
        if done == total:
            self._remove_bar("probing")
        if not self.console.is_terminal and event.fold > self._fold:
            self._fold = event.fold
            self._print(f"probing the operations, model {event.fold} of {event.n_folds}")

    def _show_progress(self, event: RaceProgress) -> None:
        if self._race is None:
            self._advance("searching", event.n_runs, event.max_runs)
        else:
            self._race.advance(event)

    def _show_round(self, event: RaceRound) -> None:
        if self._race is None:
            limit = None if self._start is None else self._start.max_seconds
            self._race = RaceView(self.console, limit)
            self._remove_bar("searching")
        self._race.add(event)
        if not self.console.is_terminal:
            self._print(self._race.next_line())

    def _describe_early_end(self, event: SearchEnd) -> str | None:
        """Return that a race has not used its budget, and why; None if it has."""
        start = self._start
        if start is None or event.epoch >= start.n_epochs:
            return None
        return f"The race ended after {event.epoch} of {start.n_epochs} training runs."

    def _header(self, event: SearchStart) -> str:
        kind = f"{event.method}, " + ("a policy per class" if event.classwise else "one policy")
        size = event.log10_policies
        among = "" if size is None else f", about 10^{size:.0f} policies to choose from"
        return f"{self.title}\n{kind}: {len(event.operations)} operations{among}"

    def _advance(self, name: str, done: int, total: int) -> None:
        if not self.console.is_terminal:
            return
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total, completed=done)
        self._progress.update(self._tasks[name], completed=done, total=total)

    def _remove_bar(self, name: str) -> None:
        if name in self._tasks:
            self._progress.remove_task(self._tasks.pop(name))

    def _print(self, text: str | None) -> None:
        """Print a line that stays, above the live display if there is one; nothing for None."""
        if text is None:
            return
        wrap = not self.console.is_terminal
        self.console.print(text, highlight=False, markup=False, soft_wrap=wrap)

    def _print_epoch(self, event: SearchEpoch) -> None:
        every = max(1, event.n_epochs // N_LINES)
        if not self.console.is_terminal and (
            event.epoch % every == 0 or event.epoch == event.n_epochs
        ):
            left = self._seconds_per_epoch() * (event.n_epochs - event.epoch)
            self._print(
                f"epoch {event.epoch} of {event.n_epochs}: validation loss "
                f"{event.valid_loss:.3f}, entropy {event.entropy:.0%}, "
                f"{_describe_stability(event)}about {left:.0f} s left"
            )
            self._print_warnings(event.warnings)

    def _print_warnings(self, warnings: tuple[str, ...]) -> None:
        """Print warnings that were not shown before."""
        for warning in warnings:
            if warning_key(warning) not in self._shown:
                self._shown.add(warning_key(warning))
                self._print(f"Warning: {self._format_warning(warning)}.")

    def _seconds_per_epoch(self) -> float:
        """Return the time per epoch since the warm-up, whose epochs are faster."""
        last = self._epochs[-1]
        warmup = [event for event in self._epochs if event.reward is None]
        if not warmup or last.reward is None:
            return last.seconds / last.epoch
        before = warmup[-1]
        return (last.seconds - before.seconds) / (last.epoch - before.epoch)

    def _print_trial(self, event: TrialEnd) -> None:
        """Print failures, and outside a terminal the best trial at intervals."""
        if event.failure is not None:
            self._print(f"trial {event.number} failed: {event.failure}")
        every = max(1, event.n_trials // N_LINES)
        if self.console.is_terminal or (event.number % every and event.number < event.n_trials):
            return
        left = event.seconds / event.number * (event.n_trials - event.number)
        self._print(
            f"trial {event.number} of {event.n_trials}: {self._describe_best()}, "
            f"about {left:.0f} s left"
        )

    def _describe_retraining(self, event: Retrained) -> str:
        unit = "epoch" if self._start is None else self._start.unit
        is_choice = not self._is_proposed and unit != "training run"
        what = {
            "epoch": f"with the policy of epoch {event.epoch}",
            "trial": f"with the best policy of {event.epoch} trials",
            "training run": f"as recommended after {event.epoch} training runs",
        }[unit]
        if not event.epoch:
            what = "without augmentation"
        elif self._is_proposed:
            what = "with this policy"
        best = ", the best policy so far" if event.epoch and is_choice and event.is_best else ""
        return (
            f"{what}: validation loss {event.valid_loss:.3f}, "
            f"{describe_accuracy(event.valid_balanced_accuracy, event.missing_classes)}{best} "
            f"({event.seconds:.0f} s)"
        )

    def _describe_best(self) -> str:
        best = [trial for trial in self._trials if trial.is_best]
        if not best:
            return "no trial has succeeded yet"
        return f"best validation loss {best[-1].value:.3f}, trial {best[-1].number}"

    def _display(self) -> Group:
        parts: list[RenderableType] = [self._progress]
        if self._race is not None:
            parts += self._race.parts()
        if self._trials and self._start is not None:
            losses = [trial.value for trial in self._trials if trial.value is not None]
            parts += [
                Text(f"validation loss  {sparkline(losses)} {losses[-1]:.3f}" if losses else ""),
                Text(self._describe_best()),
                policy_table(self._trials[-1], self._start),
            ]
        if self._epochs and self._start is not None:
            last = self._epochs[-1]
            losses = [event.valid_loss for event in self._epochs]
            entropies = [event.entropy for event in self._epochs]
            parts += [
                Text(f"validation loss  {sparkline(losses)} {last.valid_loss:.3f}"),
                Text(f"entropy          {sparkline(entropies)} {last.entropy:.0%}"),
                *self._stability(),
                policy_table(last, self._start),
                *(
                    Text(f"Warning: {self._format_warning(warning)}.", style="yellow")
                    for warning in last.warnings
                ),
            ]
        return Group(*parts)

    def _stability(self) -> list[RenderableType]:
        """Return lines on how much the policy still moves, and how far seeds agree."""
        lines = {
            "shared": [event.shared for event in self._epochs if event.shared is not None],
            "seeds agree": [
                event.agreement for event in self._epochs if event.agreement is not None
            ],
        }
        return [
            Text(f"{name:17}{sparkline(values)} {values[-1]:.0%}")
            for name, values in lines.items()
            if values
        ]


def _describe_stability(event: SearchEpoch) -> str:
    shared = "" if event.shared is None else f"shared {event.shared:.0%}, "
    seeds = "" if event.agreement is None else f"seeds agree {event.agreement:.0%}, "
    return shared + seeds
