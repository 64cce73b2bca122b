"""Acceptance of losses of a feed: parked partitions go on behind what was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from aggregator.driver.adoption_memory import AdoptionMemory
from aggregator.intents.intent_store import IntentStore
from aggregator.loader.known_records import KnownRecords, known_records
from aggregator.loader.loss_acceptance import accept
from aggregator.loader.reports import FeedPartition
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import Feed
from replicator.config.topology import Appliance
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Cluster, Fenced
from replicator.kafka.client.loss import LossKind
from tui.facts.feed_losses import ContinuedPartition, FeedLosses, ParkedPartition
from tui.facts.feed_scope import Scope
from tui.facts.watch.feed_intents import loaded_partitions
from tui.orders.feed_orders import check_scope

FASTER = "a loader was faster: look again"
OTHER_RECORDS = frozenset(
    {
        LossKind.SOURCE_TRUNCATED,
        LossKind.SOURCE_WENT_BACK,
        LossKind.SOURCE_DELETED,
        LossKind.SOURCE_RECREATED,
        LossKind.ENTRY_UNREADABLE,
    }
)
"""Losses after which offsets below the intent's may have other records than those loaded."""


class BadRestart(ValueError):
    """The offset to go on at is not valid for the loss. Nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLossRequest:
    """Request to show parked partitions of a feed, or to accept their losses.

    Args:
        restart_at: offset to go on at, where a loss does not say so itself.
        is_accepting: False when parked partitions are only shown.
        timeout_seconds: for each cluster.
    """

    feed: Feed
    scope: Scope
    restart_at: int | None
    is_accepting: bool
    timeout_seconds: float


def accept_feed_losses(appliance: Appliance, request: FeedLossRequest) -> FeedLosses:
    """Shows the parked partitions of the scope, or lets them go on. Blocking.

    Raises:
        OrderRefused: the feed does not have the scope.
        BadRestart: nothing was changed.
        AdminError, Unreachable, Answered: a cluster gives no answer; partitions of the clusters
            before may have been accepted.
    """
    feed, scope = request.feed, request.scope
    check_scope(feed, scope)
    clusters = [name for name in feed.clusters if scope.cluster in (None, name)]
    if request.restart_at is not None and (scope.partition is None or len(clusters) != 1):
        raise BadRestart(
            "--restart-at is for one partition: name it with --topic and --partition"
            + (", and --cluster" if len(feed.clusters) > 1 else "")
        )
    parts = [_of_cluster(appliance, name, request) for name in clusters]
    return FeedLosses(
        parked=tuple(each for part in parts for each in part.parked),
        continued=tuple(each for part in parts for each in part.continued),
        left={partition: why for part in parts for partition, why in part.left.items()},
    )


def check_restart(
    parked: ParkedPartition, restart_at: int, start: int, end: int, topic_id: UUID | None = None
) -> None:
    """Checks an offset to go on at. Raises BadRestart.

    Args:
        start, end: of the partition's log.
        topic_id: of today's topic; None where it is not known.
    """
    if not start <= restart_at <= end:
        raise BadRestart(f"--restart-at {restart_at}: the log has offsets {start} to {end}")
    intent = parked.intent
    kind = intent.parked.kind if intent and intent.parked else None
    # A topic may come back while a partition is parked for something else.
    has_come_back = bool(intent and intent.topic_id and topic_id not in (None, intent.topic_id))
    is_same_log = kind not in OTHER_RECORDS and not has_come_back
    if intent and is_same_log and restart_at < intent.offset:
        raise BadRestart(
            f"--restart-at {restart_at}: all records below {intent.offset} are loaded, and would "
            "be loaded twice"
        )


def _of_cluster(appliance: Appliance, name: ClusterName, request: FeedLossRequest) -> FeedLosses:
    settings = appliance.cluster(name)
    topics = Admin(name, settings, request.timeout_seconds, needs_configs=False).topics()
    partitions = [
        TopicPartition(each.topic, each.partition)
        for each in loaded_partitions(request.feed, name, topics)
        if request.scope.has(each)
    ]
    if not partitions:
        return FeedLosses()
    cluster = Cluster(name, settings, client_id="sluice-accept-loss")
    known = known_records(appliance, request.feed, name, request.timeout_seconds)
    try:
        return asyncio.run(_accepted(cluster, partitions, request, known))
    except TimeoutError:
        raise Unreachable(
            f"{name}: given up after {request.timeout_seconds:g} s; look again with `sluice "
            "aggregate accept-loss`: what was not accepted is parked as before"
        ) from None
    finally:
        known.close()


async def _accepted(
    cluster: Cluster,
    partitions: list[TopicPartition],
    request: FeedLossRequest,
    known: KnownRecords,
) -> FeedLosses:
    name, feed = str(cluster.name), request.feed.name
    async with asyncio.timeout(request.timeout_seconds):
        await cluster.open({each.topic for each in partitions})
        try:
            parked = await _parked(cluster, feed, partitions)
            if not request.is_accepting or not parked:
                return FeedLosses(parked=tuple(parked))
            if request.restart_at is not None:
                await _check_restarts(cluster, parked, request.restart_at)
            reasons = {_place(each.partition): each.reason for each in parked}
            try:
                memory = AdoptionMemory(cluster, feed)
                await memory.read_if_there()
                result = await accept(
                    cluster, feed, list(reasons), request.restart_at, known=known, memory=memory
                )
            except Fenced:
                return FeedLosses(left=dict.fromkeys((p.partition for p in parked), FASTER))
        finally:
            await cluster.close()
    return FeedLosses(
        continued=tuple(
            ContinuedPartition(FeedPartition(name, *place), reasons[place], intent.offset)
            for place, intent in sorted(result.continued.items())
        ),
        left={FeedPartition(name, *place): why for place, why in sorted(result.left.items())},
    )


async def _check_restarts(
    cluster: Cluster, parked: Iterable[ParkedPartition], restart_at: int
) -> None:
    for each in parked:
        place = _place(each.partition)
        start, end = await cluster.log_start(*place), await cluster.log_end(*place)
        topic = cluster.topic(place.topic)
        check_restart(each, restart_at, start, end, topic.id if topic else None)


async def _parked(
    cluster: Cluster, feed: str, partitions: list[TopicPartition]
) -> list[ParkedPartition]:
    """Returns the partitions that are parked, or that were adopted and have no intent."""
    store = IntentStore(cluster, feed)
    intents = await store.read(partitions)
    adopted = {topic: await store.witnessed(topic) for topic in {each.topic for each in partitions}}
    found = []
    for place in sorted(partitions):
        intent = intents.get(place)
        is_lost = intent is None and place.partition < adopted[place.topic]
        if is_lost or (intent is not None and intent.parked):
            found.append(ParkedPartition(FeedPartition(str(cluster.name), *place), intent))
    return found


def _place(partition: FeedPartition) -> TopicPartition:
    return TopicPartition(partition.topic, partition.partition)
