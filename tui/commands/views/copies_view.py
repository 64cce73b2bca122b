"""Output of `sluice offsets show`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from tui.commands.text import table
from tui.facts.copies import RegionCopy


def as_values(copies: Iterable[RegionCopy]) -> list[dict[str, Any]]:
    """Returns plain values for JSON and YAML; unknown values are null."""
    return [asdict(copy) for copy in copies]


def as_text(copies: Iterable[RegionCopy]) -> str:
    """Formats a table. An unknown value is ?; a kind that a copy does not have is left empty."""
    rows = [
        (
            copy.region,
            copy.of,
            copy.age_seconds,
            "" if copy.groups is None else copy.groups,
            "" if copy.partitions is None else copy.partitions,
            copy.runs if copy.partitions is not None else "",
        )
        for copy in copies
    ]
    return table(("REGION", "COPY OF", "AGE (S)", "GROUPS", "PARTITIONS", "RUNS"), rows)
