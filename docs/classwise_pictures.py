"""Draw the pictures of docs/class-wise.md into docs/images/classwise."""

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from pictures import IMAGES, save

import cadda
from cadda.policies.spec.entries import StageEntry, Subpolicy
from cadda.signal.spectral import PICTURE_FLOOR, decibel, power_spectrum
from cadda.testing.planted import planted_network

FOLDER = IMAGES / "classwise"
BEFORE, AFTER = "#8c8c8c", "#0b63b0"
LAYERS = {"policy": "#eef3f8", "subpolicy": "#d7e5f2", "stage": "#b5d0e8", "operation": "#ffffff"}

LAYERED = """
    [N2]
    w=2: sign_flip p=0.5 > time_mask p=0.3 m=0.5
    w=1: bandstop p=1 m=0.5 | gaussian_noise p=1 m=0.2 > time_reverse p=0.5
    [R]
    frequency_shift p=0.5 m=0.1
"""
BATCH = """
    [W]
    gaussian_noise p=0.7 m=1
    sign_flip p=0.7
    [N2]
    time_mask p=0.7 m=1
    sign_flip p=0.7
    [N3]
    time_reverse p=0.7
    sign_flip p=0.7
"""
LEAKING = """
    [W]
    sign_flip p=0.4
    [N2]
    time_mask p=0.9 m=1
    [N3]
    sign_flip p=0.5
"""
SHARING = """
    [W]
    sign_flip p=0.4
    time_mask p=0.5 m=0.4
    [N2]
    sign_flip p=0.2
    time_mask p=0.9 m=1
    [N3]
    sign_flip p=0.5
    time_mask p=0.4 m=0.3
"""


def main() -> None:
    """Draw every picture."""
    save(draw_stages(), FOLDER / "stages.png")
    save(draw_layers(cadda.PolicySpec.from_text(LAYERED)), FOLDER / "layers.png")
    save(draw_batch(cadda.PolicySpec.from_text(BATCH)), FOLDER / "batch.png")
    save(cadda.PolicySpec.from_text(LEAKING).plot(), FOLDER / "leaking.png")
    save(cadda.PolicySpec.from_text(SHARING).plot(), FOLDER / "sharing.png")
    save(draw_leak(), FOLDER / "leak.png")


def draw_stages() -> Figure:
    """Draw a window and the median spectrum of each stage, before and after the same operation."""
    windows = cadda.simulate_sleep(n_subjects=6, n_windows=60, seed=0)
    shift = cadda.operation_pool(windows)["frequency_shift"]
    figure = Figure(figsize=(13, 4), layout="constrained")
    panels = figure.subplots(2, windows.n_classes, sharey="row")
    for label, (name, (signals, spectra)) in enumerate(
        zip(windows.class_names, panels.T, strict=True)
    ):
        x = windows.x[windows.y == label]
        generator = torch.Generator().manual_seed(0)
        shifted = shift(x, magnitude=0.4, generator=generator)
        time = torch.arange(500) / windows.sfreq
        signals.plot(time, x[0, 1, :500], color=BEFORE, linewidth=0.8)
        signals.set(title=name, xlabel="time (s)")
        for batch, colour in ((x, BEFORE), (shifted, AFTER)):
            draw_median_spectrum(spectra, batch, windows.sfreq, colour)
        spectra.set(xlabel="frequency (Hz)", xlim=(0, 25), ylim=(-35, 5))
    panels[0, 0].set_ylabel(f"{windows.ch_names[1]} (SD)")
    panels[1, 0].set_ylabel("power (dB)")
    panels[1, -1].legend(["before", "shifts up to 2 Hz"], frameon=False, fontsize=8)
    tidy(figure)
    return figure


def draw_median_spectrum(axes: Axes, batch: torch.Tensor, sfreq: float, colour: str) -> None:
    """Draw the median over windows of the power of the second channel."""
    frequency, power = power_spectrum(batch[:, 1], sfreq)
    median = np.median(decibel(power, floor=PICTURE_FLOOR), axis=0)
    axes.plot(frequency, median, color=colour, linewidth=1.2)


def draw_layers(spec: cadda.PolicySpec) -> Figure:
    """Draw the policies of a class-wise policy as boxes within boxes."""
    sizes = [len(subpolicies) for subpolicies in spec.policy.values()]
    figure = Figure(figsize=(11, 1.35 * sum(sizes) + 0.7 * len(sizes)))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    top = 0.0
    for name, subpolicies in spec.policy.items():
        height = 1.3 * len(subpolicies) + 0.5
        box(axes, (0.1, top - height, 10.8, height), "policy", f"policy of class {name}")
        weights = sum(subpolicy.weight for subpolicy in subpolicies)
        for number, subpolicy in enumerate(subpolicies):
            bottom = top - 0.4 - 1.3 * (number + 1)
            draw_subpolicy(axes, subpolicy, bottom, subpolicy.weight / weights)
        top -= height + 0.3
    axes.set(xlim=(0, 11), ylim=(top + 0.2, 0.1))
    return figure


def draw_subpolicy(axes: Axes, subpolicy: Subpolicy, bottom: float, share: float) -> None:
    """Draw a subpolicy: its stages from left to right, their operations one below the other."""
    box(axes, (0.3, bottom, 10.4, 1.2), "subpolicy", f"subpolicy, drawn by {share:.0%}")
    for number, stage in enumerate(subpolicy.stages):
        left = 2.9 + 4.0 * number
        box(axes, (left, bottom + 0.08, 3.5, 1.04), "stage", f"stage {number + 1}")
        if number:
            axes.annotate(
                "",
                (left, bottom + 0.6),
                (left - 0.5, bottom + 0.6),
                arrowprops={"arrowstyle": "->"},
            )
        height = 0.72 / len(stage)
        for row, entry in enumerate(stage):
            place = (left + 0.12, bottom + 0.13 + height * (len(stage) - 1 - row), 3.26, height)
            box(axes, place, "operation", words_of(entry), centred=True)


def words_of(entry: StageEntry) -> str:
    """Return an operation with its p and µ."""
    magnitude = "" if entry.magnitude is None else f", µ = {entry.magnitude:g}"
    return f"{entry.operation}: p = {entry.probability:g}{magnitude}"


def box(
    axes: Axes,
    place: tuple[float, float, float, float],
    layer: str,
    words: str,
    *,
    centred: bool = False,
) -> None:
    """Draw a box with words at its upper left, or in its middle."""
    left, bottom, width, height = place
    gap = 0.04
    axes.add_patch(
        FancyBboxPatch(
            (left + gap, bottom + gap),
            width - 2 * gap,
            height - 2 * gap,
            boxstyle="round,pad=0,rounding_size=0.08",
            facecolor=LAYERS[layer],
            edgecolor="#5b7a99",
            linewidth=0.8,
        )
    )
    if centred:
        axes.text(left + width / 2, bottom + height / 2, words, ha="center", va="center", size=10)
    else:
        axes.text(left + 0.15, bottom + height - 0.12, words, ha="left", va="top", size=10)


def draw_batch(spec: cadda.PolicySpec) -> Figure:
    """Draw a batch before and after a class-wise policy, with what each window drew."""
    windows = cadda.simulate_sleep(n_subjects=2, n_windows=60, seed=1)
    pool = cadda.operation_pool(windows)
    per_class = [
        windows.x[windows.y == windows.class_names.index(name)][:3] for name in spec.class_names
    ]
    # A batch comes in any order.
    x = torch.stack(per_class, dim=1).flatten(0, 1)[:, :, :600]
    y = torch.arange(len(x)) % len(spec.class_names)
    policy = cadda.Policy(spec, pool)
    draw = policy.draw(x, y, generator=torch.Generator().manual_seed(3))
    after = policy.transform(x, draw)
    drawn = {
        int(i): pool.names[group.operation] for group in draw.groups[0] for i in group.windows
    }
    figure = Figure(figsize=(11, 6), layout="constrained")
    panels = figure.subplots(len(x), 2, sharex=True, sharey=True)
    time = torch.arange(x.shape[2]) / windows.sfreq
    for i, (left, right) in enumerate(panels):
        colour = f"C{int(y[i])}"
        left.plot(time, x[i, 1], color=colour, linewidth=0.7)
        right.plot(time, after[i, 1], color=colour, linewidth=0.7)
        left.set_ylabel(spec.class_names[int(y[i])], rotation=0, labelpad=16, color=colour)
        right.text(1.01, 0.5, drawn.get(i, "unchanged"), transform=right.transAxes, va="center")
        left.set_yticks([])
    panels[0, 0].set_title("x, y")
    panels[0, 1].set_title("policy(x, y), and what each window drew")
    for axes in panels[-1]:
        axes.set_xlabel("time (s)")
    tidy(figure)
    return figure


def draw_leak() -> Figure:
    """Train on pure noise, with an operation for one class only and with it for both."""
    figure = Figure(figsize=(8, 3), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    train, valid = noise(1000, seed=0), noise(200, seed=1)
    policies = {
        "time_mask for one class only": "[a]\ntime_mask p=0.9 m=0.5\n[b]\ntime_mask p=0 m=0.5",
        "time_mask for both": "[a]\ntime_mask p=0.9 m=0.5\n[b]\ntime_mask p=0.9 m=0.5",
    }
    for axes, (title, text) in zip(panels, policies.items(), strict=True):
        fitted = cadda.fit(
            train,
            valid,
            model=planted_network,
            policy=cadda.PolicySpec.from_text(text),
            max_epochs=12,
            patience=12,
            copies=0,
            seed=0,
        )
        epochs = [event.epoch for event in fitted.history]
        axes.plot(epochs, [event.train_loss for event in fitted.history], color=AFTER)
        axes.plot(epochs, [event.valid_loss for event in fitted.history], color=BEFORE)
        axes.axhline(0.693, color="black", linewidth=0.6, linestyle=":")
        axes.set(title=title, xlabel="epoch")
    panels[0].set_ylabel("loss")
    panels[1].legend(["training, augmented", "validation", "guessing"], frameon=False, fontsize=8)
    tidy(figure)
    return figure


def noise(n_windows: int, *, seed: int) -> cadda.Windows:
    """Make windows of two classes between which there is no difference."""
    generator = torch.Generator().manual_seed(seed)
    return cadda.Windows(
        torch.randn(n_windows, 1, 200, generator=generator),
        torch.arange(n_windows) % 2,
        subject=[f"person {4 * seed + i // 2 % 4}" for i in range(n_windows)],
        sfreq=100,
        ch_names=["Cz"],
        class_names=["a", "b"],
    )


def tidy(figure: Figure) -> None:
    """Take away what frames a picture and says nothing."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)


if __name__ == "__main__":
    main()
