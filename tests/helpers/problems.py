"""Problems made of plain tensors, to try training and searches on."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from cadda.models.serialization import ModelDescription
from cadda.operations.pool import OperationPool
from cadda.training.problem import Problem, Samples


def tensor_problem(
    train: tuple[Tensor, Tensor],
    valid: tuple[Tensor, Tensor],
    class_names: tuple[str, ...],
    make_model: Callable[[int], nn.Module],
    *,
    pool: OperationPool | None = None,
    make_critic: Callable[[int], nn.Module] | None = None,
    subject: tuple[str, ...] = (),
) -> Problem:
    """Make a problem of windows (n_windows, n_channels, n_times) and labels, on the CPU."""
    x, y = train
    return Problem(
        train=Samples(x, y, subject),
        valid=Samples(*valid),
        description=ModelDescription(
            model="custom",
            n_channels=x.shape[1],
            n_times=x.shape[2],
            sfreq=1.0,
            ch_names=tuple(str(i) for i in range(x.shape[1])),
            class_names=class_names,
        ),
        make_pool=lambda: OperationPool([]) if pool is None else pool,
        make_model=make_model,
        make_critic=make_critic or make_model,
        device=torch.device("cpu"),
    )
