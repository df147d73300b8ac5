"""Relaxed policies whose stages choose among operations: ADDA's and Faster AutoAugment's."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from cadda._internal.random import uniform
from cadda._internal.validation import check_positive
from cadda.operations.pool import OperationPool
from cadda.policies.dispatch import Granularity, Group, draw_groups, per_window, transform_groups
from cadda.policies.relaxed.base import Choices, RelaxedDraw, RelaxedPolicy, attach, gate
from cadda.policies.spec.model import Subpolicy
from cadda.signal.relaxation import gumbel

__all__ = ["MixturePolicy", "StagedPolicy"]


class StagedPolicy(RelaxedPolicy):
    """ADDA's policy: L subpolicies drawn uniformly, each stage draws one operation.

    Operation n of a stage is drawn with probability softmax(w)_n and only that one is evaluated.
    In the backward pass the choice is a Gumbel-softmax, straight through the operation drawn.

    Parameters
    ----------
    pool : OperationPool
        The operations.
    class_names : sequence of str | None
        Classes in the order of their labels, for a class-wise policy; None for one policy for all.
    n_subpolicies : int
        Number L of subpolicies.
    n_stages : int
        Number K of stages in a subpolicy.
    granularity : 'window' | 'batch'
        What makes choices of its own; see `RelaxedPolicy`.
    gate_temperature : float
        Temperature of the relaxed Bernoulli variable behind p.
    choice_temperature : float
        Temperature of the softmax that carries the gradient of w.
    """

    def __init__(
        self,
        pool: OperationPool,
        *,
        class_names: Sequence[str] | None = None,
        n_subpolicies: int = 5,
        n_stages: int = 2,
        granularity: Granularity = "window",
        gate_temperature: float = 0.1,
        choice_temperature: float = 0.5,
    ) -> None:
        super().__init__(
            pool,
            class_names=class_names,
            n_stages=n_stages,
            granularity=granularity,
            gate_temperature=gate_temperature,
            choice_temperature=choice_temperature,
        )
        self.n_subpolicies = int(check_positive("n_subpolicies", n_subpolicies))
        shape = (self.n_rows, self.n_subpolicies, self.n_stages, len(pool))
        self.weight = nn.Parameter(torch.zeros(shape))
        self.probability_logit = nn.Parameter(torch.zeros(shape))
        self.magnitude_logit = nn.Parameter(torch.zeros(shape))

    def draw(
        self, x: Tensor, y: Tensor | None = None, *, generator: Generator | None = None
    ) -> RelaxedDraw:
        row = self._rows(x, y)
        subpolicy = self._draw_subpolicy(x, row, generator)
        shape = (self.n_stages, len(self.pool))
        noise = gumbel(self._choice_noise(shape, x, row, generator))
        score = self.weight.detach()[row, subpolicy].log_softmax(-1).to(x.dtype) + noise
        operation = score.argmax(-1)
        return RelaxedDraw(
            row=row,
            subpolicy=subpolicy,
            noise=noise,
            operation=operation,
            gate=uniform(operation.shape, x, generator),
            groups=tuple(draw_groups(self.pool, x, column, generator) for column in operation.T),
        )

    def transform(self, x: Tensor, draw: RelaxedDraw) -> Tensor:
        stage = torch.arange(self.n_stages, device=x.device)
        place = (draw.row[:, None], draw.subpolicy[:, None], stage, draw.operation)
        probability = self.probability[place].to(x.dtype)
        magnitude = self.magnitude[place].to(x.dtype)
        choice = self._choice(draw)
        for k, groups in enumerate(draw.groups):
            changed = transform_groups(self.pool, x, groups, magnitude[:, k])
            after = gate(x, changed, probability[:, k], draw.gate[:, k], self.gate_temperature)
            x = attach(after, choice[:, k], (after - x).detach())
        return x

    def choices(self, draw: RelaxedDraw) -> Choices:
        return Choices(self.weight[draw.row, draw.subpolicy], draw.operation, draw.noise)

    def subpolicies(self, row: int) -> tuple[Subpolicy, ...]:
        weight = self._share().detach()[row]
        probability, magnitude = self.probability.detach()[row], self.magnitude.detach()[row]
        return tuple(
            Subpolicy(
                stages=tuple(
                    tuple(
                        self._entry(n, weight[i, k, n], probability[i, k, n], magnitude[i, k, n])
                        for n in range(len(self.pool))
                    )
                    for k in range(self.n_stages)
                )
            )
            for i in range(self.n_subpolicies)
        )

    def _share(self) -> Tensor:
        """Compute the probability of choosing each operation."""
        return self.weight.softmax(-1)

    def _choice(self, draw: RelaxedDraw) -> Tensor:
        """Compute the relaxed share of the operations that were drawn, (n_windows, n_stages)."""
        score = self.weight[draw.row, draw.subpolicy].log_softmax(-1).to(draw.noise.dtype)
        relaxed = ((score + draw.noise) / self.choice_temperature).softmax(-1)
        return relaxed.gather(-1, draw.operation[..., None]).squeeze(-1)

    def _draw_subpolicy(self, x: Tensor, row: Tensor, generator: Generator | None) -> Tensor:
        share = self._choice_noise((), x, row, generator)
        return (share * self.n_subpolicies).long()


class MixturePolicy(StagedPolicy):
    r"""Faster AutoAugment's policy: a stage is the convex combination of all operations.

    .. math:: x' = \sum_n \operatorname{softmax}(w/\eta)_n \, O_n(x; p_n, \mu_n)

    All operations are evaluated, so a stage costs as many of them as the pool has. Parameters are
    those of `StagedPolicy`; ``choice_temperature`` is η.
    """

    def draw(
        self, x: Tensor, y: Tensor | None = None, *, generator: Generator | None = None
    ) -> RelaxedDraw:
        row = self._rows(x, y)
        subpolicy = self._draw_subpolicy(x, row, generator)
        shape = (len(x), self.n_stages, len(self.pool))
        everything = torch.arange(len(x), device=x.device)
        return RelaxedDraw(
            row=row,
            subpolicy=subpolicy,
            noise=x.new_zeros(shape),
            operation=self.weight.detach()[row, subpolicy].argmax(-1),
            gate=uniform(shape, x, generator),
            groups=tuple(
                tuple(
                    Group(n, everything, operation.sample(x, generator))
                    for n, operation in enumerate(self.pool)
                )
                for _ in range(self.n_stages)
            ),
        )

    def transform(self, x: Tensor, draw: RelaxedDraw) -> Tensor:
        place = (draw.row, draw.subpolicy)
        share = self._share()[place].to(x.dtype)
        probability = self.probability[place].to(x.dtype)
        magnitude = self.magnitude[place].to(x.dtype)
        for k, groups in enumerate(draw.groups):
            mixed = torch.zeros_like(x)
            for group in groups:
                at = (slice(None), k, group.operation)
                changed = self.pool[group.operation].apply(x, magnitude[at], group.draw)
                after = gate(x, changed, probability[at], draw.gate[at], self.gate_temperature)
                mixed = torch.addcmul(mixed, per_window(share[at], x), after)
            x = mixed
        return x

    def _share(self) -> Tensor:
        return (self.weight / self.choice_temperature).softmax(-1)
