"""The critic of Faster AutoAugment, which scores how real windows look."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from cadda._internal.random import GLOBAL_GENERATORS

__all__ = ["Critic", "make_critic"]

N_FILTERS = (16, 32, 32)
N_BINS = 4
N_HIDDEN = 64
SLOPE = 0.2
"""Slope of the leaky ReLU below zero."""


class Critic(nn.Module):
    """Strided convolutions with two heads: logits of the classes, one critic score per window.

    Nothing connects the windows of a batch, so no normalisation by batch: the gradient penalty is
    about the gradient of each critic score in its own window. Windows may have any length of at
    least one sample.

    Given labels, the critic also scores whether a window is a real window *of its class*, by a
    projection of the features on a vector of that class. The critic score starts at 0 for all
    windows and classes, so that its slope is what was learned, not how the weights were
    initialised.

    The `shape` is that of one window, (n_channels, n_times), or image, (height, width) with
    `images` or (n_planes, height, width).

    References
    ----------
    Gulrajani et al. (2017), Improved training of Wasserstein GANs. Hataya et al. (2020), Faster
    AutoAugment. Miyato and Koyama (2018), cGANs with projection discriminator.

    Examples
    --------
    >>> logits, score = Critic((2, 3000), n_classes=5)(torch.zeros(16, 2, 3000))
    >>> tuple(logits.shape), tuple(score.shape)
    ((16, 5), (16,))
    """

    def __init__(self, shape: Sequence[int], n_classes: int, *, images: bool = False) -> None:
        super().__init__()
        if len(shape) not in (2, 3):
            raise ValueError(
                "`shape` must be (n_channels, n_times), (height, width) or "
                f"(n_planes, height, width), got {tuple(shape)}."
            )
        self.images = images or len(shape) == 3
        self.features = _image_features(shape) if self.images else _window_features(shape)
        n_features = N_FILTERS[-1] * N_BINS ** (2 if self.images else 1)
        self.classes = nn.Linear(n_features, n_classes)
        last = nn.Linear(N_HIDDEN, 1)
        self.score = nn.Sequential(nn.Linear(n_features, N_HIDDEN), nn.ReLU(), last)
        self.projection = nn.Embedding(n_classes, n_features)
        for start in (last.weight, last.bias, self.projection.weight):
            nn.init.zeros_(start)

    def forward(self, x: Tensor, y: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Compute logits, (n_windows, n_classes), and critic scores, (n_windows,).

        Windows have shape (n_windows, n_channels, n_times), images (n_images, height, width) or
        (n_images, n_planes, height, width). Labels make the scores those of their classes.
        """
        planes = x.unsqueeze(1) if self.images and x.ndim == 3 else x
        features = self.features(planes)
        score: Tensor = self.score(features).squeeze(-1)
        if y is not None:
            score = score + (self.projection(y) * features).sum(-1)
        return self.classes(features), score


def make_critic(
    shape: Sequence[int], n_classes: int, seed: int, *, images: bool = False
) -> Critic:
    """Make a critic whose weights only depend on the seed."""
    with GLOBAL_GENERATORS, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Critic(shape, n_classes, images=images)


def _window_features(shape: Sequence[int]) -> nn.Sequential:
    """Convolve over time; the longer the window, the larger the first stride."""
    n_channels, n_times = shape
    first = min(max(n_times // 256, 1), 8)
    sizes = ((4 * first + 1, first), (9, 4), (5, 2))
    layers: list[nn.Module] = []
    for n_filters, (kernel, stride) in zip(N_FILTERS, sizes, strict=True):
        convolution = nn.Conv1d(n_channels, n_filters, kernel, stride, padding=kernel // 2)
        layers += [convolution, nn.LeakyReLU(SLOPE)]
        n_channels = n_filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(N_BINS), nn.Flatten())


def _image_features(shape: Sequence[int]) -> nn.Sequential:
    """Convolve over height and width."""
    n_planes = shape[0] if len(shape) == 3 else 1
    layers: list[nn.Module] = []
    for n_filters, stride in zip(N_FILTERS, (2, 2, 1), strict=True):
        layers += [nn.Conv2d(n_planes, n_filters, 3, stride, padding=1), nn.LeakyReLU(SLOPE)]
        n_planes = n_filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(N_BINS), nn.Flatten())
