"""Phrases that messages share, and errors of others as one sentence."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import PurePath

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cadda.exceptions import one_line

__all__ = [
    "HIDDEN",
    "MAX_NAME",
    "by_number",
    "describe_error",
    "describe_paths",
    "did_you_mean",
    "has_hidden",
    "is_unknown_name",
    "list_names",
    "natural_order",
    "path_order",
    "plural",
    "python_place",
    "quote",
    "short_reason",
    "storable",
    "warning_key",
]

HIDDEN = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""Characters that break lines, change what is seen, or are halves, as in a regular expression."""

_HIDDEN = re.compile(f"[{HIDDEN}]")

MAX_NAME = 200
"""Letters of a name that others are compared with."""

MAX_QUOTED = 60
MAX_REASON = 300
"""Characters of the text of another library."""


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return a suggestion such as ``" (did you mean `time_mask`?)"``, or an empty string.

    First come names that differ in spaces or capital letters only, then the only one that ends
    with the name after a slash, then similar ones: at least `cutoff`, from 0 to 1.
    """
    # The time to compare grows with the square of the length.
    if len(name) > MAX_NAME:
        return ""
    spelling: dict[str, str] = {}
    for candidate in known:
        spelling.setdefault(_plain(candidate), candidate)
    wanted = _plain(name)
    ends = [plain for plain in spelling if plain.endswith(f"/{wanted}")]
    if wanted in spelling:
        near = [wanted]
    elif len(ends) == 1:
        near = ends
    else:
        near = difflib.get_close_matches(wanted, spelling, n=1, cutoff=cutoff)
    return f" (did you mean `{spelling[near[0]]}`?)" if near else ""


def _plain(name: str) -> str:
    """Return a name in small letters, with single spaces."""
    return " ".join(name.lower().split())


def natural_order(subject: str) -> list[str | int]:
    """Return a key that sorts sub-2 before sub-10."""
    parts = re.split(r"([0-9]+)", subject)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]


def by_number(text: str) -> tuple[float, str]:
    """Return a key that sorts numbers as numbers, before other texts, which are sorted as text."""
    try:
        value = float(text)
    except ValueError:
        value = math.inf
    return (math.inf if math.isnan(value) else value), text


def path_order(path: PurePath) -> list[list[str | int]]:
    """Return a key that sorts paths by their parts in natural order."""
    return [natural_order(part) for part in path.parts]


def plural(n: int, noun: str, nouns: str | None = None) -> str:
    """Return a number of things, such as ``"1 block"`` or ``"2 blocks"``."""
    return f"{n} {noun}" if n == 1 else f"{n} {nouns or f'{noun}s'}"


def list_names(names: Sequence[str], most: int = 20) -> str:
    """Return names in quotes, such as ``"'Cz', 'Pz' and 62 more"``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def describe_paths(paths: Sequence[PurePath]) -> str:
    """Return a path, or the number of several and the folder that they share."""
    if len(paths) == 1:
        return str(paths[0])
    folders = {str(path.parent) for path in paths}
    is_named = len(folders) == 1 and folders != {"."}
    return f"{f'{folders.pop()}, ' if is_named else ''}{len(paths)} files"


def short_reason(error: BaseException) -> str:
    """Return the reason of an error on one line, such as ``"Permission denied"``.

    Error number and path, which the operating system adds, and the final full stop are left out.
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, ValidationError):
        return describe_error(error)
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]} …"


def quote(value: object) -> str:
    """Return a value as in Python, without its middle if it is long."""
    text = repr(value)
    half = MAX_QUOTED // 2
    return text if len(text) <= MAX_QUOTED else f"{text[:half]} … {text[-half:]}"


def has_hidden(text: str) -> bool:
    """Check for line breaks, control characters and marks that change the direction of text."""
    return _HIDDEN.search(text) is not None


def storable(text: str) -> str:
    """Return text that files can hold: bytes in names of files that are not UTF-8, as in Python.

    The letter é in Latin-1 becomes a backslash and ``udce9``.
    """
    return text.encode("utf-8", "backslashreplace").decode()


def warning_key(text: str) -> str:
    """Return a warning without percentages and bits: one with others is not a new warning."""
    return re.sub(r"\d+ ?%|\d\.\d+ bits", "", text)


def describe_error(
    error: ValidationError,
    *,
    noun: str = "setting",
    known: Collection[str] = (),
    place: Callable[[Sequence[int | str]], str] | None = None,
) -> str:
    """Return the first problem that pydantic found, without a full stop.

    For example ``"`n_folds` must be a valid integer, got 'many' (1 more problem)"``. An unknown
    name comes first, as a field that is missing may only be misspelt: it is not a `noun`, and may
    be meant as one of `known`. `place` names a place from its path, by default as in Python.
    """
    errors = sorted(error.errors(include_url=False), key=is_unknown_name, reverse=True)
    first = errors[0]
    path = first["loc"]
    more = f" ({len(errors) - 1} more problem{'s' * (len(errors) > 2)})" if errors[1:] else ""
    if is_unknown_name(first):
        hint = did_you_mean(str(path[-1]), known)
        if known and not hint:
            hint = f"; there are {', '.join(known)}"
        rule, more = f"is not a {noun}{hint}", ""
    else:
        rule = _rule(first) + _value(first)
    if not path:
        return one_line(rule + more)
    colon = "" if rule.startswith(("must ", "is ")) else ":"
    return one_line(f"{(place or python_place)(path)}{colon} {rule}{more}")


def python_place(path: Sequence[int | str]) -> str:
    """Return a place in nested data such as ```policy.all[0].stages```."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return f"`{''.join(parts).lstrip('.')}`"


def is_unknown_name(detail: ErrorDetails) -> bool:
    """Return whether pydantic found a name that does not exist."""
    return detail["type"] in ("extra_forbidden", "unexpected_keyword_argument")


def _rule(detail: ErrorDetails) -> str:
    """Return the rule that was broken, such as ``"must be at least 1"``."""
    kind = detail["type"]
    if kind in ("missing", "missing_argument"):
        return "is missing"
    if kind == "too_long":
        return f"must have at most {detail['ctx']['max_length']} items"
    if kind == "string_pattern_mismatch":
        return "must be a name of small letters, digits and underscores"
    rule = detail["msg"].removeprefix("Value error, ").replace(" after validation", "")
    for old, new in _REPHRASED.items():
        rule = rule.replace(old, new)
    if kind.endswith(("_parsing", "_from_float")):
        # Why a value is no number can be seen from the value.
        rule = rule.partition(",")[0]
    return rule.removesuffix(".")


_REPHRASED = {
    "Input should": "must",
    "Value should": "must",
    "Dictionary should": "must",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "greater than": "above",
    "less than": "below",
    "a valid boolean": "true or false",
}


def _value(detail: ErrorDetails) -> str:
    """Return the value that broke a rule, unless it is long or not the value's fault."""
    given = detail["input"]
    is_mapping = isinstance(given, dict) and len(given) > 0
    is_absent = detail["type"] in ("missing", "missing_argument", "too_long")
    if is_mapping or is_absent or not detail["loc"]:
        return ""
    return f", got {given!r}" if len(repr(given)) <= MAX_QUOTED else ""
