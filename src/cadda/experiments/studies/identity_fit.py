"""Whether gradients can tune p and µ: if only the identity is right, they must fall to 0.

Appendix A of the paper: ‖x − O(x; p, µ)‖² is minimised, once with the derivative of each operation
in µ (its relaxation), and once with the straight-through estimator, which takes it for 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field
from torch import Generator, Tensor

from cadda._internal.limits import MAX_COUNT
from cadda._internal.random import Seeds, uniform
from cadda.api.prepare import operation_pool
from cadda.data.windows import Windows
from cadda.drawing.panels import panel_grid
from cadda.experiments.operations import chosen_operations
from cadda.experiments.study import (
    Cell,
    JobResult,
    Names,
    PlanOnly,
    Record,
    ResultTable,
    Several,
    Study,
    StudyConfig,
    StudyJob,
)
from cadda.operations.base import Operation
from cadda.operations.catalogue import CATALOGUE
from cadda.policies.relaxed.gates import gate

__all__ = ["IdentityFitConfig", "IdentityFitStudy"]

TEMPERATURE = 0.1
"""Of the relaxed Bernoulli variable behind p."""
REACHED = 0.05
"""Below this, a probability or a magnitude counts as 0."""
LAST = 0.1
"""Fraction of the steps that the final values are means of."""
N_POINTS = 100
"""Maximum number of points of a descent that are kept."""
SECONDS_PER_VALUE = 2e-8
"""Time of a step per number in the batch."""

SHADES = {"relaxation": "Blues", "straight-through": "Oranges"}
"""Colour map of each gradient; the higher the learning rate, the darker."""
LIGHTEST, DARKEST = 0.25, 0.95

SYMBOLS = {"magnitude": "µ", "probability": "p", "both": "p, µ"}

LearningRate = Annotated[float, Field(gt=0)]
Gradient: TypeAlias = Literal["relaxation", "straight-through"]
Parameter: TypeAlias = Literal["magnitude", "probability", "both"]

FITS: dict[bool, list[tuple[Gradient, Parameter]]] = {
    False: [("relaxation", "probability")],
    True: [
        ("relaxation", "magnitude"),
        ("straight-through", "magnitude"),
        ("relaxation", "both"),
        ("straight-through", "both"),
    ],
}
"""Gradients and what is fitted with them, of operations without and with a magnitude."""


class IdentityFitConfig(StudyConfig):
    """Settings of the study."""

    operations: PlanOnly[Names | None] = None
    """Operations; none: the default pool."""
    lrs: PlanOnly[Several[LearningRate]] = Field((0.01, 0.03, 0.1, 0.3), min_length=1)
    """Learning rates of Adam for the logits of p and µ, each tried separately."""
    n_steps: int = Field(500, ge=1, le=MAX_COUNT)
    """Steps of each descent."""
    batch_size: int = Field(16, ge=1, le=MAX_COUNT)
    """Windows per step."""
    start: float = Field(0.5, gt=0, lt=1)
    """Initial p and µ; also p while only µ is fitted."""


class IdentityFitJob(StudyJob):
    """Descend with one gradient and learning rate from one operation to the identity."""

    operation: str
    gradient: Gradient
    fitted: Parameter
    lr: float


class IdentityFitResult(JobResult):
    """Means over the last steps, and some points of the descent."""

    probability: float
    magnitude: float
    loss: float
    first_loss: float
    steps: tuple[int, ...]
    path_probability: tuple[float, ...]
    path_magnitude: tuple[float, ...]


Records = Sequence[Record[IdentityFitJob, IdentityFitResult]]


class IdentityFitStudy(Study[IdentityFitConfig, IdentityFitJob, IdentityFitResult]):
    """A descent for each operation, gradient, learning rate, and choice of what is fitted."""

    config_type = IdentityFitConfig
    job_type = IdentityFitJob
    result_type = IdentityFitResult
    scales: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "quick": {
            "n_subjects": 2,
            "n_windows": 10,
            "operations": ("sign_flip", "gaussian_noise"),
            "lrs": (0.1,),
            "n_steps": 60,
        },
        "cpu": {"n_subjects": 8, "n_windows": 40, "n_steps": 1000},
        "paper": {"n_subjects": 83, "n_windows": 900, "n_steps": 2000},
    }

    def jobs(self, config: IdentityFitConfig, windows: Windows) -> list[IdentityFitJob]:
        return [
            IdentityFitJob(operation=name, gradient=gradient, fitted=fitted, lr=lr)
            for name in chosen_operations(windows, config.operations)
            for gradient, fitted in FITS[CATALOGUE[name].has_magnitude]
            for lr in config.lrs
        ]

    def expected_seconds(
        self, config: IdentityFitConfig, windows: Windows, job: IdentityFitJob
    ) -> float:
        n_values = config.batch_size * windows.n_channels * windows.n_times
        return SECONDS_PER_VALUE * config.n_steps * n_values

    def run(
        self, config: IdentityFitConfig, windows: Windows, job: IdentityFitJob
    ) -> IdentityFitResult:
        operation = operation_pool(windows)[job.operation]
        seeds = Seeds(config.seed)
        batches, draws = seeds.stream("batches"), seeds.stream("draws")
        logits = [torch.logit(torch.tensor(config.start)) for _ in ("probability", "magnitude")]
        fitted = {"probability": logits[:1], "magnitude": logits[1:]}.get(job.fitted, logits)
        optimizer = torch.optim.Adam([logit.requires_grad_() for logit in fitted], lr=job.lr)
        path, losses = [], []
        for _ in range(config.n_steps):
            index = torch.randint(len(windows), (config.batch_size,), generator=batches)
            x = windows.x[index]
            p, magnitude = (logit.sigmoid() for logit in logits)
            result = _applied(operation, x, p, magnitude, job.gradient, draws)
            loss = (x - result).square().mean()
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            path.append(torch.stack(logits).detach().sigmoid())
            losses.append(loss.item())
        return _summary(torch.stack(path), losses)

    def table(self, records: Records) -> ResultTable:
        groups: dict[tuple[str, Parameter, str], list[IdentityFitResult]] = defaultdict(list)
        for record in records:
            job = record.job
            groups[job.operation, job.fitted, job.gradient].append(record.result)
        rows: list[tuple[Cell, ...]] = []
        for (name, fitted, gradient), results in groups.items():
            n_reached = sum(_is_identity(result, fitted) for result in results)
            magnitude = max(result.magnitude for result in results)
            probability = max(result.probability for result in results)
            rows.append(
                (
                    *(name, SYMBOLS[fitted], gradient, n_reached, len(results)),
                    None if fitted == "probability" else magnitude,
                    None if fitted == "magnitude" else probability,
                )
            )
        return ResultTable(
            "Fitting the identity",
            ("operation", "fitted", "gradient", "reached", "of", "µ at most", "p at most"),
            tuple(rows),
            f"Reached: number of learning rates with which the fitted parameter (if both, one of "
            f"them) ended below {REACHED:g}. At most: final values over learning rates.",
        )

    def figure(self, records: Records) -> Figure:
        panels: dict[str, list[Record[IdentityFitJob, IdentityFitResult]]] = defaultdict(list)
        for record in records:
            if record.job.fitted != "both":
                symbol = "p" if record.job.fitted == "probability" else "µ, p fixed"
                panels[f"{record.job.operation.replace('_', ' ')}: {symbol}"].append(record)
        lrs = sorted({record.job.lr for group in panels.values() for record in group})
        shade = dict(zip(lrs, np.linspace(LIGHTEST, DARKEST, len(lrs) + 1)[1:], strict=True))
        figure, every = panel_grid(list(panels), "step")
        for axes, group in zip(every, panels.values(), strict=True):
            for record in group:
                job, result = record.job, record.result
                is_probability = job.fitted == "probability"
                values = result.path_probability if is_probability else result.path_magnitude
                colour = colormaps[SHADES[job.gradient]](shade[job.lr])
                axes.plot(result.steps, values, color=colour, linewidth=1)
            axes.set_ylim(0, 1)
        figure.supylabel("p or µ, as the title says", fontsize=9)
        _add_legend(figure, shade)
        return figure


def _add_legend(figure: Figure, shade: Mapping[float, float]) -> None:
    """Explain colours, and shades in grey."""
    lines = [
        *(Line2D([], [], color=colormaps[name](0.8), label=kind) for kind, name in SHADES.items()),
        *(
            Line2D([], [], color=colormaps["Greys"](dark), label=f"learning rate {lr:g}")
            for lr, dark in shade.items()
        ),
    ]
    figure.legend(handles=lines, loc="outside lower center", ncols=6, frameon=False, fontsize=8)


def _applied(
    operation: Operation,
    x: Tensor,
    p: Tensor,
    magnitude: Tensor,
    gradient: str,
    generator: Generator,
) -> Tensor:
    """Apply an operation with probability p; every window has a derivative in p and µ."""
    if gradient == "straight-through":
        changed = operation(x, magnitude.detach(), generator=generator)
        changed = changed + (magnitude - magnitude.detach())
    else:
        changed = operation(x, magnitude, generator=generator)
    noise = uniform((len(x),), x, generator)
    return gate(x, changed, p.expand(len(x)), noise, TEMPERATURE)


def _summary(path: Tensor, losses: Sequence[float]) -> IdentityFitResult:
    """Keep some points of a descent, and means over its last part."""
    n_steps = len(path)
    n_last = max(1, round(LAST * n_steps))
    kept = torch.linspace(0, n_steps - 1, min(N_POINTS, n_steps)).round().long()
    probability, magnitude = path[-n_last:].mean(0).tolist()
    return IdentityFitResult(
        probability=probability,
        magnitude=magnitude,
        loss=sum(losses[-n_last:]) / n_last,
        first_loss=losses[0],
        steps=tuple((kept + 1).tolist()),
        path_probability=tuple(round(value, 4) for value in path[kept, 0].tolist()),
        path_magnitude=tuple(round(value, 4) for value in path[kept, 1].tolist()),
    )


def _is_identity(result: IdentityFitResult, fitted: Parameter) -> bool:
    values = {"probability": [result.probability], "magnitude": [result.magnitude]}
    return min(values.get(fitted, [result.probability, result.magnitude])) < REACHED
