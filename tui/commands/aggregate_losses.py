"""sluice aggregate accept-loss: lets parked partitions of a feed go on behind a loss."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from replicator.kafka.client.loss import LossKind
from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import FeedContext, on_partitions
from tui.commands.options import output_option, timeout_option, usage_errors
from tui.commands.output import emit
from tui.commands.text import table

if TYPE_CHECKING:
    from aggregator.loader.known_records import KnownRecords
    from aggregator.loader.reports import FeedPartition
    from balancer.topic_partition import TopicPartition
    from replicator.config.cluster_name import ClusterName
    from replicator.config.feed_settings import Feed
    from replicator.config.topology import Appliance
    from replicator.kafka.client.cluster import Cluster
    from tui.facts.feed_losses import FeedLosses, ParkedPartition
    from tui.facts.feed_scope import Scope

PARKED_HEADS = ("CLUSTER", "TOPIC", "PARTITION", "LOADED TO", "REASON")
CONTINUED_HEADS = ("CLUSTER", "TOPIC", "PARTITION", "GOES ON AT", "ACCEPTED")
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


@click.command("accept-loss")
@on_partitions
@click.option(
    "--restart-at",
    type=click.IntRange(min=0),
    metavar="OFFSET",
    help="Offset to go on at, for one partition whose loss does not say where.",
)
@click.option("--yes", is_flag=True, help="Accept the losses. Without --yes nothing is changed.")
@timeout_option(30.0, "Seconds to wait for each cluster.")
@output_option
def accept_loss(context: FeedContext, restart_at: int | None, yes: bool) -> int:
    """Show the partitions that are parked, or let them go on.

    Without --yes it shows the parked partitions and the reasons, and exits with 4 if there are any.
    With --yes these partitions go on behind the loss; a running `sluice aggregate` takes them up by
    itself, and `sluice verify` reports the loss as accepted. Exits with 5 when some are left as
    they were, and with 3 when a cluster does not answer in time.
    """
    request = FeedLossRequest(
        feed=context.feed,
        scope=context.scope,
        restart_at=restart_at,
        is_accepting=yes,
        timeout_seconds=context.timeout_seconds,
    )
    with usage_errors(BadRestart):
        losses = accept_feed_losses(context.appliance, request)
    emit(context.output, losses_values(losses), lambda: losses_text(losses))
    if losses.parked:
        return ExitCode.REFUSED
    return ExitCode.PARTLY_DONE if losses.left else ExitCode.DONE


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
    from tui.facts.feed_losses import FeedLosses
    from tui.orders.feed_orders import check_scope

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
    from aggregator.loader.known_records import known_records
    from balancer.topic_partition import TopicPartition
    from replicator.kafka.admin.admin import Admin
    from replicator.kafka.client.brokers import Unreachable
    from replicator.kafka.client.cluster import Cluster
    from tui.facts.feed_losses import FeedLosses
    from tui.facts.watch.feed_intents import loaded_partitions

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
    from aggregator.driver.adoption_memory import AdoptionMemory
    from aggregator.loader.loss_acceptance import accept
    from aggregator.loader.reports import FeedPartition
    from replicator.kafka.client.cluster import Fenced
    from tui.facts.feed_losses import FASTER, ContinuedPartition, FeedLosses

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
    from aggregator.intents.intent_store import IntentStore
    from aggregator.loader.reports import FeedPartition
    from tui.facts.feed_losses import ParkedPartition

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
    from balancer.topic_partition import TopicPartition

    return TopicPartition(partition.topic, partition.partition)


def losses_values(losses: FeedLosses) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "parked": [
            {
                **each.partition._asdict(),
                "loaded_to": each.intent.offset if each.intent else None,
                "reason": each.reason,
            }
            for each in losses.parked
        ],
        "continued": [
            {**each.partition._asdict(), "accepted": each.reason, "goes_on_at": each.offset}
            for each in losses.continued
        ],
        "left": [
            {**partition._asdict(), "reason": reason} for partition, reason in losses.left.items()
        ],
    }


def losses_text(losses: FeedLosses) -> str:
    """Formats a table for people: parked partitions, or continued and left ones."""
    if losses.parked:
        parked = [
            (*each.partition, each.intent.offset if each.intent else None, each.reason)
            for each in losses.parked
        ]
        return table(PARKED_HEADS, parked)
    if not losses.continued and not losses.left:
        return "nothing is parked"
    rows: list[tuple[Any, ...]] = [
        (*each.partition, each.offset, each.reason) for each in losses.continued
    ]
    rows += [
        (*partition, None, f"left as it is: {reason}") for partition, reason in losses.left.items()
    ]
    return table(CONTINUED_HEADS, rows)
