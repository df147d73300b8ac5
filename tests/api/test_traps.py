"""What users do that must not change a result without a word."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from commands import run
from torch import Tensor, nn

import cadda
from cadda.exceptions import ModelError, RunError, TrainingError

WINDOWS = cadda.simulate_motor_imagery(n_subjects=6, n_windows=8, seed=0)
OTHERS = cadda.simulate_motor_imagery(n_subjects=6, n_windows=8, seed=1)
TRAIN, VALID, TEST = WINDOWS.split(valid=0.2, seed=0)


def fit(**changes: Any) -> cadda.Fitted:
    given: dict[str, Any] = {"model": "shallow", "max_epochs": 2, "seed": 0, "progress": False}
    return cadda.fit(TRAIN, VALID, **given | changes)


def digest(model: nn.Module) -> str:
    weights = torch.cat([value.flatten().double() for value in model.state_dict().values()])
    return hashlib.sha256(weights.numpy().tobytes()).hexdigest()


class Scaled(nn.Module):
    """A model whose output depends on an attribute that is no weight."""

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.dense = nn.Linear(8 * 400, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.dense(x.flatten(1)) * self.scale


def test_threads_do_not_share_random_numbers() -> None:
    alone, before = digest(fit().model), torch.get_rng_state()
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: digest(fit().model), range(6)))
    assert found == [alone] * 6
    assert torch.equal(torch.get_rng_state(), before)


def test_a_model_that_works_in_place_changes_no_windows() -> None:
    model = nn.Sequential(nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(8 * 400, 2))
    parts = (TRAIN, VALID, TEST)
    before = [part.x.clone() for part in parts]
    fitted = fit(model=model)
    cadda.evaluate(fitted, TEST)
    assert all(torch.equal(part.x, x) for part, x in zip(parts, before, strict=True))


def test_a_checkpoint_is_of_one_model_and_optimizer(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.pt"
    fit(model=Scaled(), checkpoint=file)
    with pytest.raises(TrainingError, match="the model is not the same"):
        fit(model=Scaled(0.1), checkpoint=file)

    def sgd(lr: float) -> Any:
        return lambda parameters: torch.optim.SGD(parameters, lr=lr)

    other = tmp_path / "other.pt"
    fit(optimizer=sgd(1e-3), checkpoint=other)
    with pytest.raises(TrainingError, match="optimizer settings"):
        fit(optimizer=sgd(1e-1), checkpoint=other)


def test_trials_in_a_database_belong_to_one_search(tmp_path: Path) -> None:
    def search(windows: cadda.Windows, **changes: Any) -> cadda.PolicySpec:
        given: dict[str, Any] = {
            "method": "random",
            "model": "shallow",
            "budget": 2,
            "training": cadda.TrainingSettings(max_epochs=1),
            "storage": f"sqlite:///{tmp_path}/trials.db",
            "progress": False,
            "retrain": False,
            "baseline": False,
            "engine": "serial",
        }
        train, valid, _ = windows.split(valid=0.2, seed=0)
        return cadda.search(train, valid, **given | changes).policy

    made = search(WINDOWS)
    assert search(WINDOWS, resume=True) == made
    with pytest.raises(RunError, match="trials of another `data`"):
        search(OTHERS, resume=True)
    with pytest.raises(RunError, match="trials of another `model`"):
        search(WINDOWS, resume=True, model=Scaled())
    with pytest.raises(RunError, match="trials of another `training`"):
        search(WINDOWS, resume=True, training=cadda.TrainingSettings(max_epochs=1, lr=0.1))
    with pytest.raises(RunError, match="trials of another `seed`"):
        search(WINDOWS, resume=True, seed=1)


def test_shared_weights_and_masks_are_saved(tmp_path: Path) -> None:
    class Tied(Scaled):
        def __init__(self) -> None:
            super().__init__()
            self.same = self.dense
            self.register_buffer("mask", torch.tensor([float("-inf"), 0.0]))

    fitted = fit(model=Tied())
    fitted.save(tmp_path / "model.safetensors")
    loaded, _ = cadda.load_model(tmp_path / "model.safetensors", model=Tied())
    assert torch.equal(loaded.dense.weight, fitted.model.dense.weight)
    fitted.model.mask.fill_(float("nan"))
    fitted.save(tmp_path / "nan.safetensors")
    with pytest.raises(ModelError, match="NaN or infinite, in mask"):
        cadda.load_model(tmp_path / "nan.safetensors", model=Tied())


def test_masked_values_are_refused() -> None:
    x = np.ma.masked_greater(WINDOWS.x.numpy(), 1)
    subject = list(WINDOWS.subject)
    with pytest.raises(ValueError, match="`x` must not be masked"):
        cadda.Windows(x, WINDOWS.y.numpy(), subject=subject)
    y = np.ma.masked_equal(WINDOWS.y.numpy(), 1)
    with pytest.raises(ValueError, match="`y` must not be masked"):
        cadda.Windows(WINDOWS.x, y, subject=subject)


def test_a_policy_that_was_found_can_be_exported(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    cadda.search(
        TRAIN,
        VALID,
        method="trivial",
        model="shallow",
        retrain=False,
        baseline=False,
        run_dir=run_dir,
        progress=False,
    )
    spec = cadda.PolicySpec.load(run_dir / "policy.json")
    assert (spec.sfreq, spec.ch_names) == (WINDOWS.sfreq, WINDOWS.ch_names)
    code = run("policy", "export", run_dir / "policy.json", "--format", "torch").stdout
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    x, y = names["augment"](TRAIN.x[:4], TRAIN.y[:4])
    assert x.shape == TRAIN.x[:4].shape
    assert torch.equal(y, TRAIN.y[:4])


def test_a_model_is_evaluated_on_windows_that_were_read_alike(tmp_path: Path) -> None:
    file, out = tmp_path / "windows-epo.fif", tmp_path / "run"
    WINDOWS.to_epochs().save(file, verbose="error")
    run("train", file, "--out", out, "--max-epochs", 1, "--highpass", 4)
    given = ("evaluate", out, file, "--skip-seen")
    like_run = run(*given).stderr
    assert f"note: reading as for {out}: --highpass 4 --lowpass none\n" in like_run
    assert "The model was trained on" not in like_run
    said = run(*given, "--highpass", "auto").stderr
    assert f"note: reading as for {out}: --lowpass none\n" in said
    assert "on windows read with highpass=4, but these were read with highpass=None." in said


def test_options_of_a_run_hold_for_arrays_only_where_they_apply(tmp_path: Path) -> None:
    file, out = tmp_path / "windows-epo.fif", tmp_path / "run"
    WINDOWS.to_epochs().save(file, verbose="error")
    WINDOWS.save(tmp_path / "windows.npz")
    classes = ",".join(reversed(WINDOWS.class_names))
    run("train", file, "--out", out, "--max-epochs", 1, "--highpass", 4, "--classes", classes)
    said = run("evaluate", out, tmp_path / "windows.npz", "--skip-seen").stderr
    assert f"--classes {classes}" in said
    assert "--highpass" not in said


def test_classes_in_another_order_are_matched_by_name() -> None:
    fitted = cadda.fit(TRAIN, VALID, model="shallow", max_epochs=1)
    order = list(reversed(WINDOWS.class_names))
    reordered = cadda.read_windows(VALID, classes=order)
    assert not torch.equal(reordered.y, VALID.y)
    with pytest.warns(UserWarning, match="the model was trained or validated with"):
        scores = [cadda.evaluate(fitted, windows).to_dict() for windows in (reordered, VALID)]
    assert scores[0] == scores[1]


def test_a_class_without_training_windows_is_said(caplog: pytest.LogCaptureFixture) -> None:
    cadda.fit(TRAIN, VALID, model="shallow", max_epochs=1)
    assert not caplog.messages
    cadda.fit(TRAIN[TRAIN.y == 0], VALID, model="shallow", max_epochs=1)
    assert caplog.messages[0].startswith(
        f"No training window is of the class {WINDOWS.class_names[1]},"
    )
