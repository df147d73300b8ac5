r"""How much each augmented window helps validation, to first order in one training step.

With :math:`\theta' = \theta - \xi \nabla_\theta L(\theta)` and
:math:`v = \nabla_{\theta'} L_\text{val}(\theta')`, the reward of a window is

.. math:: \rho_i = \frac{d}{d\varepsilon} \ell(\theta + \varepsilon v; \tilde x_i, y_i)
                 = \langle \nabla_\theta \ell_i, v \rangle ,

how well its gradient agrees with that of validation. Training on the window changes the
validation loss by :math:`-\xi \rho_i / B`: a **positive reward is helpful**, and search ascends
it. (The paper's Algorithm 1 has the opposite sign; its Eq. 9 agrees with this one.)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.func import jvp
from torch.nn.functional import cross_entropy, one_hot

from cadda._internal.random import seeded
from cadda.searchers.gradient.substitution import substituted

__all__ = [
    "Confidence",
    "Hypergradient",
    "RewardDirection",
    "Weights",
    "best_sharpness",
    "loss_gradient",
    "rewards_and_residuals",
    "unrolled",
    "weights_of",
    "window_rewards",
]

Hypergradient = Literal["finite-difference", "exact"]
Confidence = Literal["remove", "calibrate", "keep"]
Weights = dict[str, Tensor]

SHARPNESS_RANGE = (0.01, 10.0)
NEWTON_STEPS = 12
RELATIVE_STEP = 0.01
"""Length of the finite-difference step ε‖v‖, as in the paper."""


def weights_of(model: nn.Module) -> Weights:
    """Return the trainable parameters of a model by name, detached, in the memory of the model."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def _logits(model: nn.Module, weights: Mapping[str, Tensor], x: Tensor, noise_seed: int) -> Tensor:
    with seeded(noise_seed, x.device), substituted(model, weights):
        logits: Tensor = model(x)
    return logits


def loss_gradient(
    model: nn.Module,
    weights: Mapping[str, Tensor],
    x: Tensor,
    y: Tensor,
    *,
    noise_seed: int,
    confidence: Confidence = "keep",
) -> tuple[Tensor, Weights]:
    """Compute the mean loss of a batch and its gradient in the weights.

    Parameters
    ----------
    model : nn.Module
        The model, which is left as it is.
    weights : mapping of str to Tensor
        Weights to use instead of its own.
    x : Tensor
        Windows.
    y : Tensor
        Labels.
    noise_seed : int
        Seed of dropout.
    confidence : 'remove' | 'calibrate' | 'keep'
        An overfitted model is too sure of itself, and whatever makes it less sure lowers its loss,
        noise included; and one that says a class too often gains from whatever spoils that class.
        ``"remove"`` takes the direction out of the gradient in which only the scale of the logits
        changes, and what an offset of each class would do as well; ``"calibrate"`` divides the
        logits by the temperature that suits this batch best, which also makes all windows count
        alike, right or wrong.

    Returns
    -------
    loss : Tensor
        Mean loss, shape (), detached.
    gradient : dict of str to Tensor
        Gradient by name; 0 for a parameter that has no part in the loss.
    """
    leaves = {name: value.detach().requires_grad_() for name, value in weights.items()}
    logits = _logits(model, leaves, x, noise_seed)
    if confidence == "calibrate":
        logits = logits * best_sharpness(logits.detach(), y)
    loss = cross_entropy(logits, y)

    def gradient_of(value: Tensor, *, retain_graph: bool) -> Tensor:
        parts = torch.autograd.grad(
            value,
            list(leaves.values()),
            allow_unused=True,
            materialize_grads=True,
            retain_graph=retain_graph,
        )
        return torch.cat([part.flatten() for part in parts])

    if confidence == "remove":
        error = logits.detach().softmax(1) - one_hot(y, logits.shape[1])
        gradient = gradient_of((logits * (error - error.mean(0))).sum(1).mean(), retain_graph=True)
        centred = logits - logits.mean(1, keepdim=True)
        surer = gradient_of(centred.square().sum(1).mean(), retain_graph=False)
        length = surer.square().sum().clamp_min(torch.finfo(surer.dtype).tiny)
        gradient = gradient - (gradient @ surer / length) * surer
    else:
        gradient = gradient_of(loss, retain_graph=False)
    parts = torch.split(gradient, [value.numel() for value in leaves.values()])
    return loss.detach(), {
        name: part.view_as(leaves[name]) for name, part in zip(leaves, parts, strict=True)
    }


def best_sharpness(logits: Tensor, y: Tensor) -> Tensor:
    """Find the inverse temperature that lowers the loss of given logits most, by Newton's method.

    Parameters
    ----------
    logits : Tensor
        Shape (n_windows, n_classes).
    y : Tensor
        Labels.

    Returns
    -------
    Tensor
        A number between `SHARPNESS_RANGE`; the loss is convex in it.
    """
    lowest, highest = SHARPNESS_RANGE
    sharpness = torch.ones((), dtype=logits.dtype, device=logits.device)
    right = logits.gather(1, y[:, None]).squeeze(1)
    for _ in range(NEWTON_STEPS):
        share = (sharpness * logits).softmax(1)
        expected = (share * logits).sum(1)
        slope = (expected - right).mean()
        curvature = (share * (logits - expected[:, None]).square()).sum(1).mean()
        # Half or twice at the most, so that a flat place does not throw it out of range.
        step = (slope / curvature.clamp_min(1e-12)).clamp(-sharpness, sharpness / 2)
        sharpness = (sharpness - step).clamp(lowest, highest)
    return sharpness


def unrolled(weights: Mapping[str, Tensor], gradient: Mapping[str, Tensor], lr: float) -> Weights:
    """Compute one step of gradient descent without changing the weights.

    Parameters
    ----------
    weights : mapping of str to Tensor
        θ.
    gradient : mapping of str to Tensor
        Gradient of the training loss.
    lr : float
        Step size ξ.

    Returns
    -------
    dict of str to Tensor
        θ − ξ · gradient.
    """
    return {name: value - lr * gradient[name] for name, value in weights.items()}


def window_rewards(
    model: nn.Module,
    weights: Mapping[str, Tensor],
    direction: Mapping[str, Tensor],
    x: Tensor,
    y: Tensor,
    *,
    method: Hypergradient,
    noise_seed: int,
) -> Tensor:
    """Compute the reward of each window, differentiable in the windows.

    Parameters
    ----------
    model : nn.Module
        The model, which is left as it is.
    weights : mapping of str to Tensor
        θ.
    direction : mapping of str to Tensor
        v, the gradient of the validation loss after the unrolled step.
    x : Tensor
        Windows as augmented; gradients flow back to them.
    y : Tensor
        Labels.
    method : 'finite-difference' | 'exact'
        Central difference of two passes that share augmentation and dropout, as in the paper; or
        forward-mode differentiation.
    noise_seed : int
        Seed of dropout, the same for both passes: other masks would be amplified by 1/ε.

    Returns
    -------
    Tensor
        Rewards of shape (n_windows,).
    """
    way = RewardDirection(weights, direction, method)
    return rewards_and_residuals(model, way, x, y, noise_seed=noise_seed)[0]


class RewardDirection:
    """Where rewards are derivatives: from the weights θ in the direction v.

    For finite differences it has the weights θ ± εv, which are the same for all windows of a step.

    Parameters
    ----------
    weights : mapping of str to Tensor
        θ.
    direction : mapping of str to Tensor
        v, the gradient of the validation loss after the unrolled step.
    method : 'finite-difference' | 'exact'
        As in `window_rewards`.
    """

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        direction: Mapping[str, Tensor],
        method: Hypergradient,
    ) -> None:
        self.weights, self.direction, self.is_exact = dict(weights), direction, method == "exact"
        if self.is_exact:
            return
        slopes = [direction[name] for name in weights]
        length: Tensor = torch.cat([value.flatten() for value in direction.values()]).norm()
        self.step = RELATIVE_STEP / length.clamp_min(torch.finfo(length.dtype).tiny)
        ahead, behind = (
            torch._foreach_add(
                list(weights.values()), torch._foreach_mul(slopes, sign * self.step)
            )
            for sign in (1.0, -1.0)
        )
        self.ahead: Weights = dict(zip(weights, ahead, strict=True))
        self.behind: Weights = dict(zip(weights, behind, strict=True))


def rewards_and_residuals(
    model: nn.Module, way: RewardDirection, x: Tensor, y: Tensor, *, noise_seed: int
) -> tuple[Tensor, Tensor]:
    """Compute the reward of each window, and how far the model is from its label.

    Parameters
    ----------
    model : nn.Module
        The model, which is left as it is.
    way : RewardDirection
        Weights and the direction in which rewards are derivatives.
    x : Tensor
        Windows as augmented; gradients flow back to them.
    y : Tensor
        Labels, or shares of the classes.
    noise_seed : int
        Seed of dropout.

    Returns
    -------
    rewards : Tensor
        As of `window_rewards`.
    residuals : Tensor
        ‖p − y‖ of each window, p being the predicted probabilities at θ; without gradient, and
        from the passes that rewards need anyway.
    """

    def losses(point: Weights) -> tuple[Tensor, Tensor]:
        logits = _logits(model, point, x, noise_seed)
        return cross_entropy(logits, y, reduction="none"), logits.detach().softmax(1)

    if way.is_exact:
        with warnings.catch_warnings():
            # torch's own rules for forward mode use a part of torch that it calls deprecated.
            warnings.simplefilter("ignore", DeprecationWarning)
            # torch's types do not know of the third value.
            tangent = dict(way.direction)
            found: Any = jvp(losses, (way.weights,), (tangent,), has_aux=True)
        _, rewards, share = found
        return rewards, _residual(share, y)
    (ahead, after), (behind, before) = losses(way.ahead), losses(way.behind)
    return (ahead - behind) / (2 * way.step), _residual((after + before) / 2, y)


def _residual(share: Tensor, y: Tensor) -> Tensor:
    target = one_hot(y, share.shape[1]) if y.ndim == 1 else y.detach()
    length: Tensor = torch.linalg.vector_norm(share - target, dim=1)
    return length
