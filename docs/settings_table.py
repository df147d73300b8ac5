"""Write docs/settings.md: all settings of all search methods, from their classes and docstrings.

``make readme`` runs it; a test checks that the page is up to date.
"""

import inspect
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT / "docs"), str(ROOT)]

from table_cells import markdown_table  # noqa: E402

from cadda.searchers.method import SearchMethod  # noqa: E402
from cadda.searchers.registry import METHODS  # noqa: E402

PAGE = ROOT / "docs" / "settings.md"
PARAMETER = re.compile(r"^(\w+) : (.+)\n((?:    .+\n?)+)", re.M)
"""A parameter of a numpydoc section: name, type and indented description."""

TEXT = """\
# Settings of the search methods

All settings of all methods, as the code has them. Set them by `--set name=value` on the command
line or by a keyword in Python; the defaults are the same:

```sh
cadda search night-epo.fif.gz --method adda --set policy_lr=0.01 --set n_stages=1 --out run
```

```none
cadda.search(train, valid, method="adda", policy_lr=0.01, n_stages=1)
```

`--seed` (`seed`) decides everything that is random in all methods. How models are trained is set
by [other options](training.md#on-the-command-line), and operations have
[settings of their own](operations.md#settings).

## Methods

`--budget` (`budget`) is the length of a search. [How they work](searching.md#methods),
[which to choose](choosing-a-method.md).

{methods}

## Settings

Defaults are written as for `--set`: `null`, `true` and `[0.9, 0.999]` are `None`, `True` and
`(0.9, 0.999)` in Python. *Paper* is the value with `--preset paper` (`preset="paper"`), where it
is not the default.

{settings}
"""


class Row(NamedTuple):
    """A setting, without the methods that have it."""

    name: str
    values: str
    default: str
    paper: str
    meaning: str


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the text of the page."""
    return TEXT.format(methods=methods_table(), settings=settings_table())


def methods_table() -> str:
    """Return a row for each method: what it does and how long it searches."""
    rows = [(f"`{name}`", method.summary, budget(method)) for name, method in METHODS.items()]
    return markdown_table(("method", "how", "default budget"), rows)


def budget(method: SearchMethod[Any]) -> str:
    """Return such as ``"50 epochs"``; a method with a budget of one does not search."""
    return f"{method.default_budget} {method.unit}s" if method.default_budget > 1 else "no search"


def settings_table() -> str:
    """Return a row for each setting, with all methods for which it is the same."""
    users: dict[Row, list[str]] = {}
    for name, method in METHODS.items():
        for row in method_rows(method):
            users.setdefault(row, []).append(f"`{name}`")
    by_name = sorted(users.items(), key=lambda item: item[0].name)
    rows = [(f"`{row.name}`", ", ".join(methods), *row[1:]) for row, methods in by_name]
    return markdown_table(("setting", "methods", "values", "default", "paper", "meaning"), rows)


def method_rows(method: SearchMethod[Any]) -> Iterator[Row]:
    """Yield the settings that a user may set, but for the seed."""
    described = parameters(method.settings_class)
    for field in fields(method.settings_class):
        if field.name in method.setting_names and field.name != "seed":
            values, meaning = described[field.name]
            yield Row(field.name, values, code(field.default), paper(method, field), meaning)


def parameters(settings_class: type) -> dict[str, tuple[str, str]]:
    """Return type and meaning of each parameter in the docstring of a class."""
    doc = inspect.getdoc(settings_class) or ""
    return {
        name: (values.replace(" | ", " or "), markdown(text))
        for name, values, text in PARAMETER.findall(doc)
    }


def markdown(text: str) -> str:
    """Return the text of a docstring on one line, with code as Markdown has it."""
    return " ".join(text.split()).replace("``", "`")


def paper(method: SearchMethod[Any], field: Field[Any]) -> str:
    """Return the value of a setting in the paper, if it is another one."""
    value = method.paper.get(field.name, field.default)
    return "" if value == field.default else code(value)


def code(value: object) -> str:
    """Return a value as it is written on the command line: JSON, or text."""
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


if __name__ == "__main__":
    main()
