"""A policy with label maps as a report shows it."""

from __future__ import annotations

from cadda import PolicySpec
from cadda.reporting.html.policy_view import view_policy

SPEC = PolicySpec.from_text("frequency_shift p=0.5 m=0.4 -> {a: b, b: a} > sign_flip p=0.2")


def test_units_and_summary_are_those_of_the_operation() -> None:
    view = view_policy(SPEC, None, ("a", "b", "c"))
    row = view.heat[0]
    assert row.operation == "frequency_shift (a ↔ b)"
    assert row.summary == "moves all frequencies up"
    assert (row.cells[0].share, row.cells[0].short) == ("50%", "2 Hz")
    assert view.cards[0].uses[0].amount == "shift < 2 Hz"
    assert view.subpolicies[0].subpolicies[0][1][0] == (
        "50% frequency_shift (a ↔ b), shift < 2 Hz",
    )


def test_classes_of_the_data_that_are_left_alone_are_named() -> None:
    note = "frequency_shift (a ↔ b): windows of c are left as they are."
    assert note in view_policy(SPEC, None, ("a", "b", "c")).notes
    assert not any("left as" in note for note in view_policy(SPEC, None, ("a", "b")).notes)


def test_heat_map_figure() -> None:
    figure = SPEC.plot()
    axes = figure.axes[0]
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["frequency shift\n(a ↔ b)", "sign flip"]
    assert "2 Hz" in {text.get_text() for text in axes.texts}


def test_the_label_of_the_colour_bar_fits() -> None:
    """Also beside a single row."""
    figure = PolicySpec.from_text("sign_flip p=0.5 | time_mask p=0.5 m=0.3").plot()
    figure.draw_without_rendering()
    label = figure.axes[1].yaxis.label.get_window_extent()
    assert 0 < label.y0 < label.y1 < figure.bbox.height
    assert label.height < figure.axes[0].get_window_extent().height


def test_no_augmentation() -> None:
    view = view_policy(PolicySpec.none(), None, ("a", "b"))
    assert (view.heat, view.notes) == ((), ())
    assert view.cards[0].note == "none: its windows are not augmented"
    (text,) = PolicySpec.none().plot().axes[0].texts
    assert text.get_text() == "no augmentation"


def test_a_class_without_augmentation() -> None:
    view = view_policy(PolicySpec.from_text("[a]\nnone\n[b]\nsign_flip p=0.5"), None, ("a", "b"))
    assert [card.note for card in view.cards] == ["none: its windows are not augmented", ""]
    assert [cell.share for cell in view.heat[0].cells] == ["0%", "50%"]
    assert view.subpolicies[0].subpolicies == ()
