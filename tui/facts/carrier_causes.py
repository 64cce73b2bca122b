"""Causes of alerts in partitions with lag: a carrier that says nothing, topics without progress."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui.facts.alert import Level
from tui.facts.alert_cause import ROWS_MAX, Cause, Source
from tui.facts.counted import counted
from tui.facts.health import Health
from tui.facts.part import ENDS, REPORTS
from tui.facts.route_view import PartitionView, RouteView, SilentCarrier
from tui.facts.server_causes import silent_servers
from tui.facts.snapshot import Snapshot

NO_CARRIER = "none"
"""Stands in keys for the carrier of partitions of which no carrier was ever heard."""


def carrier_causes(snapshot: Snapshot) -> Iterator[Cause]:
    """Yields a cause for each silent carrier of a route, and for each topic without progress.

    Left out are routes of which a cluster is silent, and carriers whose daemon is missing: others
    tell that. Paused, parked and waiting partitions have states of their own.
    """
    silent = silent_servers(snapshot)
    missing = {
        region.region
        for region in snapshot.regions
        for daemon in region.daemons
        if daemon.role == "replicate" and daemon.state == "missing"
    }
    for route in snapshot.routes:
        if silent.isdisjoint((f"{route.source} regional", f"{route.target} aggregate")):
            yield from _of_route(route, are_carriers_told=route.target in missing)


def _of_route(route: RouteView, are_carriers_told: bool) -> Iterator[Cause]:
    carriers: dict[int | None, list[PartitionView]] = {}
    topics: dict[str, list[PartitionView]] = {}
    for topic in route.topics or ():
        for part in topic.partitions:
            if part.state is Health.STALLED:
                topics.setdefault(part.topic, []).append(part)
            elif are_carriers_told or part.silent_carrier is None:
                continue
            elif part.silent_carrier.number is not None or part.lag_per_second is not None:
                # New partitions have no report for a moment: a lag of a minute ago tells others.
                carriers.setdefault(part.silent_carrier.number, []).append(part)
    for parts in carriers.values():
        yield _silent_cause(route, parts)
    for found, parts in topics.items():
        yield _stalled_cause(route, found, parts)


def _silent_cause(route: RouteView, parts: Sequence[PartitionView]) -> Cause:
    first, place = parts[0], f"{parts[0].topic}-{parts[0].partition}"
    silent = first.silent_carrier or SilentCarrier()
    is_named = silent.number is not None
    who = f"{silent.name} says nothing about" if is_named else "no carrier reports on"
    text = f"{who} {route.route} {place}, which has lag"
    if len(parts) > 1:
        some = counted(len(parts), "partition")
        text = f"{who} {some} of {route.route} with lag, such as {place}"
    number = silent.number if is_named else NO_CARRIER
    return _cause(f"carrier/{route.route}/{number}", "carrier", route, first, text, parts, None)


def _stalled_cause(route: RouteView, topic: str, parts: Sequence[PartitionView]) -> Cause:
    first, count = parts[0], len(parts)
    place = f"{topic}-{first.partition}"
    text = f"stalled: {route.route} {place} has lag and makes no progress"
    if count > 1:
        some = counted(count, "partition")
        text = f"stalled: {route.route} {topic}: {some} with lag make no progress, such as {place}"
    return _cause(f"stalled/{route.route}/{topic}/", "stalled", route, first, text, parts, count)


def _cause(
    key: str,
    kind: str,
    route: RouteView,
    first: PartitionView,
    text: str,
    parts: Sequence[PartitionView],
    extent: int | None,
) -> Cause:
    return Cause(
        key=key,
        region=route.target,
        level=Level.WARN,
        kind=kind,
        text=text,
        about=(route.route,),
        route=route.route,
        topic=first.topic,
        partition=first.partition,
        rows=tuple(f"{each.topic}-{each.partition}: {each.why}" for each in parts[:ROWS_MAX]),
        extent=extent,
        sources=_sources(route),
    )


def _sources(route: RouteView) -> tuple[Source, ...]:
    """Returns the parts without which the state of a route's partitions is not known."""
    return (f"{route.target} Redis", REPORTS), (f"{route.source} regional", ENDS)
