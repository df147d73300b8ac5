"""A search on the screen: a live picture in a terminal, plain lines elsewhere."""

from __future__ import annotations

import re

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

from cadda.searchers.events import (
    Retrained,
    SearchEnd,
    SearchEpoch,
    SearchEvent,
    SearchStart,
    TrialEnd,
)
from cadda.tracking.display import Display
from cadda.tracking.policy_table import policy_table, sparkline
from cadda.training.events import EpochEnd, TrainingEvent

__all__ = ["SearchDisplay"]

LINES = 10
"""Plain lines that a whole search prints, about."""


class SearchDisplay(Display):
    """Shows a search while it runs; use it as a context and as the receiver of events."""

    def __init__(self, title: str, console: Console | None = None) -> None:
        super().__init__(console)
        self.title = title
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
        self._noted: set[str] = set()

    def __call__(self, event: SearchEvent | TrainingEvent) -> None:
        """Show one event."""
        match event:
            case SearchStart():
                self._start = event
                self._say(self._header(event))
                self._note(event.warnings)
                self._advance("searching", event.epoch, event.n_epochs)
            case SearchEpoch():
                self._epochs.append(event)
                self._advance("searching", event.epoch, event.n_epochs)
                self._say_epoch(event)
            case TrialEnd():
                self._trials.append(event)
                self._advance("searching", event.number, event.n_trials)
                self._say_trial(event)
            case EpochEnd():
                self._advance("retraining", event.epoch, event.max_epochs)
            case Retrained():
                self._forget("retraining")
                self._say(_in_words(event, "epoch" if self._start is None else self._start.unit))
            case SearchEnd():
                self._forget("searching")
        if self.console.is_terminal:
            self._live.update(self._picture(), refresh=isinstance(event, SearchEpoch | TrialEnd))

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

    def _forget(self, name: str) -> None:
        if name in self._tasks:
            self._progress.remove_task(self._tasks.pop(name))

    def _say(self, words: str) -> None:
        """Print a line that stays, above the live picture if there is one."""
        wrap = not self.console.is_terminal
        self.console.print(words, highlight=False, markup=False, soft_wrap=wrap)

    def _say_epoch(self, event: SearchEpoch) -> None:
        every = max(1, event.n_epochs // LINES)
        if not self.console.is_terminal and (
            event.epoch % every == 0 or event.epoch == event.n_epochs
        ):
            left = self._seconds_per_epoch() * (event.n_epochs - event.epoch)
            self._say(
                f"epoch {event.epoch} of {event.n_epochs}: validation loss "
                f"{event.valid_loss:.3f}, choices {event.entropy:.0%} undecided, "
                f"about {left:.0f} s left"
            )
            self._note(event.warnings)

    def _note(self, warnings: tuple[str, ...]) -> None:
        """Print what was not said before; other numbers in the same words are nothing new."""
        for warning in warnings:
            words = re.sub(r"\d", "", warning)
            if words not in self._noted:
                self._noted.add(words)
                self._say(f"Note: {warning}.")

    def _seconds_per_epoch(self) -> float:
        """Tell the pace since the warm-up, whose epochs are quicker."""
        last = self._epochs[-1]
        warmup = [event for event in self._epochs if event.reward is None]
        if not warmup or last.reward is None:
            return last.seconds / last.epoch
        before = warmup[-1]
        return (last.seconds - before.seconds) / (last.epoch - before.epoch)

    def _say_trial(self, event: TrialEnd) -> None:
        """Print failures always, in plain lines also what is best, and a line now and then."""
        if event.failure is not None:
            self._say(f"trial {event.number} failed: {event.failure}")
        every = max(1, event.n_trials // LINES)
        if self.console.is_terminal or (event.number % every and event.number < event.n_trials):
            return
        left = event.seconds / event.number * (event.n_trials - event.number)
        self._say(
            f"trial {event.number} of {event.n_trials}: {self._best_in_words()}, "
            f"about {left:.0f} s left"
        )

    def _best_in_words(self) -> str:
        best = [one for one in self._trials if one.is_best]
        if not best:
            return "none has succeeded yet"
        return f"best validation loss {best[-1].value:.3f}, by trial {best[-1].number}"

    def _picture(self) -> Group:
        parts: list[RenderableType] = [self._progress]
        if self._trials and self._start is not None:
            losses = [one.value for one in self._trials if one.value is not None]
            parts += [
                Text(f"validation loss  {sparkline(losses)} {losses[-1]:.3f}" if losses else ""),
                Text(self._best_in_words()),
                policy_table(self._trials[-1], self._start),
            ]
        if self._epochs and self._start is not None:
            last = self._epochs[-1]
            losses = [event.valid_loss for event in self._epochs]
            entropies = [event.entropy for event in self._epochs]
            parts += [
                Text(f"validation loss  {sparkline(losses)} {last.valid_loss:.3f}"),
                Text(f"undecided        {sparkline(entropies)} {last.entropy:.0%}"),
                policy_table(last, self._start),
                *(Text(f"Note: {warning}.", style="yellow") for warning in last.warnings),
            ]
        return Group(*parts)


def _in_words(event: Retrained, unit: str) -> str:
    policy = f"best policy of {event.epoch} trials"
    if unit == "epoch":
        policy = f"policy of epoch {event.epoch}"
    what = f"with the {policy}" if event.epoch else "without augmentation"
    best = ", the best policy so far" if event.is_best and event.epoch else ""
    return (
        f"trained from scratch {what}: validation loss {event.valid_loss:.3f}, balanced accuracy "
        f"{event.valid_balanced_accuracy:.3f}{best} ({event.seconds:.0f} s)"
    )
