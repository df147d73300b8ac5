"""Digits, some of which may be rotated and others not: a case for class-wise augmentation.

An appendix of the paper: of 4, 6, 8 and 9, an 8 stays an 8 when it is flipped, while a 6 turned
upside down is a 9. The paper tries random policies, one for all digits or one for each, 20,000
times; beside them ADDA and CADDA search by gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from cadda._internal.limits import MAX_COUNT
from cadda._internal.random import Seeds
from cadda.api.prepare import model_for
from cadda.data.datasets.mnist import read_digits, read_mnist
from cadda.data.windows import Windows
from cadda.drawing.figure import Figure
from cadda.experiments.objects import find_model
from cadda.experiments.racing import (
    NO_SEARCH,
    Checkpoints,
    MethodVariant,
    RaceJob,
    RaceResult,
    baseline_result,
    operation_use,
    race,
    race_panel,
    race_table,
    searches_only,
)
from cadda.experiments.study import (
    PlanOnly,
    Reader,
    Record,
    ResultTable,
    Several,
    Study,
    is_simulated,
)
from cadda.experiments.training import Fold, TrainingConfig
from cadda.operations.pools import image_pool
from cadda.reporting.figures.heatmap import draw_selected
from cadda.reporting.figures.race import add_race_legend, draw_race
from cadda.searchers.registry import find_method

__all__ = ["MnistConfig", "MnistStudy"]

DIGITS = (4, 6, 8, 9)
SHAPE = {"n_subpolicies": 5, "n_stages": 1}
BY_TRIALS = SHAPE | {"stack": 16, "trials_at_once": 16}
VARIANTS: dict[str, MethodVariant] = {
    "random": MethodVariant("random", settings=BY_TRIALS),
    "classwise:random": MethodVariant("random", classwise=True, settings=BY_TRIALS),
    "adda": MethodVariant("adda", settings=SHAPE | {"batch_size": 64}),
    "cadda": MethodVariant("cadda", classwise=True, settings=SHAPE | {"batch_size": 64}),
}
SECONDS_PER_IMAGE = 2e-4
"""Time of a forward and backward pass of LeNet-1 per image."""
N_EPOCHS = 15
"""Epochs that estimates of times assume."""
STEP_COST = 6
"""Time of a step of a gradient search, relative to a training step."""


class MnistConfig(TrainingConfig):
    """Settings of the study."""

    model: str = "lenet1"
    """Model: lenet1."""
    per_class: int = Field(100, ge=2, le=MAX_COUNT)
    """Training images of each digit; 1000 in the paper."""
    valid_per_class: int = Field(300, ge=2, le=MAX_COUNT)
    """Validation images of each digit; 3000 in the paper."""
    n_folds: PlanOnly[int] = Field(3, ge=1, le=MAX_COUNT)
    """Number of repetitions with other images."""
    trials: Several[int] = (16, 64, 256)
    """Numbers of random policies after which the best is tested."""
    epochs: Several[int] = (25, 50, 100)
    """Epochs of a search by gradients after which its policy is tested."""
    max_epochs: int = Field(50, ge=1, le=MAX_COUNT)
    """Maximum number of epochs."""
    patience: int = Field(5, ge=1, le=MAX_COUNT)
    """Epochs without a lower validation loss before training stops."""
    batch_size: int = Field(64, ge=1, le=MAX_COUNT)
    """Images per step."""
    lr: float = Field(2e-3, gt=0)
    """Learning rate of Adam."""


Records = Sequence[Record[RaceJob, RaceResult]]


class MnistStudy(Study[MnistConfig, RaceJob, RaceResult]):
    """A job per search and repetition."""

    config_type = MnistConfig
    job_type = RaceJob
    result_type = RaceResult
    scales: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "quick": {
            "n_folds": 1,
            "per_class": 10,
            "valid_per_class": 10,
            "trials": (16,),
            "epochs": (1, 2),
            "max_epochs": 2,
        },
        "cpu": {},
        "paper": {
            "per_class": 1000,
            "valid_per_class": 3000,
            "trials": (16, 64, 256, 1024, 4096, 10000, 20000),
            "epochs": (25, 50, 100, 200),
        },
    }

    def windows(
        self,
        config: MnistConfig,
        data: str,
        read: Reader,
        on_progress: Callable[[int, int, str], None],
    ) -> Windows:
        if is_simulated(data):
            return read_digits(digits=DIGITS)
        return read_mnist(data, digits=DIGITS)

    def data_name(self, data: str) -> str:
        return "scikit-learn's digits" if is_simulated(data) else super().data_name(data)

    def data_summary(self, windows: Windows) -> str:
        digits = zip(windows.class_names, windows.class_counts(), strict=True)
        counts = ", ".join(f"{count} of {digit}" for digit, count in digits)
        size = f"{windows.n_channels} × {windows.n_times}"
        return f"{len(windows)} images of {size} pixels; {counts}"

    def jobs(self, config: MnistConfig, windows: Windows) -> list[RaceJob]:
        model_for(find_model(config.model), _fold(config, windows, 0).train, seed=0)
        return [
            RaceJob(fold=fold, method=name)
            for fold in range(config.n_folds)
            for name in (NO_SEARCH, *VARIANTS)
        ]

    def expected_seconds(self, config: MnistConfig, windows: Windows, job: RaceJob) -> float:
        n_images = len(DIGITS) * (config.per_class + config.valid_per_class / 3)
        training = SECONDS_PER_IMAGE * n_images * min(N_EPOCHS, config.max_epochs)
        if job.method == NO_SEARCH:
            return training
        if find_method(VARIANTS[job.method].method).unit == "trial":
            return training * (config.trials[-1] + len(config.trials))
        n_steps = len(DIGITS) * config.per_class * config.epochs[-1]
        return SECONDS_PER_IMAGE * STEP_COST * n_steps + training * len(config.epochs)

    def run(self, config: MnistConfig, windows: Windows, job: RaceJob) -> RaceResult:
        fold = _fold(config, windows, job.fold)
        if job.method == NO_SEARCH:
            return baseline_result(config, fold)
        variant = VARIANTS[job.method]
        by_trials = find_method(variant.method).unit == "trial"
        stops = config.trials if by_trials else config.epochs
        return race(variant, config, fold, Checkpoints(stops, "number"), image_pool())

    def table(self, records: Records) -> ResultTable:
        return race_table("Random policies and gradients on four digits", records)

    def figure(self, records: Records) -> Figure:
        figure = Figure(figsize=(13, 5), layout="constrained")
        left, right = figure.subplots(1, 2)
        panel = race_panel("Test accuracy", records, "balanced_accuracy")
        draw_race(left, panel, {name: f"C{i}" for i, name in enumerate(VARIANTS)})
        left.set(xlabel="computing time of the search (s)", ylabel="accuracy on test images")
        add_race_legend(figure, [panel])
        if searches_only(records):
            draw_selected(right, operation_use(records))
        return figure


def _fold(config: MnistConfig, windows: Windows, number: int) -> Fold:
    """Draw training and validation images of each digit.

    MNIST has test images of its own; of scikit-learn's digits, a quarter of the chunks is for
    testing. Chunks take the place of subjects, so that the parts are disjoint.
    """
    seed = Seeds(config.seed).integer("fold", fold=number)
    rng = np.random.default_rng(seed)
    tested = [name for name in windows.subjects if name.startswith("test")]
    if not tested:
        tested = windows.subjects[: len(windows.subjects) // 4]
    others = [name for name in windows.subjects if name not in tested]
    shuffled = rng.permutation(others).tolist()
    share = config.per_class / (config.per_class + config.valid_per_class)
    cut = min(max(1, round(share * len(shuffled))), len(shuffled) - 1)
    train = windows.of_subjects(shuffled[:cut])
    valid = windows.of_subjects(shuffled[cut:])
    return Fold(
        _draw(train, config.per_class, rng),
        _draw(valid, config.valid_per_class, rng),
        windows.of_subjects(tested),
        seed,
    )


def _draw(windows: Windows, per_class: int, rng: np.random.Generator) -> Windows:
    """Draw up to so many images of each class."""
    order = rng.permutation(len(windows))
    labels = windows.y.numpy()[order]
    kept = [order[labels == label][:per_class] for label in range(windows.n_classes)]
    return windows[np.sort(np.concatenate(kept))]
