"""sluice audit: compares the records of source and target in a window of time."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tui.cli.output import config_option, emit, output_option, say
from tui.cli.progress import LINE_SECONDS, Waiting

if TYPE_CHECKING:
    from replicator.audit.audit import Asked, Audited
    from replicator.audit.window import Window
    from replicator.config.topology import Appliance, Route

DEPTHS = ("offsets", "count", "bytes")


@click.command()
@config_option
@click.option("--region", help="Only routes into this target region.")
@click.option(
    "--route",
    "route_names",
    multiple=True,
    metavar="SOURCE>TARGET",
    help="Only this route; may be repeated.",
)
@click.option("--topic", "topics", multiple=True, help="Only this topic; may be repeated.")
@click.option("--partitions", is_flag=True, help="A line for each partition, not each topic.")
@click.option(
    "--since",
    metavar="AGO|INSTANT",
    help="Where the window begins: 10m, 2h, 1d, or 2026-11-22T03:00:00Z. Default: the last full "
    "ten minutes of the clock that ended at least a minute ago.",
)
@click.option("--until", metavar="AGO|INSTANT", help="Where it ends; now, unless given.")
@click.option(
    "--by",
    type=click.Choice(DEPTHS),
    default="count",
    show_default=True,
    help="What is read: ends of logs; every batch's header; every record.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="Seconds for each answer of a server.",
)
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
    timeout: float,
    output: str,
) -> int:
    """Compare the records of a window of time at both ends of every route.

    Records belong to a window by their own timestamps, at the source. Ends with 0 when all are
    equal, or only not mirrored yet; with 9 when records are missing, surplus or changed; with 3
    when a server could not be reached, and with 5 when something could not be compared.
    docs/audit.md says what it proves, and what it costs.
    """
    from replicator.audit.audit import Asked
    from replicator.audit.partition_audit import Depth
    from replicator.audit.verdict import by_topic
    from replicator.config.topology import load
    from tui.cli.views.audit_view import as_text, as_values, exit_code

    now_ms = int(time.time() * 1000)
    asked_window = _window(since, until, now_ms)
    appliance = load(config)
    asked = Asked(
        routes=_routes(appliance, region, route_names),
        topics=frozenset(topics),
        window=asked_window,
        depth=Depth(by),
        now_ms=now_ms,
    )
    found = _audited(appliance, asked, timeout)
    rows = found.rows if partitions else by_topic(found.rows)
    emit(output, as_values(asked, found, rows), lambda: as_text(asked, found, rows))
    for problem in found.problems:
        say(problem)
    return exit_code(found)


def _window(since: str | None, until: str | None, now_ms: int) -> Window:
    from replicator.audit.window import BadWindow, window

    try:
        return window(since, until, now_ms)
    except BadWindow as error:
        raise click.UsageError(str(error)) from None


def _routes(appliance: Appliance, region: str | None, names: Sequence[str]) -> tuple[Route, ...]:
    routes = appliance.routes if region is None else appliance.routes_into(region)
    chosen = tuple(dict.fromkeys(appliance.route(name) for name in names))
    for route in chosen:
        if route not in routes:
            raise click.UsageError(f"route {route} does not lead into region {region}")
    return chosen or routes


def _audited(appliance: Appliance, asked: Asked, timeout: float) -> Audited:
    from replicator.audit.audit import Audit

    waiting, began = Waiting("audit", sys.stderr), time.monotonic()

    def show(done: int, whole: int) -> None:
        now = time.monotonic()
        # A short run without a terminal, such as a timer's, prints no progress.
        if sys.stderr.isatty() or now - began >= LINE_SECONDS:
            waiting.show(whole - done, f"{done} of {whole} source offsets", now)

    try:
        return Audit(appliance, asked, timeout, show).run()
    finally:
        waiting.end()
