"""Output of `sluice aggregate check`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tui.commands.text import joined, table
from tui.facts.feed_findings import FeedCheck

HEADS = ("WHERE", "KIND", "FINDING")


def as_values(check: FeedCheck) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "ok": not check.mistakes and not check.problems,
        "feeds": list(check.feeds),
        "findings": [asdict(finding) for finding in check.findings],
        "problems": list(check.problems),
    }


def as_text(check: FeedCheck) -> str:
    """Formats the findings as a table, mistakes first, with the problems below it."""
    parts = []
    if check.findings:
        found = sorted(check.findings, key=lambda each: (not each.is_mistake, each))
        rows = [
            (each.where, "mistake" if each.is_mistake else "remark", each.text) for each in found
        ]
        parts.append(table(HEADS, rows))
    if check.problems:
        parts.append(joined(f"problem: {problem}" for problem in check.problems))
    if not check.mistakes and not check.problems:
        parts.append(f"ok: {', '.join(check.feeds)}")
    return "\n\n".join(parts)
