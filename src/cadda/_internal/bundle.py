"""Source code of functions and classes with all that they need of cadda, as one module."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType

__all__ = ["bundle_source"]

PACKAGE = __name__.partition(".")[0]


def bundle_source(roots: Iterable[FunctionType | type]) -> str:
    """Return Python code that defines functions and classes of cadda without importing it.

    Whatever of cadda they refer to is defined before them; other packages are imported. Nothing of
    cadda that is only in annotations is included, as these are not evaluated.
    """
    bundle = _Bundle()
    for root in roots:
        bundle.add(root)
    imports = sorted(bundle.imports, key=lambda line: (line.startswith("from"), line))
    head = ["from __future__ import annotations", "", *imports, ""]
    constants = [f"{name} = {value!r}" for name, value in bundle.constants.items()]
    return "\n".join([*head, *constants, "", "", "\n\n\n".join(bundle.sources.values()), ""])


class _Bundle:
    """Definitions by name, each after those that it needs."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.constants: dict[str, object] = {}
        self.sources: dict[str, str] = {}
        self._seen: dict[str, object] = {}

    def add(self, item: FunctionType | type) -> None:
        """Add a function or class, and what it needs."""
        name = item.__name__
        if self._seen.setdefault(name, item) is not item:
            raise RuntimeError(f"two definitions are called {name}: {item} and {self._seen[name]}")
        if name in self.sources:
            return
        source = inspect.getsource(item).rstrip()
        module = sys.modules[item.__module__]
        for used in dict.fromkeys(_names(ast.parse(source))):
            if used != name and used in vars(module):
                self._need(used, vars(module)[used], module)
        self.sources[name] = _shortened(source)

    def _need(self, name: str, value: object, module: ModuleType) -> None:
        if isinstance(value, FunctionType | type) and value.__module__.startswith(PACKAGE):
            self.add(value)
            return
        line = _import_line(name, module)
        if line is None or line.startswith(f"from {PACKAGE}"):
            self.constants[name] = value
        else:
            self.imports.add(line)


def _shortened(source: str) -> str:
    """Shorten docstrings to their first line, and leave out declarations of class variables.

    Without the latter, dataclasses work in code that is not a module.
    """
    lines = source.splitlines()
    # From the end, so that the numbers of the lines before stay the same.
    for node in sorted(_statements(ast.parse(source)), key=lambda node: -node.lineno):
        place = slice(node.lineno - 1, node.end_lineno)
        if _is_class_variable(node):
            del lines[place]
        elif _is_docstring(node) and node.lineno != node.end_lineno:
            lines[place] = [f'{lines[node.lineno - 1]}"""']
    return "\n".join(lines)


def _is_class_variable(node: ast.stmt) -> bool:
    is_declared = isinstance(node, ast.AnnAssign) and node.value is None
    return is_declared and "ClassVar" in ast.unparse(node)


def _is_docstring(node: ast.stmt) -> bool:
    is_constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_constant and ast.unparse(node).startswith(('"', "'"))


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.stmt))


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that code reads when it is run, not those of annotations."""
    if isinstance(tree, ast.Name):
        yield tree.id
    annotations = [getattr(tree, field, None) for field in ("annotation", "returns")]
    for node in ast.iter_child_nodes(tree):
        if not any(node is annotation for annotation in annotations):
            yield from _names(node)


def _import_line(name: str, module: ModuleType) -> str | None:
    """Return the statement with which a module imports a name from another package."""
    for node in ast.parse(inspect.getsource(module)).body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            if (alias.asname or alias.name) == name:
                renamed = f" as {alias.asname}" if alias.asname else ""
                start = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
                return f"{start}import {alias.name}{renamed}"
    return None
