"""The relaxed policies of ADDA, Faster AutoAugment and DADA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from cadda._internal.limits import MAX_SUBPOLICIES
from cadda._internal.random import uniform
from cadda._internal.validation import check_positive
from cadda.operations.base import Batch
from cadda.operations.label_maps import NOT_MAPPED
from cadda.operations.pool import OperationPool
from cadda.policies.dispatch import Granularity, Group, per_window, transform_groups
from cadda.policies.relaxed.base import Choices, RelaxedDraw, RelaxedPolicy
from cadda.policies.relaxed.gates import attach, gate
from cadda.policies.relaxed.values import PolicyValues
from cadda.policies.spec.entries import Subpolicy
from cadda.signal.relaxation import gumbel, straight_through_bernoulli

__all__ = ["EnumeratedPolicy", "MixturePolicy", "StagedPolicy"]


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
        self._add_parameters(shape, shape, torch.arange(len(pool)))

    def draw(
        self, x: Tensor, y: Tensor | None = None, *, generator: Generator | None = None
    ) -> RelaxedDraw:
        row, y = self._rows(x, y)
        subpolicy = self._draw_subpolicy(x, row, generator)
        shape = (self.n_stages, len(self.pool))
        noise = gumbel(self._choice_noise(shape, x, row, generator))
        score = self.weight.detach()[row, subpolicy].log_softmax(-1).to(x.dtype) + noise
        operation = score.argmax(-1)
        probability = self.probability[self._indices(row, subpolicy, operation)]
        return self._draw_operations(
            x, y, row, subpolicy, noise, operation, probability, generator
        )

    def transform(self, x: Tensor, draw: RelaxedDraw) -> Tensor:
        return self._transform(x, draw, self._relaxed_choices(draw))

    def transform_pathwise(self, x: Tensor, draw: RelaxedDraw) -> Tensor:
        return self._transform(x, draw, None)

    def _transform(self, x: Tensor, draw: RelaxedDraw, choice: Tensor | None) -> Tensor:
        """Transform windows, attached to relaxed choices (n_windows, n_stages) if given."""
        probability = self._pathwise_probability(draw).to(x.dtype)
        magnitude = self.magnitude[self._place(draw)].to(x.dtype)
        for k, groups in enumerate(draw.groups):
            changed = transform_groups(self.pool, x, groups, magnitude[:, k])
            after = gate(x, changed, probability[:, k], draw.gate[:, k], self.gate_temperature)
            if choice is not None and choice.requires_grad:
                after = attach(after, choice[:, k], after.detach() - x.detach())
            x = after
        return x

    def choices(self, draw: RelaxedDraw) -> Choices:
        return Choices(self.weight[draw.row, draw.subpolicy], draw.operation, draw.noise)

    def subpolicies(self, row: int, values: PolicyValues) -> tuple[Subpolicy, ...]:
        weight = values.share[row]
        probability, magnitude = values.probability[row], values.magnitude[row]
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

    def _place(self, draw: RelaxedDraw) -> tuple[Tensor, ...]:
        return self._indices(draw.row, draw.subpolicy, draw.operation)

    def _indices(self, row: Tensor, subpolicy: Tensor, operation: Tensor) -> tuple[Tensor, ...]:
        """Return the indices of the parameters of each window and stage."""
        stage = torch.arange(self.n_stages, device=row.device)
        return row[:, None], subpolicy[:, None], stage, operation

    def _draw_subpolicy(self, x: Tensor, row: Tensor, generator: Generator | None) -> Tensor:
        share = self._choice_noise((), x, row, generator)
        return (share * self.n_subpolicies).long()


class MixturePolicy(StagedPolicy):
    r"""Faster AutoAugment's policy: a stage is the convex combination of all operations.

    .. math:: x' = \sum_n \operatorname{softmax}(w/\eta)_n \, O_n(x; p_n, \mu_n)

    All operations are evaluated, so a stage costs as many of them as the pool has. Parameters are
    those of `StagedPolicy`; ``choice_temperature`` is η. With label maps, the label of a mixture
    is the same mixture of labels: shares of the classes, which have gradients as the windows do.
    """

    def draw(
        self, x: Tensor, y: Tensor | None = None, *, generator: Generator | None = None
    ) -> RelaxedDraw:
        row, y = self._rows(x, y)
        subpolicy = self._draw_subpolicy(x, row, generator)
        shape = (len(x), self.n_stages, len(self.pool))
        batch, everything = Batch(x, y, y), torch.arange(len(x), device=x.device)
        draw = RelaxedDraw(
            row=row,
            subpolicy=subpolicy,
            noise=x.new_zeros(shape),
            operation=self.weight.detach()[row, subpolicy].argmax(-1),
            gate=uniform(shape, x, generator),
            groups=tuple(
                tuple(
                    Group(n, everything, operation.sample_group(batch, everything, generator))
                    for n, operation in enumerate(self.pool)
                )
                for _ in range(self.n_stages)
            ),
            y=y,
        )
        table = self.pool.label_table
        return draw if y is None or table is None else self._with_labels(draw, table.like(y), y)

    def _with_labels(self, draw: RelaxedDraw, table: Tensor, y: Tensor) -> RelaxedDraw:
        """Close the gate of operations that are not for the class, and mix the labels."""
        target, n_classes = table[:-1], table.shape[1]
        suits = (target[:, y] != NOT_MAPPED).T
        kept = torch.arange(n_classes, device=y.device)
        change = one_hot(torch.where(target == NOT_MAPPED, kept, target), n_classes)
        place = self._place(draw)
        gate = draw.gate * suits[:, None]
        probability = self.probability[place].to(gate.dtype)
        share = self._share()[place].to(gate.dtype)
        applied = straight_through_bernoulli(probability, gate, self.gate_temperature)
        labels = one_hot(y, n_classes).to(gate.dtype)
        for k in range(self.n_stages):
            taken = share[:, k] * applied[:, k]
            after = torch.einsum("bc,ncd,bn->bd", labels, change.to(gate.dtype), taken)
            labels = after + labels * (1 - taken.sum(1, keepdim=True))
        return replace(draw, gate=gate, y=labels)

    def transform(self, x: Tensor, draw: RelaxedDraw) -> Tensor:
        place = self._place(draw)
        share = self._share()[place].to(x.dtype)
        probability = self.probability[place].to(x.dtype)
        magnitude = self.magnitude[place].to(x.dtype)
        for k, groups in enumerate(draw.groups):
            mixed = torch.zeros_like(x)
            for group in groups:
                at = (slice(None), k, group.operation)
                changed = self.pool[group.operation].apply_checked(x, magnitude[at], group.draw)
                after = gate(x, changed, probability[at], draw.gate[at], self.gate_temperature)
                mixed = torch.addcmul(mixed, per_window(share[at], x), after)
            x = mixed
        return x

    def transform_pathwise(self, x: Tensor, draw: RelaxedDraw) -> Tensor:
        return self.transform(x, draw)

    def _place(self, draw: RelaxedDraw) -> tuple[Tensor, ...]:
        return draw.row, draw.subpolicy

    def _share(self) -> Tensor:
        return (self.weight / self.choice_temperature).softmax(-1)


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
        self._add_parameters(shape[:2], shape, sequences)

    def draw(
        self, x: Tensor, y: Tensor | None = None, *, generator: Generator | None = None
    ) -> RelaxedDraw:
        row, y = self._rows(x, y)
        noise = gumbel(self._choice_noise((len(self.sequences),), x, row, generator))
        score = self.weight.detach()[row].log_softmax(-1).to(x.dtype) + noise
        subpolicy = score.argmax(-1)
        operation, probability = self.sequences[subpolicy], self.probability[row, subpolicy]
        return self._draw_operations(
            x, y, row, subpolicy, noise, operation, probability, generator
        )

    def transform(self, x: Tensor, draw: RelaxedDraw) -> Tensor:
        after, choice = self.transform_pathwise(x, draw), self._relaxed_choices(draw)[:, 0]
        return attach(after, choice, after.detach() - x.detach())

    def transform_pathwise(self, x: Tensor, draw: RelaxedDraw) -> Tensor:
        probability = self._pathwise_probability(draw).to(x.dtype)
        magnitude = self.magnitude[self._place(draw)].to(x.dtype)
        for k, groups in enumerate(draw.groups):
            changed = transform_groups(self.pool, x, groups, magnitude[:, k])
            x = gate(x, changed, probability[:, k], draw.gate[:, k], self.gate_temperature)
        return x

    def _place(self, draw: RelaxedDraw) -> tuple[Tensor, ...]:
        return draw.row, draw.subpolicy

    def choices(self, draw: RelaxedDraw) -> Choices:
        return Choices(
            self.weight[draw.row].unsqueeze(1), draw.subpolicy[:, None], draw.noise.unsqueeze(1)
        )

    def subpolicies(self, row: int, values: PolicyValues) -> tuple[Subpolicy, ...]:
        weight = values.share[row]
        probability, magnitude = values.probability[row], values.magnitude[row]
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
