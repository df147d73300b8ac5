"""Running a model with other weights than its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor, nn

__all__ = ["substituted"]


@contextmanager
def substituted(model: nn.Module, weights: Mapping[str, Tensor]) -> Iterator[None]:
    """Replace the weights of a model for a while, and its buffers by copies to write into.

    It does what `torch.func.functional_call` does, which takes as long as a small network.

    Parameters
    ----------
    model : nn.Module
        The model; parameters that several of its modules share are replaced in all of them.
    weights : mapping of str to Tensor
        Tensors by the names of the parameters, all of them.
    """
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    # Parts of one model share a buffer before and so must share its copy.
    copies: dict[int, Tensor] = {}
    places: list[tuple[dict[str, Tensor | None], str, Tensor]] = []
    for module in model.modules():
        parameters: dict[str, Tensor | None] = module._parameters  # type: ignore[assignment]
        for table in (parameters, module._buffers):
            places += [(table, key, value) for key, value in table.items() if value is not None]
    try:
        for table, key, value in places:
            if id(value) in names:
                table[key] = weights[names[id(value)]]
            else:
                table[key] = copies.setdefault(id(value), value.clone())
        yield
    finally:
        for table, key, value in places:
            table[key] = value
