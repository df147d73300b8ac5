"""What a search points out, and what it keeps quiet about."""

from __future__ import annotations

from cadda import PolicySpec
from cadda.policies.spec.tables import summarise
from cadda.searchers.events import SearchStep
from cadda.searchers.warnings import hints_of

QUIET = [SearchStep(1, 1.0, 0.1, 1.0)]


def hints(text: str, steps: list[SearchStep] = QUIET) -> tuple[str, ...]:
    return hints_of(summarise(PolicySpec.from_text(text)), steps)


def test_a_leading_operation_at_its_edge() -> None:
    assert hints("[A]\ntime_mask p=0.7 m=0.99\n[B]\nsign_flip p=0.7") == (
        "time_mask for A is at its largest magnitude",
    )
    assert hints("time_mask p=1 m=0.5") == ()
    # It is at its edge, but hardly ever chosen.
    assert hints("time_mask p=1 m=0.99 w=1 | sign_flip p=1 w=20") == ()


def test_an_operation_that_tells_the_class() -> None:
    (hint,) = hints("[A]\nsign_flip p=0.9\n[B]\nsign_flip p=0.1\n[C]\nsign_flip p=0.2")
    assert hint.startswith("sign_flip changes 90% of the windows of A and at most 20% of any oth")
    assert hints("[A]\nsign_flip p=0.9\n[B]\nsign_flip p=0.5") == ()
    assert hints("[A]\nsign_flip p=0.6\n[B]\ntime_reverse p=0.6") == ()
    assert hints("sign_flip p=1") == ()


def test_no_effect() -> None:
    nothing = [SearchStep(1, 1.0, 0.0, 1.0), SearchStep(2, 1.0, 1e-9, 1.0)]
    assert hints("sign_flip p=1", nothing) == ("no operation changes what the model learns",)
    warming_up = [SearchStep(1, 1.0, None, 1.0)]
    assert hints("sign_flip p=1", warming_up) == ()
