"""Policies as YAML."""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from typing import TYPE_CHECKING

from pydantic import JsonValue

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec

__all__ = ["to_yaml"]


def to_yaml(spec: PolicySpec) -> str:
    """Return a policy as YAML, with the fields of a policy file and one entry of a stage per line.

    Parameters
    ----------
    spec : PolicySpec
        The policy.

    Returns
    -------
    str
        YAML 1.1 and 1.2. What a reader of YAML makes of it, `PolicySpec.from_dict` takes.
    """
    return "\n".join(_lines(spec.to_dict())) + "\n"


def _lines(value: JsonValue) -> Iterator[str]:
    """Yield the lines of a value that is not flat: an item of a list or a dict on each."""
    items: list[tuple[str, JsonValue]] = []
    if isinstance(value, dict):
        items = [(f"{_flat(key)}:", item) for key, item in value.items()]
    elif isinstance(value, list):
        items = [("-", item) for item in value]
    for head, item in items:
        if _is_flat(item):
            yield f"{head} {_flat(item)}"
            continue
        # An item of a list begins on the line of its dash.
        first, *others = _lines(item)
        if head == "-":
            yield f"- {first}"
        else:
            yield head
            others = [first, *others]
        yield from (f"  {line}" for line in others)


def _is_flat(value: JsonValue) -> bool:
    """Return whether a value is written on one line: a scalar, or scalars only."""
    if not isinstance(value, dict | list):
        return True
    items = value.values() if isinstance(value, dict) else value
    return not any(isinstance(item, dict | list) for item in items)


def _flat(value: JsonValue) -> str:
    """Return JSON, which is YAML, except that YAML 1.1 takes 1e-05 for text."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_flat(key)}: {_flat(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flat, value))}]"
    text = dumps(value, ensure_ascii=False)
    is_short = isinstance(value, float) and "e" in text and "." not in text
    return text.replace("e", ".0e") if is_short else text
