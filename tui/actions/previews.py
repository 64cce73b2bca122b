"""Previews of placements, for the streams and topics that an operator selects."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from balancer.decision.placement import Scope
from replicator.config.topology import Appliance, Route
from replicator.placement.rounds.preview import Preview, previews
from tui.state.streams import UnknownStream


class NotCarried(Exception):
    """No partition of the named topic is carried. The text lists similar names."""


def read_previews(
    appliance: Appliance,
    region: str,
    routes: Collection[Route],
    stream: str | None = None,
    scope: Scope = Scope.STICKY,
) -> tuple[Preview, ...]:
    """Returns the previews of these routes' streams, or of the named stream. Blocking.

    Raises UnknownStream, and whatever `previews` raises.
    """
    found = asyncio.run(previews(appliance, region, scope))
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
