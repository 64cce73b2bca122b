"""Output of `sluice doctor exactness`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tui.commands.text import joined, table
from tui.facts.exactness import Exactness

HEADS = ("VERDICT", "KIND", "WHERE", "DIAGNOSIS", "REPAIR")


def as_values(found: Exactness) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "ok": not found.diagnoses and not found.problems,
        "region": found.region,
        "diagnoses": [
            {**asdict(each), "verdict": each.verdict.value, "kind": each.kind.value}
            for each in found.diagnoses
        ],
        "problems": list(found.problems),
    }


def as_text(found: Exactness) -> str:
    """Formats the diagnoses as a table, the worse first, with the problems below it."""
    parts = []
    if found.diagnoses:
        rows = [
            (each.verdict.value, each.kind.value, each.where, each.text, each.repair)
            for each in found.diagnoses
        ]
        parts.append(table(HEADS, rows))
    if found.problems:
        parts.append(joined(f"problem: {problem}" for problem in found.problems))
    return "\n\n".join(parts) or f"ok: {found.region}"
