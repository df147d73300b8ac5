"""Simulated motor imagery against what is known about it and about the simulated subjects."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.signal import welch
from scipy.stats import ttest_1samp

from cadda import operation_pool, read_windows
from cadda.cli import app as cli
from cadda.data.simulation.imagery_subject import (
    CHANNELS,
    EVENTS,
    RHYTHMS,
    ImagerySubject,
    draw_subject,
)
from cadda.data.simulation.motor_imagery import record_trials, simulate_motor_imagery
from cadda.data.windows import Windows

FC3, FC4, C3, CZ, C4, CP3, CP4, PZ = range(8)
PARTNERS = [FC4, FC3, C4, CZ, C3, CP4, CP3, PZ]
LEFT, RIGHT = range(2)
N_SUBJECTS = 80


@pytest.fixture(scope="module")
def population() -> Windows:
    return simulate_motor_imagery(N_SUBJECTS, 30, seed=5)


@pytest.fixture(scope="module")
def subject() -> ImagerySubject:
    return replace(draw_subject(np.random.default_rng(0)), mirrored=False)


def only(subject: ImagerySubject, *rhythms: str, **changes: object) -> ImagerySubject:
    """Return a subject with some of the rhythms and nothing else."""
    microvolts = {
        name: values if name in rhythms else 0 * values
        for name, values in subject.microvolts.items()
    }
    nothing = {"rates": dict.fromkeys(subject.rates, 0.0), "drift": 0 * subject.drift}
    nothing |= {"evoked": 0.0, "glance": 0.0}
    return replace(subject, microvolts=microvolts, **(nothing | changes))


def trials(subject: ImagerySubject, n: int = 200) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    return record_trials(np.random.default_rng(1), subject, n)


def log_power(signals: NDArray[np.float32], low: float, high: float) -> NDArray[np.float64]:
    """Return the log power in a band, shape (n_windows, n_channels)."""
    frequency, power = welch(signals, 100.0, nperseg=200)
    return np.asarray(np.log(power[..., (frequency >= low) & (frequency <= high)].mean(-1)))


def by_subject(windows: Windows, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means over the windows of each subject and class, shape (n_subjects, 2, ...)."""
    labels = windows.y.numpy()
    means = [
        [values[(windows.subject == name) & (labels == label)].mean(0) for label in (LEFT, RIGHT)]
        for name in windows.subjects
    ]
    return np.array(means)


def test_same_seed_same_bytes() -> None:
    first, again, other = (simulate_motor_imagery(2, 10, seed=seed) for seed in (3, 3, 4))
    assert first.x.numpy().tobytes() == again.x.numpy().tobytes()
    assert torch.equal(first.y, again.y)
    assert not torch.equal(first.x, other.x)


def test_a_seed_stands_for_the_same_trials_in_every_version() -> None:
    """To rounding, as Fourier transforms differ in their last bits between machines."""
    windows = simulate_motor_imagery(2, 12, seed=3)
    assert "".join(map(str, windows.y.tolist())) == "111100100010100101100011"
    values = windows.x[[0, 13, 23], [FC3, C4, PZ], [5, 123, 399]]
    expected = torch.tensor([-1.8968763, 1.1858771, -2.8933108])
    torch.testing.assert_close(values, expected, atol=1e-5, rtol=0)


def test_a_subject_does_not_depend_on_the_others() -> None:
    few, many = simulate_motor_imagery(2, 10), simulate_motor_imagery(4, 10)
    assert torch.equal(few.x, many.x[: len(few)])
    assert torch.equal(few.y, many.y[: len(few)])
    assert few.subjects == many.subjects[:2]


def test_windows() -> None:
    windows = simulate_motor_imagery(2, 10)
    assert windows.x.shape == (20, 8, 400)
    assert windows.x.dtype == torch.float32
    assert windows.ch_names == ("FC3", "FC4", "C3", "Cz", "C4", "CP3", "CP4", "Pz")
    assert (windows.sfreq, windows.class_names) == (100.0, ("left_fist", "right_fist"))
    assert windows.subject.tolist() == ["sub-01"] * 10 + ["sub-02"] * 10
    torch.testing.assert_close(windows.x.mean(-1), torch.zeros(20, 8), atol=1e-5, rtol=0)
    torch.testing.assert_close(windows.x.std(-1, correction=0), torch.ones(20, 8))
    assert "channel_symmetry" in operation_pool(windows).names


def test_classes_are_balanced_in_random_order() -> None:
    windows = simulate_motor_imagery(40, 11)
    labels = windows.y.numpy().reshape(40, 11)
    counts = labels.sum(axis=1)
    assert set(counts.tolist()) == {5, 6}
    assert len({row.tobytes() for row in labels}) > 35


def test_half_of_the_subjects_are_mirrored(subject: ImagerySubject) -> None:
    """The other half has the distribution of their mirror images, which is the whole symmetry."""
    signals, labels = trials(subject, 11)
    mirrored, exchanged = trials(replace(subject, mirrored=True), 11)
    np.testing.assert_array_equal(mirrored, signals[:, PARTNERS])
    np.testing.assert_array_equal(exchanged, 1 - labels)
    drawn = [draw_subject(np.random.default_rng(seed)).mirrored for seed in range(400)]
    assert np.mean(drawn) == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize("band", [(1, 4), (8, 13), (15, 28), (30, 45)])
def test_population_is_symmetric(population: Windows, band: tuple[float, float]) -> None:
    power = by_subject(population, log_power(population.x.numpy(), *band))
    mirrored = power[:, ::-1, PARTNERS]
    # One number per subject: what its mirror image has with the opposite sign.
    differences = (power - mirrored)[:, LEFT, [FC3, C3, CP3]].mean(axis=1)
    assert ttest_1samp(differences, 0).pvalue > 0.05


def test_subjects_are_not_symmetric(population: Windows) -> None:
    power = log_power(population.x.numpy(), 8, 28)
    side = (power[:, C3] - power[:, C4]).reshape(N_SUBJECTS, 15, 2).mean(axis=1)
    # Every other window differs between left and right as those between them do.
    assert np.corrcoef(side.T)[0, 1] > 0.5


@pytest.mark.parametrize("band", [(8, 13), (15, 28)])
def test_the_hemisphere_opposite_to_the_fist_desynchronises(
    population: Windows, band: tuple[float, float]
) -> None:
    power = by_subject(population, log_power(population.x.numpy(), *band))
    lateralisation = (power[:, LEFT] - power[:, RIGHT])[:, [C3, C4]] @ [1, -1]
    assert ttest_1samp(lateralisation, 0, alternative="greater").pvalue < 1e-4
    assert np.percentile(lateralisation, 25) < 0.1 < 0.3 < np.percentile(lateralisation, 90)


@pytest.mark.parametrize("rhythm", ["mu", "beta"])
def test_size_of_desynchronisation(subject: ImagerySubject, rhythm: str) -> None:
    lost, gained = np.array([0.1, 0.2]), np.array([0.05, 0.1])
    changed = only(subject, rhythm, desynchronisation=lost, synchronisation=gained)
    at_rest = only(subject, rhythm, desynchronisation=0 * lost, synchronisation=0 * gained)
    # The same random numbers, so that the change of a place is all that differs.
    (signals, labels), (reference, _) = trials(changed, 1000), trials(at_rest, 1000)
    change = np.log((signals**2).sum(-1) / (reference**2).sum(-1)) / 2
    for label, near, far in ((LEFT, C4, C3), (RIGHT, C3, C4)):
        # Imagery begins after 0.4 s and is of mean vividness 1.
        mean = change[labels == label].mean(axis=0)
        assert mean[near] == pytest.approx(-0.9 * lost[label], rel=0.2)
        assert mean[far] == pytest.approx(0.9 * gained[1 - label], rel=0.2)
        early = signals[labels == label, :, :10] / reference[labels == label, :, :10]
        assert np.median(np.abs(early - 1)) < 0.01


def test_rhythms_have_the_frequencies_of_the_subject() -> None:
    subjects = [draw_subject(np.random.default_rng(seed)) for seed in range(300)]
    peaks = np.array([subject.peaks["mu"] for subject in subjects])
    assert peaks.min() >= 8
    assert peaks.max() <= 13
    assert 0.8 < peaks.std() < 1.5
    for subject in subjects[:5]:
        for rhythm, tolerance in (("mu", 0.3), ("beta", 1.0)):
            signals, _ = trials(only(subject, rhythm), 60)
            frequency, power = welch(signals[:, C3], 100.0, nperseg=400)
            centre = np.average(frequency, weights=power.mean(axis=0))
            assert centre == pytest.approx(subject.peaks[rhythm], abs=tolerance)


def test_eyes_turn_to_the_cue(population: Windows) -> None:
    """A cue on the left makes the left of the head positive, most so in front."""
    course = by_subject(population, population.x.numpy().astype(np.float64)).mean(axis=0)
    contrast = course[LEFT] - course[RIGHT]
    early, looking = slice(0, 10), slice(30, 60)
    front, back = (contrast[pair] for pair in ([FC3, FC4], [CP3, CP4]))
    assert np.ptp(front[:, looking].mean(axis=1)) > 3 * abs(front[:, early].mean(axis=1)).max()
    assert front[0, looking].mean() > back[0, looking].mean() > 0
    assert front[1, looking].mean() < back[1, looking].mean() < 0
    # The response that does not depend on the side is largest at the back.
    evoked = course.mean(axis=0)[:, 30:38].mean(axis=1)
    assert evoked[PZ] > evoked[CZ] > evoked[FC3] > 0


def test_background_is_correlated_in_space(population: Windows) -> None:
    x = population.x.numpy()
    correlation = np.einsum("wct,wdt->cd", x, x) / (len(x) * 400)
    near, across, far = correlation[C3, CP3], correlation[C3, C4], correlation[FC3, CP4]
    assert 0.98 > near > 0.9 > across > far > 0.5
    frequency, power = welch(x, 100.0, nperseg=200)
    inside = (frequency >= 1) & (frequency <= 40)
    median = np.log(np.median(power, axis=(0, 1)))[inside]
    slope = np.polyfit(np.log(frequency[inside]), median, 1)[0]
    assert -1.8 < slope < -1.0


@pytest.mark.parametrize("event", [event.name for event in EVENTS])
def test_artefacts(subject: ImagerySubject, event: str) -> None:
    clean = only(subject, "background")
    rare = replace(clean, rates=clean.rates | {event: 1.0})
    (without, _), (signals, _) = trials(clean), trials(rare)
    artefact = np.abs(signals - without).max(axis=(1, 2))
    affected = artefact > 0
    assert 0 < affected.mean() < 0.3
    assert 20 < np.median(artefact[affected]) < 300


def test_subjects_have_all_rhythms(subject: ImagerySubject) -> None:
    for rhythm in RHYTHMS:
        signals, _ = trials(only(subject, rhythm.name), 4)
        assert (signals.std(axis=-1) > 0).all()
    signals, _ = trials(only(subject), 4)
    np.testing.assert_array_equal(signals, 0)
    assert len(CHANNELS) == signals.shape[1]


def test_spectra_are_those_of_real_recordings(shared_data: Path) -> None:
    real = read_windows(shared_data / "motor-imagery-epo.fif.gz")
    spectra = []
    for windows in (real, simulate_motor_imagery(40, 20, seed=7)):
        frequency, power = welch(windows.x.numpy()[::3], 100.0, nperseg=200)
        spectra.append(10 * np.log10(np.median(power, axis=0)))
    inside = (frequency >= 0.5) & (frequency <= 45)
    difference = (spectra[0] - spectra[1])[:, inside]
    assert np.sqrt(np.mean(difference**2)) < 1.5
    assert np.abs(difference).max() < 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_subjects": 0}, "`n_subjects` must be a whole number of at least 1, got 0"),
        ({"n_windows": 1}, "`n_windows` must be a whole number of at least 2, got 1"),
        ({"n_windows": 2.5}, "`n_windows` must be a whole number of at least 2, got 2.5"),
        ({"seed": -1}, "`seed` must be a whole number of at least 0, got -1"),
    ],
)
def test_mistakes(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate_motor_imagery(**arguments)


def test_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new" / "fists.npz"

    def run(*options: str) -> tuple[int, str, str]:
        few = ("--subjects", "2", "--windows", "10", *options)
        command = ["cadda", "data", "simulate", "motor-imagery", str(file), *few]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        return int(stop.value.code or 0), printed.out, printed.err

    code, out, _ = run("--seed", "1")
    assert code == 0
    assert "20 windows of 8 channels × 4 s at 100 Hz, 2 subjects; left_fist 10" in out
    assert torch.equal(read_windows(file).x, simulate_motor_imagery(2, 10, seed=1).x)
    code, _, err = run()
    assert (code, err.count("already exists")) == (2, 1)
    assert "`--overwrite`" in err
    code, out, _ = run("--overwrite", "--json")
    assert json.loads(out) == {
        "subjects": 2,
        "windows": 20,
        "seed": 0,
        "format": "npz",
        "path": str(file),
    }
    assert torch.equal(read_windows(file).x, simulate_motor_imagery(2, 10).x)
