"""Where a policy came from."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from cadda.policies.spec.entries import PlainData

__all__ = ["Provenance"]


class Provenance(PlainData):
    """Where a policy came from.

    Parameters
    ----------
    method : str | None
        Name of the search method.
    seed : int | None
        Seed of the search.
    data : str | None
        The data that it was found on.
    scores : dict of str to float
        Scores that were measured with it, and without augmentation. A search leaves those on its
        validation windows, by which the policy was chosen.
    package_version : str | None
        Version of cadda that found it.
    leak : float | None
        Largest leak of an operation in bits, see `PolicySpec.leak`; None if it was not computed.
    simplified : float | None
        Total variation distance to the policy that it was made from, see `PolicySpec.simplified`;
        None if it was not simplified.
    preprocessing : dict of str to object | None
        Arguments of `cadda.read_windows` that change signals, as far as they were given; None if
        that is unknown.
    """

    method: str | None = None
    seed: int | None = None
    data: str | None = None
    scores: dict[str, float] = Field(default_factory=dict)
    package_version: str | None = None
    leak: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    simplified: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    preprocessing: dict[str, JsonValue] | None = None
