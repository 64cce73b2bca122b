"""Histories played in a process of their own, in which sets have the same order each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def played(
    family: str, first: int, count: int = 1, mutation: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Plays histories as `python -m tests.world` does."""
    words = [sys.executable, "-m", "tests.world", family, str(first), str(count)]
    return subprocess.run(
        [*words, *(["--mutation", mutation] if mutation else [])],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
