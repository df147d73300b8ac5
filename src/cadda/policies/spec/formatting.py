"""Writing the short form of a policy."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import TYPE_CHECKING

from cadda.operations.catalogue import CATALOGUE
from cadda.policies.spec.arrows import format_map, format_name

if TYPE_CHECKING:
    from cadda.policies.spec.entries import StageEntry, Subpolicy
    from cadda.policies.spec.model import PolicySpec

__all__ = ["format_text"]

MAX_LENGTH = 100
"""Characters of a line, above which it is continued on the next."""

INDENT = "  "


def format_text(spec: PolicySpec, digits: int | None = None) -> str:
    """Return the short form of a policy, with all digits of its numbers or only so many."""
    lines, style = [], _Style(_maps_by_row(spec), _settings(spec), digits)
    for row in spec.rows:
        if spec.is_classwise:
            lines.append(f"[{_format_header(row)}]")
        subpolicies = spec.policy[row]
        if not subpolicies:
            lines.append("none")
        for subpolicy in subpolicies:
            lines += _broken(_format_subpolicy(subpolicy, row, style))
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Style:
    """How entries are written."""

    short: Collection[str]  # operations whose label map is written class by class
    settings: Mapping[str, Sequence[str]]  # words of each operation
    digits: int | None  # of numbers; None for all

    def number(self, value: float) -> str:
        if self.digits is not None:
            return f"{value:.{self.digits}g}"
        return repr(value).removesuffix(".0")


def _settings(spec: PolicySpec) -> dict[str, list[str]]:
    """Return the settings of cadda's operations that are not the default, as words."""
    return {
        name: [
            f"{key}={dumps(value) if not isinstance(value, str) else value}"
            for key, value in CATALOGUE[name].changed_settings(settings).items()
        ]
        for name, settings in spec.operations.items()
        if name in CATALOGUE
    }


def _maps_by_row(spec: PolicySpec) -> set[str]:
    """Return operations with one label map, whose rows are exactly the classes that it names."""
    maps: dict[str, list[Mapping[str, str]]] = {}
    rows: dict[str, set[str]] = {}
    for row in spec.rows if spec.is_classwise else ():
        stages = (stage for subpolicy in spec.policy[row] for stage in subpolicy.stages)
        for entry in (entry for stage in stages for entry in stage):
            if entry.label_map is not None:
                maps.setdefault(entry.operation, []).append(entry.label_map)
                rows.setdefault(entry.operation, set()).add(row)
    return {
        operation
        for operation, mappings in maps.items()
        if all(mapping == mappings[0] for mapping in mappings)
        and rows[operation] == set(mappings[0])
    }


def _format_header(name: str) -> str:
    is_quoted = "]" in name or name.startswith(('"', "'"))
    return dumps(name, ensure_ascii=False) if is_quoted else name


def _format_subpolicy(subpolicy: Subpolicy, row: str, style: _Style) -> list[str]:
    """Return the entries of a subpolicy, each but the first with what separates it."""
    entries = [
        ("| " if k else "> ") + _format_entry(entry, row, style)
        for stage in subpolicy.stages
        for k, entry in enumerate(stage)
    ]
    weight = "" if subpolicy.weight == 1 else f"w={style.number(subpolicy.weight)}: "
    return [weight + entries[0].removeprefix("> "), *entries[1:]]


def _broken(parts: list[str]) -> Iterator[str]:
    """Yield the parts of a line; if it is too long, each stage on lines of its own."""
    fits = len(" ".join(parts)) <= MAX_LENGTH
    line = parts[0]
    for part in parts[1:]:
        if fits or (part.startswith("|") and len(line) + 1 + len(part) <= MAX_LENGTH):
            line = f"{line} {part}"
        else:
            yield line
            line = INDENT + part
    yield line


def _format_entry(entry: StageEntry, row: str, style: _Style) -> str:
    words = [entry.operation, f"p={style.number(entry.probability)}"]
    if entry.magnitude is not None:
        ends = [end for end in (entry.min_magnitude, entry.magnitude) if end is not None]
        words.append(f"m={'..'.join(map(style.number, ends))}")
    if entry.weight != 1:
        words.append(f"w={style.number(entry.weight)}")
    words += style.settings.get(entry.operation, ())
    if entry.label_map is not None:
        by_row = entry.operation in style.short
        written = format_name(entry.label_map[row]) if by_row else format_map(entry.label_map)
        words.append(f"-> {written}")
    return " ".join(words)
