"""Commands of `sluice` about a feed into objects, as an operator runs them."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from tests.live.object_ground import ObjectGround
from tui.program import run


def sluice(feed: ObjectGround, words: str) -> tuple[int, Any, str]:
    """Returns the exit code of a command, its output as values, and what it said on stderr."""
    out, said = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(said):
        code = run([*words.split(), "--config", str(feed.config), "-o", "json"])
    return code, json.loads(out.getvalue() or "null"), said.getvalue()


def about(feed: ObjectGround, command: str, more: str = "") -> tuple[int, Any, str]:
    """Runs a command of `sluice aggregate` about the feed."""
    return sluice(feed, f"aggregate {command} --feed {feed.feed} {more}")
