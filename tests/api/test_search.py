"""The search from windows to policy, its run folder, and what it refuses."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import cadda
from cadda import SearchResult, Windows, operation_pool
from cadda._internal.jsonlines import JsonLines
from cadda.exceptions import LeakError, ModelError, RunError, TrainingError
from cadda.searchers.events import Retrained, SearchEnd, SearchEpoch, SearchStart, TrialEnd
from cadda.searchers.registry import METHODS
from cadda.searchers.trials.encoding import PolicySpace
from cadda.testing.planted import CLASS_NAMES, planted_windows
from cadda.training import TrainingSettings

OPERATIONS = ("time_reverse", "sign_flip", "time_mask")
SEARCHES = [name for name in METHODS if not METHODS[name].decides_classes]


def small(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(n_channels, 8, 25, stride=4),
        nn.ReLU(),
        nn.AdaptiveMaxPool1d(4),
        nn.Flatten(),
        nn.Linear(32, n_classes),
    )


def run(**changes: Any) -> SearchResult:
    arguments: dict[str, Any] = {
        "train": planted_windows(64, varied=False),
        "valid": planted_windows(64, varied=True),
        "model": small,
        "operations": OPERATIONS,
        "method": "adda",
        "budget": 3,
        "retrain": False,
        "baseline": False,
    } | changes
    if METHODS.get(arguments["method"], METHODS["adda"]).unit == "trial":
        arguments.setdefault("training", TrainingSettings(max_epochs=2))
    else:
        arguments.setdefault("warmup_epochs", 1)
    return cadda.search(arguments.pop("train"), arguments.pop("valid"), **arguments)


def test_verdict_of_a_search_without_a_race() -> None:
    """It says that no gain was measured, and the difference of the retrained models."""
    found = run(method="random", budget=1)
    names = " and ".join(found.policy.operations_used).replace(" and ", ", ", 1)
    unknown = "its gain on new subjects was not measured"
    assert found.verdict == f"random proposes a policy of {names}; {unknown}."
    assert found.verdict in str(found)
    assert found.verdict in found._repr_html_()
    trained = run(method="random", budget=1, retrain=True, baseline=True)
    assert trained.fitted is not None
    assert trained.baseline is not None
    valid = planted_windows(64, varied=True)
    recalls = [
        [(each.model(valid.x).argmax(1) == k)[valid.y == k].float().mean() for k in range(4)]
        for each in (trained.fitted, trained.baseline)
    ]
    ours, plain = np.mean(recalls, axis=1)
    assert trained.verdict == (
        f"random proposes a policy of {names}; {unknown}. On the validation subjects, balanced "
        f"accuracy is {ours:.3f} with it and {plain:.3f} without augmentation "
        f"({ours - plain:+.3f}), in one training run each."
    )
    schedule = run(method="population", n_members=3)
    assert "proposes a schedule that ends with" in schedule.verdict


def test_verdict_of_no_augmentation() -> None:
    policy = cadda.PolicySpec.from_text("none")
    assert SearchResult(policy, (), None, [], 0.0, None, None).verdict.endswith(
        "proposes no augmentation."
    )


@pytest.mark.parametrize("method", SEARCHES)
@pytest.mark.parametrize("classwise", [None, True])
def test_every_method_finds_a_policy(method: str, classwise: bool | None) -> None:
    own = {"n_members": 3} if method == "population" else {}
    result = run(method=method, classwise=classwise, **own)
    assert result.policy.is_classwise == (classwise or method == "cadda")
    assert result.policy.operation_names == OPERATIONS
    assert result.policy.provenance.method == method
    numbers = [getattr(event, "number", None) or event.epoch for event in result.history]
    assert numbers == [1, 2, 3]
    assert (result.schedule is not None) == (method == "population")
    assert result.fitted is None
    # What was found can be used at once.
    windows = planted_windows(8, varied=True)
    policy = cadda.Policy(result.policy, operation_pool(windows))
    assert policy(windows.x, windows.y)[0].shape == windows.x.shape


def test_class_wise_policies_differ_by_class() -> None:
    applied = run(method="cadda", budget=6).policy.operation_probabilities()
    assert applied.shape == (len(CLASS_NAMES), len(OPERATIONS))
    assert (applied.std(0) > 1e-3).all()


def test_what_a_gradient_proposes_tells_little_about_the_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [f"[{name}]\ntime_mask p={0.9 * (n == 0)} m=0.5" for n, name in enumerate(CLASS_NAMES)]
    learned = cadda.PolicySpec.from_text("\n".join(rows))
    monkeypatch.setattr("cadda.searchers.gradient.base.Searcher.to_spec", lambda *_: learned)
    found = run(method="cadda", budget=1)
    assert found.policy.policy == learned.capped(0.1).policy
    assert 0.1 - 1e-6 < (found.policy.provenance.leak or 0) <= 0.1
    (epoch,) = found.history
    assert isinstance(epoch, SearchEpoch)
    (said,) = (text for text in epoch.warnings if text.startswith("time_mask would tell"))
    assert f"instead of 90% of the windows of {CLASS_NAMES[0]}" in said
    assert max(row[OPERATIONS.index("time_mask")] for row in epoch.applied) < 0.9
    assert run(method="cadda", budget=1, max_leak=None).policy.policy == learned.policy


def test_same_seed_same_policy() -> None:
    one, again, other = (run(seed=seed).policy.to_json() for seed in (3, 3, 4))
    assert one == again
    assert one != other


def test_images_too() -> None:
    g = torch.Generator().manual_seed(0)
    parts = [
        Windows(
            torch.randn(32, 12, 12, generator=g),
            torch.arange(32) % 2,
            subject=[f"{side} {i % 4}" for i in range(32)],
            sfreq=1.0,
            ch_names=[f"row {i}" for i in range(12)],
            class_names=["4", "9"],
        )
        for side in ("train", "valid")
    ]
    flat = nn.Sequential(nn.Flatten(), nn.Linear(144, 2))
    for method in ("cadda", "faster_autoaugment"):
        result = cadda.search(
            *parts,
            method=method,
            model=flat,
            operations=cadda.image_pool(),
            budget=2,
            retrain=False,
            baseline=False,
        )
        assert result.policy.operation_names == cadda.image_pool().names


def test_retrains_and_keeps_the_best() -> None:
    events: list[Any] = []
    result = run(
        retrain_every=2,
        baseline=True,
        training=TrainingSettings(max_epochs=2),
        on_event=events.append,
    )
    retrained = [event for event in result.history if isinstance(event, Retrained)]
    assert [event.epoch for event in retrained] == [0, 2, 3]
    best = min(retrained[1:], key=lambda event: event.valid_loss)
    assert result.fitted is not None
    assert result.fitted.history[result.fitted.best_epoch - 1].valid_loss == best.valid_loss
    assert result.baseline is not None
    assert result.policy.provenance.scores == {
        "valid_loss": best.valid_loss,
        "valid_balanced_accuracy": best.valid_balanced_accuracy,
        "valid_loss_without_augmentation": retrained[0].valid_loss,
        "valid_balanced_accuracy_without_augmentation": retrained[0].valid_balanced_accuracy,
    }
    assert isinstance(events[0], SearchStart)
    assert isinstance(events[-1], SearchEnd)
    assert events[-1].best_epoch == best.epoch
    with pytest.warns(UserWarning, match="4 of 4 subjects have the names of subjects that the"):
        scores = cadda.evaluate(result.fitted, planted_windows(16, varied=True, seed=5))
    assert 0 <= scores.balanced_accuracy <= 1


def test_models_are_trained_with_the_policy_and_without_by_default() -> None:
    """As on the command line; the search itself finds the same."""
    training = TrainingSettings(max_epochs=2)
    whole = run(retrain=True, baseline=True, training=training)
    assert inspect.signature(cadda.search).parameters["retrain"].default is True
    assert inspect.signature(cadda.search).parameters["baseline"].default is True
    assert [event.epoch for event in whole.history if isinstance(event, Retrained)] == [0, 3]
    assert whole.fitted is not None
    train, valid = (planted_windows(64, varied=varied) for varied in (False, True))
    pool = operation_pool(train, operations=OPERATIONS)
    alone = cadda.fit(train, valid, model=small, policy=whole.policy, pool=pool, max_epochs=2)
    assert alone.history == whole.fitted.history
    assert run().policy.policy == whole.policy.policy


def test_the_policy_is_in_the_folder_before_a_model_is_trained_with_it(tmp_path: Path) -> None:
    seen: list[cadda.PolicySpec] = []

    def stop(event: object) -> None:
        if isinstance(event, cadda.EpochEnd):
            seen.append(cadda.PolicySpec.load(tmp_path / "policy.json"))
            raise Killed

    options: dict[str, Any] = {"run_dir": tmp_path, "training": TrainingSettings(max_epochs=2)}
    with pytest.raises(Killed):
        run(retrain=True, on_event=stop, **options)
    assert not (tmp_path / "model.safetensors").exists()
    assert "sign_flip" in (tmp_path / "policy.txt").read_text()
    whole = run(retrain=True, **options)
    assert seen[0].policy == whole.policy.policy
    # Only the scores of the models are still missing.
    assert seen[0].provenance.model_copy(update={"scores": {}}) == seen[0].provenance
    assert whole.policy.provenance.scores.keys() == {"valid_loss", "valid_balanced_accuracy"}


@pytest.mark.parametrize("method", ["random", "fast_autoaugment"])
def test_only_trials_are_shortened(method: str) -> None:
    training, longest = TrainingSettings(max_epochs=4), []
    result = run(
        method=method,
        budget=2,
        retrain=True,
        baseline=True,
        training=training,
        trial_epochs=1,
        on_event=lambda event: longest.append(getattr(event, "max_epochs", 0)),
    )
    assert max(longest) == 4
    assert result.fitted is not None
    assert result.baseline is not None
    assert len(result.fitted.history) == len(result.baseline.history) == 4
    short = run(method=method, budget=2, training=TrainingSettings(max_epochs=1))
    long = run(method=method, budget=2, training=training)
    values = [[event.value for event in each.history[-2:]] for each in (short, long)]
    tried = [event.value for event in result.history if isinstance(event, TrialEnd)]
    assert tried == values[0] != values[1]


def test_methods_without_trials_have_none_to_shorten() -> None:
    with pytest.raises(ValueError, match="`trial_epochs` must be None for adda, which does not"):
        run(trial_epochs=2)
    with pytest.raises(ValueError, match="`trial_epochs` must be a whole number of at least 1"):
        run(method="random", trial_epochs=0)


def test_time_can_run_out() -> None:
    result = run(
        budget=1000, max_seconds=0.05, retrain_every=1000, training=TrainingSettings(max_epochs=1)
    )
    assert isinstance(result.history[-1], Retrained)
    assert 1 <= result.history[-1].epoch < 1000


def test_run_folder_holds_everything(tmp_path: Path) -> None:
    result = run(
        run_dir=tmp_path / "run", retrain_every=3, training=TrainingSettings(max_epochs=1)
    )
    names = {str(file.relative_to(tmp_path / "run")) for file in (tmp_path / "run").rglob("*.*")}
    assert names == {
        "config.json",
        "digests.json",
        "checkpoint.pt",
        "events.jsonl",
        "figures/evolution.png",
        "figures/operations.png",
        "model.safetensors",
        "policy.json",
        "policy.txt",
    }
    assert cadda.PolicySpec.load(tmp_path / "run" / "policy.json") == result.policy
    lines = (tmp_path / "run" / "events.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["event"] for line in lines]
    assert kinds == ["SearchEpoch"] * 3 + ["Retrained", "SearchEnd"]


class Killed(BaseException):
    """Stops a search in the middle, as a signal would."""


RESUMED: dict[str, Any] = {"retrain_every": 2, "training": TrainingSettings(max_epochs=3)}


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give the folder of a search that nothing stopped, run once for each method."""

    @cache
    def folder_of(method: str) -> Path:
        folder = tmp_path_factory.mktemp("runs") / method
        run(run_dir=folder, method=method, **RESUMED)
        return folder

    return folder_of


@pytest.mark.parametrize("when", ["searching", "retraining"])
@pytest.mark.parametrize(
    "method",
    [
        "cadda",
        # The contract of searchers kills all methods, without retraining.
        pytest.param("dada", marks=pytest.mark.slow),
        pytest.param("faster_autoaugment", marks=pytest.mark.slow),
    ],
)
def test_resumes_to_the_same_bytes(
    method: str, when: str, whole_run: Callable[[str], Path], tmp_path: Path
) -> None:
    options: dict[str, Any] = {"method": method, **RESUMED}

    def stop(event: object) -> None:
        if when == "searching" and isinstance(event, SearchEpoch) and event.epoch == 3:
            raise Killed
        if when == "retraining" and type(event).__name__ == "EpochEnd" and event.epoch == 2:
            raise Killed

    with pytest.raises(Killed):
        run(run_dir=tmp_path / "cut", on_event=stop, **options)
    with pytest.raises(RunError, match=r"contains a search; continue it without `resume=False`"):
        run(run_dir=tmp_path / "cut", resume=False, **options)
    run(run_dir=tmp_path / "cut", **options)
    for name in ("policy.json", "model.safetensors"):
        assert (tmp_path / "cut" / name).read_bytes() == (whole_run(method) / name).read_bytes()
    whole, cut = (
        [
            {key: value for key, value in event.items() if "seconds" not in key}
            for event in JsonLines(folder / "events.jsonl", allow_nan=True)
        ]
        for folder in (whole_run(method), tmp_path / "cut")
    )
    assert cut == whole


def test_run_folder_of_other_data(tmp_path: Path) -> None:
    run(run_dir=tmp_path / "run")
    with pytest.raises(RunError, match=r"contains a search on other windows: those of the train"):
        run(run_dir=tmp_path / "run", train=planted_windows(64, varied=False, seed=9))
    with pytest.raises(RunError, match=r"another `n_stages`: 2, now 1; .* same arg"):
        run(run_dir=tmp_path / "run", n_stages=1)


def wider(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
    return nn.Sequential(nn.AvgPool1d(3), small(n_channels, n_times, n_classes))


def test_run_folder_of_another_model_or_pool(tmp_path: Path) -> None:
    """Their names are the same, "custom" and those of the operations."""
    run(run_dir=tmp_path / "run", budget=2)
    with pytest.raises(TrainingError, match="the model is not the same"):
        run(run_dir=tmp_path / "run", budget=2, model=wider)
    pool = operation_pool(sfreq=50.0, ch_names=["C3", "C4"]).select(OPERATIONS)
    with pytest.raises(TrainingError, match="the operations are not the same"):
        run(run_dir=tmp_path / "run", budget=2, operations=pool)


def test_seeds_and_paths_of_other_types_do_not_spoil_the_result(tmp_path: Path) -> None:
    result = run(seed=np.int64(3), data=tmp_path / "night.edf", run_dir=tmp_path / "run")
    assert result.policy.provenance.seed == 3
    assert result.policy == run(seed=3, data=str(tmp_path / "night.edf")).policy


def without_class(windows: Windows, label: int) -> Windows:
    return windows[windows.y != label]


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"method": "cada"}, ValueError, r"unknown `method` 'cada' \(did you mean `cadda`\?\)"),
        ({"operations": ["sign_flop", "time_mask"]}, ValueError, r"did you mean `sign_flip`\?"),
        ({"operations": ["sign_flip"]}, ValueError, "must name at least two operations"),
        ({"operations": "sign_flip"}, TypeError, "`operations` must be a list of names"),
        ({"budgt": 1}, ValueError, r"unknown setting `budgt` \(did you mean `budget`\?\)"),
        ({"lr": 0.1}, ValueError, r"`lr` .*`training=TrainingSettings\(lr=…\)`"),
        ({"estimater": "relax"}, ValueError, r"unknown setting `estimater` \(did you mean `estim"),
        ({"batch_size": 100}, ValueError, "`batch_size` must be at most the number of training"),
        ({"budget": 0}, ValueError, "`budget` must be a whole number of at least 1, got 0"),
        ({"preset": "cvpr"}, ValueError, "`preset` must be 'paper' or None"),
        (
            {"train": without_class(planted_windows(64, varied=False), 3)},
            ValueError,
            "`train` must have windows of every class, but has none of 'sweep'",
        ),
        ({"policy_lr": "fast"}, ValueError, "`policy_lr` must be a valid number, got 'fast'"),
        ({"gate_temperature": 0}, ValueError, "`gate_temperature` must be above 0"),
        (
            {"method": "fast_autoaugment", "n_folds": 100},
            ValueError,
            "`n_folds` must be at most the number of training windows, 64, got 100",
        ),
        (
            {"method": "autoaugment", "storage": "nowhere"},
            RunError,
            "`storage` 'nowhere' cannot be opened",
        ),
        (
            {"method": "cadda", "classwise": False},
            ValueError,
            r"`classwise` must not be False for cadda, .* `method`='adda'",
        ),
        ({"valid": planted_windows(64, varied=False)}, LeakError, "subject"),
        (
            {"model": lambda c, t, k: small(c, t, k + 1)},
            ModelError,
            r"output must be logits of shape \(4, 4\)",
        ),
        ({"model": nn.Flatten()}, ModelError, "the model has no parameters"),
    ],
)
def test_refuses_in_one_sentence(
    changes: dict[str, Any], error: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words):
        run(run_dir=tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


def test_a_model_that_gives_nan(tmp_path: Path) -> None:
    def broken(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
        model = small(n_channels, n_times, n_classes)
        with torch.no_grad():
            model[-1].bias.fill_(torch.nan)
        return model

    with pytest.raises(ModelError, match="gives NaN or infinite logits before any training"):
        run(model=broken, run_dir=tmp_path / "run")


def test_rare_classes_are_named() -> None:
    windows = planted_windows(64, varied=False)
    keep = (windows.y != 2) | (torch.arange(64) < 4)
    started: list[SearchStart] = []
    run(
        train=windows[keep],
        method="cadda",
        budget=2,
        warmup_epochs=1,
        on_event=lambda event: started.append(event) if isinstance(event, SearchStart) else None,
    )
    assert len(started[0].warnings) == 1
    assert started[0].warnings[0].startswith("dip is absent from")
    assert started[0].warnings[0].endswith("leave the class out with `min_windows` or `classes`")


@pytest.mark.parametrize(("budget", "said"), [(1, True), (2, True), (3, False)])
def test_a_search_that_ends_with_its_warmup_says_so(budget: int, said: bool) -> None:
    started: list[SearchStart] = []
    run(
        budget=budget,
        warmup_epochs=2,
        on_event=lambda event: started.append(event) if isinstance(event, SearchStart) else None,
    )
    words = "begins to change after 2 epochs"
    assert any(words in warning for warning in started[0].warnings) == said


def test_windows_in_volts_are_pointed_out() -> None:
    windows = planted_windows(64, varied=False)
    windows.x *= 1e-5
    with pytest.warns(UserWarning, match=r"standard deviation of .*e-0.*standardised") as caught:
        run(train=windows, budget=1)
    # The line of the user, and not one of cadda.
    assert {warning.filename for warning in caught} == {__file__}


def test_size_of_the_space_is_the_papers_formula() -> None:
    assert PolicySpace(12, 5, 2, 5, n_probabilities=11, n_magnitudes=10).size() == 1320**50
    assert PolicySpace(3, 1, 1).log10_size == pytest.approx(2.4771, abs=1e-4)


def test_dada_counts_sequences_and_has_no_number_of_subpolicies() -> None:
    started = []
    settings = {"method": "dada", "operations": ["sign_flip", "time_mask"], "budget": 1}
    run(**settings, on_event=started.append)
    assert started[0].log10_policies == PolicySpace(2, n_subpolicies=1, n_stages=2).log10_size
    with pytest.raises(ValueError, match="unknown setting `n_subpolicies`"):
        run(**settings, n_subpolicies=2)


def test_presets_and_the_papers_operations() -> None:
    paper = asdict(METHODS["cadda"].resolve_settings({}, preset="paper"))
    assert paper["batch_size"] == 32
    assert paper["betas"] == (0.0, 0.999)
    assert paper["granularity"] == "batch"
    result = run(operations=["paper"], budget=1, preset="paper", batch_size=16)
    assert "bandstop" not in result.policy.operation_names
