"""Policies whose weights, probabilities and magnitudes have gradients, for search to learn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import logsigmoid

from cadda._internal.devices import is_asynchronous
from cadda._internal.random import uniform
from cadda._internal.validation import check_positive
from cadda.operations.label_maps import mapping_of
from cadda.operations.pool import OperationPool
from cadda.policies.dispatch import (
    BatchPolicy,
    Granularity,
    Group,
    check_granularity,
    draw_stages,
)
from cadda.policies.policy import stage_entry
from cadda.policies.relaxed.values import PolicyValues
from cadda.policies.spec.entries import ALL_CLASSES, StageEntry, Subpolicy
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.provenance import Provenance
from cadda.signal.relaxation import bernoulli

__all__ = ["Choices", "RelaxedDraw", "RelaxedPolicy"]


@dataclass(frozen=True)
class RelaxedDraw:
    """All random decisions for a batch.

    Parameters
    ----------
    row : Tensor
        Row of the policy, the class if class-wise, of each window.
    subpolicy : Tensor
        Subpolicy of each window.
    noise : Tensor
        Gumbel numbers behind the choice that has learnable weights: (n_windows, n_stages,
        n_operations) for staged policies, (n_windows, n_subpolicies) for enumerated policies.
    operation : Tensor
        Operation of each window and stage, shape (n_windows, n_stages).
    gate : Tensor
        Uniform numbers that decide whether to apply it: (n_windows, n_stages), with a last axis of
        operations where all of them are evaluated.
    groups : tuple of tuple of Group
        For each stage, the windows of each operation and its random numbers.
    y : Tensor | None
        Labels of the windows after their transformation; None if none were given. For a
        `MixturePolicy` with label maps, shares of the classes, (n_windows, n_classes), attached to
        the policy.
    relabels : Tensor | None
        Where applying the operation gives the window another label, of the shape of ``operation``;
        None if no operation has a label map, and for a `MixturePolicy`.
    """

    row: Tensor
    subpolicy: Tensor
    noise: Tensor
    operation: Tensor
    gate: Tensor
    groups: tuple[tuple[Group, ...], ...]
    y: Tensor | None
    relabels: Tensor | None = None


@dataclass(frozen=True)
class Choices:
    """The choices with learnable weights that a draw made, one row per window.

    Parameters
    ----------
    weight : Tensor
        Weights of the options, attached to the policy, (n_windows, n_choices, n_options).
    chosen : Tensor
        Options that were drawn, (n_windows, n_choices).
    gumbel : Tensor
        Gumbel numbers behind them, of the shape of ``weight``.
    """

    weight: Tensor
    chosen: Tensor
    gumbel: Tensor


class RelaxedPolicy(BatchPolicy[RelaxedDraw]):
    """A policy with learnable weights w, probabilities p and magnitudes µ.

    Parameters are unconstrained, p = sigmoid(`probability_logit`) and µ =
    sigmoid(`magnitude_logit`), so that a value at its edge keeps its gradient. In the forward pass
    choices are hard, so that no window is a blend (but for `MixturePolicy`, whose stages are
    blends by definition); in the backward pass they are soft.

    Parameters
    ----------
    pool : OperationPool
        The operations.
    class_names : sequence of str | None
        Classes in the order of their labels, for a class-wise policy; None for one policy for all.
    n_stages : int
        Number K of stages in a subpolicy.
    granularity : 'window' | 'batch'
        Whether each window makes its own choices or, as in the paper, all windows of a batch (of
        one class, if class-wise) share subpolicy and operations.
    gate_temperature : float
        Temperature of the relaxed Bernoulli variable behind p.
    choice_temperature : float
        Temperature of the softmax that carries the gradient of w.
    """

    weight: nn.Parameter
    probability_logit: nn.Parameter
    magnitude_logit: nn.Parameter
    limit: Tensor

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
        super().__init__()
        self.pool = pool
        self.class_names = None if class_names is None else tuple(class_names)
        if pool.mapped_classes is not None and self.class_names not in (None, pool.class_names):
            raise ValueError(
                f"`class_names` must be those of the label maps of `pool`, "
                f"{list(pool.class_names)}, got {list(class_names or ())}."
            )
        self.n_stages = int(check_positive("n_stages", n_stages))
        self.granularity = check_granularity(granularity)
        self.gate_temperature = check_positive("gate_temperature", gate_temperature)
        self.choice_temperature = check_positive("choice_temperature", choice_temperature)

    @property
    def is_classwise(self) -> bool:
        return self.class_names is not None

    @property
    def n_rows(self) -> int:
        return 1 if self.class_names is None else len(self.class_names)

    @property
    def probability(self) -> Tensor:
        """Probabilities p of applying an operation once it is chosen."""
        return torch.sigmoid(self.probability_logit)

    @property
    def magnitude(self) -> Tensor:
        """Magnitudes µ, up to the largest of each operation that the pool lets searches try."""
        magnitude = torch.sigmoid(self.magnitude_logit)
        return magnitude * self.limit if self.pool.limits else magnitude

    def transform_pathwise(self, x: Tensor, draw: RelaxedDraw) -> Tensor:
        """Transform windows by a draw, differentiable in p and µ only.

        Parameters
        ----------
        x : Tensor
            The windows that the draw was made for.
        draw : RelaxedDraw
            Result of `draw`.

        Returns
        -------
        Tensor
            What `transform` returns, without the relaxed choices behind it if they can be left
            out: estimators such as RELAX do not need them.
        """
        return self.transform(x, draw)

    @abstractmethod
    def choices(self, draw: RelaxedDraw) -> Choices:
        """Return the weights and outcomes of the choices behind a draw.

        Parameters
        ----------
        draw : RelaxedDraw
            Result of `draw`.

        Returns
        -------
        Choices
            What a gradient estimator needs to know.
        """

    @property
    def values(self) -> PolicyValues:
        """What the policy is now, on the CPU; later steps do not change it."""
        now = (self._share(), self.probability, self.magnitude)
        return PolicyValues(*(value.detach().cpu() for value in now))

    @abstractmethod
    def subpolicies(self, row: int, values: PolicyValues) -> tuple[Subpolicy, ...]:
        """Return the subpolicies of one row as plain data.

        Parameters
        ----------
        row : int
            Label of the class; 0 if not class-wise.
        values : PolicyValues
            Shares, probabilities and magnitudes.

        Returns
        -------
        tuple of Subpolicy
            The subpolicies.
        """

    def _share(self) -> Tensor:
        """Compute the probability of each option of the choices."""
        return self.weight.softmax(-1)

    @abstractmethod
    def _place(self, draw: RelaxedDraw) -> tuple[Tensor, ...]:
        """Return the indices of the p and µ that a draw depends on."""

    def gate_score(self, draw: RelaxedDraw) -> Tensor:
        """Compute the log-probability of the decisions that gave windows their labels.

        Parameters
        ----------
        draw : RelaxedDraw
            Result of `draw`, with ``relabels``.

        Returns
        -------
        Tensor
            For each window, Σ log P(applied or not) over the stages whose operation would change
            its label; attached to p, shape (n_windows,).
        """
        assert draw.relabels is not None  # noqa: S101
        logit = self.probability_logit[self._place(draw)]
        probability = logit.detach().sigmoid().to(draw.gate.dtype)
        applied = bernoulli(probability, draw.gate)
        score = logsigmoid(torch.where(applied, logit, -logit))
        return torch.where(draw.relabels, score, 0.0).sum(1)

    def to_spec(
        self, provenance: Provenance | None = None, *, values: PolicyValues | None = None
    ) -> PolicySpec:
        """Return the policy as plain data.

        Parameters
        ----------
        provenance : Provenance | None
            Where it came from.
        values : PolicyValues | None
            Shares, probabilities and magnitudes; None takes those of now.

        Returns
        -------
        PolicySpec
            The same distribution over transformations as a policy with these values; for a
            mixture, its shares become the probabilities of choosing.
        """
        values = values or self.values
        names = (ALL_CLASSES,) if self.class_names is None else self.class_names
        return PolicySpec(
            policy={name: self.subpolicies(row, values) for row, name in enumerate(names)},
            operations=self.pool.settings,
            class_names=self.class_names or self.pool.mapped_classes,
            sfreq=self.pool.sfreq,
            ch_names=self.pool.ch_names or None,
            provenance=provenance or Provenance(),
        )

    def _choice_noise(
        self, shape: tuple[int, ...], x: Tensor, row: Tensor, generator: Generator | None
    ) -> Tensor:
        """Draw uniform numbers for choices: one set per window, or one per row of the policy."""
        if self.granularity == "window":
            return uniform((len(x), *shape), x, generator)
        return uniform((self.n_rows, *shape), x, generator)[row]

    def _add_parameters(
        self, weight_shape: Sequence[int], shape: Sequence[int], operation: Tensor
    ) -> None:
        """Make the parameters; ``operation`` has those along the last axes of p and µ."""
        self.weight = nn.Parameter(torch.zeros(*weight_shape))
        self.probability_logit = nn.Parameter(torch.zeros(*shape))
        self.magnitude_logit = nn.Parameter(torch.zeros(*shape))
        limit = torch.tensor(self.pool.max_magnitudes)[operation]
        self.register_buffer("limit", limit, persistent=False)

    def _draw_operations(
        self,
        x: Tensor,
        y: Tensor | None,
        row: Tensor,
        subpolicy: Tensor,
        noise: Tensor,
        operation: Tensor,
        probability: Tensor,
        generator: Generator | None,
    ) -> RelaxedDraw:
        """Complete the draw of a batch whose choices are made; see `RelaxedDraw`.

        ``probability`` is that of applying each operation, (n_windows, n_stages).
        """
        gate = uniform(operation.shape, x, generator)
        suited, relabels = operation, None
        labels: Sequence[Tensor | None] = [y] * (self.n_stages + 1)
        if self.pool.label_table is not None:
            probability = probability.detach().to(x.dtype)
            applied = bernoulli(probability, gate)
            suited, relabels, labels = self._follow_labels(operation, applied, y)
        groups = draw_stages(
            self.pool, x, labels, suited, generator, whole_batch=is_asynchronous(x.device)
        )
        return RelaxedDraw(row, subpolicy, noise, operation, gate, groups, labels[-1], relabels)

    def _pathwise_probability(self, draw: RelaxedDraw) -> Tensor:
        """Return p of each window and stage, detached where it also decides about the label.

        What a window changes into tells only half of what p does there; see `gate_score`.
        """
        probability = self.probability[self._place(draw)]
        if draw.relabels is None:
            return probability
        return torch.where(draw.relabels, probability.detach(), probability)

    def _relaxed_choices(self, draw: RelaxedDraw) -> Tensor:
        """Compute the relaxed shares of the options that were drawn, (n_windows, n_choices)."""
        choices = self.choices(draw)
        score = choices.weight.log_softmax(-1).to(choices.gumbel.dtype)
        relaxed = ((score + choices.gumbel) / self.choice_temperature).softmax(-1)
        return relaxed.gather(-1, choices.chosen[..., None]).squeeze(-1)

    def _entry(
        self, operation: int, weight: Tensor, probability: Tensor, magnitude: Tensor
    ) -> StageEntry:
        """Write one operation of a stage as plain data."""
        chosen = self.pool[operation]
        if mapping_of(chosen) is not None:
            # One that is never applied would have no label map, and be the same as without it.
            tiny = torch.finfo(torch.float32).tiny
            weight, probability = weight.clamp_min(tiny), probability.clamp_min(tiny)
        return stage_entry(chosen, probability.item(), magnitude.item(), weight=weight.item())
