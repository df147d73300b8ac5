"""Windows in, trained model out."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cadda import Policy, PolicySchedule, PolicySpec, Segment, operation_pool
from cadda.api.fit import evaluate, fit
from cadda.api.prepare import pick_device
from cadda.api.result import SearchResult
from cadda.api.run import evaluate_run, run_training
from cadda.data.windows import Windows
from cadda.exceptions import (
    CaddaError,
    LeakError,
    ModelError,
    PolicyFileError,
    RunError,
    TrainingError,
)
from cadda.models.serialization import load_model
from cadda.runs.folder import RunFolder
from cadda.training import Fitted, TrainingSettings


def make(n_subjects: int = 6, *, n_windows: int = 12, seed: int = 0, first: int = 0) -> Windows:
    """Make subjects whose two classes differ in frequency."""
    rng = np.random.default_rng(seed)
    n = n_subjects * n_windows
    y = np.arange(n) % 2
    time = np.arange(256) / 100
    phase = rng.uniform(0, 2 * np.pi, (n, 2, 1))
    x = np.sin(2 * np.pi * np.where(y == 0, 6, 12)[:, None, None] * time + phase)
    return Windows(
        x + 0.3 * rng.normal(size=x.shape),
        y,
        subject=np.repeat(np.arange(first, first + n_subjects), n_windows),
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=["theta", "beta"],
    )


SETTINGS = TrainingSettings(max_epochs=3, patience=10, lr=5e-3)
QUICK = {"model": "shallow", "max_epochs": 15, "patience": 10, "batch_size": 16, "lr": 5e-3}
POLICY = PolicySpec.from_text("[theta]\nsign_flip p=0.5\n[beta]\nchannel_symmetry p=0.5")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sign_flip p=2", "`p` of `sign_flip p=2` must be at most 1"),
        ("sgn_flip p=0.5", "did you mean `sign_flip`"),
        ("left-right", "No such file or directory; did you mean zoo:left-right?"),
    ],
)
def test_mistakes_in_policies(text: str, message: str) -> None:
    with pytest.raises(PolicyFileError, match=re.escape(message)):
        fit(make(), make(seed=1, first=6), policy=text, **QUICK)


@pytest.mark.parametrize("policy", [None, POLICY, "file"])
def test_fit_and_evaluate(policy: PolicySpec | str | None, tmp_path: Path) -> None:
    if policy == "file":
        policy = str(tmp_path / "policy.json")
        POLICY.save(policy)
    train, valid, test = make().split(valid=0.2, test=0.2)
    fitted = fit(train, valid, policy=policy, seed=0, **QUICK)
    assert evaluate(fitted.model, test).balanced_accuracy > 0.9
    fitted.save(tmp_path / "model.safetensors")
    again, description = load_model(tmp_path / "model.safetensors")
    assert description.class_names == ("theta", "beta")
    assert torch.equal(again(test.x), fitted.model(test.x))


def other_order(windows: Windows, **fields: Any) -> Windows:
    """Return the same windows with the classes in the other order, and with other fields."""
    own = {
        "subject": windows.subject,
        "sfreq": windows.sfreq,
        "ch_names": windows.ch_names,
        "class_names": windows.class_names[::-1],
    }
    return Windows(windows.x, 1 - windows.y, **(own | fields))


def slow(windows: Windows) -> Windows:
    """Return windows with slow activity, which reading tells of."""
    drift = 5 * torch.sin(2 * torch.pi * 0.4 * torch.arange(256) / 100)
    return Windows(
        windows.x + drift,
        windows.y,
        subject=windows.subject,
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=windows.class_names,
    )


@pytest.mark.parametrize("kind", ["fitted", "module", "loaded"])
def test_windows_are_matched_with_a_model(kind: str, tmp_path: Path) -> None:
    train, valid, test = make().split(valid=0.2, test=0.2)
    fitted = fit(train, valid, seed=0, **QUICK)
    fitted.save(tmp_path / "model.safetensors")
    model = {
        "fitted": fitted,
        "module": fitted.model,
        "loaded": load_model(tmp_path / "model.safetensors")[0],
    }[kind]
    wanted = (fitted.model(test.x).argmax(1) == test.y).float().mean().item()
    assert evaluate(model, other_order(test)).accuracy == pytest.approx(wanted)
    for fields, name in (
        ({"ch_names": ["C4", "C3"]}, "ch_names"),
        ({"sfreq": 200.0}, "sfreq"),
        ({"class_names": ["theta", "gamma"]}, "class_names"),
    ):
        with pytest.raises(ModelError, match=f"the model is for the `{name}`"):
            evaluate(model, other_order(test, **fields))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what was said of the windows when they were read
        evaluate(model, other_order(slow(test)))
    plain = nn.Sequential(nn.Flatten(), nn.LazyLinear(2))
    assert evaluate(plain, other_order(test, sfreq=200.0)).confusion.sum() == len(test)


def filtered(windows: Windows, highpass: float | None) -> Windows:
    windows.filters = {"highpass": highpass, "lowpass": 38.0, "transition": 7.0}
    return windows


def test_filters_are_those_of_the_training(tmp_path: Path) -> None:
    train, valid, test = (filtered(part, 4.0) for part in make().split(valid=0.2, test=0.2))
    with pytest.raises(ValueError, match="the same filters, got highpass=4, "):
        fit(train, filtered(make(first=6), None), **QUICK)
    fitted = fit(train, valid, seed=0, **QUICK)
    fitted.save(tmp_path / "model.safetensors")
    for model in (fitted, load_model(tmp_path / "model.safetensors")[0]):
        evaluate(model, test)
        with pytest.warns(UserWarning, match="but these have highpass=None"):
            evaluate(model, filtered(make(first=6), None))


def test_policy_makes_a_difference() -> None:
    train, valid, _ = make().split()
    plain, augmented = (fit(train, valid, policy=p, **QUICK).history for p in (None, POLICY))
    assert plain[0].train_loss != augmented[0].train_loss


@pytest.mark.parametrize("copies", [None, 2])
def test_no_augmentation_is_training_without_a_policy(copies: int | None, tmp_path: Path) -> None:
    """The same bytes, whatever the form of the policy; each may resume the other."""
    train, valid, _ = make().split()
    quick = QUICK | {"max_epochs": 3, "copies": copies}
    classwise = PolicySpec.from_text("[theta]\nnone\n[beta]\nnone")
    file = tmp_path / "none.txt"
    file.write_text("none\n")
    policies = [PolicySpec.none(), classwise, file, Policy(classwise, operation_pool(train))]
    if copies is None:
        policies.append(PolicySchedule((Segment(2, PolicySpec.none()),)))
    checkpoint = tmp_path / "checkpoint.pt"
    plain = fit(train, valid, checkpoint=checkpoint, **quick)
    for policy in policies:
        fitted = fit(train, valid, policy=policy, **quick)
        assert [e.train_loss for e in fitted.history] == [e.train_loss for e in plain.history]
        for name, value in fitted.model.state_dict().items():
            assert torch.equal(value, plain.model.state_dict()[name])
    resumed = fit(train, valid, policy=PolicySpec.none(), checkpoint=checkpoint, **quick)
    assert resumed.history == plain.history


def test_no_augmentation_needs_no_unit() -> None:
    """Operations are meant for standardised windows; nothing is applied here."""
    train, valid, _ = make().split()
    for part in (train, valid):
        part.x.mul_(1e-5)
    fit(train, valid, policy=PolicySpec.none(), **(QUICK | {"max_epochs": 1}))


def test_a_trained_model_is_shown_in_a_line() -> None:
    train, valid, _ = make().split()
    fitted = fit(train, valid, **(QUICK | {"max_epochs": 1}))
    summary = (
        f"Fitted: {type(fitted.model).__name__}, trained for 1 epoch; weights of epoch 1: "
        f"validation loss {fitted.best.valid_loss:.3f}, balanced accuracy "
        f"{fitted.best.valid_balanced_accuracy:.3f}"
    )
    assert repr(replace(fitted, warnings=())) == summary
    warned = replace(fitted, warnings=("the model predicts one class only",))
    assert repr(warned) == f"{summary}; the model predicts one class only"
    assert "the model predicts one class only." in warned._repr_html_()


def test_the_users_module_is_not_touched() -> None:
    own = nn.Sequential(nn.Flatten(), nn.Linear(512, 2))
    before = own[1].weight.detach().clone()
    train, valid, _ = make().split()
    fitted = fit(train, valid, **(QUICK | {"model": own}))
    assert torch.equal(own[1].weight, before)
    assert not torch.equal(fitted.model[1].weight, before)
    assert fitted.description.model == "custom"


def test_leak() -> None:
    windows = make()
    with pytest.raises(LeakError, match="subject '0' is in both `train` and `valid`"):
        fit(windows, windows, **QUICK)


def test_policy_for_other_classes() -> None:
    train, valid, _ = make().split()
    spec = PolicySpec.from_text("[W]\nsign_flip p=0.5\n[N1]\nsign_flip p=0.5")
    with pytest.raises(ValueError, match=r"for the classes of the windows, \['theta', 'beta'\]"):
        fit(train, valid, policy=spec, **QUICK)


def weights(fitted: Fitted) -> Tensor:
    return torch.cat([value.flatten() for value in fitted.model.state_dict().values()])


def test_classes_are_matched_by_name() -> None:
    """A policy with its classes in another order trains the same model, however it is given."""
    train, valid, _ = make().split()
    text = "[theta]\nsign_flip p=0.7\n[beta]\ntime_reverse p=0.2"
    swapped = "\n".join([*text.splitlines()[2:], *text.splitlines()[:2]])
    expected = weights(fit(train, valid, policy=PolicySpec.from_text(text), **QUICK))
    other = PolicySpec.from_text(swapped)
    assert other.class_names == ("beta", "theta")
    with pytest.warns(UserWarning, match="in the order of the policy"):
        unaware = Policy(other, operation_pool(sfreq=train.sfreq, ch_names=train.ch_names))
    schedule = PolicySchedule((Segment(1, other),))
    for policy in (other, schedule, Policy(other, operation_pool(train)), unaware):
        assert torch.equal(weights(fit(train, valid, policy=policy, **QUICK)), expected)
    # A mistake in the order would be seen.
    wrong = PolicySpec.from_text("[theta]\ntime_reverse p=0.2\n[beta]\nsign_flip p=0.7")
    assert not torch.equal(weights(fit(train, valid, policy=wrong, **QUICK)), expected)


MAPPED = "sign_flip p=0.5 -> {theta: beta, beta: theta}"


def test_label_maps_in_another_order() -> None:
    """Labels are numbers: in another order, they would silently be others."""
    train, valid, _ = make().split()
    spec = PolicySpec.from_text(MAPPED)
    pool = operation_pool(train).for_classes(("beta", "theta"))
    saved = spec.model_copy(update={"class_names": ("beta", "theta")})
    expected = weights(fit(train, valid, policy=spec, **QUICK))
    for policy in (Policy(spec, pool), saved):
        assert torch.equal(weights(fit(train, valid, policy=policy, **QUICK)), expected)
    assert torch.equal(weights(fit(train, valid, policy=spec, pool=pool, **QUICK)), expected)


def test_label_maps_of_other_classes() -> None:
    train, valid, _ = make().split()
    spec = PolicySpec.from_text("sign_flip p=0.5 -> {thata: beta, beta: thata}")
    with pytest.raises(ValueError, match=r"got 'thata' \(did you mean `theta`\?\)"):
        fit(train, valid, policy=spec, **QUICK)


def test_a_policy_for_all_classes_without_label_maps_is_for_any() -> None:
    train, valid, _ = make().split()
    spec = PolicySpec.from_text("sign_flip p=0.5").model_copy(update={"class_names": ("a", "b")})
    fit(train, valid, policy=spec, **QUICK | {"max_epochs": 1})


def test_windows_in_volts_warn() -> None:
    train, valid, _ = make().split()
    train.x = train.x * 1e-6
    with pytest.warns(UserWarning, match=r"use windows.standardised\(\)"):
        fit(train, valid, policy=PolicySpec.from_text("sign_flip p=1"), **QUICK)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"lr": -1.0}, "`lr` must be above 0, got -1"),
        ({"max_epochs": 0}, "`max_epochs` must be at least 1, got 0"),
        ({"monitor": "acc"}, "`monitor` must be 'loss' or 'balanced_accuracy', got 'acc'"),
        ({"copies": -1}, "`copies` must be at least 0, got -1"),
    ],
)
def test_wrong_settings(changes: dict, match: str) -> None:
    train, valid, _ = make().split()
    with pytest.raises(ValueError, match=match):
        fit(train, valid, **(QUICK | changes))


@pytest.mark.parametrize("policy", [3, ["sign_flip"], PolicySpec])
def test_what_is_no_policy(policy: Any) -> None:
    with pytest.raises(TypeError, match=r"`policy` must be .*, got \w+\.$"):
        fit(make(), make(first=100), policy=policy, **QUICK)


def test_result_of_a_search_as_policy() -> None:
    result = SearchResult(POLICY, (), None, [], 0.0, None, None)
    with pytest.raises(TypeError, match=r"got SearchResult; pass its `policy`\.$"):
        fit(make(), make(first=100), policy=result, **QUICK)


def test_repr_of_a_search_is_short() -> None:
    result = SearchResult(POLICY, (), None, [], 12.3, None, None)
    shown = repr(result)
    assert shown.endswith(f"searched for 12 s; operations: {', '.join(POLICY.operations_used)})")
    assert "\n" not in shown


def test_policy_file_with_an_operation_of_ones_own(tmp_path: Path) -> None:
    PolicySpec.from_text("my_gain p=1", known=None).save(tmp_path / "found.json")
    with pytest.raises(
        PolicyFileError,
        match=r"`my_gain`; pass operations of your own in the `pool` of `cadda.fit`",
    ):
        fit(make(), make(first=100), policy=tmp_path / "found.json", **QUICK)


def test_evaluate_takes_no_file() -> None:
    with pytest.raises(TypeError, match=r"got str; .*`cadda\.load_model`"):
        evaluate("model.safetensors", make())


def test_arrays_instead_of_windows() -> None:
    with pytest.raises(TypeError, match=r"`train` must be cadda.Windows, got ndarray"):
        fit(np.zeros((2, 2, 300)), np.zeros(2), **QUICK)


def test_evaluate_takes_what_fit_gives() -> None:
    train, valid, test = make().split()
    fitted = fit(train, valid, **(QUICK | {"max_epochs": 1}))
    assert evaluate(fitted, test).accuracy == evaluate(fitted.model, test).accuracy


def test_evaluate_refuses_windows_of_another_kind() -> None:
    train, valid, test = make().split()
    fitted = fit(train, valid, **(QUICK | {"max_epochs": 1}))
    test.sfreq = 128.0
    with pytest.raises(ModelError, match=r"is for the `sfreq` 100.0, but the data have 128.0"):
        evaluate(fitted, test)


def test_training_and_validation_of_different_kinds() -> None:
    other = make(2, first=10)
    other.sfreq = 128.0
    with pytest.raises(ValueError, match=r"must have the same `sfreq`, got 100.0 and 128.0"):
        fit(make(), other, **QUICK)


def test_device() -> None:
    assert pick_device("cpu").type == "cpu"
    assert pick_device("auto").type in ("cpu", "cuda", "mps")
    with pytest.raises(ValueError, match="`device` must be 'auto', 'cpu', 'cuda' or 'mps'"):
        pick_device("gpu")


def run(folder: Path, **changes: object):
    arguments = {
        "data": "somewhere",
        "policy": POLICY,
        "model": "shallow",
        "settings": SETTINGS,
        "device": "cpu",
    }
    return run_training(make(), folder, **(arguments | changes))


def test_run_folder_holds_everything_and_goes_on(tmp_path: Path) -> None:
    outcome = run(tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    for file in (folder.config, folder.model, folder.policy, folder.events, folder.scores):
        assert file.exists()
    assert len(folder.events.read_text().splitlines()) == 4
    again = run(tmp_path / "run")
    assert again.scores.scores.to_dict() == outcome.scores.scores.to_dict()
    with pytest.raises(RunError, match=r"another `seed`: 0, now 1"):
        run(tmp_path / "run", settings=replace(SETTINGS, seed=1))


def test_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(RunError, match="contains other files"):
        run(tmp_path)
    with pytest.raises(CaddaError, match=r"cannot create folder .*thesis\.tex is a file"):
        run(tmp_path / "thesis.tex")


def test_evaluate_refuses_who_was_seen(tmp_path: Path) -> None:
    run(tmp_path / "run")
    with pytest.raises(
        LeakError, match="5 subjects have the names of subjects that were used to train this"
    ):
        evaluate_run(tmp_path / "run", make(), skip_seen=False)
    scores, n_subjects = evaluate_run(tmp_path / "run", make(), skip_seen=True)
    assert n_subjects == 1
    _, n_others = evaluate_run(tmp_path / "run", make(3, first=50), skip_seen=False)
    assert n_others == 3
    assert scores.confusion.sum() == 12
    other = make(3, first=50)
    other.ch_names = ("O1", "O2")
    with pytest.raises(ModelError, match=r"the model is for the `ch_names` \('C3', 'C4'\), but"):
        evaluate_run(tmp_path / "run", other, skip_seen=False)
    with pytest.raises(RunError, match="is not the folder of a training run"):
        evaluate_run(tmp_path, make(), skip_seen=False)


def test_checkpoint_of_other_windows_or_policy_is_not_resumed(tmp_path: Path) -> None:
    train, valid, _ = make().split()
    file = tmp_path / "checkpoint.pt"
    options = QUICK | {"max_epochs": 1, "checkpoint": file}
    fit(train, valid, **options)
    with pytest.raises(TrainingError, match="the windows are not the same"):
        fit(train[::-1], valid, **options)
    with pytest.raises(TrainingError, match="the policy is not the same"):
        fit(train, valid, policy=PolicySpec.from_text("sign_flip p=1"), **options)


def with_other(windows: Windows, **changes: Any) -> Windows:
    names = ("subject", "sfreq", "ch_names", "class_names")
    same = {name: getattr(windows, name) for name in names}
    return Windows(windows.x, windows.y, **same | changes)


@pytest.mark.parametrize("name", ["sfreq", "ch_names", "pool"])
def test_checkpoint_of_another_montage_is_not_resumed(name: str, tmp_path: Path) -> None:
    """The numbers in the windows are the same, but operations would act otherwise on them."""
    train, valid, _ = make().split(valid=0.2, test=0.2)
    spec = PolicySpec.from_text("frequency_shift p=0.9 m=0.9")
    options = QUICK | {"max_epochs": 1, "checkpoint": tmp_path / "checkpoint.pt", "policy": spec}
    fit(train, valid, **options)
    if name == "pool":
        options["pool"] = operation_pool(sfreq=400.0, ch_names=["C3", "C4"])
    else:
        other = {name: {"sfreq": 200.0, "ch_names": ("F3", "F4")}[name]}
        train, valid = with_other(train, **other), with_other(valid, **other)
    with pytest.raises(TrainingError, match="belongs to another training run"):
        fit(train, valid, **options)


def test_damaged_checkpoint_is_not_resumed(tmp_path: Path) -> None:
    train, valid, _ = make().split(valid=0.2, test=0.2)
    file = tmp_path / "checkpoint.pt"
    options = QUICK | {"max_epochs": 1, "checkpoint": file}
    weights = fit(train, valid, **options).model.state_dict()
    content = bytearray(file.read_bytes())
    stored = next(iter(weights.values())).numpy().tobytes()
    content[content.index(stored) + 1] ^= 1
    file.write_bytes(content)
    with pytest.raises(TrainingError, match="cannot be resumed from"):
        fit(train, valid, **options)


def test_every_segment_of_a_schedule_is_for_the_classes() -> None:
    train, valid, _ = make().split(valid=0.2, test=0.2)
    other = PolicySpec.from_text("[beta]\nsign_flip p=0.5\n[alpha]\ntime_reverse p=0.5")
    schedule = PolicySchedule((Segment(1, other), Segment(1, POLICY)))
    with pytest.raises(ValueError, match="`policy` must be for the classes of the windows"):
        fit(train, valid, policy=schedule, **QUICK)
