"""Compare simulated with real motor imagery: a picture, and a table of how difficult they are.

``python docs/simulation_picture.py --folder FOLDER`` reads ``motor-imagery-epo.fif.gz`` in FOLDER,
draws docs/images/simulated_motor_imagery.png and prints the table of docs/simulated-data.md.
Accuracies of networks are those that ``python -m benchmarks equivariance`` kept.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.signal import welch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cadda

DOCS = Path(__file__).parent
sys.path += [str(DOCS), str(DOCS.parent)]

from benchmarks.equivariance import compare, mean_by_size, read_epochs, scores, simulate_fists  # noqa: E402
from benchmarks.records import Records  # noqa: E402
from pictures import IMAGES, save  # noqa: E402

Array = NDArray[np.float64]

BANDS = ((4, 8), (8, 13), (13, 30))
SLOW_STEP = 10
"""Samples per value of slow waves: 0.1 s."""
SHOWN = (2, 35)
"""Frequencies of the picture, in Hz."""
SIZES = (4, 8, 12)
STUDIES = ("motor-imagery", "simulated-fists")
LEFT, RIGHT = "C0", "C3"


def main() -> None:
    """Draw the picture and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    folder = parser.parse_args().folder
    both = {
        "real, 60 subjects": read_epochs("motor-imagery", folder),
        "simulated, 60 subjects": simulate_fists(folder),
    }
    save(plot_imagery(both), IMAGES / "simulated_motor_imagery.png")
    real, simulated = both.values()
    print("| | real | simulated |\n|---|---|---|")
    print(*linear_rows(real, simulated), *network_rows(), sep="\n")
    frequency, _ = spectra(real)
    difference = np.subtract(*(np.median(spectra(w)[1], axis=(0, 1)) for w in (real, simulated)))
    inside = (frequency >= 0.5) & (frequency <= 45)
    size = np.sqrt(np.mean(difference[:, inside] ** 2))
    print(
        f"Median spectra, 0.5 to 45 Hz, all channels: differ by {size:.1f} dB (root mean square)"
    )


def plot_imagery(recordings: dict[str, cadda.Windows]) -> Figure:
    """Draw spectra, their difference between classes, and that of potentials after the cue."""
    figure = Figure(figsize=(13, 6), layout="constrained")
    rows = figure.subplots(2, 4, sharex="col", sharey="col")
    for row, (name, windows) in zip(rows, recordings.items(), strict=True):
        frequency, decibels = spectra(windows)
        shown = (frequency >= SHOWN[0]) & (frequency <= SHOWN[1])
        for axes, channel in zip(row, ("C3", "C4"), strict=False):
            index = windows.ch_names.index(channel)
            draw_classes(axes, frequency[shown], decibels[:, :, index][..., shown])
            axes.set_title(channel)
        contrast = decibels[:, 0] - decibels[:, 1]
        draw_contrast(row[2], windows, frequency[shown], contrast[..., shown], ("C3", "C4"))
        row[2].set_title("left fist − right fist")
        time = np.arange(windows.n_times) / windows.sfreq
        course = class_means(windows, windows.x.numpy().astype(np.float64))
        draw_contrast(row[3], windows, time, course[:, 0] - course[:, 1], ("FC3", "FC4"))
        row[3].set_title("left fist − right fist")
        row[0].set_ylabel(f"{name}\npower (dB)")
        row[2].set_ylabel("power (dB)")
        row[3].set_ylabel("potential (SD)")
    for axes in rows[1]:
        axes.set_xlabel("frequency (Hz)")
    rows[1][3].set_xlabel("time after the cue (s)")
    for axes in (rows[0][0], rows[0][2], rows[0][3]):
        axes.legend(frameon=False)
    return figure


def draw_classes(axes: Axes, frequency: Array, decibels: Array) -> None:
    """Draw the mean over subjects of the spectra of both classes, in dB."""
    for label, (name, colour) in enumerate((("left fist", LEFT), ("right fist", RIGHT))):
        axes.plot(frequency, decibels[:, label].mean(axis=0), color=colour, label=name)


def draw_contrast(
    axes: Axes, windows: cadda.Windows, at: Array, contrast: Array, channels: Sequence[str]
) -> None:
    """Draw the mean difference between classes with its standard error over subjects."""
    axes.axhline(0, color="0.7", linewidth=1)
    for channel, colour in zip(channels, ("C2", "C4"), strict=True):
        values = contrast[:, windows.ch_names.index(channel)]
        mean, error = values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values))
        axes.plot(at, mean, color=colour, label=channel)
        axes.fill_between(at, mean - error, mean + error, color=colour, alpha=0.25, linewidth=0)


def spectra(windows: cadda.Windows) -> tuple[Array, Array]:
    """Compute spectra in dB, means over windows: (n_subjects, 2, n_channels, n_frequencies)."""
    frequency, power = welch(windows.x.numpy(), windows.sfreq, nperseg=200)
    return frequency, class_means(windows, 10 * np.log10(power))


def class_means(windows: cadda.Windows, values: Array) -> Array:
    """Return means over the windows of each subject and class, shape (n_subjects, 2, ...)."""
    labels = windows.y.numpy()
    return np.array(
        [
            [
                values[(windows.subject == name) & (labels == label)].mean(axis=0)
                for label in (0, 1)
            ]
            for name in windows.subjects
        ]
    )


def linear_rows(real: cadda.Windows, simulated: cadda.Windows) -> Iterator[str]:
    """Yield rows of the table in Markdown, for linear classifiers."""
    for name, features, strength in (
        ("log band powers, linear classifier, 48 training subjects", band_powers, 1.0),
        ("slow waves, linear classifier, 48 training subjects", slow_waves, 1e-3),
    ):
        first, second = (linear_accuracy(w, features, strength) for w in (real, simulated))
        yield f"| {name} | {first:.3f} | {second:.3f} |"


def network_rows() -> Iterator[str]:
    """Yield rows of the table for networks, from the results of the benchmark."""
    records = Records("equivariance").all()
    made = {(s, c): scores(records, s, c) for s in STUDIES for c in ("none", "mapped")}
    for size in SIZES:
        cells = [f"{mean_by_size(made[study, 'none'])[size]:.3f}" for study in STUDIES]
        yield f"| `shallow`, {size} training subjects | {' | '.join(cells)} |"
    for size in SIZES:
        gains = [compare(made[s, "mapped"], made[s, "none"], size) for s in STUDIES]
        cells = [f"{gain.test.difference.value:+.3f}" if gain else "" for gain in gains]
        name = f"gain by `channel_symmetry` with exchanged labels, {size} training subjects"
        yield f"| {name} | {' | '.join(cells)} |"


def linear_accuracy(
    windows: cadda.Windows, features: Callable[[cadda.Windows], Array], strength: float
) -> float:
    """Return the balanced accuracy of logistic regression, over five folds by subject."""
    truth, predicted = [], []
    for train, test in windows.folds(5, seed=0):
        model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=1000))
        model.fit(features(train), train.y.numpy())
        truth.append(test.y.numpy())
        predicted.append(model.predict(features(test)))
    return float(balanced_accuracy_score(np.concatenate(truth), np.concatenate(predicted)))


def band_powers(windows: cadda.Windows) -> Array:
    """Return the log power of theta, alpha and beta in each channel."""
    frequency, power = welch(windows.x.numpy(), windows.sfreq, nperseg=200)
    inside = [(frequency >= low) & (frequency < high) for low, high in BANDS]
    return np.concatenate([np.log(power[..., band].mean(axis=-1)) for band in inside], axis=1)


def slow_waves(windows: cadda.Windows) -> Array:
    """Return the mean of each tenth of a second in each channel."""
    steps = windows.x.numpy().reshape(len(windows), -1, SLOW_STEP)
    return np.asarray(steps.mean(axis=-1), dtype=np.float64)


if __name__ == "__main__":
    main()
