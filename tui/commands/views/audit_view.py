"""Output of `sluice audit`: a table for people, and plain values for JSON and YAML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from replicator.audit.audit import AuditRequest, AuditResult
from replicator.audit.partition_audit import Depth
from replicator.audit.verdict import Row
from replicator.audit.window import iso
from tui.commands.text import joined, table

SCHEMA_VERSION = 1


def as_values(asked: AuditRequest, found: AuditResult, rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "since": iso(asked.window.since_ms),
        "until": iso(asked.window.until_ms),
        "by": asked.depth.value,
        "problems": list(found.problems),
        "rows": [_row_values(row, reads_bytes=asked.depth is Depth.BYTES) for row in rows],
    }


def _row_values(row: Row, *, reads_bytes: bool) -> dict[str, Any]:
    counted = row.counted
    return {
        "route": row.route,
        "topic": row.topic,
        "partition": row.partition,
        "verdict": row.verdict.value,
        "source_records": counted.source_records,
        "target_records": counted.target_records,
        "source_bytes": counted.source_bytes if reads_bytes else None,
        "target_bytes": counted.target_bytes if reads_bytes else None,
        "behind": counted.behind,
        "held_back": counted.held_back,
        "missing": counted.missing,
        "surplus": counted.surplus,
        "changed": counted.changed if reads_bytes else None,
        "foreign": counted.foreign,
        "not_compared": dict(counted.doubts),
        "examples": list(counted.examples),
        "notes": list(counted.notes),
    }


def as_text(asked: AuditRequest, found: AuditResult, rows: Sequence[Row]) -> str:
    """Formats the audit as a table with remarks below it.

    The remarks are examples of differences, then counts of what could not be compared, then notes
    and problems.
    """
    reads_bytes = asked.depth is Depth.BYTES
    heads = ["ROUTE", "TOPIC", *(["PART"] if any(r.partition is not None for r in rows) else [])]
    heads += ["SOURCE", "TARGET", "BEHIND", "MISSING", "SURPLUS"]
    heads += ["CHANGED", "SOURCE BYTES", "TARGET BYTES"] if reads_bytes else []
    parts = [f"{asked.window}, by {asked.depth}"]
    parts.append(table([*heads, "VERDICT"], [_cells(row, reads_bytes) for row in rows]))
    if not rows:
        parts[1] = "nothing was audited"
    if remarks := list(_remarks(found, rows)):
        parts.append(joined(remarks))
    return "\n\n".join(parts)


def _cells(row: Row, reads_bytes: bool) -> list[Any]:
    counted = row.counted
    cells: list[Any] = [row.route, row.topic]
    cells += [] if row.partition is None else [row.partition]
    cells += [counted.source_records, counted.target_records]
    cells += [counted.behind, counted.missing, counted.surplus]
    if reads_bytes:
        cells += [counted.changed, counted.source_bytes, counted.target_bytes]
    return [*cells, row.verdict.value]


def _remarks(found: AuditResult, rows: Sequence[Row]) -> Iterator[str]:
    named = [(_name(row), row.counted) for row in rows]
    for name, counted in named:
        yield from (f"{name}: {text}" for text in counted.examples)
    for name, counted in named:
        for why, count in counted.doubts.items():
            yield f"not compared: {name}: {count} {why}"
    for name, counted in named:
        if counted.held_back:
            yield f"note: {name}: an open transaction holds back {counted.held_back} offsets"
        if counted.foreign:
            yield f"note: {name}: {counted.foreign} records beside them in the target, by no route"
        yield from (f"note: {name}: {text}" for text in counted.notes)
    yield from (f"problem: {text}" for text in found.problems)


def _name(row: Row) -> str:
    partition = "" if row.partition is None else f"-{row.partition}"
    return f"{row.route} {row.topic}{partition}"
