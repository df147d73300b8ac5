"""A race on the screen: some lines in a file, a live table in a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from cadda.searchers.events import (
    PolicyProposed,
    RaceRound,
    Retrained,
    SearchEnd,
    SearchEvent,
    SearchStart,
)
from cadda.tracking import SearchDisplay

START = SearchStart(
    method="auto",
    classwise=False,
    n_epochs=200,
    epoch=0,
    operations=("sign_flip", "time_mask"),
    class_names=("left", "right"),
    log10_policies=None,
    warnings=(),
    unit="training run",
)


RETRAINED = Retrained(
    0,
    1.25,
    0.5,
    is_best=False,
    search_seconds=0.0,
    seconds=3.0,
    train_losses=(1.0,),
    valid_losses=(1.25,),
)


def round_after(
    n_runs: int,
    *,
    dropped: dict[str, str] | None = None,
    alive: tuple[str, ...] = ("guided, 2 in a row", "time_mask m=0.5", "none"),
    **changes: object,
) -> RaceRound:
    """Each training run takes two seconds; of the candidates the first has the largest gain."""
    names = (*alive, *(dropped or {}))
    places = range(len(names))
    event = RaceRound(
        n_runs=n_runs,
        max_runs=200,
        phase="candidates",
        names=names,
        n_blocks=tuple(4 - (i >= len(alive)) for i in places),
        gains=tuple(0.0 if name == "none" else 0.125 - 0.05 * i for i, name in enumerate(names)),
        errors=tuple(0.03125 for _ in places),
        accuracy_gains=tuple(0.0625 - 0.01 * i for i in places),
        statuses=("racing",) * len(alive) + ("dropped",) * len(dropped or {}),
        reasons=("",) * len(alive) + tuple((dropped or {}).values()),
        seconds=2.0 * n_runs,
    )
    return replace(event, **changes)


def shown(*events: SearchEvent, terminal: bool = False, start: SearchStart = START) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, color_system=None, width=100, height=40)
    with SearchDisplay("12 windows", console) as display:
        for event in (start, *events):
            display(event)
    return file.getvalue()


def race_lines(*events: SearchEvent, **options: SearchStart) -> list[str]:
    return shown(*events, **options).splitlines()[2:]


def test_a_line_for_each_tenth() -> None:
    lines = race_lines(*(round_after(n) for n in range(5, 201, 5)), SearchEnd(200, 200, 400.0))
    assert [line.split(" ")[0] for line in lines] == [str(n) for n in range(20, 201, 20)]
    assert lines[2] == (
        "60 of 200 training runs, comparing the first candidates: 'guided, 2 in a row' leads, "
        "gain in log loss +0.125 ± 0.031, in balanced accuracy +0.062; 30 training runs per "
        "minute, about 5 min left"
    )


def test_who_was_dropped_is_told_once_with_the_reason() -> None:
    first = {"noise m=1": "worse than guided, 2 in a row after 3 blocks"}
    second = first | {"a": "worse than b", "c": "training failed: ValueError: shape"}
    lines = race_lines(
        round_after(20, dropped=first),
        round_after(40, dropped=first),
        round_after(50, dropped=dict(list(second.items())[:2])),
        round_after(60, dropped=second),
    )
    assert "; dropped noise m=1 (worse than guided, 2 in a row after 3 blocks); 30" in lines[0]
    assert "dropped" not in lines[1]
    assert "; dropped 2, such as c (training failed: ValueError: shape); 30" in lines[2]


def test_the_end_is_told_even_if_the_budget_is_not_used_up() -> None:
    chosen = round_after(50, phase="decision", statuses=("racing", "measured", "racing"))
    for terminal in (False, True):
        text = shown(round_after(20), chosen, SearchEnd(50, 50, 100.0), terminal=terminal)
        last = text.split("50 of 200 training runs")[1].replace("\n", " ")
        assert "measuring the gain of the best candidate: 'time_mask m=0.5', gain" in last


def test_a_race_that_ends_early_says_so() -> None:
    """Why, the verdict says, which is kept."""
    early = "The race ended after 50 of 200 training runs."
    last = round_after(50, phase="decision", max_runs=50)
    assert race_lines(last, SearchEnd(50, 50, 100.0))[-1] == early
    whole = race_lines(round_after(200), SearchEnd(200, 200, 400.0))
    assert not any("ended after" in line for line in whole)


def test_retraining_is_as_the_race_recommends() -> None:
    last = replace(RETRAINED, epoch=50, is_best=True)
    first, second = race_lines(RETRAINED, last)
    assert first.startswith("trained from scratch without augmentation: validation loss 1.250")
    assert second == (
        "trained from scratch as recommended after 50 training runs: validation loss 1.250, "
        "balanced accuracy 0.500 (3 s)"
    )


def test_nothing_is_better_than_no_augmentation() -> None:
    (line,) = race_lines(round_after(20, alive=("none", "time_mask m=0.5")))
    assert ": no candidate is better than no augmentation; 30" in line


def test_without_a_candidate_nothing_is_measured() -> None:
    over = round_after(6, phase="decision", alive=("none",), max_runs=6)
    line = race_lines(over)[-1]
    assert line.startswith("6 of 6 training runs, end of the race: no candidate is better")


def test_time_left_is_that_of_the_tighter_limit() -> None:
    # 160 more training runs take 320 s.
    loose, tight = (
        race_lines(round_after(40), start=replace(START, max_seconds=limit))
        for limit in (1000.0, 140.0)
    )
    assert loose[0].endswith("about 5 min left")
    assert tight[0].endswith("about 60 s left of the limit of 2 min")


def test_lines_follow_the_time_if_it_is_the_tighter_limit() -> None:
    events = [round_after(n) for n in range(1, 21)]  # 2 to 40 s
    assert len(race_lines(*events, start=replace(START, max_seconds=40.0))) == 10
    assert len(race_lines(*events)) == 1


def test_table_in_a_terminal() -> None:
    dropped = {f"weak {i}": f"worse after {i} blocks" for i in range(5)}
    text = shown(round_after(40, dropped=dropped), terminal=True)
    for words in (
        "40/200 training runs",
        "comparing the first candidates: 30 training runs per minute, about 5 min left",
        "│ time_mask m=0.5    │      4 │   +0.075 ± 0.031 │            +0.052 │",
        "5 dropped, the latest:",
        "weak 4: worse after 4 blocks",
        "weak 2: worse after 2 blocks",
    ):
        assert words in text
    assert "weak 1" not in text


def test_a_long_table_fits_on_a_screen() -> None:
    names = tuple(f"operation {i} m=0..0.5 > {'x' * 90}" for i in range(30))
    text = shown(round_after(40, alive=names), terminal=True)
    assert "operation 11 " in text
    assert "operation 12 " not in text
    assert "and 18 more" in text
    assert "…" in text


def test_names_are_not_taken_for_markup() -> None:
    name = "time_mask [/N2]"
    text = shown(round_after(40, alive=(name,), dropped={"[bold]": "[red]"}), terminal=True)
    assert name in text
    assert "[bold]: [red]" in text


@pytest.mark.parametrize("terminal", [False, True])
def test_a_policy_that_needs_no_race(terminal: bool) -> None:
    start = replace(START, method="guided", n_epochs=1, unit="epoch")
    proposed = PolicyProposed("sign_flip p=0.5 [/x]\n")
    text = shown(
        proposed, replace(RETRAINED, epoch=1, is_best=True), terminal=terminal, start=start
    )
    assert "policy:\nsign_flip p=0.5 [/x]\n" in text
    assert "\n\n" not in text
    assert "trained from scratch with this policy: validation loss" in text
    assert "so far" not in text
