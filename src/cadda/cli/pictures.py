"""The picture of all operations, for the commands that draw it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["save_operations_picture"]

# At full strength these would leave nothing to see.
MAGNITUDES = {"channel_dropout": 0.5, "channel_shuffle": 0.7, "frequency_shift": 0.6}


def save_operations_picture(path: Path) -> Path:
    """Draw every operation on the built-in signal.

    Parameters
    ----------
    path : Path
        Picture to write; its ending decides the format.

    Returns
    -------
    Path
        The absolute path of the picture.
    """
    import torch

    from cadda.api.pool import operation_pool
    from cadda.data.simulation.example import EXAMPLE_CHANNELS, EXAMPLE_SFREQ, example_window
    from cadda.reporting.figures import plot_operations

    pool = operation_pool(sfreq=EXAMPLE_SFREQ, ch_names=EXAMPLE_CHANNELS)
    figure = plot_operations(pool, torch.from_numpy(example_window()), magnitudes=MAGNITUDES)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return path.resolve()
