"""The relaxed policy that chooses among subpolicies: DADA's."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from cadda._internal.random import uniform
from cadda.operations.pool import OperationPool
from cadda.policies.dispatch import Granularity, draw_groups, transform_groups
from cadda.policies.relaxed.base import Choices, RelaxedDraw, RelaxedPolicy, attach, gate
from cadda.policies.spec.model import MAX_SUBPOLICIES, Subpolicy
from cadda.signal.relaxation import gumbel

__all__ = ["EnumeratedPolicy"]


class EnumeratedPolicy(RelaxedPolicy):
    """DADA's policy: every sequence of K operations is a subpolicy with a weight of its own.

    There are N^K ordered sequences of N operations, repeats included. Sequence s is drawn with
    probability softmax(w)_s; probabilities and magnitudes belong to a place in a sequence.

    Parameters
    ----------
    pool : OperationPool
        The operations.
    class_names : sequence of str | None
        Classes in the order of their labels, for a class-wise policy; None for one policy for all.
    n_stages : int
        Length K of the sequences.
    granularity : 'window' | 'batch'
        What makes choices of its own; see `RelaxedPolicy`.
    gate_temperature : float
        Temperature of the relaxed Bernoulli variable behind p.
    choice_temperature : float
        Temperature of the softmax that carries the gradient of w.
    """

    sequences: Tensor
    """Operations of each sequence, shape (n_subpolicies, n_stages)."""

    def __init__(
        self,
        pool: OperationPool,
        *,
        class_names: Sequence[str] | None = None,
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
        n_sequences = len(pool) ** self.n_stages
        if n_sequences > MAX_SUBPOLICIES:
            raise ValueError(
                f"`n_stages` must leave at most {MAX_SUBPOLICIES} sequences of operations, got "
                f"{len(pool)} ** {self.n_stages} = {n_sequences}; take fewer operations."
            )
        operations = torch.arange(len(pool))
        sequences = torch.cartesian_prod(*[operations] * self.n_stages).view(n_sequences, -1)
        self.register_buffer("sequences", sequences, persistent=False)
        shape = (self.n_rows, n_sequences, self.n_stages)
        self.weight = nn.Parameter(torch.zeros(shape[:2]))
        self.probability_logit = nn.Parameter(torch.zeros(shape))
        self.magnitude_logit = nn.Parameter(torch.zeros(shape))

    def draw(
        self, x: Tensor, y: Tensor | None = None, *, generator: Generator | None = None
    ) -> RelaxedDraw:
        row = self._rows(x, y)
        noise = gumbel(self._choice_noise((len(self.sequences),), x, row, generator))
        score = self.weight.detach()[row].log_softmax(-1).to(x.dtype) + noise
        subpolicy = score.argmax(-1)
        operation = self.sequences[subpolicy]
        return RelaxedDraw(
            row=row,
            subpolicy=subpolicy,
            noise=noise,
            operation=operation,
            gate=uniform(operation.shape, x, generator),
            groups=tuple(draw_groups(self.pool, x, column, generator) for column in operation.T),
        )

    def transform(self, x: Tensor, draw: RelaxedDraw) -> Tensor:
        place = (draw.row, draw.subpolicy)
        probability = self.probability[place].to(x.dtype)
        magnitude = self.magnitude[place].to(x.dtype)
        before = x
        for k, groups in enumerate(draw.groups):
            changed = transform_groups(self.pool, x, groups, magnitude[:, k])
            x = gate(x, changed, probability[:, k], draw.gate[:, k], self.gate_temperature)
        return attach(x, self._choice(draw), (x - before).detach())

    def choices(self, draw: RelaxedDraw) -> Choices:
        return Choices(
            self.weight[draw.row].unsqueeze(1), draw.subpolicy[:, None], draw.noise.unsqueeze(1)
        )

    def subpolicies(self, row: int) -> tuple[Subpolicy, ...]:
        weight = self.weight.detach()[row].softmax(-1)
        probability, magnitude = self.probability.detach()[row], self.magnitude.detach()[row]
        always = torch.ones(())
        return tuple(
            Subpolicy(
                weight=weight[s].item(),
                stages=tuple(
                    (self._entry(n, always, probability[s, k], magnitude[s, k]),)
                    for k, n in enumerate(sequence)
                ),
            )
            for s, sequence in enumerate(self.sequences.tolist())
        )

    def _choice(self, draw: RelaxedDraw) -> Tensor:
        """Compute the relaxed share of the sequences that were drawn, (n_windows,)."""
        score = self.weight[draw.row].log_softmax(-1).to(draw.noise.dtype)
        relaxed = ((score + draw.noise) / self.choice_temperature).softmax(-1)
        return relaxed.gather(-1, draw.subpolicy[:, None]).squeeze(-1)
