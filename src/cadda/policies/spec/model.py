"""A policy as plain data: what is applied to which class, how often and how strongly."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    Field,
    JsonValue,
    model_validator,
)

from cadda._internal.files import write_text_atomically
from cadda._internal.limits import MAX_CLASSES
from cadda._internal.text import did_you_mean
from cadda.operations.base import checked_settings
from cadda.operations.catalogue import CATALOGUE
from cadda.operations.label_maps import LabelMap
from cadda.policies.spec.capping import Keeps, cap_leak
from cadda.policies.spec.entries import (
    ALL_CLASSES,
    ClassName,
    OperationName,
    PlainData,
    StageEntry,
    Subpolicies,
    file_content,
)
from cadda.policies.spec.formatting import format_text
from cadda.policies.spec.leakage import MAX_LEAK, HasClasses, trace_operations
from cadda.policies.spec.notebook import policy_frame, policy_html
from cadda.policies.spec.provenance import Provenance
from cadda.policies.spec.simplify import simplify
from cadda.policies.spec.summary import probability_table
from cadda.policies.spec.text import load_spec, parse_json, parse_text, readable_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PolicySpec"]

FILE_VERSION: Literal[2] = 2
"""Version of the files that are written; version 1 had no label maps."""

REPR_DIGITS = 3
"""Significant digits of the numbers that are shown of a policy."""


class PolicySpec(PlainData):
    """An augmentation policy as plain data.

    A window is given one of the subpolicies of its class, drawn by weight. In each stage of it,
    one operation is drawn by weight and applied with its probability and magnitude.

    Parameters
    ----------
    policy : dict of str to tuple of Subpolicy
        Subpolicies by class name, or under ``"*"`` for all classes. Without any, windows of the
        class are left as they are.
    operations : dict of str to dict
        Operations that could have been chosen, each with its settings, which a pool must then
        have too. Empty means those that the policy uses, with whatever settings a pool has.
    class_names : tuple of str | None
        Classes in the order of their labels. A class-wise policy has one entry for each.
    sfreq : float | None
        Sampling rate in Hz of the windows it was made for.
    ch_names : tuple of str | None
        Channels of the windows it was made for.
    provenance : Provenance
        Where it came from.
    format : 'cadda-policy'
        Tells a policy file from other JSON.
    version : 1 | 2
        Version of the file format; 1 had no label maps.

    Examples
    --------
    >>> spec = PolicySpec.from_text("time_reverse p=0.5 > time_mask p=0.2 m=0.4")
    >>> spec.operations_used
    ('time_reverse', 'time_mask')
    >>> spec.operation_probabilities()
    array([[0.5, 0.2]])
    """

    format: Literal["cadda-policy"] = "cadda-policy"
    version: Annotated[Literal[1, 2], AfterValidator(lambda _: FILE_VERSION)] = FILE_VERSION
    policy: Annotated[dict[str, Subpolicies], Field(min_length=1, max_length=MAX_CLASSES)]
    operations: dict[OperationName, dict[str, float | bool | str]] = Field(default_factory=dict)
    class_names: Annotated[tuple[ClassName, ...], Field(min_length=1)] | None = None
    sfreq: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    ch_names: tuple[str, ...] | None = None
    provenance: Provenance = Field(default_factory=Provenance)

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        names, rows = self.class_names, self.policy
        if names is not None and len(set(names)) < len(names):
            raise ValueError("`class_names` must be different from each other")
        if ALL_CLASSES in rows and len(rows) > 1:
            raise ValueError(
                f"`policy` must have either {ALL_CLASSES!r} or one entry per class, not both"
            )
        if ALL_CLASSES not in rows and (names is None or set(rows) != set(names)):
            raise ValueError(
                "`class_names` must list the classes of `policy`, "
                f"{sorted(rows)}, in the order of their labels"
            )
        undeclared = sorted(set(self.operations_used) - set(self.operations))
        if self.operations and undeclared:
            raise ValueError(
                f"`operations` must list all that `policy` uses, but lacks {undeclared}"
            )
        for name in CATALOGUE.keys() & self.operations:
            checked_settings(name, self.operations[name], CATALOGUE[name].default_settings)
        mapped = {name for item in self.label_maps for name in item.mapping}
        unknown = sorted(mapped.difference(names or mapped))
        if names is not None and unknown:
            raise ValueError(
                f"label maps must name classes of the policy, {list(names)}, got {unknown[0]!r}"
                f"{did_you_mean(unknown[0], names)}"
            )
        return self

    @classmethod
    def none(cls) -> Self:
        """Return the policy of no augmentation, ``none`` in the short form.

        Training with it gives the same weights as training without a policy.

        Returns
        -------
        PolicySpec
            A policy for all classes without subpolicies.

        Examples
        --------
        >>> PolicySpec.none().operations_used
        ()
        """
        return cls(policy={ALL_CLASSES: ()})

    @property
    def is_none(self) -> bool:
        """Whether it is no augmentation: no class has a subpolicy."""
        return not any(self.policy.values())

    @property
    def is_classwise(self) -> bool:
        """Whether each class has a policy of its own."""
        return ALL_CLASSES not in self.policy

    @property
    def rows(self) -> tuple[str, ...]:
        """Class names in the order of their labels, or ``("*",)`` if not class-wise."""
        return self.class_names if self.is_classwise and self.class_names else (ALL_CLASSES,)

    @property
    def operations_used(self) -> tuple[str, ...]:
        """Names of the operations that occur in the policy, in order of appearance."""
        return tuple(dict.fromkeys(entry.operation for entry in self.entries))

    @property
    def label_maps(self) -> tuple[LabelMap, ...]:
        """Different label maps of the policy, in order of appearance."""
        return tuple(
            {
                entry.choice: LabelMap(entry.operation, entry.label_map)
                for entry in self.entries
                if entry.label_map is not None
            }.values()
        )

    @property
    def entries(self) -> tuple[StageEntry, ...]:
        """All entries of all stages, class by class."""
        return tuple(
            entry
            for row in self.rows
            for subpolicy in self.policy[row]
            for stage in subpolicy.stages
            for entry in stage
        )

    @property
    def operation_names(self) -> tuple[str, ...]:
        """Choices that a stage could have made: columns of the table below.

        An operation with a label map is another choice than the same operation without one.
        """
        used = dict.fromkeys(entry.choice for entry in self.entries)
        mapped = {item.operation for item in self.label_maps}.difference(used)
        declared = dict.fromkeys(name for name in self.operations if name not in mapped)
        return tuple(declared | used)

    def operation_probabilities(self) -> NDArray[np.float64]:
        """Compute the probability that an operation transforms a window at least once.

        Returns
        -------
        array of shape (n_classes, n_operations)
            Rows as in `rows` (one if not class-wise), columns as in `operation_names`.
        """
        return probability_table(self)

    def leak(self, windows: HasClasses | None = None) -> dict[str, float]:
        r"""Compute what operations tell about the class of a window, by having been applied to it.

        An operation that changes half of the windows of one of two classes, and none of the other,
        tells 0.31 bits. One that changes windows of all classes equally often tells nothing, and
        neither does one that exchanges labels, if it does so in all classes equally often.

        Parameters
        ----------
        windows : Windows | None
            Windows to augment, for their classes and how frequent each is; None takes the classes
            of the policy, equally frequent.

        Returns
        -------
        dict of str to float
            Mutual information, in bits, of the label after the policy and of whether the operation
            was applied, by name of the operation; the largest first.

        Examples
        --------
        >>> spec = PolicySpec.from_text("[W]\ntime_reverse p=0.5\n[R]\nsign_flip p=0.01")
        >>> {name: round(bits, 2) for name, bits in spec.leak().items()}
        {'time_reverse': 0.31, 'sign_flip': 0.01}
        """
        return trace_operations(self, windows).leak

    def capped(self, max_leak: float = MAX_LEAK, *, keeps: Keeps | None = None) -> Self:
        r"""Return the policy, changed as little as needed for a leak of at most ``max_leak``.

        An operation that tells more is used *less* in the classes that use it most, or *shared*:
        a little less often there, and more often in the classes that keep it, whose windows then
        have the operation with their own label. The way that loses less of its use is taken.

        Parameters
        ----------
        max_leak : float
            Largest leak of an operation in bits; see `leak`.
        keeps : ProbeResult | dict of str to set of str | None
            Classes that each operation keeps: the result of `cadda.probe`, or names of classes by
            name of the operation. Only there an operation is shared. None shares nothing.

        Returns
        -------
        PolicySpec
            The policy, without the scores that were measured before; itself, if its leak is not
            larger.

        Examples
        --------
        >>> spec = PolicySpec.from_text("[W]\ntime_reverse p=0.5\n[R]\ntime_reverse p=0")
        >>> spec.capped(0.1).operation_probabilities().round(2)
        array([[0.19],
               [0.  ]])
        >>> shared = spec.capped(0.1, keeps={"time_reverse": {"R"}})
        >>> shared.operation_probabilities().round(2)
        array([[0.41],
               [0.09]])
        """
        return cap_leak(self, max_leak, keeps)

    def simplified(self, max_loss: float = 0.1) -> Self:
        r"""Return a policy of fewer subpolicies and entries that does nearly the same.

        Similar subpolicies are merged and rare operations dropped, until no more of this is
        possible. Magnitudes are averaged where operations are merged; they do not count as a loss.

        Parameters
        ----------
        max_loss : float
            Largest total variation distance, in any class, between the distributions of the
            sequence of operations that transforms a window, with their label maps: at most this
            share of the windows is treated differently. 0 only changes how the policy is written.

        Returns
        -------
        PolicySpec
            The simpler policy, with the distance in its provenance, and without the scores that
            were measured before; itself, if there is no simpler one. Simplified again, it stays
            the same. The policy of a class with too many sequences to enumerate is not changed.

        Examples
        --------
        >>> soft = "sign_flip p=0.5 > time_mask p=0.8 m=0.3 w=9 | time_reverse p=0.3"
        >>> spec = PolicySpec.from_text(f"{soft}\n{soft.replace('p=0.5', 'p=0.7')}")
        >>> simple = spec.simplified()
        >>> print(simple.to_text(), end="")
        sign_flip p=0.6 > time_mask p=0.75 m=0.3
        >>> round(simple.provenance.simplified, 3)
        0.03
        """
        return simplify(self, max_loss)

    def to_dict(self) -> dict[str, JsonValue]:
        """Return the content of a policy file as plain data."""
        return file_content(self)

    @classmethod
    def from_dict(
        cls, data: Mapping[str, JsonValue], *, known: Collection[str] | None = ()
    ) -> Self:
        """Make a spec from parsed JSON.

        Parameters
        ----------
        data : mapping
            Content of a policy file.
        known : collection of str | None
            Names of operations that are allowed beside cadda's own; None allows any.

        Returns
        -------
        PolicySpec
            The validated spec. Anything wrong raises `PolicyFileError` with one sentence.
        """
        return parse_json(cls, json.dumps(data), known)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, known: Collection[str] | None = ()) -> Self:
        """Read a policy file.

        Parameters
        ----------
        path : path-like
            A JSON file written by `save`, a ``.txt`` file as `from_text` takes, or a ``.yaml``
            file as `cadda policy export` writes.
        known : collection of str | None
            Names of operations that are allowed beside cadda's own, such as ``pool.names``; None
            allows any.

        Returns
        -------
        PolicySpec
            The validated spec. Anything wrong raises `PolicyFileError` with one sentence that
            names the place. Nothing in the file is ever executed.
        """
        return load_spec(cls, path, known)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the spec as readable JSON, atomically.

        Parameters
        ----------
        path : path-like
            Where to write.
        """
        write_text_atomically(path, self.to_json())

    def to_json(self) -> str:
        """Return the content of a policy file, with one entry of a stage per line."""
        return readable_json(self.to_dict()) + "\n"

    @classmethod
    def from_text(cls, text: str, *, known: Collection[str] | None = ()) -> Self:
        """Read the short form that people write by hand.

        Parameters
        ----------
        text : str
            One subpolicy per line, stages separated by ``>``: ``time_mask p=0.5 m=0.3 > sign_flip
            p=1``; ``m=0..0.3`` draws the magnitude for each window. Alternatives in a stage are
            separated by ``|`` and may have a weight, ``w=2``; a line may begin with its own,
            ``w=3:``. A line that begins with ``>`` or ``|`` continues the one before it. A line
            ``[N2]`` starts the policy of a class; ``none`` is one without augmentation, of a class
            or of all. An operation that changes the class ends with an arrow: ``channel_symmetry
            p=0.5 -> right`` below ``[left]``, or ``-> {left: right, right: left}`` for all
            classes, with names in double quotes where they contain punctuation. What follows
            ``#`` is a comment.
        known : collection of str | None
            Names of operations that are allowed beside cadda's own; None allows any.

        Returns
        -------
        PolicySpec
            The validated spec. Anything wrong raises `PolicyFileError` with one sentence that
            names the line.
        """
        return parse_text(cls, text, known)

    def to_text(self) -> str:
        """Return the short form, which has no sampling rate, channels and provenance."""
        return format_text(self)

    def __repr__(self) -> str:
        return format_text(self, REPR_DIGITS).rstrip()

    __str__ = __repr__

    def to_frame(self) -> Any:
        """Return what the policy does as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per class and operation: ``applied`` is the probability that the operation
            changes a window, ``share`` how often a stage chooses it, ``probability`` that of
            applying it then; ``min_magnitude`` and ``max_magnitude`` are means over the entries
            of the policy, NaN for an operation without magnitude, or that is not applied.
        """
        return policy_frame(self)

    def plot(self) -> Figure:
        """Draw how often each operation changes a window, by class.

        Returns
        -------
        matplotlib.figure.Figure
            A heat map with probabilities and magnitudes.
        """
        from cadda.policies.spec.picture import plot_policy

        return plot_policy(self)

    def _repr_html_(self) -> str:
        return policy_html(self)
