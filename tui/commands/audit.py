"""sluice audit: compares the records of source and target in a window of time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import (
    config_option,
    output_option,
    partitions_option,
    selected_routes,
    timeout_option,
    topics_option,
    usage_errors,
)
from tui.commands.output import emit, say
from tui.commands.progress import JSON_SECONDS, LINE_SECONDS, progress_option, wait_display
from tui.commands.text import joined, table

if TYPE_CHECKING:
    from replicator.audit.audit import AuditRequest, AuditResult
    from replicator.audit.verdict import Row
    from replicator.config.topology import Appliance

SCHEMA_VERSION = 1
DEPTHS = ("offsets", "count", "bytes")


@click.command()
@config_option
@click.option("--region", metavar="REGION", help="Only routes into this target region.")
@click.option(
    "--route",
    "route_names",
    multiple=True,
    metavar="SOURCE>TARGET",
    help="Only this route. Repeatable.",
)
@topics_option
@partitions_option
@click.option(
    "--since",
    metavar="AGO|INSTANT",
    help="Start of the window: 10m, 2h, 1d, or 2026-11-22T03:00:00Z. Default: the last full ten "
    "minutes of the clock that ended at least a minute ago.",
)
@click.option("--until", metavar="AGO|INSTANT", help="End of the window. Default: now.")
@click.option(
    "--by",
    type=click.Choice(DEPTHS),
    default="count",
    show_default=True,
    help="Depth: the ends of logs, the header of every batch, or every record.",
)
@click.option(
    "--keep/--no-keep",
    default=True,
    show_default=True,
    help="Keep the verdict in the Redis of the target region, the last 200 of each route.",
)
@timeout_option(10.0, "Seconds to wait for each answer of a server.")
@progress_option
@output_option
def audit(
    config: str,
    region: str | None,
    route_names: Sequence[str],
    topics: Sequence[str],
    partitions: bool,
    since: str | None,
    until: str | None,
    by: str,
    keep: bool,
    timeout: float,
    progress: str | None,
    output: str,
) -> int:
    """Compare the records of source and target in a window of time.

    The timestamp of a record at the source decides whether it belongs to the window. Exits with 0
    when all records are equal, or only not mirrored yet; with 9 when records are missing, surplus
    or changed; with 3 when a server could not be reached; with 5 when something could not be
    compared. docs/audit.md describes what an audit proves, and what it costs.
    """
    from replicator.audit.audit import AuditRequest
    from replicator.audit.partition_audit import Depth
    from replicator.audit.verdict import by_topic
    from replicator.audit.window import BadWindow, window
    from replicator.config.topology import load
    from tui.orders.operator_events import operator

    now_ms = int(time.time() * 1000)
    with usage_errors(BadWindow):
        asked_window = window(since, until, now_ms)
    appliance = load(config)
    asked = AuditRequest(
        routes=selected_routes(appliance, region, route_names),
        topics=frozenset(topics),
        window=asked_window,
        depth=Depth(by),
        now_ms=now_ms,
    )
    found = _audited(appliance, asked, timeout, progress)
    rows = found.rows if partitions else by_topic(found.rows)
    emit(output, audit_values(asked, found, rows), lambda: audit_text(asked, found, rows))
    say(*found.problems)
    if keep:
        say(*keep_audit(appliance, asked, found, who=operator(), timeout_seconds=timeout))
    return exit_code(found)


def exit_code(found: AuditResult) -> ExitCode:
    """Returns the exit code of the worst finding.

    A difference outranks an unreachable server. An unreachable server outranks an incomplete
    comparison.
    """
    from replicator.audit.verdict import Verdict

    verdicts = {row.verdict for row in found.rows}
    if any(verdict.is_difference for verdict in verdicts):
        return ExitCode.DIFFERENT
    if found.problems:
        return ExitCode.UNREACHABLE
    return ExitCode.PARTLY_DONE if Verdict.INCOMPLETE in verdicts else ExitCode.DONE


def _audited(
    appliance: Appliance, asked: AuditRequest, timeout: float, progress: str | None
) -> AuditResult:
    from replicator.audit.audit import Audit

    display, began = wait_display(progress, json_seconds=JSON_SECONDS), time.monotonic()
    is_at_once = progress == "json" or sys.stderr.isatty()

    def show(done: int, whole: int) -> None:
        now = time.monotonic()
        # A short run without a terminal, such as a timer's, prints no text.
        if is_at_once or now - began >= LINE_SECONDS:
            display.show("audit", whole - done, f"{done} of {whole} source offsets", now)

    try:
        return Audit(appliance, asked, timeout, show).run()
    finally:
        display.end()


def keep_audit(
    appliance: Appliance,
    request: AuditRequest,
    found: AuditResult,
    *,
    who: str,
    timeout_seconds: float,
) -> list[str]:
    """Keeps the verdict on each route in the Redis of its target region, and notes an event.

    Returns the reasons why a verdict could not be kept.
    """
    from replicator.audit.kept_audit import KeptAudit, counts_of, kept_rows
    from replicator.audit.kept_audits import KeptAudits
    from replicator.runtime.store_errors import StoreUnreachable
    from tui.orders.operator_events import note_event

    troubles: dict[str, str] = {}
    for route in request.routes:
        region = appliance.region(route.target)
        if region.name in troubles:
            continue
        rows = [row for row in found.rows if row.route == route.name]
        audit = KeptAudit(
            route=route.name,
            at_ms=request.now_ms,
            since_ms=request.window.since_ms,
            until_ms=request.window.until_ms,
            by=request.depth.value,
            who=who,
            counts=counts_of(rows),
            problems=found.problems,
            rows=kept_rows(rows),
        )
        try:
            with KeptAudits(region.redis_url(), timeout_seconds=timeout_seconds) as kept:
                kept.keep(route, audit)
        except (StoreUnreachable, OSError, ValueError) as error:
            troubles[region.name] = f"verdicts on routes into {region.name} are not kept: {error}"
            continue
        counts = ", ".join(f"{count} {verdict}" for verdict, count in audit.counts.items())
        text = f"{route}: partitions: {counts or 'none compared'}"
        note_event(region, "audit", who, text, audit.worst.value if audit.worst else "unknown")
    return list(troubles.values())


def audit_text(asked: AuditRequest, found: AuditResult, rows: Sequence[Row]) -> str:
    """Formats the audit as a table with remarks below it.

    The remarks are examples of differences, then counts of what could not be compared, then notes
    and problems.
    """
    from replicator.audit.partition_audit import Depth

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


def audit_values(asked: AuditRequest, found: AuditResult, rows: Sequence[Row]) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    from replicator.audit.partition_audit import Depth
    from replicator.audit.window import iso

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
