"""The search on the screen: plain lines in a file, a live table in a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from cadda.searchers.events import Retrained, SearchEnd, SearchEpoch, SearchStart, TrialEnd
from cadda.tracking import SearchDisplay
from cadda.tracking.policy_table import policy_table, sparkline
from cadda.training import EpochEnd

START = SearchStart(
    method="cadda",
    classwise=True,
    n_epochs=20,
    epoch=0,
    operations=("sign_flip", "frequency_shift"),
    class_names=("W", "N2"),
    log10_policies=46.2,
    warnings=("N2 is rare",),
)


def epoch(number: int) -> SearchEpoch:
    return SearchEpoch(
        epoch=number,
        n_epochs=20,
        train_loss=1.0,
        valid_loss=1.5 - number / 20,
        valid_balanced_accuracy=0.5,
        reward=None,
        entropy=0.9,
        applied=((0.6, 0.1), (0.05, 0.3)),
        share=((0.8, 0.2), (0.1, 0.9)),
        probability=((0.6, 0.5), (0.5, 0.4)),
        magnitude=((float("nan"), 0.2), (float("nan"), 0.5)),
        seconds=2.0 * number,
        warnings=("frequency_shift is at its largest magnitude",) if number == 20 else (),
    )


def retrained(number: int, *, is_best: bool) -> Retrained:
    return Retrained(
        epoch=number,
        valid_loss=1.2,
        valid_balanced_accuracy=0.55,
        is_best=is_best,
        search_seconds=2.0 * number,
        seconds=3.0,
        train_losses=(1.0,),
        valid_losses=(1.2,),
    )


EVENTS = [
    START,
    EpochEnd(1, 30, 1.0, 1.0, 0.5, is_best=True),
    retrained(0, is_best=False),
    *(epoch(number) for number in range(1, 21)),
    retrained(20, is_best=True),
    SearchEnd(20, 20, 40.0),
]


def shown(*, terminal: bool) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=100, height=40)
    with SearchDisplay("12 windows", console) as display:
        for event in EVENTS:
            display(event)
    return file.getvalue()


def test_plain_lines_elsewhere() -> None:
    lines = shown(terminal=False).splitlines()
    assert lines[0] == "12 windows"
    assert lines[1].startswith("cadda, a policy per class: 2 operations, about 10^46 policies")
    assert lines[2] == "Warning: N2 is rare."
    assert "without augmentation" in lines[3]
    assert [line.split(":")[0] for line in lines if line.startswith("epoch")][:2] == [
        "epoch 2 of 20",
        "epoch 4 of 20",
    ]
    assert "about 36 s left" in lines[4]
    assert "Warning: frequency_shift is at its largest magnitude." in lines
    assert "with the policy of epoch 20" in lines[-1]
    assert "the best policy so far" in lines[-1]
    assert "\x1b" not in shown(terminal=False)


def test_no_empty_line_elsewhere() -> None:
    assert "" not in shown(terminal=False).splitlines()


def plain_lines(*epochs: SearchEpoch) -> list[str]:
    file = io.StringIO()
    with SearchDisplay("12 windows", Console(file=file, width=100)) as display:
        display(START)
        for event in epochs:
            display(event)
    return file.getvalue().splitlines()


def test_a_warning_is_not_repeated_with_other_percentages() -> None:
    notes = ("sign_flip changes 81 % of W", "sign_flip changes 82 % of W", "N2 gets nothing")
    lines = plain_lines(
        *(replace(epoch(2 * (i + 1)), warnings=(note,)) for i, note in enumerate(notes))
    )
    assert [line for line in lines if line.startswith("Warning")][1:] == [
        "Warning: sign_flip changes 81 % of W.",
        "Warning: N2 gets nothing.",
    ]


def test_time_left_goes_by_the_pace_since_the_warmup() -> None:
    # Two epochs of 1 s each, two of 5 s each: sixteen more take 80 s.
    lines = plain_lines(
        replace(epoch(2), seconds=2.0), replace(epoch(4), seconds=12.0, reward=0.01)
    )
    assert "about 18 s left" in lines[-2]
    assert "about 80 s left" in lines[-1]


def test_lines_say_how_much_the_policy_moves() -> None:
    plain, moving = plain_lines(epoch(2), replace(epoch(4), shared=0.42, agreement=0.8))[-2:]
    assert "shared" not in plain
    assert "entropy 90%, shared 42%, seeds agree 80%, about" in moving


def test_live_table_in_a_terminal() -> None:
    text = shown(terminal=True)
    assert "searching" in text
    # Share of windows, an arrow for what has risen or fallen, the magnitude in hertz.
    assert "60%▲" in text
    assert "5%▼" in text
    assert "30%▲ 2.5 Hz" in text
    assert "▇" in text


def trial(number: int, value: float | None, *, is_best: bool = False) -> TrialEnd:
    return TrialEnd(
        number=number,
        n_trials=3,
        value=value,
        is_best=is_best,
        failure=None if value is not None else "the loss became nan",
        applied=((0.6, 0.1), (0.05, 0.3)),
        share=((0.8, 0.2), (0.1, 0.9)),
        probability=((0.6, 0.5), (0.5, 0.4)),
        magnitude=((float("nan"), 0.2), (float("nan"), 0.5)),
        trial_seconds=1.0,
        seconds=2.0 * number,
    )


@pytest.mark.parametrize("terminal", [False, True])
def test_trials(terminal: bool) -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=100, height=40)
    with SearchDisplay("12 windows", console) as display:
        for event in (
            replace(START, method="autoaugment", n_epochs=3, unit="trial", warnings=()),
            trial(1, None),
            trial(2, 1.25, is_best=True),
            trial(3, 1.5),
            retrained(3, is_best=True),
            SearchEnd(3, 2, 6.0),
        ):
            display(event)
    text = file.getvalue()
    assert "trial 1 failed: the loss became nan" in text
    assert "best validation loss 1.250, trial 2" in text
    assert "trained from scratch with the best policy of 3 trials" in text
    if terminal:
        assert "best policy so far" in text
    else:
        assert "trial 1 of 3: no trial has succeeded yet, about 4 s left" in text
        assert "trial 3 of 3: best validation loss 1.250, trial 2, about 0 s left" in text


def test_sparkline_of_equal_numbers() -> None:
    assert sparkline([2.0, 2.0]) == "▁▁"


def test_operations_with_label_maps() -> None:
    """Names of classes in brackets are not taken for markup."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=100, height=40)
    mapped = "frequency_shift ([W] ↔ [/N2])"
    start = replace(START, operations=("sign_flip", mapped), notes=("The probe adds [W]",))
    with SearchDisplay("12 windows", console) as display:
        display(start)
        display(epoch(1))
    assert mapped in file.getvalue()
    assert "The probe adds [W]." in file.getvalue()


def test_units_are_those_of_the_settings() -> None:
    file = io.StringIO()
    start = replace(START, settings={"frequency_shift": {"max_shift": 20.0}})
    for events in (START, start):
        Console(file=file, width=100).print(policy_table(epoch(1), events))
    default, changed = file.getvalue().split("N2")[1:]
    assert "1 Hz" in default
    assert "2.5 Hz" in default
    assert "4 Hz" in changed
    assert "10 Hz" in changed
