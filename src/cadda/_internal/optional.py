"""Packages that may be absent, or present and broken."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions, version
from typing import Any

from cadda.exceptions import CaddaError

__all__ = ["Probe", "import_optional", "probe"]


@dataclass(frozen=True)
class Probe:
    """The version of a package, or the problem with importing it."""

    name: str
    version: str | None
    problem: str | None


def probe(name: str) -> Probe:
    """Try to import a package, and return its version or why that failed."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        problem = (
            "not installed" if missing == name else f"needs {missing}, which is not installed"
        )
        return Probe(name, None, problem)
    # A broken binary raises OSError or worse, not ImportError.
    except Exception as error:
        first_line = str(error).strip().partition("\n")[0]
        return Probe(name, None, f"{type(error).__name__}: {first_line}")
    # What is imported as sklearn is installed as scikit-learn.
    distributions = _distributions().get(name, [name])
    return Probe(name, version(distributions[0]), None)


def import_optional(name: str, purpose: str, extra: str) -> Any:
    """Import a package that an extra of cadda installs, or raise with the reason."""
    problem = probe(name).problem
    if problem is not None:
        raise CaddaError(
            f"{purpose} needs the package {name}, which cannot be imported ({problem}); "
            f"try: pip install 'cadda[{extra}]'."
        )
    return importlib.import_module(name)


@cache
def _distributions() -> Mapping[str, Sequence[str]]:
    """Return distributions by import name; finding them reads the metadata of all packages."""
    return packages_distributions()
