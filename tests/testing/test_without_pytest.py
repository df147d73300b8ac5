"""What cadda ships for tests can be imported without pytest, as benchmarks do."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
sys.modules["pytest"] = None
import cadda.testing
import cadda.testing.planted
from cadda.testing import SearcherContract
assert cadda.testing.planted.planted_windows(8, varied=True).n_classes == 4
"""


def test_importable_without_pytest() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)
