"""Label maps in the short form of a policy: what follows ``->``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from cadda._internal.text import did_you_mean
from cadda.exceptions import PolicyFileError
from cadda.operations.label_maps import check_mapping

__all__ = ["Arrows", "MapResolver", "format_map", "format_name"]

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_ARROW = re.compile(
    rf"->\s*(?P<target>\{{(?:{_QUOTED}|[^\"}}])*\}}|{_QUOTED}|[^>|#{{\"]*?)"
    r"\s*(?=\s[pmw]=|[>|#]|$)"
)
_NAME = re.compile(rf"\s*(?P<name>{_QUOTED}|[^,:\"{{}}]*?)\s*(?P<end>[,:]|$)")
_NEEDS_QUOTES = re.compile(r'[>|#{},:"]|\s[pmw]=')

# A character that no class name has, since it is not printable, marks where an arrow was.
_MARK = "\ue000"

_EXAMPLE = "{left: right, right: left}"


class Arrows:
    """A line whose label maps are taken out, so that it can be split at ``>``, ``|`` and ``:``."""

    def __init__(self, line: str) -> None:
        self._arrows = list(_ARROW.finditer(line))
        numbers = iter(range(len(self._arrows)))
        self.line = _ARROW.sub(lambda _: f" {_MARK}{next(numbers)} ", line)

    def restore(self, text: str) -> str:
        """Return a part of the line as it was written."""
        marks = re.sub(rf"\s*{_MARK}(\d+)\s*", lambda match: f" {self._text(match[1])} ", text)
        return marks.strip()

    def target(self, word: str) -> str | None:
        """Return what follows the arrow that a word stands for; None for any other word."""
        return self._arrows[int(word[1:])]["target"] if word.startswith(_MARK) else None

    def _text(self, number: str) -> str:
        return self._arrows[int(number)][0].strip()


class MapResolver:
    """Turns what follows arrows into label maps, once the policies of all classes are read.

    Below ``[left]``, ``-> right`` says what this class becomes; all classes together say what the
    operation does.
    """

    def __init__(self, all_classes: str) -> None:
        self._all_classes = all_classes
        self._targets: dict[str, dict[str, str]] = {}
        self._entries: list[tuple[dict[str, JsonValue], str, dict[str, str] | None, int]] = []

    def add(self, entry: dict[str, JsonValue], target: str, row: str, number: int) -> None:
        """Remember the arrow of an entry, on a line of the policy of a class."""
        operation = str(entry["operation"])
        if target.startswith("{"):
            self._entries.append((entry, operation, _parse_map(target, number), number))
            return
        if row == self._all_classes or not target:
            raise PolicyFileError(
                f"line {number}: `-> {target}` must say what every class becomes, such as "
                f"`-> {_EXAMPLE}`, or stand below the name of a class."
            )
        name = json.loads(target) if target.startswith('"') else target
        if self._targets.setdefault(operation, {}).setdefault(row, name) != name:
            raise PolicyFileError(
                f"line {number}: `{row}` becomes both `{self._targets[operation][row]}` and "
                f"`{name}` by {operation}; write the maps in full, such as `-> {_EXAMPLE}`."
            )
        self._entries.append((entry, operation, None, number))

    def resolve(self, class_names: Iterable[str]) -> None:
        """Complete all entries that have an arrow."""
        known = [name for name in class_names if name != self._all_classes]
        for entry, operation, written, number in self._entries:
            mapping = self._targets[operation] if written is None else written
            for name in (*mapping, *mapping.values()):
                if known and name not in known:
                    raise PolicyFileError(
                        f"line {number}: a label map must name classes of the policy, {known}, "
                        f"got `{name}`{did_you_mean(name, known)}."
                    )
            try:
                check_mapping(mapping)
            except ValueError as error:
                raise PolicyFileError(f"line {number}: {operation}: {error}.") from error
            entry["label_map"] = dict(mapping)


def format_map(mapping: Mapping[str, str]) -> str:
    """Return a label map as it is written after an arrow."""
    pairs = (f"{format_name(old)}: {format_name(new)}" for old, new in mapping.items())
    return "{" + ", ".join(pairs) + "}"


def format_name(name: str) -> str:
    """Return the name of a class, in quotes where it could be taken for something else."""
    return json.dumps(name, ensure_ascii=False) if _NEEDS_QUOTES.search(name) else name


def _parse_map(text: str, number: int) -> dict[str, str]:
    """Read ``{left: right, right: left}``; names may be in quotes."""
    mapping: dict[str, str] = {}
    names: list[str] = []
    body, position = text[1:-1], 0
    while position < len(body) or not names:
        match = _NAME.match(body, position)
        if match is None or match["end"] != (":" if len(names) % 2 == 0 else match["end"]):
            raise _bad_map(text, number)
        name = match["name"]
        names.append(json.loads(name) if name.startswith('"') else name)
        if len(names) % 2 == 0:
            old, new = names[-2:]
            if match["end"] == ":" or not old or not new or old in mapping:
                raise _bad_map(text, number)
            mapping[old] = new
        position = match.end()
    if len(names) % 2 or not mapping:
        raise _bad_map(text, number)
    return mapping


def _bad_map(text: str, number: int) -> PolicyFileError:
    return PolicyFileError(
        f"line {number}: `{text}` must be pairs of classes, each class once, such as `{_EXAMPLE}`."
    )
