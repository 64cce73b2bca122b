"""Comparison of a whole output with its stored file, shown as a difference."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest

REWRITE = "REWRITE_SNAPSHOTS"


def assert_stored(text: str, path: Path) -> None:
    """Fails unless the file holds the text; with REWRITE_SNAPSHOTS=1 it is written first."""
    if os.environ.get(REWRITE):
        path.write_text(text)
    if not path.exists():
        pytest.fail(f"{path} is missing; to write it, set {REWRITE}=1", pytrace=False)
    stored = path.read_text()
    if text != stored:
        both = stored.splitlines(), text.splitlines()
        changes = difflib.unified_diff(*both, str(path), "now", lineterm="")
        pytest.fail("\n".join(changes) or f"{path}: line breaks differ", pytrace=False)
