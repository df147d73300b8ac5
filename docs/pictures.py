"""Draw the pictures of the documentation into docs/images."""

from io import BytesIO
from pathlib import Path

import torch
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor

from cadda.api.prepare import operation_pool
from cadda.cli.display import MAGNITUDES, N_EXAMPLES, save_operations_picture
from cadda.data.simulation.example import EXAMPLE_CHANNELS, EXAMPLE_SFREQ, example_window
from cadda.drawing.panels import remove_frame
from cadda.operations import image_pool
from cadda.policies import Policy, PolicySpec
from cadda.reporting.figures import plot_operation
from cadda.reporting.figures.signals import AFTER, BEFORE

IMAGES = Path(__file__).parent / "images"
N_COLOURS = 64

# What rotations change is too small to be seen in ten seconds.
SECONDS = {"rotation_x": 4, "rotation_y": 4, "rotation_z": 4}

GLYPH = """
..........
..######..
..######..
..##......
..####....
..####....
..##......
..##......
..##......
..........
"""


def main() -> None:
    """Draw every picture."""
    draw_eeg_operations()
    draw_image_operations()
    draw_contact_sheet()
    draw_label_map()


def draw_eeg_operations() -> None:
    """Draw each EEG operation, signal and spectrum before and after."""
    pool = operation_pool(sfreq=EXAMPLE_SFREQ, ch_names=EXAMPLE_CHANNELS, operations=["all"])
    for operation in pool:
        seconds = SECONDS.get(operation.name, 10)
        window, *others = (
            torch.from_numpy(example_window(seconds=seconds, seed=seed))
            for seed in range(N_EXAMPLES)
        )
        figure = plot_operation(
            operation,
            window,
            sfreq=EXAMPLE_SFREQ,
            ch_names=EXAMPLE_CHANNELS,
            magnitude=MAGNITUDES.get(operation.name, 1.0),
            others=torch.stack(others),
        )
        save(figure, IMAGES / "operations" / f"{operation.name}.png")


def draw_image_operations() -> None:
    """Draw the image operations on a letter that none of them leaves as it is."""
    letter = make_letter()
    pictures = {"before": letter} | {
        operation.name: operation(letter[None])[0] for operation in image_pool()
    }
    figure = Figure(figsize=(9, 2.1), layout="constrained")
    for axes, (name, picture) in zip(figure.subplots(1, 5), pictures.items(), strict=True):
        axes.imshow(picture, cmap="Greys")
        axes.set_title(name, fontsize=10)
        axes.set(xticks=[], yticks=[])
    save(figure, IMAGES / "image_operations.png")


def make_letter() -> Tensor:
    """Return the letter F as a square image."""
    return torch.tensor([[float(dot == "#") for dot in row] for row in GLYPH.split()])


def draw_contact_sheet() -> None:
    """Draw all EEG operations on one sheet, as `cadda operations --picture` does."""
    path = save_operations_picture(IMAGES / "operations.png")
    with Image.open(path) as picture:
        save_small(picture, path)


def draw_label_map() -> None:
    """Draw windows of imagined fists before and after they are mirrored with their labels.

    The rhythm of the hand area is weaker on the side opposite to the fist.
    """
    names = ("left_fist", "right_fist")
    pool = operation_pool(sfreq=100, ch_names=["C3", "C4"], class_names=names)
    spec = PolicySpec.from_text(
        "channel_symmetry p=1 -> {left_fist: right_fist, right_fist: left_fist}"
    )
    time = torch.arange(200) / 100
    generator = torch.Generator().manual_seed(0)
    strength = torch.tensor([[1.0, 0.2], [0.2, 1.0]])[..., None]
    x = strength * torch.sin(2 * torch.pi * 11 * time)
    x = x + 0.2 * torch.randn(x.shape, generator=generator)
    y = torch.arange(2)
    after, labels = Policy(spec, pool)(x, y)
    figure = Figure(figsize=(9, 2.6), layout="constrained")
    panels = figure.subplots(1, 4, sharey=True)
    shown = [(x[0], y[0]), (after[0], labels[0]), (x[1], y[1]), (after[1], labels[1])]
    for axes, (window, label), place in zip(panels, shown, ["before", "after"] * 2, strict=True):
        colour = BEFORE if place == "before" else AFTER
        axes.plot(time, window.T + torch.tensor([0.0, -3.0]), color=colour, linewidth=0.8)
        axes.set_title(f"{place}: {names[int(label)]}", fontsize=10)
        axes.set_xlabel("time (s)")
        axes.set_yticks([0, -3], ["C3", "C4"])
        remove_frame(axes)
    save(figure, IMAGES / "label_map.png")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as a small PNG."""
    buffer = BytesIO()
    figure.savefig(buffer, dpi=80)
    path.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(buffer) as picture:
        save_small(picture, path)


def save_small(picture: Image.Image, path: Path) -> None:
    """Write a picture with few colours, which is a third of the size."""
    few = picture.convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


if __name__ == "__main__":
    main()
