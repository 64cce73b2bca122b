"""sluice verify: the daemon that judges committed entries, and a check of their history."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from aggregator.verifier.finding import Weight
from tui.commands.exit_codes import ExitCode
from tui.commands.options import (
    check_daemon_options,
    config_option,
    daemon_options,
    output_option,
    pass_on,
    timeout_option,
    usage_errors,
)
from tui.commands.output import emit
from tui.commands.text import instant, joined, table

if TYPE_CHECKING:
    from aggregator.verifier.check import CheckResult
    from aggregator.verifier.cluster_judge import Judgement
    from aggregator.verifier.object_check import ObjectCount
    from aggregator.verifier.row_check import RowCount

SCHEMA_VERSION = 1
ROW_HEADS = (
    *("FEED", "CLUSTER", "TOPIC", "TABLE", "REPLICA", "RECORDS' ROWS", "ROWS"),
    *("MISSING", "SURPLUS", "DOUBLED", "CHANGED"),
)
OBJECT_HEADS = (
    "FEED", "CLUSTER", "BELOW", "OBJECTS", "MISSING", "DIFFERENT", "FOREIGN", "FORGOTTEN",
)  # fmt: skip
HEADS = ("CLUSTER", "OF", "PARTITIONS", "ENTRIES", "ANOMALIES", "ACCEPTED", "UNKNOWN")


@click.group(invoke_without_command=True)
@daemon_options
@click.pass_context
def verify(ctx: click.Context, config: str | None, region: str | None) -> int:
    """Judge each committed entry of a region's feeds and routes, until stopped.

    Without a subcommand this is the daemon, one for each region. It reads `__consumer_offsets` of
    every cluster that the feeds read, and of the region's aggregate. An anomaly goes to the log,
    the metrics and Redis. It writes nothing to Kafka. SIGTERM and Ctrl-C stop it within seconds.
    """
    if ctx.invoked_subcommand is not None:
        pass_on(verify, ctx)
        return ExitCode.DONE
    check_daemon_options(ctx)
    from aggregator.verifier import daemon

    return daemon.run(str(config), str(region))


@verify.command()
@config_option
@click.option(
    "--region", required=True, metavar="REGION", help="Region whose feeds and routes are judged."
)
@click.option(
    "--since",
    metavar="AGO|INSTANT",
    default="1h",
    show_default=True,
    help="Judge what was committed since: 10m, 2h, 1d, or 2026-11-22T03:00:00Z.",
)
@click.option(
    "--rows",
    is_flag=True,
    help="Compare the rows of every table and replica, and of every object, with the records; of "
    "upsert tables also claims and ends.",
)
@click.option(
    "--objects",
    is_flag=True,
    help="Ask the stores of feeds into objects for the size and checksum of each object.",
)
@timeout_option(15.0, "Seconds to wait for each answer of a server.")
@output_option
def check(
    config: str, region: str, since: str, rows: bool, objects: bool, timeout: float, output: str
) -> int:
    """Judge the history of a region's committed entries, once.

    Exits with 0 when all of it is right; with 9 when there is an anomaly, or with --rows a row is
    missing, surplus, doubled or changed, or with --objects an object is missing, different or
    foreign; with 3 when a server could not be reached; with 5 when not all could be judged.
    docs/verify.md describes each finding, and what no finding proves.
    """
    from aggregator.verifier.check import Check
    from replicator.audit.window import BadWindow, instant
    from replicator.config.topology import load

    with usage_errors(BadWindow):
        since_ms = instant(since, int(time.time() * 1000))
    found = Check(
        load(config), region, since_ms, timeout, with_rows=rows, with_objects=objects
    ).run()
    emit(output, check_values(found), lambda: check_text(found))
    return exit_code(found)


def exit_code(found: CheckResult) -> ExitCode:
    """Returns the exit code of the worst finding.

    An anomaly outranks an unreachable server, and that outranks what was not judged.
    """
    if found.has_anomaly:
        return ExitCode.DIFFERENT
    if found.problems:
        return ExitCode.UNREACHABLE
    return ExitCode.PARTLY_DONE if found.has_unknown else ExitCode.DONE


def check_text(found: CheckResult) -> str:
    """Formats the check as a table with the findings below it, each with both entries."""
    from replicator.audit.window import iso

    parts = [f"{found.region}: entries committed since {iso(found.since_ms)}"]
    cells = [
        (
            row.cluster,
            row.owner,
            row.partitions,
            row.entries,
            *(row.count(weight) for weight in Weight),
        )
        for row in found.rows
    ]
    parts.append(table(HEADS, cells))
    if found.row_counts is not None:
        parts.append(_row_table(found.row_counts))
    if found.object_counts is not None:
        parts.append(_object_table(found.object_counts))
    told = [each for each in found.judgements if not _is_unknown(each)]
    parts += [joined(_lines(each)) for each in told]
    if remarks := list(_remarks(found)):
        parts.append(joined(remarks))
    return "\n\n".join(parts)


def _row_table(counts: tuple[RowCount, ...]) -> str:
    if not counts:
        return "no rows to compare"
    cells = [
        (
            each.feed,
            each.cluster,
            each.topic,
            each.table,
            each.replica,
            each.expected,
            *(None if _is_unasked(each) else number for number in _differences(each)),
        )
        for each in counts
    ]
    return table(ROW_HEADS, cells)


def _object_table(counts: tuple[ObjectCount, ...]) -> str:
    if not counts:
        return "no objects to ask for"
    cells = [
        (
            each.feed,
            each.cluster,
            each.where,
            each.told,
            each.missing,
            each.different,
            each.foreign,
            each.forgotten,
        )
        for each in counts
    ]
    return table(OBJECT_HEADS, cells)


def _differences(count: RowCount) -> tuple[int, ...]:
    return count.found, count.missing, count.surplus, count.doubled, count.changed


def _is_unasked(count: RowCount) -> bool:
    return bool(count.doubts) and not count.found and not count.is_different


def _lines(judgement: Judgement) -> Iterator[str]:
    from aggregator.verifier.finding_log import shown

    yield f"{judgement.subject} at {instant(judgement.at_ms)}"
    for each in judgement.findings:
        yield f"  {each.weight}: {each.kind}: {each}"
    yield f"  before: {shown(judgement.before)}"
    yield f"  after:  {shown(judgement.after)}"


def _remarks(found: CheckResult) -> Iterator[str]:
    unknown = [each for each in found.judgements if _is_unknown(each)]
    reasons = Counter((each.subject.cluster, each.findings[0].text) for each in unknown)
    for (cluster, reason), count in reasons.items():
        example = next(
            str(each.subject)
            for each in unknown
            if (each.subject.cluster, each.findings[0].text) == (cluster, reason)
        )
        yield f"not judged: {count} entries in {cluster}, such as {example}: {reason}"
    for each in found.row_counts or ():
        where = f"{each.feed} {each.topic} in {each.table} on {each.replica}"
        yield from (f"{where}: {text}" for text in each.examples)
        yield from (f"not compared: {where}: {text}" for text in each.doubts)
    for objects in found.object_counts or ():
        yield from (f"{objects.feed}: {text}" for text in objects.examples)
    yield from (f"problem: {text}" for text in found.problems)


def _is_unknown(judgement: Judgement) -> bool:
    return all(each.weight is Weight.UNKNOWN for each in judgement.findings)


def check_values(found: CheckResult) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    from aggregator.verifier.finding_log import row as judgement_values
    from replicator.audit.window import iso

    return {
        "schema_version": SCHEMA_VERSION,
        "region": found.region,
        "since": iso(found.since_ms),
        "problems": list(found.problems),
        "rows": [
            {
                "cluster": str(row.cluster),
                "of": row.owner,
                "partitions": row.partitions,
                "entries": row.entries,
                **{weight.value: row.count(weight) for weight in Weight},
            }
            for row in found.rows
        ],
        "findings": [judgement_values(each) for each in found.judgements],
        "tables": None
        if found.row_counts is None
        else [_count_values(each) for each in found.row_counts],
        "objects": None
        if found.object_counts is None
        else [_object_values(each) for each in found.object_counts],
    }


def _object_values(count: ObjectCount) -> dict[str, Any]:
    return {
        "cluster": str(count.cluster),
        "feed": count.feed,
        "below": count.where,
        "told": count.told,
        "missing": count.missing,
        "different": count.different,
        "foreign": count.foreign,
        "forgotten": count.forgotten,
        "examples": list(count.examples),
    }


def _count_values(count: RowCount) -> dict[str, Any]:
    return {
        "cluster": str(count.cluster),
        "feed": count.feed,
        "topic": count.topic,
        "table": count.table,
        "replica": count.replica,
        "expected": count.expected,
        "found": count.found,
        "missing": count.missing,
        "surplus": count.surplus,
        "doubled": count.doubled,
        "changed_chunks": count.changed,
        "examples": list(count.examples),
        "not_compared": list(count.doubts),
    }
