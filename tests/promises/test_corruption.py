"""One flipped bit in a file is noticed, or changes nothing; so are numbers that are none."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import run
from tiny_commands import Command, tiny_windows
from torch import nn

from cadda import CaddaError, Windows, evaluate, read_windows
from cadda.models.registry import make_model
from cadda.models.serialization import ModelDescription, load_model, save_model
from cadda.reporting.records import Predictions
from cadda.training.checkpoint import load_checkpoint, save_checkpoint

DESCRIPTION = ModelDescription("shallow", 2, 100, 100.0, ("C3", "C4"), ("soft", "loud"))


def flipped(path: Path, n_bits: int = 400) -> Iterator[int]:
    """Flip bits of a file, one at a time: those of its beginning and end, and others."""
    whole = path.read_bytes()
    n_all = 8 * len(whole)
    chance = random.Random(0)
    bits = {*range(min(400, n_all)), *range(max(0, n_all - 400), n_all)}
    for bit in sorted(bits | {chance.randrange(n_all) for _ in range(n_bits)}):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        yield bit
    path.write_bytes(whole)


def shallow(seed: int = 0) -> nn.Module:
    return make_model("shallow", n_channels=2, n_times=100, n_classes=2, sfreq=100.0, seed=seed)


def check_flips(
    path: Path, read: Callable[[], object], errors: tuple[type[Exception], ...]
) -> None:
    """Read the file with each flipped bit: it is refused, or its content is the same."""
    whole, n_refused = read(), 0
    for bit in flipped(path):
        try:
            content = read()
        except errors:
            n_refused += 1
            continue
        assert content == whole, bit
    assert n_refused > 500


def test_model(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_model(shallow(), DESCRIPTION, path)

    def read() -> object:
        model, description = load_model(path)
        return description, [value.tolist() for value in model.state_dict().values()]

    check_flips(path, read, (CaddaError,))


def test_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    state = {"weights": torch.arange(1000.0), "epoch": 3, "name": "adda"}
    save_checkpoint(path, state, {"seed": 1})

    def read() -> object:
        saved = load_checkpoint(path, {"seed": 1})
        return saved["weights"].tolist(), saved["epoch"], saved["name"]

    check_flips(path, read, (CaddaError,))


def test_predictions(tmp_path: Path) -> None:
    path = tmp_path / "predictions.npz"
    labels = np.arange(100) % 2
    names = np.array(["a", "b"] * 50)
    Predictions(names, names, labels, labels, labels, labels[::-1].copy()).save(path)

    def read() -> object:
        return {
            name: np.asarray(value).tolist()
            for name, value in vars(Predictions.load(path)).items()
        }

    check_flips(path, read, (CaddaError, OSError))


def test_windows(tmp_path: Path) -> None:
    path = tmp_path / "windows.npz"
    windows = tiny_windows()
    windows.positions = np.arange(6.0).reshape(2, 3)
    windows.recording = np.arange(64).astype(str)
    windows.save(path)

    def read() -> object:
        arrays = vars(read_windows(path)).items()
        return {name: np.asarray(value).tolist() for name, value in arrays}

    check_flips(path, read, (CaddaError, ValueError, TypeError))


def test_refused_by_name(data: Path, root: Path) -> None:
    command = Command("train", data, root)
    command.start()
    for name, arguments in {
        "model.safetensors": ["evaluate", command.out, data, "--different-subjects"],
        "checkpoint.pt": command.arguments,
    }.items():
        path = command.out / name
        whole = bytearray(path.read_bytes())
        whole[len(whole) // 2] ^= 1
        path.write_bytes(whole)
        assert str(path) in run(*arguments, code=2).stderr


class Broken(nn.Module):
    """Returns NaN for one window of a hundred."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = x[:, :, 0].clone()
        logits[::100] = torch.nan
        return logits


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none(value: float, tmp_path: Path) -> None:
    windows = tiny_windows()
    x = windows.x.numpy().copy()
    x[3, 1, 5] = value
    with pytest.raises(ValueError, match="1 of 64 windows have NaN or infinite values"):
        Windows(
            x,
            windows.y,
            subject=windows.subject,
            sfreq=100,
            ch_names=["C3", "C4"],
            class_names=["a", "b"],
        )
    model = shallow()
    with torch.no_grad():
        next(model.parameters()).view(-1)[0] = value
    save_model(model, DESCRIPTION, tmp_path / "model.safetensors")
    with pytest.raises(
        CaddaError, match=r"model.safetensors has weights that are NaN or infinite"
    ):
        load_model(tmp_path / "model.safetensors")
    with pytest.raises(CaddaError, match="NaN or infinity for windows, 64 of 64"):
        evaluate(model, windows)
    with pytest.raises(CaddaError, match="NaN or infinity for windows, 1 of 64"):
        evaluate(Broken(), windows)
    windows.x[0] = value
    with pytest.raises(CaddaError, match="NaN or infinity for windows, 1 of 64"):
        evaluate(shallow(), windows)
