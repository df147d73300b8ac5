"""Gradients of a mean reward in the weights of a random choice, from one draw of the choice."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cadda.signal.relaxation import conditional_gumbel

__all__ = ["ControlVariate", "reinforce_gradient", "relax_gradient"]


class ControlVariate(nn.Module):
    """A learned function of relaxed choices that takes variance out of a gradient estimator.

    c(z) = s · MLP(softmax(z / T), context). Its scale s starts at 0, because an untrained control
    variate adds variance; s and the temperature T are learned with the network.

    Parameters
    ----------
    n_choices : int
        Number of choices of a window that are drawn together, such as the stages.
    n_options : int
        Number of options of each choice.
    n_contexts : int
        Number of different situations that a window may be in, such as the classes.
    n_hidden : int
        Width of the hidden layer.
    """

    def __init__(
        self, n_choices: int, n_options: int, n_contexts: int = 1, *, n_hidden: int = 64
    ) -> None:
        super().__init__()
        self.n_contexts = n_contexts
        self.network = nn.Sequential(
            nn.Linear(n_choices * n_options + n_contexts, n_hidden),
            nn.Tanh(),
            nn.Linear(n_hidden, 1),
        )
        self.scale = nn.Parameter(torch.zeros(()))
        self.log_temperature = nn.Parameter(torch.tensor(0.5).log())

    def forward(self, z: Tensor, context: Tensor) -> Tensor:
        """Evaluate the control variate.

        Parameters
        ----------
        z : Tensor
            Perturbed log-probabilities of shape (n, n_choices, n_options).
        context : Tensor
            Situation of each, int64 of shape (n,).

        Returns
        -------
        Tensor
            Shape (n,).
        """
        return self.value_and_slope(z, context)[0]

    def value_and_slope(self, z: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluate the control variate and its derivative in z, without a graph of first order.

        With q = softmax(z / T), a = W₁ (2q − 1, context) + b₁ and g = 2 s W₁ᵀ (1 − tanh² a) w₂, it
        is ∂c/∂z = q (g − ⟨q, g⟩) / T.

        Parameters
        ----------
        z, context : Tensor
            As for `forward`.

        Returns
        -------
        value : Tensor
            Shape (n,).
        slope : Tensor
            Of the shape of ``z``; both are differentiable in the parameters.
        """
        first, last = self.network[0], self.network[2]
        assert isinstance(first, nn.Linear)  # noqa: S101
        assert isinstance(last, nn.Linear)  # noqa: S101
        temperature = self.log_temperature.exp()
        relaxed = (z / temperature).softmax(-1)
        known = torch.arange(self.n_contexts, device=context.device)
        situation = (context[:, None] == known).to(z.dtype)
        # Centred, so that the hidden units do not start all on one side.
        inputs = torch.cat([2 * relaxed.flatten(1) - 1, situation], dim=1)
        hidden = torch.tanh(first(inputs))
        value: Tensor = self.scale * last(hidden).squeeze(1)
        of_hidden = (1 - hidden.square()) * (2 * self.scale * last.weight)
        of_relaxed = (of_hidden @ first.weight[:, : z[0].numel()]).view_as(z)
        centred = of_relaxed - (relaxed * of_relaxed).sum(-1, keepdim=True)
        return value, relaxed * centred / temperature


def reinforce_gradient(weight: Tensor, choice: Tensor, reward: Tensor) -> Tensor:
    r"""Estimate the gradient of E[reward] by the score function, r ∇ log P(b).

    Parameters
    ----------
    weight : Tensor
        Weights w of shape (n, n_choices, n_options); option k is drawn with softmax(w)_k.
    choice : Tensor
        Options b that were drawn, shape (n, n_choices).
    reward : Tensor
        Reward of each draw, shape (n,).

    Returns
    -------
    Tensor
        Estimates, one per draw, of the shape of ``weight``.
    """
    return reward[:, None, None] * _score(weight, choice)


def relax_gradient(
    weight: Tensor,
    choice: Tensor,
    gumbel: Tensor,
    uniform: Tensor,
    reward: Tensor,
    control: ControlVariate,
    context: Tensor,
) -> Tensor:
    r"""Estimate the gradient of E[reward] by RELAX.

    .. math:: g = \big(r(b) - c(\tilde z)\big) \nabla \log P(b) + \nabla c(z) - \nabla c(\tilde z)

    Unbiased for any control variate c. The mean of its square, minimised in the parameters of c,
    lowers the variance.

    Parameters
    ----------
    weight : Tensor
        Weights w of shape (n, n_choices, n_options); option k is drawn with softmax(w)_k.
    choice : Tensor
        Options b that were drawn, shape (n, n_choices): the argmax of log softmax(w) + gumbel.
    gumbel : Tensor
        Gumbel numbers behind the choice, of the shape of ``weight``.
    uniform : Tensor
        Other uniform numbers for z̃ given b, of the shape of ``weight``.
    reward : Tensor
        Reward of each draw, shape (n,).
    control : ControlVariate
        The control variate c.
    context : Tensor
        Situation of each draw for the control variate, shape (n,).

    Returns
    -------
    Tensor
        Estimates, one per draw, of the shape of ``weight``; differentiable in the parameters of
        the control variate and in nothing else.

    References
    ----------
    Grathwohl et al. (2018), Backpropagation through the void.
    """
    log_probability = weight.detach().log_softmax(-1)
    conditional = conditional_gumbel(log_probability, choice, uniform)
    values, slopes = control.value_and_slope(
        torch.cat([log_probability + gumbel, conditional]), context.repeat(2)
    )
    of_z, of_conditional = torch.chunk(slopes, 2)
    # The derivative of z̃ in the log-probabilities: 1 − exp(z̃ − z̃_b), 0 for the choice itself.
    reach = -torch.expm1(conditional - conditional.gather(-1, choice[..., None]))
    difference = of_z - of_conditional * reach
    difference = difference - log_probability.exp() * difference.sum(-1, keepdim=True)
    rest = reward - torch.chunk(values, 2)[1]
    return rest[:, None, None] * _score(weight, choice) + difference


def _score(weight: Tensor, choice: Tensor) -> Tensor:
    """Compute ∇ log P(b) = onehot(b) − softmax(w)."""
    options = torch.arange(weight.shape[-1], device=weight.device)
    one_hot = (choice[..., None] == options).to(weight.dtype)
    return one_hot - weight.detach().softmax(-1)
