"""Survey of a move in a world: the product reads copies, runs and entries over the network.

It asks in the order of the product's survey, and time passes between its questions. The clients of
librdkafka are left out: log ends are those of the world.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from balancer.plan import TopicPartition
from replicator.config.topology import Route
from replicator.groups.failover.known_runs import KnownRuns, read_runs
from replicator.groups.failover.ledger_view import LedgerView, ledger_view
from replicator.groups.failover.source_copies import LedgerViews, SourceCopies
from replicator.groups.planning.knowledge import (
    Knowledge,
    LogRange,
    PartitionFacts,
    Request,
    progress_of,
)
from replicator.groups.progress.aggregate import Aggregate, Known
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.committed_entries import read_commits
from replicator.mirror.ledger.entries import decoded
from replicator.mirror.ledger.ledger import group_of
from replicator.mirror.offset_map.offset_map import OffsetMap
from tests.world.blocking import in_thread
from tests.world.groups.past import Past
from tests.world.groups.two_regions import TOPIC, TwoRegions
from tests.world.virtual_loop import EPOCH

TIMEOUT_SECONDS = 5.0


async def surveyed(
    regions: TwoRegions, pasts: Mapping[str, Past], client: Cluster, request: Request
) -> Knowledge:
    """Returns what is known in the target region. Raises StoreUnreachable.

    Args:
        client: of the target's aggregate.
    """
    now = regions.world.loop.time
    target, places = request.target, regions.places
    url = regions.redis[target].url
    routes_here = regions.appliance.routes_into(request.source)
    copies = SourceCopies(url, request.source, routes_here, TIMEOUT_SECONDS)
    age_ms = await in_thread(copies.age, int((EPOCH + now()) * 1000))
    commits, _ = await in_thread(copies.commits, request)
    is_whole = age_ms is not None
    views_here = await in_thread(partial(copies.ledgers, commits, is_whole=is_whole))
    ends = {place: pasts[target].end(place, now()) for place in places}
    views_there = {
        route: await _views(regions, client, route, ends)
        for route in regions.appliance.routes_into(target)
    }
    here = await _runs(url, views_here, places)
    there = await _runs(url, views_there, places)
    held = {
        group: await client.commits(group, [(TOPIC, [place.partition for place in places])])
        for group in sorted(request.groups)
    }
    return Knowledge(
        commits=commits,
        target_commits=progress_of(held),
        partitions={
            place: PartitionFacts(
                here=_aggregate(place, here, None),
                there=_aggregate(place, there, ends[place]),
                there_log=LogRange(0, pasts[target].end(place, now())),
            )
            for place in places
        },
        mirrored_topics=frozenset({TOPIC}),
        active_in_target=frozenset(),
        age_ms=age_ms,
    )


async def _views(
    regions: TwoRegions, client: Cluster, route: Route, ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, LedgerView]:
    rows = await read_commits(client, partial(group_of, route), regions.places)
    topic = regions.aggregate[route.target].topics[TOPIC].id.hex
    return {
        place: ledger_view(
            route,
            place,
            decoded(rows, {}),
            untouched_up_to=ends[place],
            target_topic=topic,
            is_current=True,
        )
        for place in regions.places
    }


async def _runs(
    url: str, views: LedgerViews, places: list[TopicPartition]
) -> dict[Route, KnownRuns]:
    found = {}
    for route, by_place in views.items():
        wanted = {place: by_place[place] for place in places if place in by_place}
        found[route] = await in_thread(read_runs, url, route, wanted, TIMEOUT_SECONDS)
    return found


def _aggregate(
    place: TopicPartition, runs: Mapping[Route, KnownRuns], log_end: int | None
) -> Aggregate:
    nothing = Known(OffsetMap())
    return Aggregate(
        {route.source: each.known.get(place, nothing) for route, each in runs.items()}, log_end
    )
