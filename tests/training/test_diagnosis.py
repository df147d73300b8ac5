"""Models that have learned nothing are found out; others are not."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch
from problems import tensor_problem
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss
from torch import Tensor, nn

import cadda
from cadda.training import Problem, TrainingSettings, train
from cadda.training.diagnosis import (
    chance_loss,
    loss_warnings,
    missing_class_warnings,
    prediction_warnings,
    with_warnings,
)


@pytest.mark.parametrize("class_weights", [False, True])
@pytest.mark.parametrize(("train", "valid"), [([7, 2, 1], [3, 3, 2]), ([5, 5, 0], [4, 6, 0])])
def test_chance_is_the_loss_of_a_dummy_of_scikit_learn(
    train: list[int], valid: list[int], class_weights: bool
) -> None:
    y, y_valid = (np.repeat(np.arange(3), counts) for counts in (train, valid))
    weights = np.array([1 / n if class_weights and n else 1.0 for n in train])
    dummy = DummyClassifier(strategy="prior").fit(y[:, None], y, sample_weight=weights[y])
    expected = log_loss(
        y_valid,
        dummy.predict_proba(y_valid[:, None]),
        sample_weight=weights[y_valid],
        labels=dummy.classes_,
    )
    assert chance_loss(train, valid, class_weights=class_weights) == pytest.approx(expected)


def test_a_class_that_training_lacks_has_no_chance() -> None:
    assert chance_loss([4, 0], [2, 2]) == math.inf
    assert not list(loss_warnings([50.0], math.inf))


class Constant(nn.Module):
    """Predicts the same for every window: at best, the frequencies of the classes."""

    def __init__(self) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.tensor([0.5, 0.0]))

    def forward(self, x: Tensor) -> Tensor:
        return self.logits.expand(len(x), 2)


def problem(make: type[nn.Module]) -> Problem:
    y = torch.arange(40) % 2
    x = torch.randn(40, 1, 6, generator=torch.Generator().manual_seed(0)) + 3 * y[:, None, None]
    return tensor_problem((x, y), (x, y), ("rest", "task"), lambda seed: make())


def test_a_model_that_predicts_one_class() -> None:
    settings = TrainingSettings(max_epochs=5, lr=0.01)
    fitted = with_warnings(train(problem(Constant), settings), problem(Constant), settings)
    one_class, at_chance = fitted.warnings
    assert one_class == ("the model predicts one class only: rest for all 40 validation windows")
    lowest = min(epoch.valid_loss for epoch in fitted.history)
    assert at_chance.startswith(f"the validation loss is not below chance: at best {lowest:.3f}")
    assert lowest >= math.log(2)
    assert "and 0.693 if the frequencies" in at_chance


def test_a_loss_below_chance_by_a_hair_is_called_so() -> None:
    (text,) = loss_warnings([0.7, 0.690], 0.693)
    assert text.startswith("the validation loss is hardly below chance: at best 0.690, and 0.693")
    (text,) = loss_warnings([0.7, 0.693], 0.693)
    assert text.startswith("the validation loss is not below chance")
    assert not list(loss_warnings([0.7, 0.685], 0.693))


def test_windows_in_volts_are_a_reason() -> None:
    settings = TrainingSettings(max_epochs=2, lr=0.01)
    in_volts = problem(Constant)
    in_volts.train.x.mul_(1e-5)
    fitted = with_warnings(train(in_volts, settings), in_volts, settings)
    scale = float(in_volts.train.x.std())
    assert fitted.warnings[-1].startswith(f"the windows have a standard deviation of {scale:.2g}")
    assert "`standardise='window'`" in fitted.warnings[-1]


class Linear(nn.Sequential):
    """Tells the classes apart by the mean of a window."""

    def __init__(self) -> None:
        super().__init__(nn.Flatten(), nn.Linear(6, 2))


def test_a_model_that_learns_gets_no_warning() -> None:
    settings = TrainingSettings(max_epochs=20, lr=0.05)
    assert not with_warnings(train(problem(Linear), settings), problem(Linear), settings).warnings


def test_one_class_only_is_no_fault_if_there_is_no_other() -> None:
    assert not list(prediction_warnings(np.array([[5, 0], [0, 0]]), ("a", "b")))
    assert list(prediction_warnings(np.array([[5, 0], [1, 0]]), ("a", "b")))


def _noise() -> cadda.Windows:
    return cadda.Windows(
        np.random.default_rng(0).normal(size=(48, 2, 60)),
        np.arange(48) % 2,
        subject=np.arange(48) // 8,
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=["rest", "task"],
    )


def test_fit_and_search_report_it() -> None:
    train_part, valid, _ = _noise().split(valid=0.3, test=0.2)
    settings = {"max_epochs": 1, "lr": 1e-9}
    model = Constant()
    with pytest.warns(UserWarning, match="one class|below chance") as issued:
        fitted = cadda.fit(train_part, valid, model=model, **settings)
    assert len(fitted.warnings) == 2
    assert [str(each.message) for each in issued] == [f"{'; '.join(fitted.warnings)}."]
    assert {each.filename for each in issued} == {__file__}
    with pytest.warns(UserWarning, match="one class|below chance") as issued:
        result = cadda.search(
            train_part,
            valid,
            model=model,
            method="trivial",
            operations=["sign_flip", "time_reverse"],
            training=TrainingSettings(**settings),
        )
    assert result.fitted is not None
    assert result.baseline is not None
    assert result.fitted.warnings == result.baseline.warnings == fitted.warnings
    assert result.warnings == tuple(
        f"trained {how}, {text}"
        for how in ("with the policy", "without augmentation")
        for text in fitted.warnings
    )
    assert [str(each.message) for each in issued] == [f"{'; '.join(result.warnings)}."]
    assert "trained without augmentation, the model predicts one" in result._repr_html_()


def _lacking() -> tuple[cadda.Windows, cadda.Windows]:
    """Return training windows of two classes, and validation windows of one of them."""
    rng = np.random.default_rng(0)
    y, subject = np.arange(40) % 2, np.array([f"VP{i // 8}" for i in range(40)])
    y[subject == "VP4"] = 0
    x = rng.normal(size=(40, 2, 60)) + 3 * y[:, None, None]
    windows = cadda.Windows(
        *(x, y),
        subject=subject,
        sfreq=100,
        ch_names=["C3", "C4"],
        class_names=["rest", "task"],
    )
    train_part = windows.of_subjects(["VP0", "VP1", "VP2", "VP3"])
    return train_part, windows.of_subjects(["VP4"])


class Mean(nn.Module):
    """Tells the classes apart by the mean of a window."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x.mean((1, 2))[:, None])


def test_a_class_that_validation_lacks() -> None:
    train_part, valid = _lacking()
    settings = {"max_epochs": 20, "lr": 0.1}
    with pytest.warns(UserWarning, match="validation has no windows of 'task'"):
        fitted = cadda.fit(train_part, valid, model=Mean(), **settings)
    (text,) = fitted.warnings
    assert text.startswith("validation has no windows of 'task' (subjects: 'VP4'): ")
    assert "another `seed` or a larger `valid`, or leave out subjects" in text
    assert {epoch.missing_classes for epoch in fitted.history} == {("task",)}
    assert "balanced accuracy 1.000 (without task)" in repr(fitted)
    with pytest.warns(UserWarning, match="validation has no windows of 'task'"):
        result = cadda.search(
            *(train_part, valid),
            model=Mean(),
            method="auto",
            budget=12,
            operations=["sign_flip", "time_reverse"],
            training=TrainingSettings(**settings),
        )
    assert [each for each in result.warnings if "no windows" in each] == [text]
    assert "balanced accuracy 1.000 (without task)" in result._repr_html_()


def test_a_class_that_training_lacks_too_is_not_missed() -> None:
    x, y = torch.randn(8, 1, 6), torch.arange(8) % 2
    lacking = tensor_problem((x, y), (x, y), ("a", "b", "c"), lambda seed: Constant())
    assert lacking.missing_classes == ()
    assert not list(missing_class_warnings(lacking))


def test_trials_of_a_search_issue_none() -> None:
    train_part, valid, _ = _noise().split(valid=0.3, test=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = cadda.search(
            *(train_part, valid),
            model=Constant(),
            method="random",
            budget=2,
            operations=["sign_flip", "time_reverse"],
            training=TrainingSettings(max_epochs=1, lr=1e-9),
            **{"retrain": False, "baseline": False},
        )
    assert result.warnings == ()


def test_the_classifier_issues_and_keeps_them() -> None:
    windows = _noise()
    classifier = cadda.AugmentedClassifier(
        Constant(), method=None, max_epochs=1, lr=1e-9, random_state=0
    )
    with pytest.warns(UserWarning, match="one class|below chance") as issued:
        classifier.fit(windows.x.numpy(), windows.y.numpy(), groups=windows.subject)
    assert len(classifier.warnings_) == 2
    assert [str(each.message) for each in issued] == [f"{'; '.join(classifier.warnings_)}."]
