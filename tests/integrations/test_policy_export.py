"""Policies as code for braindecode, and back: it runs, and means the same."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pytest
import torch

from cadda import Policy, PolicySpec, operation_pool
from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec.braindecode_transforms import policy_from_braindecode
from cadda.policies.spec.export import TRANSFORMS, braindecode_differences, to_braindecode

CHANNELS = ["F3", "F4", "C3", "C4", "O1", "O2"]
ALWAYS_FULL = ("re_reference", "segment_recombination")
"""Operations whose transform has no magnitude."""


def run_code(code: str) -> object:
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102
    return names["transforms"]


def strength(transform, operation: str) -> float:
    """Return the physical strength of a transform, in the unit of the catalogue."""
    attribute, factor = {
        "ft_surrogate": ("phase_noise_magnitude", 360),
        "frequency_shift": ("max_delta_freq", 1),
        "bandstop": ("bandwidth", 1),
        "time_mask": ("mask_len_samples", 1 / 100),
        "gaussian_noise": ("std", 1),
        "channel_dropout": ("p_drop", 100),
        "channel_shuffle": ("p_shuffle", 100),
        "mask_encoding": ("mask_ratio", 100),
    }.get(operation, ("max_degrees", 1))
    if operation == "amplitude_scale":
        low, high = transform.scale
        assert low == pytest.approx(1 / high, rel=1e-3)
        return float(20 * np.log10(high))
    return float(getattr(transform, attribute)) * factor


def installed_version() -> tuple[int, ...]:
    return tuple(int(part) for part in version("braindecode").split(".")[:3])


def skip_if_too_old(operation: str) -> None:
    needed = TRANSFORMS[operation].since
    if installed_version() < needed:
        pytest.skip(f"needs braindecode {'.'.join(map(str, needed))}")


@pytest.mark.filterwarnings("ignore:Montage name:FutureWarning")
@pytest.mark.parametrize("operation", TRANSFORMS)
def test_kind_probability_and_magnitude_agree(augmentation, operation: str) -> None:
    skip_if_too_old(operation)
    magnitude = 0.4 if CATALOGUE[operation].has_magnitude else None
    text = f"{operation} p=0.7" + ("" if magnitude is None else f" m={magnitude}")
    code = to_braindecode(PolicySpec.from_text(text), sfreq=100.0, ch_names=CHANNELS)
    (transform,) = run_code(code)
    assert isinstance(transform, getattr(augmentation, TRANSFORMS[operation].name))
    assert transform.probability == 0.7
    if magnitude is not None and operation not in ALWAYS_FULL:
        assert strength(transform, operation) == pytest.approx(
            magnitude * CATALOGUE[operation].full, rel=1e-3
        )
    x = torch.randn(4, 6, 2000)
    augmented, _ = transform(x, torch.zeros(4, dtype=torch.long))
    assert augmented.shape == x.shape


def test_stages_stay_in_order_and_are_exact(augmentation) -> None:
    code = to_braindecode(PolicySpec.from_text("sign_flip p=0.5 > gaussian_noise p=0.3 m=0.5"))
    assert "Approximation" not in code
    first, second = run_code(code)
    assert isinstance(first, augmentation.SignFlip)
    assert (second.probability, second.std) == (0.3, pytest.approx(0.1))


@pytest.mark.filterwarnings("ignore:Montage name:FutureWarning")
def test_compose_applies_all(augmentation) -> None:
    """What is certain in the policy is certain in braindecode."""
    names: dict[str, object] = {}
    spec = PolicySpec.from_text("sign_flip p=1 > time_reverse p=1 > channel_symmetry p=1")
    exec(to_braindecode(spec, ch_names=CHANNELS), names)  # noqa: S102
    compose = names["transform"]
    assert isinstance(compose, augmentation.Compose)
    x, y = torch.randn(4, 6, 50), torch.arange(4)
    result, labels = compose(x, y)
    torch.testing.assert_close(result, -x.flip(-1)[:, [1, 0, 3, 2, 5, 4]])
    assert torch.equal(labels, y)
    spec = PolicySpec.from_text("[a]\nsign_flip p=1\n[b]\nnone")
    exec(to_braindecode(spec), names)  # noqa: S102
    by_class = names["transform"]
    assert torch.equal(by_class["a"](x, y)[0], -x)
    assert torch.equal(by_class["b"](x, y)[0], x)


def test_draws_become_overall_probabilities_with_a_comment(augmentation) -> None:
    spec = PolicySpec.from_text("w=3: sign_flip p=0.5\nw=1: channel_dropout p=1 m=0.2")
    code = to_braindecode(spec)
    assert "# Approximation: of a draw, which changes 62% of the windows, each is applied" in code
    transforms = run_code(code)
    assert [t.probability for t in transforms] == [0.375, 0.25]
    table = dict(zip(spec.operation_names, spec.operation_probabilities()[0], strict=True))
    assert table == {"sign_flip": 0.375, "channel_dropout": 0.25}


@pytest.mark.parametrize(("setting", "downwards"), [("", 0.0), (" symmetric=true", 0.5)])
def test_shifts_have_the_same_direction(augmentation, setting: str, downwards: float) -> None:
    """A sine of 20 Hz is moved to 20 to 22 Hz, or to 18 to 22 Hz."""
    spec = PolicySpec.from_text(f"frequency_shift p=1 m=0.4{setting}")
    code = to_braindecode(spec, sfreq=100.0)
    assert "shifts go" not in code
    assert not braindecode_differences(spec)
    (transform,) = run_code(code)
    sine = torch.sin(2 * torch.pi * 20 * torch.arange(4000) / 100)
    x, _ = transform(sine.expand(300, 1, 4000), torch.zeros(300, dtype=torch.long))
    hertz = torch.fft.rfft(x[:, 0]).abs().argmax(-1) / 40
    assert 17.95 < hertz.min() < hertz.max() <= 22.05
    assert hertz.max() > 21.9
    assert (hertz < 19.95).double().mean() == pytest.approx(downwards, abs=0.1)


def test_settings_that_are_arguments(augmentation) -> None:
    spec = PolicySpec.from_text("ft_surrogate p=1 m=1 independent_channels=true")
    (transform,) = run_code(to_braindecode(spec))
    assert transform.channel_indep is True
    spec = PolicySpec.from_text("bandstop p=1 m=1 edge=0.5")
    assert "; without edge=0.5" in to_braindecode(spec, sfreq=100)


def test_shares_of_changed_windows_are_said(generator: torch.Generator) -> None:
    """Counted in windows that a policy changes, and computed for independent transforms."""
    spec = PolicySpec.from_text(
        "w=3: sign_flip p=0.9 > time_reverse p=0.5\n channel_dropout p=0.6 m=1 | sign_flip p=0.2"
    )
    (difference,) = braindecode_differences(spec)
    x = torch.rand(20000, 6, 4, generator=generator) + 1
    policy = Policy(spec, operation_pool(sfreq=100, ch_names=CHANNELS))
    changed = (policy(x, generator=generator)[0] != x).flatten(1).any(1).double().mean()
    said, there = (float(word.strip("%,")) for word in difference.split() if "%" in word)
    assert said == pytest.approx(100 * float(changed), abs=1.5)
    parts = spec.operation_probabilities()[0]
    assert there == pytest.approx(100 * (1 - np.prod(1 - parts)), abs=0.5)


def test_every_difference_is_listed() -> None:
    spec = PolicySpec.from_text(
        "[left]\nchannel_symmetry p=1 -> right > gaussian_noise p=0.5 m=0.2..0.8\n"
        "[right]\nchannel_symmetry p=1 -> left > time_mask p=1 m=0.5 > mine p=1 m=1",
        known=None,
    )
    assert braindecode_differences(spec) == (
        "`transform` is a dict by class, each item for windows of its class only",
        "channel_symmetry (left ↔ right): left out, transforms of braindecode keep the labels",
        "gaussian_noise: random in cadda, noise σ = 0.04 to 0.16; here the mean",
        "time_mask: smoother edges, and the gap is always inside the window",
        "mine: left out, braindecode has no such transform",
    )


def test_random_magnitudes_become_their_mean_with_a_comment(augmentation) -> None:
    code = to_braindecode(PolicySpec.from_text("gaussian_noise p=0.3 m=0.2..0.8"))
    assert "# random in cadda, noise σ = 0.04 to 0.16; here the mean" in code
    (transform,) = run_code(code)
    assert transform.std == pytest.approx(0.1)


def test_no_augmentation_is_an_empty_list() -> None:
    code = to_braindecode(PolicySpec.none())
    assert "# No augmentation." in code
    assert run_code(code) == []


def test_a_list_for_each_class_and_what_is_missing_is_said(augmentation) -> None:
    spec = PolicySpec.from_text(
        "[W]\nsign_flip p=1\n[N2]\nmy_operation p=1 m=0.5 > time_reverse p=1", known=None
    )
    code = to_braindecode(spec)
    assert "no class-wise transforms" in code
    assert "# my_operation: braindecode has no such transform" in code
    assert {name: len(transforms) for name, transforms in run_code(code).items()} == {
        "W": 1,
        "N2": 1,
    }


def test_operations_that_change_the_class_are_left_out(augmentation) -> None:
    spec = PolicySpec.from_text("channel_symmetry p=1 -> {a: b, b: a} > sign_flip p=0.5")
    code = to_braindecode(spec)
    assert (
        "# channel_symmetry (a ↔ b): left out, transforms of braindecode keep the labels" in code
    )
    assert (
        "# cadda.Policy changes labels, too, and is a transform for AugmentedDataLoader." in code
    )
    assert "ChannelsSymmetry" not in code
    (transform,) = run_code(code)
    assert isinstance(transform, augmentation.SignFlip)


def test_sampling_rate_and_channels_are_asked_for() -> None:
    with pytest.raises(ValueError, match=r"`sfreq` must be given"):
        to_braindecode(PolicySpec.from_text("bandstop p=1 m=1"))
    with pytest.raises(ValueError, match=r"`ch_names` must be given"):
        to_braindecode(PolicySpec.from_text("channel_symmetry p=1"))


@pytest.mark.parametrize(
    ("text", "line", "needed"),
    [
        ("sign_flip p=0.5", "SignFlip(0.5),", ""),
        ("amplitude_scale p=0.5 m=0.5", "AmplitudeScale(0.5, interval=(0.7079, 1.413)),", "1.5.1"),
        ("re_reference p=0.3 m=1", "ChannelsReref(0.3),", "1.3"),
        (
            "mask_encoding p=0.5 m=0.5",
            "MaskEncoding(0.5, max_mask_ratio=0.15, n_segments=3),",
            "1.0",
        ),
        (
            "segment_recombination p=0.5 m=1",
            "SegmentationReconstruction(0.5, n_segments=8),",
            "1.0",
        ),
        ("re_reference p=1 m=1 > mask_encoding p=1 m=1", "ChannelsReref(1),", "1.3"),
    ],
)
def test_needed_version_is_said(text: str, line: str, needed: str) -> None:
    code = to_braindecode(PolicySpec.from_text(text), sfreq=100.0)
    assert f"    {line}" in code
    first = code.partition("\n")[0]
    assert first.endswith(f"braindecode {needed} or newer." if needed else "of braindecode.")


def test_number_of_segments_is_a_setting() -> None:
    spec = PolicySpec.from_text("mask_encoding p=0.5 m=1")
    spec = spec.model_copy(update={"operations": {"mask_encoding": {"n_segments": 5}}})
    assert "max_mask_ratio=0.3, n_segments=5" in to_braindecode(spec, sfreq=100.0)


@pytest.fixture
def windows(generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(400, 6, 200, generator=generator), torch.arange(400) % 2


def exported(operation: str, magnitude: float):
    """Return the transform that an operation is exported as, applied to all windows."""
    skip_if_too_old(operation)
    text = f"{operation} p=1 m={magnitude}"
    (transform,) = run_code(to_braindecode(PolicySpec.from_text(text), sfreq=100.0))
    return transform


def test_exported_re_reference_is_the_same_but_for_the_reference(augmentation, windows) -> None:
    x, y = windows
    theirs, _ = exported("re_reference", 1.0)(x, y)
    chosen = (theirs + x).abs().amax(-1).argmin(-1)
    ours = CATALOGUE["re_reference"].operation().transform(x, 1.0, {"channel": chosen})
    rows = torch.arange(len(x))
    torch.testing.assert_close(theirs[rows, chosen], -x[rows, chosen])
    others = torch.ones(x.shape[:2], dtype=torch.bool)
    others[rows, chosen] = False
    torch.testing.assert_close(theirs[others], ours[others])
    counts = chosen.bincount(minlength=6) / len(x)
    assert (counts - 1 / 6).abs().max() < 0.08


def test_exported_gains_have_the_same_range(augmentation, windows) -> None:
    x, y = windows
    theirs = (exported("amplitude_scale", 0.5)(x, y)[0] / x)[..., 0]
    ours = (CATALOGUE["amplitude_scale"].operation()(x, 0.5) / x)[..., 0]
    for gains in (theirs, ours):
        decibels = 20 * gains.log10()
        assert decibels.min() == pytest.approx(-3, abs=0.05)
        assert decibels.max() == pytest.approx(3, abs=0.05)
        # One gain for each channel of each window.
        assert len(gains.unique()) > 2000


def test_exported_masks_zero_as_much_if_they_do_not_overlap(
    augmentation, windows, generator: torch.Generator
) -> None:
    x, y = windows
    theirs, _ = exported("mask_encoding", 0.5)(x, y)
    operation = CATALOGUE["mask_encoding"].operation(100.0)
    ours = operation(x, 0.5, generator=generator)
    zeroed = (theirs == 0).all(1).float().mean(-1)
    assert zeroed.max() == pytest.approx(0.15, abs=0.001)
    assert 0.13 < zeroed.mean() < 0.15
    power = ours.square().mean() / x.square().mean()
    # Each of two smooth edges of a segment takes ∫ σ(λt) (1 − σ(λt)) dt = 1/λ more power.
    edges = 2 * operation.n_segments / operation.steepness / (x.shape[-1] / 100.0)
    assert 1 - float(power) == pytest.approx(0.15 + edges, abs=0.003)


def test_exported_segments_are_of_windows_of_the_class(augmentation, windows) -> None:
    x, y = windows
    theirs, labels = exported("segment_recombination", 1.0)(x, y)
    for start in range(0, 200, 25):
        part, parts = theirs[:, 0, start : start + 25], x[:, 0, start : start + 25]
        source = torch.cdist(part, parts).argmin(1)
        torch.testing.assert_close(part, parts[source])
        assert torch.equal(y[source], labels)
    assert torch.equal(labels.bincount(), y.bincount())


@pytest.mark.filterwarnings("ignore:Montage name:FutureWarning")
@pytest.mark.parametrize("operation", TRANSFORMS)
def test_transforms_become_the_policy_again(augmentation, operation: str) -> None:
    skip_if_too_old(operation)
    magnitude = 0.4 if CATALOGUE[operation].has_magnitude else None
    text = f"{operation} p=0.7" + ("" if magnitude is None else f" m={magnitude}")
    code = to_braindecode(PolicySpec.from_text(text), sfreq=100.0, ch_names=CHANNELS)
    spec = policy_from_braindecode(run_code(code), sfreq=100.0)
    ((entry,),) = spec.policy["*"][0].stages
    assert (entry.operation, entry.probability) == (operation, 0.7)
    if operation in ALWAYS_FULL:
        assert entry.magnitude == 1
    else:
        assert entry.magnitude == (magnitude and pytest.approx(magnitude, rel=1e-3))


def test_a_compose_becomes_stages_in_a_row(augmentation) -> None:
    compose = augmentation.Compose(
        [
            augmentation.SignFlip(0.5),
            augmentation.IdentityTransform(),
            augmentation.FTSurrogate(0.2, phase_noise_magnitude=0.5, channel_indep=True),
            augmentation.FrequencyShift(0.3, sfreq=100, max_delta_freq=10),
        ]
    )
    spec = policy_from_braindecode(compose)
    expected = PolicySpec.from_text(
        "sign_flip p=0.5 > ft_surrogate p=0.2 m=0.5 independent_channels=true"
        " > frequency_shift p=0.3 m=1 symmetric=true max_shift=10"
    )
    assert spec.to_text() == expected.to_text()
    pool = operation_pool(sfreq=100, ch_names=CHANNELS)
    x, _ = Policy(spec, pool)(torch.randn(8, 6, 200))
    assert x.shape == (8, 6, 200)
    assert policy_from_braindecode([]) == PolicySpec.none()


def test_transforms_that_are_no_policy(augmentation) -> None:
    with pytest.raises(ValueError, match="must have a counterpart in cadda, got Mixup"):
        policy_from_braindecode(augmentation.Mixup(0.5))
    with pytest.raises(ValueError, match="`sfreq` must be given: SmoothTimeMask has"):
        policy_from_braindecode(augmentation.SmoothTimeMask(0.5))
    different = [augmentation.FTSurrogate(0.5, channel_indep=kind) for kind in (True, False)]
    with pytest.raises(ValueError, match="one kind of FTSurrogate"):
        policy_from_braindecode(different)


def test_a_compose_in_another_is_a_part_of_it(augmentation) -> None:
    flip, reverse, noise = (
        getattr(augmentation, name)(0.5) for name in ("SignFlip", "TimeReverse", "GaussianNoise")
    )
    inner = augmentation.Compose([reverse, augmentation.Compose([]), noise])
    nested = policy_from_braindecode(augmentation.Compose([flip, inner]))
    assert nested == policy_from_braindecode([flip, reverse, noise])
    assert len(nested.policy["*"][0].stages) == 3


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("FrequencyShift", {"max_delta_freq": -3}, "`max_delta_freq` of .* 0 or more, got -3"),
        ("GaussianNoise", {"std": float("nan")}, "`std` of GaussianNoise must be"),
        ("SmoothTimeMask", {"mask_len_samples": -5}, "`mask_len_samples` of SmoothTimeMask must"),
    ],
)
def test_strengths_that_cannot_be(name: str, options: dict, message: str) -> None:
    transform = type(name, (), {"probability": 0.5, **options})()
    with pytest.raises(ValueError, match=message) as raised:
        policy_from_braindecode(transform, sfreq=100.0)
    assert "\n" not in str(raised.value)


def test_a_negative_shift(augmentation) -> None:
    transform = augmentation.FrequencyShift(0.5, sfreq=100, max_delta_freq=-3)
    with pytest.raises(ValueError, match="`max_delta_freq` of FrequencyShift must be 0 or more"):
        policy_from_braindecode(transform)


@pytest.mark.parametrize("sfreq", [0, -100.0, float("nan")])
def test_sampling_rates_that_cannot_be(augmentation, sfreq: float) -> None:
    with pytest.raises(ValueError, match="`sfreq` must be a positive number in Hz or None, got"):
        policy_from_braindecode(augmentation.SmoothTimeMask(0.5), sfreq=sfreq)


class AmplitudeScale:
    """A transform of newer versions of braindecode."""

    probability = 0.5

    def __init__(self, *interval: float) -> None:
        self.scale = interval


@pytest.mark.parametrize(
    "interval", [(0, 2), (0.5, 1.0), (1, 2), (2, 0.5), (-2, 2), (0.5, np.inf)]
)
def test_intervals_that_are_not_symmetric(interval: tuple[float, float]) -> None:
    message = r"`interval` of AmplitudeScale must be \(1 / a, a\) .* symmetric in decibels, got \("
    with pytest.raises(ValueError, match=message):
        policy_from_braindecode(AmplitudeScale(*interval))


@pytest.mark.parametrize(
    ("interval", "gain"), [((0.5, 2), 6.0206), ((0.7079, 1.413), 3), ((1, 1), 0)]
)
def test_intervals_become_gains(interval: tuple[float, float], gain: float) -> None:
    spec = policy_from_braindecode(AmplitudeScale(*interval))
    ((entry,),) = spec.policy["*"][0].stages
    full = spec.operations["amplitude_scale"].get("max_gain", 6.0)
    assert entry.magnitude * full == pytest.approx(gain, abs=0.01)
