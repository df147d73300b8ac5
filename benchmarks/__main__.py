"""Run a benchmark by its name; without a name, list all of them.

``python -m benchmarks NAME --help`` shows the options of a benchmark.
"""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

from cadda._internal.text import did_you_mean

FOLDER = Path(__file__).parent


def benchmarks() -> dict[str, str]:
    """Return the first line of each module that has a function ``main``, by name."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = {part.name for part in tree.body if isinstance(part, ast.FunctionDef)}
        if "main" in functions and not path.stem.startswith("_"):
            found[path.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def main(arguments: list[str]) -> int:
    """Run a benchmark; return the exit code."""
    known = benchmarks()
    if not arguments or arguments[0] in ("-h", "--help"):
        width = max(map(len, known))
        print("\n".join(["python -m benchmarks NAME [options]", ""]))
        print("\n".join(f"{name:{width}}  {line}" for name, line in known.items()))
        return 0
    name, *options = arguments
    if name not in known:
        hint = did_you_mean(name, known) or "; `python -m benchmarks` lists all"
        print(f"there is no benchmark {name!r}{hint}.", file=sys.stderr)
        return 2
    sys.argv = [f"python -m benchmarks {name}", *options]
    importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
