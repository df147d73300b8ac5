"""`cadda.probe` on windows whose label maps are known; resuming; wrong arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import cadda
from cadda import ModelError, OperationPool, ProbeResult, TrainingError, Windows
from cadda.operations.base import Draw, Operation
from cadda.operations.label_maps import MappedOperation
from cadda.operations.space import SignFlip
from cadda.operations.time import GaussianNoise, TimeReverse
from cadda.probing.probe import ProbeProgress

QUICK = {"n_folds": 3, "n_epochs": 12, "batch_size": 32, "magnitudes": (0.5, 1.0), "lr": 1e-2}
NAMES = ("first", "second", "third", "noise")


class RollChannels(Operation):
    """Move each channel to the next place."""

    name = "roll_channels"
    has_magnitude = False

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return x.roll(1, dims=1)


class Erase(Operation):
    """Replace windows by noise."""

    name = "erase"
    has_magnitude = False

    def sample(self, x: Tensor, generator: torch.Generator | None) -> Draw:
        return {"noise": torch.randn(x.shape, generator=generator)}

    def apply(self, x: Tensor, magnitude: Tensor, draw: Draw) -> Tensor:
        return draw["noise"].to(x)


POOL = OperationPool([RollChannels(), Erase(), SignFlip(), GaussianNoise()])


def strong_channel(
    seed: int = 0, *, n_classes: int = 3, strength: float = 2.0, n_subjects: int = 9
) -> Windows:
    """Make noise whose class is the strong one of three channels; a fourth class has none."""
    g = torch.Generator().manual_seed(seed)
    n_windows = 16 * n_classes * n_subjects // 2
    y = torch.arange(n_windows) % n_classes
    x = torch.randn(n_windows, 3, 40, generator=g)
    has_one = y < 3
    x[has_one, y[has_one]] *= strength
    subject = [f"s{i // n_classes % n_subjects}" for i in range(n_windows)]
    return Windows(
        x,
        y,
        subject=subject,
        sfreq=100,
        ch_names=["C3", "Cz", "C4"],
        class_names=NAMES[:n_classes],
    )


class Power(nn.Module):
    """Log-variance of each channel, and a linear layer."""

    def __init__(self, n_channels: int, n_times: int, n_classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(n_channels, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        features: Tensor = self.linear(x.var(2).log())
        return features


def probed(windows: Windows, **settings: object) -> ProbeResult:
    return cadda.probe(windows, model=Power, operations=POOL, **QUICK | settings)


@pytest.fixture(scope="module")
def result() -> ProbeResult:
    return probed(strong_channel())


def test_a_permutation_of_three_classes_is_found(result: ProbeResult) -> None:
    (label_map,) = result.label_maps
    assert label_map.operation == "roll_channels"
    assert label_map.magnitude is None
    assert label_map.mapping == {"first": "second", "second": "third", "third": "first"}


def test_verdicts_are_those_that_were_planted(result: ProbeResult) -> None:
    assert {row.verdict for row in result.rows("sign_flip")} == {"keeps"}
    assert {row.verdict for row in result.rows("gaussian_noise")} == {"keeps"}
    assert result.destructive == ("erase",)
    assert [row.description for row in result.rows("roll_channels")] == [
        "becomes second",
        "becomes third",
        "becomes first",
    ]
    assert result.kept_up_to("gaussian_noise", "first") == 1.0
    assert result.kept_up_to("sign_flip", "third") == 1.0
    assert result.kept_up_to("erase", "third") == 0.0


def test_a_map_of_some_classes_names_those_only() -> None:
    result = probed(strong_channel(n_classes=4, strength=3.0), n_epochs=30)
    (label_map,) = result.label_maps
    assert label_map.mapping == {
        "first": "second",
        "second": "third",
        "third": "first",
        "noise": "noise",
    }
    assert "and keeps noise" in result.summary()


def test_a_model_at_chance_proposes_nothing() -> None:
    windows = strong_channel(strength=1.0)
    result = probed(windows)
    assert not result.is_useful
    assert result.label_maps == []
    assert "not distinguishable from chance" in result.summary()


def count_false(n_seeds: int, **settings: object) -> int:
    """Count probes that propose a map where no operation makes one."""
    pool = OperationPool([Erase(), SignFlip(), TimeReverse(), GaussianNoise()])
    found = 0
    for seed in range(n_seeds):
        windows = strong_channel(seed, strength=1.5)
        settings = QUICK | {"seed": seed} | settings
        found += bool(cadda.probe(windows, model=Power, operations=pool, **settings).label_maps)
    return found


def test_no_map_is_found_where_there_is_none() -> None:
    assert count_false(3, n_epochs=6) == 0


@pytest.mark.slow
def test_false_discoveries_over_50_seeds_are_at_most_5_percent() -> None:
    assert count_false(50) <= 0.05 * 50


def test_models_predict_windows_that_they_have_not_seen() -> None:
    windows = strong_channel(n_subjects=3)
    seen = []

    class Recorder(Power):
        def forward(self, x: Tensor) -> Tensor:
            if self.training:
                seen.append(x[:, 0, 0].tolist())
            else:
                before = {value for batch in seen for value in batch}
                assert not before & set(x[:, 0, 0].tolist())
            return super().forward(x)

    class Forgetful:
        """Begins a fold with an empty memory."""

        def __call__(self, n_channels: int, n_times: int, n_classes: int) -> nn.Module:
            seen.clear()
            return Recorder(n_channels, n_times, n_classes)

    pool = OperationPool([SignFlip()])
    result = cadda.probe(windows, model=Forgetful(), operations=pool, **QUICK)
    assert seen
    assert result.n_subjects == 3
    for matrix in result.matrices:
        np.testing.assert_allclose(np.sum(matrix.share, axis=1), 1)


def test_same_seed_same_bytes_and_another_seed_another_result(
    result: ProbeResult, tmp_path: Path
) -> None:
    result.save(tmp_path / "first.json")
    probed(strong_channel()).save(tmp_path / "again.json")
    probed(strong_channel(), seed=1).save(tmp_path / "other.json")
    first, again, other = (
        (tmp_path / f"{name}.json").read_bytes() for name in ("first", "again", "other")
    )
    assert first == again
    assert first != other


def test_a_saved_result_is_the_same(result: ProbeResult, tmp_path: Path) -> None:
    path = tmp_path / "probe.json"
    result.save(path)
    loaded = ProbeResult.load(path)
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    assert loaded.label_maps == result.label_maps
    assert loaded.sentences == result.sentences


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no JSON", "cannot be read"),
        ("{}", "is not the result of a probe"),
        ('{"format": "cadda-probe", "version": 7}', "is of version 7"),
        ('{"format": "cadda-probe", "version": 1}', "is damaged: `class_names` is missing"),
    ],
)
def test_other_files_are_no_result(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "probe.json"
    path.write_text(text)
    with pytest.raises(cadda.DataError, match=message):
        ProbeResult.load(path)


class KilledError(Exception):
    """Stands for a process that is killed."""


def test_an_interrupted_probe_is_resumed_to_the_same_bytes(
    result: ProbeResult, tmp_path: Path
) -> None:
    def interrupt(event: ProbeProgress) -> None:
        if event.fold == 3 and event.epoch == 2:
            raise KilledError

    path = tmp_path / "checkpoint.pt"
    with pytest.raises(KilledError):
        probed(strong_channel(), checkpoint=path, on_event=interrupt)
    events: list[ProbeProgress] = []
    resumed = probed(strong_channel(), checkpoint=path, on_event=events.append)
    assert [event.fold for event in events] == [3] * QUICK["n_epochs"]
    for name, one in (("whole", result), ("resumed", resumed)):
        one.save(tmp_path / name)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()


def test_a_checkpoint_of_other_settings_is_not_resumed(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    probed(strong_channel(), checkpoint=path)
    with pytest.raises(TrainingError, match=r"`lr` was 0\.01, and is 0\.1 now"):
        probed(strong_channel(), checkpoint=path, lr=0.1)
    with pytest.raises(TrainingError, match="the windows are not the same"):
        probed(strong_channel(1), checkpoint=path)


def test_mapped_operations_of_a_pool_are_not_probed() -> None:
    swap = MappedOperation(RollChannels(), {"first": "second", "second": "first"})
    pool = OperationPool([RollChannels(), swap], class_names=NAMES[:3])
    result = cadda.probe(strong_channel(), model=Power, operations=pool, **QUICK)
    assert result.operations == ("roll_channels",)


def test_the_table_has_a_row_for_each_operation_magnitude_and_class(result: ProbeResult) -> None:
    frame = result.to_frame()
    assert len(frame) == (3 + 2) * 3
    row = frame[(frame.operation == "roll_channels") & (frame.class_name == "first")].iloc[0]
    assert row.verdict == "becomes second"
    assert row.kept_low <= row.kept <= row.kept_high
    assert row.other_low <= row.other_share <= row.other_high


def test_the_picture_has_a_panel_for_each_matrix(result: ProbeResult) -> None:
    titles = [axes.get_title() for axes in result.plot().axes if axes.get_title()]
    assert titles == [
        "no operation",
        "roll channels",
        "erase",
        "sign flip",
        "gaussian noise 0.5",
        "gaussian noise 1",
    ]


# Wrong arguments


def test_one_subject_is_not_enough(tmp_path: Path) -> None:
    windows = strong_channel(n_subjects=1)
    with pytest.raises(ValueError, match=r"at least two subjects.*got only 's0'"):
        probed(windows, checkpoint=tmp_path / "checkpoint.pt")
    assert not any(tmp_path.iterdir())


def test_a_class_of_one_subject_cannot_be_probed(tmp_path: Path) -> None:
    windows = strong_channel()
    kept = windows[(windows.y.numpy() != 2) | (windows.subject == "s4")]
    with pytest.raises(ValueError, match=r"class 'third' is missing .*only 's4' has it"):
        probed(kept, checkpoint=tmp_path / "checkpoint.pt")
    with pytest.raises(ValueError, match="got none of 'third'"):
        probed(windows[windows.y.numpy() != 2])
    assert not any(tmp_path.iterdir())


class Broken(Power):
    """Returns NaN once it is trained."""

    def forward(self, x: Tensor) -> Tensor:
        logits = super().forward(x)
        return logits if self.training else logits * torch.nan


class Diverging(Power):
    """Returns NaN in training."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * torch.nan


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (Broken, ModelError, "returned NaN or infinity for windows"),
        (Diverging, TrainingError, "the loss became nan"),
    ],
)
def test_a_model_that_returns_nan_is_refused(
    model: type[Power], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        cadda.probe(
            strong_channel(),
            model=model,
            operations=POOL,
            checkpoint=tmp_path / "checkpoint.pt",
            **QUICK,
        )
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"n_folds": 1}, ValueError, "`n_folds` must be at least 2"),
        ({"magnitudes": (0.0,)}, ValueError, "must be above 0"),
        ({"patience": 3}, TypeError, "`patience` is not a setting"),
    ],
)
def test_wrong_settings_are_one_sentence(
    settings: dict[str, object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        probed(strong_channel(), **settings)


def test_windows_must_be_windows() -> None:
    array: Any = np.zeros((3, 2, 10))
    with pytest.raises(TypeError, match=r"`windows` must be cadda\.Windows, got ndarray"):
        cadda.probe(array)
