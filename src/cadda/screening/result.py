"""The result of a screening."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from cadda._internal.files import write_text_atomically
from cadda._internal.jsonlines import JsonObject
from cadda._internal.text import short_reason
from cadda.exceptions import DataError
from cadda.policies.spec.entries import ALL_CLASSES
from cadda.reporting.records import VERDICT_RULE, ScreeningRow, Verdict
from cadda.screening.design import MIN_SUBJECTS

__all__ = ["Screening"]

FORMAT = "cadda-screening"
FORMAT_VERSION = 1

_DECIDED: tuple[Verdict, ...] = ("helps", "hurts")


@dataclass(frozen=True, eq=False)
class Screening:
    """The result of a screening.

    Parameters
    ----------
    table : tuple of ScreeningRow
        For each operation, and for each control after them: reward, standard error and verdict,
        for all classes and for each, over all magnitudes and at each.
    independent : tuple of str
        What standard errors count as independent in training and in validation, such as
        ``("18 subjects", "60 windows")``.
    accuracy : float
        Accuracy on the training windows before the first rewards.
    left_out : dict of str to str
        Operations that were not tried, each with the reason.
    settings : dict
        Settings of the screening.
    """

    table: tuple[ScreeningRow, ...]
    independent: tuple[str, str]
    accuracy: float
    left_out: dict[str, str]
    settings: JsonObject

    @property
    def class_names(self) -> tuple[str, ...]:
        """Classes that were screened."""
        names = dict.fromkeys(row.class_name for row in self.table)
        return tuple(name for name in names if name != ALL_CLASSES)

    def named(self, verdict: Verdict, class_name: str = ALL_CLASSES) -> tuple[str, ...]:
        """Name the operations with a verdict, over all magnitudes.

        Parameters
        ----------
        verdict : 'helps' | 'hurts' | 'undecided' | 'control'
            The verdict.
        class_name : str
            Class of the windows; ``"*"`` for all.

        Returns
        -------
        tuple of str
            Names of operations.
        """
        return tuple(
            row.operation
            for row in self.table
            if (row.verdict, row.class_name, row.magnitude) == (verdict, class_name, None)
        )

    def summary(self) -> str:
        """Return the result in one or two sentences.

        Returns
        -------
        str
            Such as ``"sign_flip helps; frequency_shift hurts; 7 are undecided."``.
        """
        parts = [
            f"{_listed(names)} {verdict.removesuffix('' if len(names) == 1 else 's')}"
            for verdict in _DECIDED
            if (names := self.named(verdict))
        ]
        n_undecided = len(self.named("undecided"))
        if n_undecided:
            parts.append(f"{n_undecided} {'is' if n_undecided == 1 else 'are'} undecided")
        by_class = [
            f"{verdict} in {class_name}: {', '.join(here)}"
            for class_name in self.class_names
            for verdict in _DECIDED
            if (here := sorted({*self.named(verdict, class_name)} - {*self.named(verdict)}))
        ]
        more = f" Beyond that, {'; '.join(by_class)}." if by_class else ""
        return f"{'; '.join(parts)}.{more}"

    def explanation(self) -> str:
        """Return what a verdict needs, and whether it holds for these subjects only.

        Returns
        -------
        str
            One sentence, or two.
        """
        if all(count.endswith("subjects") for count in self.independent):
            return VERDICT_RULE
        return (
            f"{VERDICT_RULE} Windows were counted, not subjects, because these are fewer than "
            f"{MIN_SUBJECTS} or by choice (`by`): verdicts hold for these subjects only."
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON, one line for each row of the table.

        Parameters
        ----------
        path : path-like
            File to write.
        """
        head = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "independent": self.independent,
            "accuracy": self.accuracy,
            "left_out": self.left_out,
            "settings": self.settings,
        }
        lines = ",\n  ".join(json.dumps(_plain(row), ensure_ascii=False) for row in self.table)
        body = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
        write_text_atomically(path, f'{body},\n "table": [\n  {lines}\n ]\n}}\n')

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Screening:
        """Read what `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        Screening
            The result.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"{path} cannot be read: {short_reason(error)}.") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise DataError(f"{path} is not the result of a screening.")
        if content.get("version") != FORMAT_VERSION:
            raise DataError(
                f"{path} is of version {content.get('version')}, and this cadda reads version "
                f"{FORMAT_VERSION}."
            )
        try:
            table = tuple(_row(row) for row in content["table"])
            rest = {field.name: content[field.name] for field in fields(cls)[1:]}
            rest["independent"] = tuple(rest["independent"])
        except (KeyError, TypeError) as error:
            raise DataError(f"{path} is incomplete: {short_reason(error)}.") from error
        return cls(table, **rest)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _plain(row: ScreeningRow) -> JsonObject:
    """Return a row as JSON has it, without NaN."""
    known = not math.isnan(row.standard_error)
    return asdict(row) | {"standard_error": row.standard_error if known else None}


def _row(plain: Any) -> ScreeningRow:
    error = plain["standard_error"]
    return ScreeningRow(**plain | {"standard_error": math.nan if error is None else error})
