"""The result of a probe."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from cadda._internal.files import write_text_atomically
from cadda._internal.frames import make_frame
from cadda._internal.jsonlines import JsonObject
from cadda._internal.limits import parse_json, read_bytes
from cadda._internal.statistics import Estimate
from cadda._internal.text import describe_error, did_you_mean, short_reason
from cadda.exceptions import DataError
from cadda.operations.label_maps import LabelMap
from cadda.probing.clustered import LEVEL
from cadda.probing.probe_notebook import probe_html
from cadda.probing.probe_text import (
    describe_map,
    describe_no_map,
    describe_operation,
    describe_plain,
    kept_up_to,
)
from cadda.reporting.probe_records import ProbeFacts, ProbeMatrix, ProbeRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ProbeResult", "ProposedMap"]

FORMAT = "cadda-probe"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class ProposedMap:
    """A label map that a probe proposes, and how well it agrees with the predictions.

    Parameters
    ----------
    operation : str
        Name of the operation.
    magnitude : float | None
        Magnitude with the best agreement; None for an operation without magnitude.
    mapping : dict of str to str
        Class after the operation by class before it; see `LabelMap`.
    agreement : float
        Share of windows that are taken for their class after the map, mean over its classes.
    low : float
        Lower end of its 95 % interval over subjects.
    high : float
        Upper end of its 95 % interval over subjects.
    plain : float
        The same share without the operation and the map.
    """

    operation: str
    magnitude: float | None
    mapping: dict[str, str]
    agreement: float
    low: float
    high: float
    plain: float

    def __str__(self) -> str:
        agreement = Estimate(self.agreement, self.low, self.high)
        return describe_map(self.operation, self.magnitude, self.mapping, agreement, self.plain)


@dataclass(frozen=True, eq=False, repr=False)
class ProbeResult:
    """What each operation does to each class, by the predictions of models for unseen subjects.

    Parameters
    ----------
    class_names : tuple of str
        Names of the classes, in the order of the matrices.
    accuracy : float
        Balanced accuracy of the models on windows as they are.
    accuracy_low : float
        Lower end of its 95 % interval over subjects.
    accuracy_high : float
        Upper end of its 95 % interval over subjects.
    is_useful : bool
        Whether that is above chance. If not, everything else is undecided.
    n_subjects : int
        Number of subjects.
    proposals : tuple of ProposedMap
        Proposed label maps, at most one per operation.
    table : tuple of ProbeRow
        Shares and verdicts by operation, magnitude and class.
    matrices : tuple of ProbeMatrix
        Shares by class and predicted class: of windows as they are, then of each operation and
        magnitude.
    left_out : dict of str to str
        Operations that were not tried, each with the reason.
    settings : dict
        Settings of the probe.
    """

    class_names: tuple[str, ...]
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    is_useful: bool
    n_subjects: int
    proposals: tuple[ProposedMap, ...]
    table: tuple[ProbeRow, ...]
    matrices: tuple[ProbeMatrix, ...]
    left_out: dict[str, str]
    settings: JsonObject

    def __repr__(self) -> str:
        return f"ProbeResult: {self.summary()}"

    def _repr_html_(self) -> str:
        return probe_html(self.class_names, self.summary(), self.table)

    @property
    def is_promising(self) -> bool:
        """Whether the accuracy is at least one standard error above chance.

        That is less than `is_useful`, and enough where further training runs decide.
        """
        from scipy.special import stdtrit

        half = self.accuracy - self.accuracy_low
        error = half / float(stdtrit(max(self.n_subjects - 1, 1), 1 - LEVEL))
        above = self.accuracy - 1 / len(self.class_names)
        return above > 0 and above >= error

    @property
    def label_maps(self) -> list[LabelMap]:
        """The proposed label maps."""
        return [LabelMap(item.operation, item.mapping, item.magnitude) for item in self.proposals]

    @property
    def operations(self) -> tuple[str, ...]:
        """Operations that were tried."""
        return tuple(dict.fromkeys(row.operation for row in self.table))

    @property
    def destructive(self) -> tuple[str, ...]:
        """Operations that destroy every class at every magnitude that was tried."""
        spared = {row.operation for row in self.table if row.verdict != "destroys"}
        return tuple(name for name in self.operations if name not in spared)

    @property
    def harmful(self) -> tuple[str, ...]:
        """Operations whose windows have the wrong label in every class, at every magnitude.

        They destroy a class or turn it into another one; with a label map, the latter are right.
        """
        spared = {row.operation for row in self.table if row.verdict in ("keeps", "undecided")}
        return tuple(name for name in self.operations if name not in spared)

    def rows(self, operation: str, class_name: str | None = None) -> tuple[ProbeRow, ...]:
        """Return the rows of an operation, of all classes or of one.

        Parameters
        ----------
        operation : str
            Name of the operation.
        class_name : str | None
            Name of the class; None for all.

        Returns
        -------
        tuple of ProbeRow
            One row per magnitude and class.
        """
        return tuple(
            row
            for row in self.table
            if row.operation == operation and class_name in (None, row.class_name)
        )

    def kept_up_to(self, operation: str, class_name: str) -> float:
        """Return the largest magnitude up to which an operation keeps a class.

        Parameters
        ----------
        operation : str
            Name of the operation.
        class_name : str
            Name of the class.

        Returns
        -------
        float
            0 if it is not kept at the smallest magnitude tried, or if the operation was not
            tried; 1 for an operation without magnitude that keeps it.
        """
        if class_name not in self.class_names:
            hint = did_you_mean(class_name, self.class_names)
            raise ValueError(
                f"`class_name` must be a class of the probe, {list(self.class_names)}, got "
                f"{class_name!r}{hint}."
            )
        return kept_up_to(self.rows(operation, class_name))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The findings: the model, the label maps, then the other operations."""
        return tuple(self._sentences())

    def _sentences(self) -> Iterator[str]:
        yield self._describe_plain()
        if not self.is_useful:
            return
        yield from self._describe_maps()
        mapped = {item.operation for item in self.proposals}
        for name in self.operations:
            if name not in mapped:
                yield describe_operation(name, self.rows(name))

    def summary(self) -> str:
        """Return the result in a few sentences.

        Returns
        -------
        str
            How good the model is, and which label maps it proposes.
        """
        if not self.is_useful:
            return self._describe_plain()
        return " ".join([self._describe_plain(), *self._describe_maps()])

    def _describe_maps(self) -> list[str]:
        return [str(item) for item in self.proposals] or [describe_no_map(self.table)]

    def _describe_plain(self) -> str:
        accuracy = Estimate(self.accuracy, self.accuracy_low, self.accuracy_high)
        return describe_plain(
            accuracy, len(self.class_names), self.n_subjects, is_useful=self.is_useful
        )

    @property
    def facts(self) -> ProbeFacts:
        """What a report shows of the result."""
        return ProbeFacts(self.class_names, self.sentences, self.table, self.matrices)

    def to_frame(self) -> Any:
        """Return the table as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per operation, magnitude and class, with the columns of `cadda.ProbeRow`;
            ``verdict`` names the class that windows become.
        """
        return make_frame(
            (asdict(row) | {"verdict": row.description} for row in self.table),
            [field.name for field in fields(ProbeRow)],
        )

    def plot(self) -> Figure:
        """Draw the matrices as heat maps, beside that of windows as they are.

        Returns
        -------
        matplotlib.figure.Figure
            One panel per operation and magnitude.
        """
        from cadda.reporting.figures.probe import plot_probe

        return plot_probe(self.class_names, self.matrices, self.table)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON, one line for each row and each matrix.

        Parameters
        ----------
        path : path-like
            File to write.
        """
        content = asdict(self)
        lists = {name: content.pop(name) for name in ("proposals", "table", "matrices")}
        head = {"format": FORMAT, "version": FORMAT_VERSION, **content}
        body = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
        parts = [f' "{name}": {_lines(rows)}' for name, rows in lists.items()]
        write_text_atomically(path, ",\n".join([body, *parts]) + "\n}\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ProbeResult:
        """Read what `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        ProbeResult
            The result.
        """
        try:
            content = parse_json(read_bytes(path))
        except (OSError, ValueError) as error:
            raise DataError(f"{path} cannot be read: {short_reason(error)}.") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise DataError(f"{path} is not the result of a probe.")
        if content.get("version") != FORMAT_VERSION:
            raise DataError(
                f"{path} is of version {content.get('version')}, and this cadda reads version "
                f"{FORMAT_VERSION}."
            )
        known = {field.name for field in fields(cls)}
        try:
            plain = {name: value for name, value in content.items() if name in known}
            result = TypeAdapter(cls).validate_python(plain)
        except ValidationError as error:
            raise DataError(f"{path} is damaged: {describe_error(error)}.") from error
        if not _is_consistent(result):
            raise DataError(
                f"{path} is damaged: its tables, matrices and label maps are not of the same "
                "operations and classes; probe again."
            )
        return result


def _is_consistent(result: ProbeResult) -> bool:
    """Return whether all parts of a result are of the same operations and classes."""
    names = result.class_names
    conditions = [(matrix.operation, matrix.magnitude) for matrix in result.matrices[1:]]
    rows = [(row.operation, row.magnitude, row.class_name) for row in result.table]
    sizes = {len(line) for matrix in result.matrices for line in (matrix.share, *matrix.share)}
    mapped = [name for item in result.proposals for pair in item.mapping.items() for name in pair]
    others = [row.other for row in result.table]
    return (
        rows == [(*condition, name) for condition in conditions for name in names]
        and sizes == {len(names)}
        and set(names).issuperset(mapped + others)
        and all(sorted(item.mapping) == sorted(item.mapping.values()) for item in result.proposals)
    )


def _lines(rows: list[Any]) -> str:
    """Return a list as JSON with a line for each item."""
    lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f"[\n  {lines}\n ]" if rows else "[]"
