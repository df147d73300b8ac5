"""Draw the pictures of the documentation into docs/images."""

from io import BytesIO
from pathlib import Path

import torch
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor

from cadda.api.prepare import operation_pool
from cadda.api.screen import screen
from cadda.cli.display import MAGNITUDES, save_operations_picture
from cadda.data.simulation.example import EXAMPLE_CHANNELS, EXAMPLE_SFREQ, example_window
from cadda.operations import image_pool
from cadda.reporting.figures import plot_operation
from cadda.reporting.figures.screening import plot_screening
from cadda.testing.planted import planted_network, planted_windows

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
    draw_screening()


def draw_eeg_operations() -> None:
    """Draw each EEG operation, signal and spectrum before and after."""
    pool = operation_pool(sfreq=EXAMPLE_SFREQ, ch_names=EXAMPLE_CHANNELS)
    for operation in pool:
        window = torch.from_numpy(example_window(seconds=SECONDS.get(operation.name, 10)))
        figure = plot_operation(
            operation,
            window,
            sfreq=EXAMPLE_SFREQ,
            ch_names=EXAMPLE_CHANNELS,
            magnitude=MAGNITUDES.get(operation.name, 1.0),
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
    """Draw all EEG operations on one sheet, the one that `cadda demo` draws."""
    path = save_operations_picture(IMAGES / "operations.png")
    with Image.open(path) as picture:
        save_small(picture, path)


def draw_screening() -> None:
    """Screen windows in which decays need sign_flip, and sweeps time_reverse."""
    found = screen(
        planted_windows(120, varied=False, seed=0),
        planted_windows(240, varied=True, seed=1000),
        model=planted_network,
        operations=["sign_flip", "time_reverse", "gaussian_noise", "time_mask", "bandstop"],
        lr=3e-3,
    )
    save(plot_screening(found.table), IMAGES / "screening.png")


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
