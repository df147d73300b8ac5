"""LeNet-1, the network of the digits study."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["LeNet1"]

KERNEL = 5
SMALLEST = 16


class LeNet1(nn.Module):
    """LeNet-1 for grey images: twice a convolution of 5 × 5, tanh and averaging of 2 × 2.

    Parameters
    ----------
    n_channels : int
        Height of the images in pixels; called so because a batch of images is a batch of windows.
    n_times : int
        Width of the images in pixels.
    n_classes : int
        Number of classes.

    References
    ----------
    LeCun et al. (1998), Gradient-based learning applied to document recognition.
    """

    def __init__(self, n_channels: int, n_times: int, n_classes: int) -> None:
        super().__init__()
        if min(n_channels, n_times) < SMALLEST:
            raise ValueError(
                f"`n_channels` and `n_times` must be at least {SMALLEST} pixels for lenet1, "
                f"got {n_channels} and {n_times}."
            )
        self.first = nn.Conv2d(1, 4, KERNEL)
        self.second = nn.Conv2d(4, 12, KERNEL)
        height, width = (((size - 4) // 2 - 4) // 2 for size in (n_channels, n_times))
        self.dense = nn.Linear(12 * height * width, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Classify images.

        Parameters
        ----------
        x : Tensor
            Images of shape (n_images, height, width).

        Returns
        -------
        Tensor
            Logits of shape (n_images, n_classes).
        """
        features = x.unsqueeze(1)
        for convolution in (self.first, self.second):
            features = functional.avg_pool2d(torch.tanh(convolution(features)), 2)
        logits: Tensor = self.dense(features.flatten(1))
        return logits
