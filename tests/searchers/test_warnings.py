"""What a search points out, and what it keeps quiet about."""

from __future__ import annotations

from cadda import PolicySpec
from cadda.policies.spec.summary import summarise
from cadda.searchers.events import SearchStep
from cadda.searchers.warnings import epoch_warnings

QUIET = [SearchStep(1, 1.0, 0.1, 1.0)]


def warnings_of(text: str, steps: list[SearchStep] = QUIET) -> tuple[str, ...]:
    return epoch_warnings(summarise(PolicySpec.from_text(text)), steps)


def test_a_leading_operation_at_its_edge() -> None:
    assert warnings_of("[A]\ntime_mask p=0.1 m=0.99\n[B]\nsign_flip p=0.1") == (
        "time_mask for A is at its largest magnitude",
    )
    assert warnings_of("time_mask p=1 m=0.5") == ()
    # It is at its edge, but hardly ever chosen.
    assert warnings_of("time_mask p=1 m=0.99 w=1 | sign_flip p=1 w=20") == ()


def test_an_operation_that_reveals_the_class() -> None:
    (warning,) = warnings_of("[A]\nsign_flip p=0.9\n[B]\nsign_flip p=0.1\n[C]\nsign_flip p=0.2")
    assert warning.startswith("sign_flip changes 90% of the windows of A, but 10% of those of B")
    assert len(warnings_of("[A]\nsign_flip p=0.4\n[B]\ntime_reverse p=0.4")) == 2
    assert warnings_of("[A]\nsign_flip p=0.8\n[B]\nsign_flip p=0.5") == ()
    assert warnings_of("sign_flip p=1") == ()


def test_no_effect() -> None:
    nothing = [SearchStep(1, 1.0, 0.0, 1.0), SearchStep(2, 1.0, 1e-9, 1.0)]
    assert warnings_of("sign_flip p=1", nothing) == ("no operation changes what the model learns",)
    warming_up = [SearchStep(1, 1.0, None, 1.0)]
    assert warnings_of("sign_flip p=1", warming_up) == ()
