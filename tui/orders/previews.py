"""Previews of placements, for the streams and topics that an operator selects."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from balancer.decision.placement import Scope
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.kafka.admin.listening import check_listening
from replicator.placement.rounds.connections import BalancerConnections
from replicator.placement.rounds.preview import Preview, previews
from replicator.runtime.store_errors import StoreUnreachable
from tui.facts.streams import UnknownStream
from tui.facts.watch.inquiry import GRACE_SECONDS


class NotCarried(Exception):
    """No partition of the named topic is carried. The text lists similar names."""


def read_previews(
    appliance: Appliance,
    region: str,
    routes: Collection[Route],
    timeout_seconds: float,
    *,
    stream: str | None = None,
    scope: Scope = Scope.STICKY,
) -> tuple[Preview, ...]:
    """Returns the previews of these routes' streams, or of the named stream. Blocking.

    Args:
        timeout_seconds: for all servers together.

    Raises:
        UnknownStream: none of the routes has the stream.
        StoreUnreachable: the time is over; also whatever `previews` raises.
    """

    async def within() -> list[Preview]:
        connections = BalancerConnections(appliance, region, timeout_seconds)
        async with asyncio.timeout(timeout_seconds + GRACE_SECONDS):
            return await previews(appliance, region, scope, connections)

    name = ClusterName.aggregate(region)
    check_listening(name, appliance.cluster(name))
    try:
        found = asyncio.run(within())
    except TimeoutError:
        servers = f"clusters and stores of the routes into {region}"
        raise StoreUnreachable(f"{servers}: no answer within {timeout_seconds:g} s") from None
    return selected_previews(found, routes, stream)


def selected_previews(
    found: Iterable[Preview], routes: Collection[Route], stream: str | None
) -> tuple[Preview, ...]:
    """Returns the previews of these routes, or of the named stream on them.

    Raises UnknownStream when none of these routes has the stream.
    """
    of_routes = [each for each in found if each.route in routes]
    selected = tuple(each for each in of_routes if stream in (None, each.stream))
    if not selected:
        known = ", ".join(dict.fromkeys(each.stream for each in of_routes))
        raise UnknownStream(f"no stream {stream!r}; known: {known}")
    return selected


def check_topic_carried(previews: Iterable[Preview], topic: str) -> None:
    """Raises NotCarried, with similar names, when no partition of the topic is carried."""
    known = {need.partition.topic for each in previews for need in each.needs}
    if topic not in known:
        close = get_close_matches(topic, sorted(known), n=3)
        hint = f"; is it {' or '.join(close)}?" if close else ""
        raise NotCarried(f"nothing of topic {topic!r} is carried there{hint}")
