"""sluice config check: checks the configuration and, on request, the clusters that it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import config_option, output_option, timeout_option
from tui.commands.output import emit, plain_values
from tui.commands.text import table

if TYPE_CHECKING:
    from replicator.config.mistakes import ConfigMistakes, Mistake
    from replicator.config.topology import Appliance
    from tui.facts.connections import Connection
    from tui.facts.feed_findings import FeedCheck


@click.group()
def config() -> None:
    """Check the configuration of the appliance."""


@config.command()
@config_option
@click.option(
    "--connect",
    is_flag=True,
    help="Also connect to every cluster in the file, and compare upsert tables with their servers.",
)
@timeout_option(5.0, "Seconds to wait for each cluster or server.")
@output_option
def check(config: str, connect: bool, timeout: float, output: str) -> int:
    """List the mistakes of a configuration, each with its path in the file.

    Contradictions between settings show once each value is right.

    Exits with 0 when there is none, with 2 otherwise; with --connect also with 3 when a cluster
    or a server cannot be reached.
    """
    from replicator.config.mistakes import ConfigMistakes
    from replicator.config.topology import load

    try:
        appliance = load(config)
        if mistakes := tuple(type_mistakes(appliance)):
            raise ConfigMistakes(config, mistakes)
    except ConfigMistakes as error:
        text = str(error)
        emit(output, mistakes_values(error), lambda: text)
        return ExitCode.USAGE
    connections = tables = None
    if connect:
        connections = connections_of(appliance, timeout)
        tables = tables_of(appliance, timeout)
    value = check_values(config, appliance, connections, tables)
    emit(output, value, lambda: check_text(appliance, connections, tables))
    if any(each.cluster_id is None for each in connections or ()):
        return ExitCode.UNREACHABLE
    if tables is not None and tables.problems and not tables.mistakes:
        return ExitCode.UNREACHABLE
    return ExitCode.DONE if value["ok"] else ExitCode.USAGE


def check_text(
    appliance: Appliance,
    connections: Sequence[Connection] | None = None,
    tables: FeedCheck | None = None,
) -> str:
    """Formats a configuration without mistakes for people, below its connections if there are any.

    With a problem of a connection, or of an upsert table, these alone are shown.
    """
    rows = [
        (name, *(", ".join(c.bootstrap) for c in (region.regional, region.aggregate)))
        for name, region in sorted(appliance.regions.items())
    ]
    routes = ", ".join(route.name for route in appliance.routes)
    text = f"ok\n{table(('REGION', 'REGIONAL', 'AGGREGATE'), rows)}\nroutes: {routes}"
    if appliance.feeds:
        text += f"\nfeeds: {', '.join(sorted(appliance.feeds))}"
    if connections is None:
        return text
    clusters = [(each.cluster, each.cluster_id, each.problem) for each in connections]
    are_sound = all(each.is_sound for each in connections)
    if tables is not None and (tables.mistakes or tables.problems):
        lines = [*(f"{each.where}: {each.text}" for each in tables.mistakes), *tables.problems]
        text, are_sound = "\n".join(("", *lines)), True
    return f"{table(('CLUSTER', 'ID', 'PROBLEM'), clusters)}\n{text if are_sound else ''}"


def check_values(
    file: str,
    appliance: Appliance,
    connections: Sequence[Connection] | None = None,
    tables: FeedCheck | None = None,
) -> dict[str, Any]:
    """Returns a configuration without mistakes as plain values for JSON and YAML.

    Args:
        connections: None when the clusters were not asked.
        tables: of upsert tables, what their servers have; None if there are no such tables, or the
            servers were not asked.
    """
    values: dict[str, Any] = {
        "ok": all(each.is_sound for each in connections or ()),
        "file": file,
        "regions": sorted(appliance.regions),
        "routes": [route.name for route in appliance.routes],
        "topics": {"allow": list(appliance.topics.allow), "deny": list(appliance.topics.deny)},
        "feeds": sorted(appliance.feeds),
    }
    if connections is not None:
        values["clusters"] = plain_values(connections)
    if tables is not None:
        values["ok"] = values["ok"] and not tables.mistakes and not tables.problems
        values["upsert_tables"] = {
            "mistakes": plain_values(tables.mistakes),
            "problems": list(tables.problems),
        }
    return values


def type_mistakes(appliance: Appliance) -> Iterator[Mistake]:
    """Yields the columns of upsert tables whose types cannot be loaded."""
    from replicator.config.mistakes import Mistake

    feeds = [feed for feed in appliance.feeds.values() if feed.upsert_tables]
    if feeds:
        from tui.facts.upsert_findings import type_findings  # Arrow takes its time

        for feed in feeds:
            for finding in type_findings(feed):
                yield Mistake(finding.where, finding.text)


def mistakes_values(error: ConfigMistakes) -> dict[str, Any]:
    """Returns the mistakes of a configuration as plain values for JSON and YAML."""
    return {"ok": False, "file": error.file, "mistakes": plain_values(error.mistakes)}


def tables_of(appliance: Appliance, timeout_seconds: float) -> FeedCheck | None:
    """Compares upsert tables with their servers; returns None if there are no such tables."""
    feeds = [feed for feed in appliance.feeds.values() if feed.upsert_tables]
    if not feeds:
        return None
    from tui.facts.watch.upsert_check import check_tables

    return check_tables(feeds, timeout_seconds)


def connections_of(appliance: Appliance, timeout_seconds: float) -> tuple[Connection, ...]:
    """Contacts all clusters at the same time and returns their answers, after the timeout at the
    latest."""
    from replicator.kafka.admin.admin import Admin
    from tui.facts.connections import Connection, with_shared_ids_named
    from tui.facts.watch.inquiry import Inquiry

    inquiry = Inquiry(timeout_seconds)
    names = appliance.cluster_names
    admins = [Admin(name, appliance.cluster(name), timeout_seconds) for name in names]
    asked = {
        name: inquiry.ask_cluster(name, admin.cluster, admin.cluster_id)
        for name, admin in zip(names, admins, strict=True)
    }
    ids = {name: reply.answer() for name, reply in asked.items()}
    problems = inquiry.problems
    return with_shared_ids_named(
        Connection(str(name), cluster_id, problems.get(name, ""))  # YAML takes no subclass of str
        for name, cluster_id in ids.items()
    )
