"""`python -m cadda`, the same as `cadda`."""

from __future__ import annotations

from cadda.cli.app import main

if __name__ == "__main__":
    main()
