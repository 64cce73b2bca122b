"""Loss acceptance: lets parked partitions of a feed go on, by custody of their intents."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.loader.accepted_intents import LogToday, NoRestart, NotAsConfirmed, accepted
from balancer.plan import TopicPartition
from replicator.config.names import unloaded_id
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.runtime.gather import gather_or_cancel

TRANSACTION_MS = 30_000
Change = Callable[[TopicPartition, Intent], Intent]


@dataclass(slots=True)
class AcceptedLosses:
    """Result of an acceptance.

    Args:
        continued: partitions that go on, with the intents that were committed.
        left: the others, with the reason.
    """

    continued: dict[TopicPartition, Intent] = field(default_factory=dict)
    left: dict[TopicPartition, str] = field(default_factory=dict)


def unchanged(_: TopicPartition, intent: Intent) -> Intent:
    """Returns the intent as it is."""
    return intent


async def accept(
    cluster: Cluster,
    feed: str,
    partitions: Collection[TopicPartition],
    restart_at: int | None = None,
    changed: Change = unchanged,
) -> AcceptedLosses:
    """Lets the parked ones of these partitions go on behind their losses.

    Args:
        cluster: open, and aware of the topics.
        restart_at: offset to go on at, in the place of the end of each loss.
        changed: returns a parked intent as it shall go on; raises NotAsConfirmed.

    Raises:
        Fenced: a loader was faster; ask again.
    """
    store = IntentStore(cluster, feed)
    result = AcceptedLosses()
    found = await store.read(partitions)
    parked = {p: intent for p, intent in found.items() if intent.parked}
    missing = [p for p in partitions if p not in found]
    for partition in found.keys() - parked.keys():
        result.left[partition] = "it is not parked"
    by_id: dict[str, list[TopicPartition]] = {}
    for partition, intent in parked.items():
        by_id.setdefault(intent.transactional_id or unloaded_id(feed), []).append(partition)
    if missing:
        by_id.setdefault(unloaded_id(feed), []).extend(missing)
    for transactional_id, some in by_id.items():
        await _accept(cluster, store, feed, transactional_id, some, restart_at, changed, result)
    return result


async def _accept(
    cluster: Cluster,
    store: IntentStore,
    feed: str,
    transactional_id: str,
    partitions: Collection[TopicPartition],
    restart_at: int | None,
    changed: Change,
    result: AcceptedLosses,
) -> None:
    holder = await FencedCommitter(cluster, transactional_id, TRANSACTION_MS).open()
    before = await store.read_as_holder(holder, partitions)
    new: dict[TopicPartition, Intent] = {}
    for partition in partitions:
        intent = before.get(partition)
        topic = cluster.topic(partition.topic)
        if intent is not None and not intent.parked:
            result.left[partition] = "it is not parked any more"
        elif topic is None:
            result.left[partition] = "the cluster does not show its topic: create it first"
        else:
            start, end = await gather_or_cancel(
                cluster.log_start(*partition), cluster.log_end(*partition)
            )
            today = LogToday(topic.id, start, end)
            try:
                if intent is not None:
                    intent = changed(partition, intent)
                new[partition] = accepted(intent, today, unloaded_id(feed), restart_at)
            except NotAsConfirmed as error:
                result.left[partition] = str(error)
            except NoRestart as error:
                result.left[partition] = f"{error}: name an offset with --restart-at"
    if new:
        await store.replace(holder, before, new)
        result.continued |= new
