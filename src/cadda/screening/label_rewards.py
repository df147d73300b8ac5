r"""What each window would do for validation with each label.

The reward of a window with label y is the derivative of its loss along v, the gradient of the
validation loss (see `cadda.searchers.gradient.reward`). The logits hold the losses with all
labels, so the rewards with all labels cost no more than that with one. Models here are in
evaluation mode, in which each window is judged by itself: no dropout, no batch statistics.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from cadda.searchers.gradient.reward import RELATIVE_STEP, Weights

__all__ = ["label_rewards", "sharpened_gradient"]


def sharpened_gradient(
    model: nn.Module, weights: Mapping[str, Tensor], x: Tensor, y: Tensor, sharpness: Tensor
) -> Weights:
    """Compute the gradient of the mean loss with logits multiplied by a number.

    Parameters
    ----------
    model : nn.Module
        The model in evaluation mode, which is left as it is.
    weights : mapping of str to Tensor
        Weights to use instead of its own.
    x : Tensor
        Windows.
    y : Tensor
        Labels.
    sharpness : Tensor
        The number.

    Returns
    -------
    dict of str to Tensor
        Gradient by name; 0 for a parameter that has no part in the loss.
    """
    leaves = {name: value.detach().requires_grad_() for name, value in weights.items()}
    loss = cross_entropy(sharpness * functional_call(model, leaves, x), y)
    gradients = torch.autograd.grad(
        loss, list(leaves.values()), allow_unused=True, materialize_grads=True
    )
    return dict(zip(leaves, gradients, strict=True))


def label_rewards(
    model: nn.Module, weights: Mapping[str, Tensor], direction: Mapping[str, Tensor], x: Tensor
) -> Tensor:
    """Compute the reward of each window with each label, by central differences.

    Parameters
    ----------
    model : nn.Module
        The model in evaluation mode, which is left as it is.
    weights : mapping of str to Tensor
        θ.
    direction : mapping of str to Tensor
        v, the gradient of the validation loss.
    x : Tensor
        Windows.

    Returns
    -------
    Tensor
        Shape (n_windows, n_classes).
    """
    length = torch.cat([value.flatten() for value in direction.values()]).norm()
    unit = 1 / length.clamp_min(torch.finfo(length.dtype).tiny)
    with torch.no_grad():
        ahead, behind = (
            functional_call(
                model, {name: w + step * unit * direction[name] for name, w in weights.items()}, x
            ).log_softmax(1)
            for step in (RELATIVE_STEP, -RELATIVE_STEP)
        )
    # Where validation has no wish at all, the length is 0 and so are the rewards.
    rewards: Tensor = length * (behind - ahead) / (2 * RELATIVE_STEP)
    return rewards
