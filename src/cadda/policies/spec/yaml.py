"""Policies as YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import dumps
from typing import TYPE_CHECKING

import yaml
from pydantic import JsonValue

from cadda._internal.limits import MAX_DEPTH, format_bytes
from cadda._internal.text import quote, short_reason
from cadda.exceptions import PolicyFileError

if TYPE_CHECKING:
    from cadda.policies.spec.model import PolicySpec

__all__ = ["to_yaml", "yaml_to_json"]

MAX_YAML = 1 << 20
"""Characters of YAML that are read: its parser takes a hundred times as long as that of JSON."""

_YAML = "tag:yaml.org,2002:"


def to_yaml(spec: PolicySpec) -> str:
    """Return a policy as YAML, with the fields of a policy file and one entry of a stage per line.

    Parameters
    ----------
    spec : PolicySpec
        The policy.

    Returns
    -------
    str
        YAML 1.1 and 1.2, which `PolicySpec.load` reads from a ``.yaml`` file.
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


def yaml_to_json(text: str) -> str:
    """Return the JSON of a document of YAML that has lists, mappings, texts and numbers only.

    Tags, anchors and aliases are refused: only plain data is made, no more than was written.
    """
    if len(text) > MAX_YAML:
        raise PolicyFileError(
            f"Invalid YAML: it has {format_bytes(len(text))}, and at most "
            f"{format_bytes(MAX_YAML)} are read; save the policy as JSON."
        )
    try:
        _check_events(text)
        return dumps(yaml.load(text, _PlainLoader))  # noqa: S506 (a safe loader)
    except yaml.MarkedYAMLError as error:
        raise PolicyFileError(f"Invalid YAML: {_describe_mistake(error)}.") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise PolicyFileError(f"Invalid YAML: {short_reason(error)}.") from error


def _check_events(text: str) -> None:
    """Raise for what only YAML has, and for deep nesting, before a document is built."""
    depth = 0
    for event in yaml.parse(text, _PlainLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise _mistake(f"it is nested deeper than {MAX_DEPTH} levels", event)
        if getattr(event, "anchor", None) is not None:
            raise _mistake("anchors and aliases are not read; write the value itself", event)
        if getattr(event, "tag", None) is not None:
            raise _mistake("tags are not read; write the value without one", event)


class _PlainLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads plain data; keys are texts, each once, and 1e-5 is a number, as in YAML 1.2."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, object]:  # noqa: FBT001, FBT002
        keys: set[str] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node)
            if not isinstance(key, str):
                raise _mistake("keys must be text: put it in double quotes", key_node)
            if key in keys:
                raise _mistake(f"each key must be given once, got {quote(key)} twice", key_node)
            keys.add(key)
        mapping: dict[str, object] = super().construct_mapping(node, deep)
        return mapping


_WORDS = {
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "null": (r"null|Null|NULL|~|", "nN~"),
    "int": (r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    "float": (r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
}
"""What a word without quotes can be beside text, as in YAML 1.2, and how it begins.

YAML 1.1 has dates, ``yes`` and ``no``, octal numbers and numbers to base 60 as well.
"""

_PlainLoader.yaml_implicit_resolvers = {}
for _kind, (_pattern, _first) in _WORDS.items():
    _PlainLoader.add_implicit_resolver(
        f"{_YAML}{_kind}", re.compile(rf"(?:{_pattern})$"), [*_first, ""]
    )


def _mistake(problem: str, place: yaml.Event | yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=place.start_mark)


def _describe_mistake(error: yaml.MarkedYAMLError) -> str:
    """Return the line and what is wrong in it."""
    mark = error.problem_mark or error.context_mark
    place = "" if mark is None else f"line {mark.line + 1}: "
    return f"{place}{error.problem or error.context}"
