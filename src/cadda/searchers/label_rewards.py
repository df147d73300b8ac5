r"""What each window would do for validation with each label.

The reward of a window with label y is the derivative of its loss along v, the gradient of the
validation loss (see `cadda.searchers.reward`). The logits hold the losses with all labels, so the
rewards with all labels cost no more than that with one.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call

from cadda.searchers.reward import RELATIVE_STEP

__all__ = ["label_rewards"]


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
    step = RELATIVE_STEP / length.clamp_min(torch.finfo(length.dtype).tiny)
    with torch.no_grad():
        ahead, behind = (
            functional_call(
                model, {name: w + sign * step * direction[name] for name, w in weights.items()}, x
            ).log_softmax(1)
            for sign in (1.0, -1.0)
        )
    rewards: Tensor = (behind - ahead) / (2 * step)
    return rewards
