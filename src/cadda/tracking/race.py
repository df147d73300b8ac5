"""Progress of a race between policies: a table in a terminal, some lines elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from cadda._internal.text import quote
from cadda.searchers.events import RaceProgress, RaceRound
from cadda.tracking.displays import format_duration

__all__ = ["RaceView"]

N_LINES = 10
"""Approximate number of lines that a race prints outside a terminal."""
N_SHOWN = 12
"""Candidates in the table, which should fit on a screen."""
N_REASONS = 3
"""Dropped candidates that are listed with the reason, the latest ones."""

PHASES = {
    "candidates": "comparing the first candidates",
    "combinations": "combining the best candidates",
    "classes": "refining the best policy class by class",
    "finalists": "choosing between the best",
    "decision": "measuring the gain of the best candidate",
}


class RaceView:
    """What is shown of a race, from its rounds."""

    def __init__(self, console: Console, max_seconds: float | None = None) -> None:
        self.max_seconds = max_seconds
        # Its own estimate of the time left would not know of `max_seconds`.
        self._bar = Progress(
            TextColumn("racing"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("training runs"),
            TimeElapsedColumn(),
            console=console,
        )
        self._task = self._bar.add_task("", total=None)
        self._round: RaceRound | None = None
        self._dropped: dict[str, str] = {}  # reasons by name, the latest last
        self._n_printed = 0  # of those that were dropped
        self._line, self._is_printed = 0, True

    def add(self, event: RaceRound) -> None:
        """Take the state of the race after another block."""
        self._round, self._is_printed = event, False
        self._bar.update(self._task, completed=event.n_runs, total=event.max_runs)
        for name, status, reason in zip(event.names, event.statuses, event.reasons, strict=True):
            if status == "dropped":
                self._dropped.setdefault(name, reason)

    def advance(self, event: RaceProgress) -> None:
        """Show that another training run has ended."""
        self._bar.update(self._task, completed=event.n_runs)

    def parts(self) -> list[RenderableType]:
        """Return what is drawn in a terminal."""
        event = self._round
        if event is None:
            return []
        latest = reversed(list(self._dropped.items())[-N_REASONS:])
        dropped = [Text(f"{len(self._dropped)} dropped, the latest:")] if self._dropped else []
        return [
            self._bar,
            Text(f"{PHASES[event.phase]}: {self._describe_pace(event)}"),
            _candidate_table(event),
            *dropped,
            *(
                Text(f"  {name}: {reason}", style="dim", no_wrap=True, overflow="ellipsis")
                for name, reason in latest
            ),
        ]

    def next_line(self) -> str | None:
        """Return a line about the race if a tenth of it has passed since the last one."""
        line = 0 if self._round is None else int(N_LINES * self._progress(self._round))
        if line <= self._line:
            return None
        self._line = line
        return self.last_line()

    def last_line(self) -> str | None:
        """Return a line about the race; None if it was returned before."""
        event = self._round
        if event is None or self._is_printed:
            return None
        self._is_printed = True
        # Without a candidate to measure, the race ends with the choice.
        is_over = event.phase == "decision" and "measured" not in event.statuses
        phase = "end of the race" if is_over else PHASES[event.phase]
        return (
            f"{event.n_runs} of {event.max_runs} training runs, {phase}: "
            f"{_describe_leader(event)}{self._describe_dropped()}; {self._describe_pace(event)}"
        )

    def _progress(self, event: RaceRound) -> float:
        """Return the part of the budget that is spent: of training runs or of time."""
        by_time = event.seconds / self.max_seconds if self.max_seconds else 0.0
        return min(1.0, max(event.n_runs / event.max_runs, by_time))

    def _describe_pace(self, event: RaceRound) -> str:
        if not event.n_runs or not event.seconds:
            return "starting"
        left = (event.max_runs - event.n_runs) * event.seconds / event.n_runs
        limit = ""
        if self.max_seconds is not None and self.max_seconds - event.seconds < left:
            left = max(0.0, self.max_seconds - event.seconds)
            limit = f" of the limit of {format_duration(self.max_seconds)}"
        pace = 60 * event.n_runs / event.seconds
        return f"{pace:.0f} training runs per minute, about {format_duration(left)} left{limit}"

    def _describe_dropped(self) -> str:
        new = list(self._dropped.items())[self._n_printed :]
        self._n_printed = len(self._dropped)
        if not new:
            return ""
        name, reason = new[-1]
        which = f"dropped {name}" if len(new) == 1 else f"dropped {len(new)}, such as {name}"
        return f"; {which} ({reason})"


def _describe_leader(event: RaceRound) -> str:
    is_measured = "measured" in event.statuses
    i = event.statuses.index("measured") if is_measured else 0
    if event.names[i] == "none" or (event.phase == "decision" and not is_measured):
        return "no candidate is better than no augmentation"
    return (
        f"{quote(event.names[i])}{'' if is_measured else ' leads'}, gain in log loss "
        f"{_with_error(event.gains[i], event.errors[i])}, in balanced accuracy "
        f"{event.accuracy_gains[i]:+.3f}"
    )


def _candidate_table(event: RaceRound) -> Table:
    table = Table(title="gain over no augmentation", title_justify="left")
    table.add_column("candidate", no_wrap=True, overflow="ellipsis")
    for name in ("blocks", "log loss ± error", "balanced accuracy"):
        table.add_column(name, justify="right", no_wrap=True)
    alive = [i for i, status in enumerate(event.statuses) if status != "dropped"]
    for i in alive[:N_SHOWN]:
        table.add_row(*_cells(event, i), style="bold" if event.statuses[i] == "measured" else "")
    if len(alive) > N_SHOWN:
        table.add_row(Text(f"and {len(alive) - N_SHOWN} more", style="dim"))
    return table


def _cells(event: RaceRound, i: int) -> Sequence[Text]:
    # Text is not parsed as markup; names of classes may contain brackets.
    return [
        Text(event.names[i]),
        Text(str(event.n_blocks[i])),
        Text(_with_error(event.gains[i], event.errors[i])),
        Text(f"{event.accuracy_gains[i]:+.3f}"),
    ]


def _with_error(gain: float, error: float | None) -> str:
    return f"{gain:+.3f}" if error is None else f"{gain:+.3f} ± {error:.3f}"
