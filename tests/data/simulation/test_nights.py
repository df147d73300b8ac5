"""Simulated sleep against what is known about sleep and about the simulated subjects."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import mne
import numpy as np
import pytest
import torch
import typer
from numpy.typing import NDArray
from scipy.signal import butter, sosfiltfilt, welch
from scipy.stats import skew, ttest_1samp
from typer.testing import CliRunner

from cadda import CaddaError, operation_pool
from cadda.cli.simulate import sleep
from cadda.data.io.read import read_windows
from cadda.data.simulation import sources
from cadda.data.simulation.head import electrode_positions, lead_field, scalp
from cadda.data.simulation.hypnogram import draw_stages, state_weights
from cadda.data.simulation.nights import (
    Night,
    nights_to_windows,
    simulate_night,
    simulate_nights,
    simulate_sleep,
    simulated_subject,
)
from cadda.data.simulation.sleep_montages import ELECTRODES, SLEEP_MONTAGES
from cadda.data.simulation.sleep_recording import draw_subject, record
from cadda.data.windows import Windows
from cadda.reporting.figures.signals import plot_sleep

N_SUBJECTS = 6
W, N1, N2, N3, R = range(5)


@pytest.fixture(scope="module")
def nights() -> list[Night]:
    return [simulate_night(i, n_windows=60) for i in range(N_SUBJECTS)]


@pytest.fixture(scope="module")
def mass() -> list[Night]:
    return [simulate_night(i, n_windows=60, montage="mass") for i in range(N_SUBJECTS)]


def of_stage(night: Night, stage: int) -> NDArray[np.float64]:
    """Return the windows of a stage in µV, shape (n_channels, n_windows, n_times)."""
    cut = night.volts.reshape(len(night.ch_names), len(night.stages), -1)
    return cut[:, night.stages == stage] * 1e6


def spectrum(night: Night, stage: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return frequencies and the median power over windows, shape (n_channels, n_frequencies)."""
    length = round(5 * night.sfreq)
    frequency, power = welch(of_stage(night, stage), night.sfreq, nperseg=length)
    return frequency, np.median(power, axis=1)


def band(night: Night, stage: int, low: float, high: float) -> NDArray[np.float64]:
    """Return the share of a band in the power from 1 to 30 Hz, for each channel."""
    frequency, power = spectrum(night, stage)
    inside = (frequency >= low) & (frequency <= high)
    whole = (frequency >= 1) & (frequency <= 30)
    return np.asarray(power[:, inside].sum(axis=1) / power[:, whole].sum(axis=1))


def test_same_seed_same_bytes() -> None:
    first, again, other = (simulate_sleep(2, 20, seed=seed) for seed in (3, 3, 4))
    assert first.x.numpy().tobytes() == again.x.numpy().tobytes()
    assert torch.equal(first.y, again.y)
    assert not torch.equal(first.x, other.x)


@pytest.mark.parametrize(
    ("n_subjects", "montage", "seed", "stages", "places", "values"),
    [
        (
            2,
            "physionet",
            0,
            "0112133332221440444400022332232222244421",
            ([0, 13, 39], [0, 1, 0], [5, 1234, 2999]),
            [-1.3047675, 0.7311094, -0.1095918],
        ),
        (
            1,
            "mass",
            1,
            "01222402333332244441",
            ([0, 7, 19], [0, 3, 5], [5, 1234, 3839]),
            [-0.0337449, -0.2714529, 0.1358003],
        ),
    ],
)
def test_a_seed_stands_for_the_same_sleep_in_every_version(
    n_subjects: int,
    montage: str,
    seed: int,
    stages: str,
    places: tuple[list[int], list[int], list[int]],
    values: list[float],
) -> None:
    """To rounding, as Fourier transforms differ in their last bits between machines."""
    windows = simulate_sleep(n_subjects, 20, montage=montage, seed=seed)
    assert "".join(map(str, windows.y.tolist())) == stages
    torch.testing.assert_close(windows.x[places], torch.tensor(values), atol=1e-5, rtol=0)


def test_a_subject_does_not_depend_on_the_others() -> None:
    few, many = simulate_sleep(2, 20), simulate_sleep(4, 20)
    assert torch.equal(few.x, many.x[: len(few)])
    assert few.subjects == many.subjects[:2]
    alone = nights_to_windows([simulate_night(3, n_windows=20)])
    assert torch.equal(alone.x, many.of_subjects(alone.subjects).x)


def test_subjects_differ_and_montages_show_the_same_night(
    nights: list[Night], mass: list[Night]
) -> None:
    for night, other in zip(nights, mass, strict=True):
        np.testing.assert_array_equal(night.stages, other.stages)
    assert len({night.stages.tobytes() for night in nights}) == N_SUBJECTS


@pytest.mark.parametrize(
    ("montage", "ch_names", "sfreq", "n_times"),
    [
        ("physionet", ("Fpz-Cz", "Pz-Oz"), 100.0, 3000),
        ("mass", ("C3", "C4", "F3", "F4", "O1", "O2"), 128.0, 3840),
    ],
)
def test_windows(montage: str, ch_names: tuple[str, ...], sfreq: float, n_times: int) -> None:
    windows = simulate_sleep(2, 20, montage=montage)
    assert windows.x.shape == (40, len(ch_names), n_times)
    assert windows.x.dtype == torch.float32
    assert (windows.ch_names, windows.sfreq) == (ch_names, sfreq)
    assert windows.class_names == ("W", "N1", "N2", "N3", "R")
    assert windows.subject.tolist() == ["sub-01"] * 20 + ["sub-02"] * 20
    torch.testing.assert_close(windows.x.mean(-1), torch.zeros(40, len(ch_names)))
    torch.testing.assert_close(windows.x.std(-1, correction=0), torch.ones(40, len(ch_names)))
    assert ("channel_symmetry" in operation_pool(windows).names) == (montage == "mass")


def test_windows_are_filtered_as_mne_does(nights: list[Night]) -> None:
    night = nights[0]
    expected = mne.filter.filter_data(
        night.volts, night.sfreq, None, 30.0, h_trans_bandwidth=7.0, verbose="error"
    )
    expected = expected.reshape(2, 60, -1).swapaxes(0, 1)
    expected -= expected.mean(axis=-1, keepdims=True)
    expected /= expected.std(axis=-1, keepdims=True)
    windows = nights_to_windows([night])
    np.testing.assert_allclose(windows.x.numpy(), expected, atol=1e-5)
    np.testing.assert_array_equal(windows.y, night.stages)


@pytest.mark.parametrize("n_windows", [40, 41, 60, 100])
def test_every_night_has_all_stages(n_windows: int) -> None:
    for seed in range(40):
        steps, stages = draw_stages(np.random.default_rng(seed), n_windows)
        assert stages.shape == (n_windows,)
        assert np.bincount(stages, minlength=5).min() >= 2
        # A window is what most of its six steps are.
        count = (steps.reshape(n_windows, 6) == stages[:, None]).sum(axis=1)
        assert count.min() >= 2
        assert (count >= 3).mean() > 0.95


def test_hypnograms_are_plausible() -> None:
    drawn = [draw_stages(np.random.default_rng(seed), 200)[1] for seed in range(60)]
    passages = np.zeros((5, 5))
    for stages in drawn:
        np.add.at(passages, (stages[:-1], stages[1:]), 1)
    chance = passages / passages.sum(axis=1, keepdims=True)
    assert (np.diag(chance) > [0.5, 0.4, 0.6, 0.7, 0.7]).all()
    # Sleep begins lightly, deep sleep comes from N2, REM sleep comes from NREM sleep.
    assert chance[W, N1] > 0.1 > chance[W, N2] > chance[W, N3]
    assert max(chance[W, N3], chance[W, R], chance[N3, R], chance[R, N3]) < 0.03
    assert chance[N3, N2] > 5 * chance[N3, N1]
    share = np.bincount(np.concatenate(drawn), minlength=5) / (60 * 200)
    np.testing.assert_allclose(share, [0.15, 0.1, 0.36, 0.22, 0.17], atol=0.06)
    early, late = (
        np.concatenate([s[part] for s in drawn]) for part in (slice(66), slice(-66, 200))
    )
    assert (early == N3).mean() > 1.4 * (late == N3).mean()
    assert (late == R).mean() > 1.4 * (early == R).mean()
    assert np.mean([s[0] in (W, N1) for s in drawn]) > 0.95


def test_signals_are_microvolts(nights: list[Night], mass: list[Night]) -> None:
    for night in (*nights, *mass):
        assert np.isfinite(night.volts).all()
        for stage in range(5):
            typical = np.median(of_stage(night, stage).std(axis=-1))
            assert 2 < typical < 80
    # The AASM's criterion of slow waves, at a frontal electrode.
    for night in mass:
        deep, dream = (np.ptp(of_stage(night, stage)[2], axis=-1) for stage in (N3, R))
        assert (deep > 75).mean() > 0.95
        assert np.median(deep) > 1.5 * np.median(dream)


def test_alpha_of_wake_is_occipital_and_has_the_frequency_of_the_subject(
    mass: list[Night],
) -> None:
    found, true = [], []
    for number, night in enumerate(mass):
        frequency, power = welch(of_stage(night, W), night.sfreq, nperseg=640)
        front, back = (power[part].mean(axis=(0, 1)) for part in (slice(2, 4), slice(4, 6)))
        subject = simulated_subject(number)
        true.append(subject.peaks["alpha"])
        at_peak = np.abs(frequency - true[-1]) < 1
        assert back[at_peak].sum() > 2 * front[at_peak].sum()
        # Without the slope of the background, the centre of mass around the maximum.
        flat = back * frequency**subject.exponent
        top = frequency[np.argmax(np.where(np.abs(frequency - 10) < 4, flat, 0))]
        near = np.abs(frequency - top) < 1
        found.append(np.average(frequency[near], weights=flat[near]))
    np.testing.assert_allclose(found, true, atol=0.4)
    assert 0.3 < np.std(true) < 1.8


def test_eyes_decide_on_alpha() -> None:
    sizes = {}
    for eyes_open in (0.0, 1.0):
        draws = np.random.default_rng(0)
        subject = draw_subject(draws)
        weights = state_weights(draws, np.zeros(60, dtype=int), eyes_open=eyes_open)
        volts = record(draws, subject, weights, SLEEP_MONTAGES["mass"])
        frequency, power = welch(volts[4], 128.0, nperseg=640)
        sizes[eyes_open] = power[np.abs(frequency - subject.peaks["alpha"]) < 1].sum()
    assert sizes[0.0] > 4 * sizes[1.0]


@pytest.mark.parametrize(
    ("low", "high", "channel", "most", "others"),
    [
        (0.5, 3.0, 2, N3, (W, N1, R)),
        (0.5, 3.0, 0, N3, (W, N1, N2, R)),
        (12.0, 15.0, 0, N2, (N1, R)),
        (3.5, 7.5, 0, N1, (W, N3)),
        (16.0, 30.0, 2, W, (N2, N3)),
    ],
)
def test_bands_of_the_stages(
    mass: list[Night], low: float, high: float, channel: int, most: int, others: tuple[int, ...]
) -> None:
    for other in others:
        ratio = [
            band(night, most, low, high)[channel] / band(night, other, low, high)[channel]
            for night in mass
        ]
        assert np.median(ratio) > 1.1
        assert np.mean(np.array(ratio) > 1) >= 0.8


def test_spindles_have_the_frequency_of_the_subject(mass: list[Night]) -> None:
    found, true = [], []
    for number, night in enumerate(mass):
        frequency, asleep = spectrum(night, N2)
        _, dream = spectrum(night, R)
        near = (frequency >= 10.5) & (frequency <= 16)
        excess = (asleep / dream)[:2].mean(axis=0)[near]
        found.append(np.average(frequency[near], weights=np.maximum(excess - 1.5, 0) ** 2))
        true.append(simulated_subject(number).peaks["fast spindle"])
    assert np.corrcoef(found, true)[0, 1] > 0.7


def test_sleepers_differ_by_about_one_hertz() -> None:
    peaks = [simulated_subject(i).peaks for i in range(200)]
    for name, low, high in (("alpha", 0.7, 1.1), ("theta", 0.5, 0.9), ("fast spindle", 0.4, 0.8)):
        assert low < np.std([peak[name] for peak in peaks]) < high


def test_n2_has_a_sign_and_a_direction_of_time(mass: list[Night]) -> None:
    """One number per subject, because windows of one subject are not independent."""
    low_pass = butter(4, 10, fs=128.0, output="sos")
    sign, direction = [], []
    for night in mass:
        frontal = sosfiltfilt(low_pass, of_stage(night, N2)[2:4])
        slope = skew(np.diff(frontal, axis=-1), axis=-1)
        # A sign flip turns the first around, a reversal of time the second.
        sign.append(skew(frontal, axis=-1).mean())
        direction.append(slope.mean())
        reversed_in_time = skew(np.diff(frontal[..., ::-1], axis=-1), axis=-1)
        np.testing.assert_allclose(reversed_in_time, -slope)
    for values in (sign, direction):
        assert ttest_1samp(values, 0, alternative="less").pvalue < 0.01


def test_noise_has_the_spectrum_asked_for() -> None:
    rng = np.random.default_rng(0)
    frequency = np.fft.rfftfreq(1 << 16, 1 / 100).astype(np.float32)
    signals = sources.noise(rng, 4, 60_000, sources.one_over_f(frequency, 1.8))
    assert signals.shape == (4, 60_000)
    assert signals.var() == pytest.approx(1, abs=0.15)
    found, power = welch(signals, 100, nperseg=1000)
    inside = (found > 1) & (found < 40)
    slope = np.polyfit(np.log(found[inside]), np.log(power.mean(axis=0)[inside]), 1)[0]
    assert slope == pytest.approx(-1.8, abs=0.1)
    rhythm = sources.noise(rng, 4, 60_000, sources.peak(frequency, 10.3, 0.6))
    assert rhythm.var() == pytest.approx(1, abs=0.15)
    found, power = welch(rhythm, 100, nperseg=1000)
    centre = np.average(found, weights=power.mean(axis=0))
    spread = np.sqrt(np.average((found - centre) ** 2, weights=power.mean(axis=0)))
    assert centre == pytest.approx(10.3, abs=0.1)
    assert spread == pytest.approx(0.6, abs=0.1)


def test_waveforms() -> None:
    rng = np.random.default_rng(0)
    time = np.arange(2000, dtype=np.float32) / 400
    complexes = sources.k_complex(rng, time, 50)
    trough, crest = complexes.argmin(axis=1), complexes.argmax(axis=1)
    assert (trough < crest).all()
    assert (
        (complexes < -0.5).sum(axis=1) < (complexes > complexes.max(1)[:, None] / 2).sum(1)
    ).all()
    steepest = np.diff(complexes, axis=1)
    assert (-steepest.min(axis=1) > 1.3 * steepest.max(axis=1)).all()
    slow = sources.slow_wave(rng, time, 50)
    period = (np.abs(slow) > 1e-3).sum(axis=1) / 400
    assert (period >= 0.5).all()
    assert (period <= 2.01).all()
    assert ((slow < -1e-3).sum(axis=1) < (slow > 1e-3).sum(axis=1)).all()
    saw = np.diff(sources.sawtooth(rng, time, 50), axis=1)
    assert ((saw > 0).sum(axis=1) > 2 * (saw < 0).sum(axis=1)).all()
    spindles = sources.spindle(rng, time, 200, 13.2)
    peaks = np.abs(np.fft.rfft(spindles, n=1 << 16)).argmax(axis=1) * 400 / (1 << 16)
    assert peaks.mean() == pytest.approx(13.2, abs=0.1)
    blinks = sources.blink(rng, time, 50)
    np.testing.assert_allclose(blinks.max(axis=1), 1, atol=1e-2)
    assert (blinks.argmax(axis=1) / 400 < 0.25).all()


def test_events_are_added_where_they_belong() -> None:
    courses = np.zeros((2, 10), dtype=np.float32)
    waves = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], dtype=np.float32)
    sources.add_events(courses, np.array([0, 0, 1]), np.array([1, 2, 8]), waves)
    np.testing.assert_array_equal(courses[0], [0, 1, 6, 8, 6, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(courses[1], [0, 0, 0, 0, 0, 0, 0, 0, 7, 8])


def test_derivations_are_differences_of_electrodes() -> None:
    montage = SLEEP_MONTAGES["physionet"]
    assert montage.electrodes == ("Fpz", "Cz", "Pz", "Oz")
    np.testing.assert_array_equal(montage.matrix, [[1, -1, 0, 0], [0, 0, 1, -1]])
    ears = SLEEP_MONTAGES["mass"].matrix
    np.testing.assert_allclose(ears.sum(axis=1), 0)
    np.testing.assert_array_equal(ears[:, -2:], -0.5)


def test_lead_field() -> None:
    positions = electrode_positions(ELECTRODES)
    field = lead_field(positions, [scalp("Oz", 0.6), scalp("C3", 0.6)])
    seen = dict(zip(ELECTRODES, field, strict=True))
    assert seen["Oz"][0] == pytest.approx(1, abs=1e-6)
    assert seen["Oz"][0] > seen["O1"][0] > seen["Pz"][0] > abs(seen["Cz"][0])
    assert seen["C3"][1] > 5 * abs(seen["C4"][1])
    # A deeper source is seen more widely.
    narrow, wide = lead_field(positions, [scalp("Cz", 0.4), scalp("Cz", 0.8)]).T
    assert wide[ELECTRODES.index("Pz")] > 2 * narrow[ELECTRODES.index("Pz")]
    # On the axis of a dipole the potential falls with the square of the distance.
    axis = scalp("Cz", 0.5)
    far = lead_field(3 * electrode_positions(["Cz"]), [axis])
    assert far[0, 0] == pytest.approx((0.5 / 2.5) ** 2, rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_subjects": 0}, "`n_subjects` must be a whole number of at least 1, got 0"),
        ({"n_subjects": 2.5}, "`n_subjects` must be a whole number of at least 1, got 2.5"),
        ({"n_subjects": True}, "`n_subjects` must be a whole number of at least 1, got True"),
        ({"n_windows": 9}, "`n_windows` must be a whole number of at least 10, got 9"),
        ({"montage": "physonet"}, "did you mean `physionet`"),
        ({"seed": -1}, "`seed` must be a whole number of at least 0, got -1"),
    ],
)
def test_mistakes(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate_sleep(**arguments)


def test_no_nights() -> None:
    with pytest.raises(ValueError, match="`nights` must have at least one night"):
        nights_to_windows([])
    with pytest.raises(ValueError, match="`subject` must be a whole number of at least 0, got -1"):
        simulate_night(-1)
    assert len(list(simulate_nights(2, 10))) == 2
    both = (simulate_night(0, n_windows=10, montage=name) for name in ("physionet", "mass"))
    with pytest.raises(ValueError, match=r"`nights` must be of one montage, got \['mass', 'ph"):
        nights_to_windows(both)


def run(*arguments: str) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(sleep)
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout


def test_command_writes_windows(tmp_path: Path) -> None:
    file = tmp_path / "new" / "sleep.npz"
    code, text = run(str(file), "--subjects", "2", "--windows", "20", "--seed", "1")
    assert code == 0
    assert "40 windows of 2 channels" in text
    windows = read_windows(file)
    torch.testing.assert_close(windows.x, simulate_sleep(2, 20, seed=1).x)


def test_command_writes_edf(tmp_path: Path) -> None:
    pytest.importorskip("edfio")
    options = ("--subjects", "2", "--windows", "10", "--montage", "mass", "--format", "edf")
    code, text = run(str(tmp_path), *options, "--json")
    assert code == 0
    report = json.loads(text)
    assert report["windows"] == 20
    assert report["path"] == str(tmp_path)
    assert len(list(tmp_path.glob("01-03-000? PSG.edf"))) == 2
    code, text = run(str(tmp_path), *options, "--overwrite")
    assert "2 pairs such as '01-03-0001 PSG.edf' and '01-03-0001 Base.edf'" in text


def refusal(*arguments: str) -> str:
    app = typer.Typer()
    app.command()(sleep)
    result = CliRunner().invoke(app, list(arguments))
    assert isinstance(result.exception, ValueError | CaddaError)
    return str(result.exception)


def test_command_replaces_nothing_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "sleep.npz"
    few = ("--subjects", "1", "--windows", "10")
    run(str(file), *few)
    before = file.read_bytes()
    assert "`out` already exists" in refusal(str(file), *few, "--seed", "1")
    assert file.read_bytes() == before
    assert run(str(file), *few, "--seed", "1", "--overwrite")[0] == 0
    assert file.read_bytes() != before
    pytest.importorskip("edfio")
    run(str(tmp_path / "nights"), *few, "--format", "edf")
    said = refusal(str(tmp_path), *few, "--format", "edf")
    assert "`out` already contains 2 EDF files" in said


@pytest.mark.parametrize("file_format", ["npz", "edf"])
def test_command_through_a_file(tmp_path: Path, file_format: str) -> None:
    (tmp_path / "file").touch()
    said = refusal(str(tmp_path / "file" / "new" / "x.npz"), "--format", file_format)
    assert said.endswith(f": {tmp_path / 'file'} is a file.")
    assert "Errno" not in said


def test_command_wants_an_ending(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(sleep)
    result = CliRunner().invoke(app, [str(tmp_path / "sleep")])
    assert isinstance(result.exception, ValueError)
    assert "`out` must end in .npz" in str(result.exception)


def test_picture_of_two_recordings(tmp_path: Path) -> None:
    first, second = (simulate_sleep(1, 40, seed=seed) for seed in (0, 1))
    figure = plot_sleep(first, second[second.y != N3], names=("a", "b"), seconds=10, example=99)
    axes = figure.get_axes()
    assert len(axes) == 5 * 4
    assert [panel.get_title() for panel in axes[:2]] == ["a", "b"]
    figure.savefig(tmp_path / "sleep.png", dpi=40)
    # The spectra are those of Welch's method, the channels' medians over windows, in dB.
    line = axes[2].get_lines()[0]
    frequency, power = welch(first.x[first.y == W][:, 0].numpy(), 100.0, nperseg=400)
    shown = (frequency > 0) & (frequency <= 35)
    np.testing.assert_allclose(line.get_xdata(), frequency[shown])
    expected = np.median(10 * np.log10(power), axis=0)[shown]
    np.testing.assert_allclose(line.get_ydata(), expected, atol=0.3)


def test_picture_mistakes() -> None:
    windows = simulate_sleep(1, 20)
    names = {"x": windows.x, "y": windows.y, "sfreq": 100.0, "class_names": windows.class_names}
    other = SimpleNamespace(**names, ch_names=("C3", "C4"))
    with pytest.raises(ValueError, match="`second` must have the same `ch_names` as `first`"):
        plot_sleep(windows, other)
    with pytest.raises(ValueError, match="`example` must be 0 or more, got -1"):
        plot_sleep(windows, windows, example=-1)


def test_type_is_the_usual_one() -> None:
    assert isinstance(simulate_sleep(1, 10), Windows)


def test_standardised_per_night() -> None:
    """Then windows of a night differ in amplitude, and the night as a whole has none."""
    nights = [simulate_night(number, n_windows=20) for number in range(2)]
    windows = nights_to_windows(nights, unit="recording")
    for subject in windows.subjects:
        signals = windows.of_subjects([subject]).x.double().transpose(0, 1).flatten(1)
        torch.testing.assert_close(
            signals.std(1, correction=0), torch.ones(2).double(), rtol=1e-4, atol=0
        )
        torch.testing.assert_close(signals.mean(1), torch.zeros(2).double(), rtol=0, atol=1e-4)
    assert windows.x.std(2).max() > 1.5 * windows.x.std(2).min()
    each = nights_to_windows(nights).x
    torch.testing.assert_close(windows.standardised("window").x, each, rtol=1e-3, atol=1e-3)
