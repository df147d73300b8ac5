"""What reports say about how far a search can be relied on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cadda import PolicySpec
from cadda.reporting.html.pictures import progress_charts
from cadda.reporting.records import SearchCurves
from cadda.reporting.stability import limit_notes, stability_notes

NUMBER, TABLE = np.arange(1.0, 13), np.zeros((12, 1, 1))
CURVES = SearchCurves(
    unit="epoch",
    number=NUMBER,
    valid_loss=NUMBER,
    entropy=np.ones(12),
    shown=np.arange(12),
    applied=TABLE,
    share=TABLE,
    probability=TABLE,
    magnitude=TABLE,
    retrained=(),
    left_warmup=True,
    shared=np.array([np.nan] * 3 + [0.9] * 9),
    policy_epoch=12,
    n_averaged=4,
)


def test_a_policy_that_has_settled() -> None:
    assert stability_notes(CURVES) == (
        "The policy is the mean of the policies of epochs 9 to 12.",
        "At epoch 12 it treated 90% of the windows as at epoch 8.",
    )


def test_the_policy_of_an_earlier_epoch_was_kept() -> None:
    shared = np.arange(12) / 12
    notes = stability_notes(replace(CURVES, shared=shared, policy_epoch=9, n_averaged=2))
    assert notes[0].endswith("epochs 8 to 9.")
    assert notes[1].startswith("At epoch 9 it treated 67% of the windows as at epoch 7")


def test_the_policy_of_a_single_epoch() -> None:
    alone = replace(CURVES, n_averaged=1)
    assert stability_notes(alone)[0] == "The policy is that of epoch 12."
    seeds = stability_notes(replace(alone, agreement=0.9))
    assert seeds[0] == "The policy is the mean of the policies of all seeds in epoch 12."


def test_a_policy_that_still_moves() -> None:
    moving = replace(CURVES, shared=np.full(12, 0.06))
    assert "6% of the windows as at epoch 8: it had not settled" in stability_notes(moving)[1]


def test_seeds_that_disagree() -> None:
    notes = stability_notes(replace(CURVES, agreement=0.41))
    assert notes[0].endswith("epochs 9 to 12 and of all seeds.")
    assert "treat 41% alike: what was found depends on chance" in notes[2]
    assert stability_notes(replace(CURVES, agreement=0.9))[2].endswith("treat 90% alike.")


def test_nothing_is_said_without_a_search() -> None:
    assert stability_notes(None) == ()
    assert stability_notes(replace(CURVES, n_averaged=0)) == ()
    assert len(stability_notes(replace(CURVES, shared=None))) == 1


def test_operations_at_their_limit_are_named() -> None:
    policy = PolicySpec.from_text("gaussian_noise p=0.9 m=0.99\nsign_flip p=0.5\ntime_reverse p=1")
    assert limit_notes(policy) == ()
    policy = PolicySpec.from_text("gaussian_noise p=0.9 m=0.99 w=8 | sign_flip p=0.5")
    (note,) = limit_notes(policy)
    assert note.startswith("gaussian_noise is at its largest magnitude in the policy found")


def test_the_report_draws_how_much_the_policy_moves() -> None:
    *_, chart = progress_charts(CURVES)
    assert chart.title == "Windows treated as a third of the search ago (%)"
    assert "from 90% to 90%" in chart.alt
    assert len(progress_charts(replace(CURVES, shared=None))) == 2


def test_no_augmentation_is_at_no_limit() -> None:
    assert limit_notes(PolicySpec.none()) == ()


def test_a_search_that_ended_in_its_warmup() -> None:
    (note,) = stability_notes(replace(CURVES, left_warmup=False, n_averaged=0))
    assert note.startswith("The search ended in its warm-up")
