"""Settings of ADDA, CADDA and DADA, and those of the paper."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cadda._internal.validation import (
    Betas,
    Count,
    NonNegative,
    Positive,
    Seed,
    StageCount,
    SubpolicyCount,
    validated_dataclass,
)
from cadda.policies.dispatch import Granularity
from cadda.policies.spec.leakage import MAX_LEAK
from cadda.searchers.gradient.policy_optimizer import Estimator
from cadda.searchers.gradient.reward import Confidence, Hypergradient

__all__ = ["PAPER", "BilevelSettings", "Sampling"]

Sampling = Literal["stage", "subpolicy", "mixture"]


PAPER: dict[str, object] = {
    "betas": (0.0, 0.999),
    "policy_lr": 5e-4,
    "valid_memory": 0.0,
    "smoothing": 0.0,
    "warmup_epochs": 0,
    "granularity": "batch",
    "paired": False,
    "confidence": "keep",
    "pooled": False,
    "reuse_inner_gradient": False,
    "max_leak": None,
}
"""What the paper does otherwise than our defaults; it also doubles the batch for CADDA."""


@validated_dataclass
class BilevelSettings:
    """How to search by the gradient of the validation loss.

    Parameters
    ----------
    batch_size : int
        Training windows per step.
    valid_batch_size : int | None
        Validation windows per step, resampled each time; None takes as many as for training.
    valid_memory : float
        How much of the validation gradient is kept from one step to the next, in [0, 1): the mean
        over recent steps is less noisy, and a little out of date.
    smoothing : float
        Epochs that the running mean of the weights goes back at which rewards are computed, in
        evaluation mode. The weights themselves oscillate around the mean, which biases rewards
        more than most operations do. 0 takes them as they are, with dropout, as the paper does.
    model_lr : float
        Learning rate of Adam on the model.
    betas : tuple of float
        Decay rates of Adam on the model.
    policy_lr : float
        Learning rate of Adam on the policy.
    control_lr : float
        Learning rate of Adam on the control variate.
    unroll_lr : float
        Step size ξ of the unrolled training step.
    warmup_epochs : int
        Epochs before the policy is updated: augmentation only helps once the model overfits.
    hypergradient : 'finite-difference' | 'exact'
        How rewards are computed: by two more passes, or by forward-mode differentiation.
    estimator : 'relax' | 'straight-through'
        How the weights of choices learn. Operations with label maps need ``"relax"``, and get it:
        straight-through gradients do not see that the label changes.
    paired : bool
        Whether to subtract from each reward that of the same window left as it is.
    confidence : 'remove' | 'calibrate' | 'keep'
        Whether an operation may earn something by only making an overfitted model less sure, as
        noise does. ``"remove"`` gives no reward for changing only the confidence of the model or
        its preference for a class, ``"calibrate"`` divides validation logits by their best
        temperature, ``"keep"`` does neither: see `cadda.searchers.gradient.reward.loss_gradient`.
    pooled : bool
        Whether subpolicies and stages share what they have in common, learned from all windows
        that an operation was applied to in any of them.
    reuse_inner_gradient : bool
        Whether the gradient of the unrolled step also updates the model.
    sampling : 'stage' | 'subpolicy' | 'mixture'
        What is drawn: an operation per stage (ADDA), one of all sequences of operations (DADA), or
        nothing, each stage being the weighted mean of all operations (Faster AutoAugment).
    n_subpolicies : int
        Number L of subpolicies; without effect if sequences are drawn.
    n_stages : int
        Number K of stages of a subpolicy.
    granularity : 'window' | 'batch'
        What makes choices of its own: each window, or each batch as a whole.
    gate_temperature : float
        Temperature of the relaxed Bernoulli variable behind p.
    choice_temperature : float
        Temperature of the softmax that carries the gradient of w.
    max_leak : float | None
        Largest number of bits that an operation of the policy may tell about the class: see
        `PolicySpec.capped`. None for no limit.
    n_seeds : int
        How often to search, with different seeds; the policy is the mean over them.
    seed : int
        Decides everything that is random.
    """

    batch_size: Count = 16
    valid_batch_size: Count | None = None
    valid_memory: Annotated[float, Field(ge=0, lt=1)] = 0.8
    smoothing: NonNegative = 5.0
    model_lr: Positive = 1e-3
    betas: Betas = (0.9, 0.999)
    policy_lr: Positive = 0.02
    control_lr: Positive = 0.01
    unroll_lr: Positive = 1e-3
    warmup_epochs: Annotated[int, Field(ge=0)] = 5
    hypergradient: Hypergradient = "finite-difference"
    estimator: Estimator = "relax"
    paired: bool = True
    confidence: Confidence = "remove"
    pooled: bool = True
    reuse_inner_gradient: bool = True
    sampling: Sampling = "stage"
    n_subpolicies: SubpolicyCount = 5
    n_stages: StageCount = 2
    granularity: Granularity = "window"
    gate_temperature: Positive = 0.1
    choice_temperature: Positive = 0.5
    max_leak: Positive | None = MAX_LEAK
    n_seeds: Count = 1
    seed: Seed = 0

    @property
    def n_valid(self) -> int:
        """Validation windows per step."""
        return self.batch_size if self.valid_batch_size is None else self.valid_batch_size
