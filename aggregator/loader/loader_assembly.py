"""Assembly: makes a loader session of its parts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import IntentStore
from aggregator.loader.acquisition import Acquisition
from aggregator.loader.fetch_intake import FetchIntake
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.intent_committer import IntentCommitter
from aggregator.loader.intent_effects import EffectProducer
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.loader_session import LoaderSession
from aggregator.loader.object_forming import ObjectForming
from aggregator.loader.object_sink import ObjectSink
from aggregator.loader.receipts import BlockReceipts
from aggregator.loader.report_store import ReportStore
from aggregator.loader.reporting import Reporting
from aggregator.loader.seal_rule import MIB
from aggregator.loader.sent_letters import SentLetters
from aggregator.loader.shard_tables import ShardTables
from aggregator.loader.sink import Sink
from aggregator.loader.table_sink import TableSink
from aggregator.loader.told_reading import with_markers
from aggregator.s3.object_store import ObjectStore, StoreAddress
from balancer.topic_partition import TopicPartition
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.names import loader_id
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import Appliance
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.epoch_regress import EpochRegress
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.reader import RESPONSE_BYTES_MAX, RESPONSES_BYTES_MAX, Reader
from replicator.kafka.client.source_checks import SourceChecks

FETCH_BYTES_MIN = 64 << 10
"""Bytes that a fetch waits for, a tenth of a second at most. Blocks and objects are older than that
when they end, and a fetch for each record would keep a core busy."""
RESPONSES_PART = 1 / 8
"""Part of a loader's memory for responses of all brokers; what is opened of one has as much."""
OPENED_BYTES_MAX = 16 << 20
"""Bytes of records that are opened at once."""
RENEWED_PART = 0.3
"""Part of the time after which the verifier reports an intent as stale, to its renewal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Makers:
    """Makers of replaceable parts. A test that takes a rule out replaces the part that keeps it."""

    partitions: Callable[[], dict[TopicPartition, HeldPartition]] = dict
    fenced_committer: Callable[..., FencedCommitter] = FencedCommitter
    acquisition: Callable[..., Acquisition] = Acquisition
    effects: Callable[..., EffectProducer] = EffectProducer
    intent_committer: Callable[..., IntentCommitter] = IntentCommitter
    shard_tables: Callable[..., ShardTables] = ShardTables
    object_store: Callable[[StoreAddress], ObjectStore] = ObjectStore
    object_forming: Callable[..., ObjectForming] = ObjectForming
    recall: Callable[..., Awaitable[Mapping[TopicPartition, Intent]]] = with_markers
    sent_letters: Callable[[Cluster], SentLetters] = SentLetters
    report_store: Callable[[str], ReportStore] = ReportStore
    source_checks: Callable[..., SourceChecks] = SourceChecks


MAKERS = Makers()


def assemble(
    appliance: Appliance,
    assignment: LoaderAssignment,
    receipts: BlockReceipts,
    loader_counts: LoaderCounts,
    makers: Makers = MAKERS,
) -> LoaderSession:
    """Returns a session that has not begun.

    Args:
        receipts: of the blocks that the session stores.
        loader_counts: of the loader; its sessions count one after another.
        makers: of replaceable parts.
    """
    feed, settings = assignment.feed, appliance.aggregator
    timeout_ms = appliance.replicator.transaction_timeout_ms
    source = Cluster(
        assignment.cluster,
        appliance.cluster(assignment.cluster),
        client_id=f"sluice-loader-{feed.name}-{assignment.number}",
        request_timeout_ms=appliance.replicator.request_timeout_ms,
        idle_seconds=appliance.replicator.connections_idle_seconds,
    )

    def committer_of(transactional_id: str) -> FencedCommitter:
        return makers.fenced_committer(source, transactional_id, timeout_ms)

    fenced_committer = committer_of(loader_id(feed.name, assignment.number))
    intent_store = IntentStore(source, feed.name)
    partitions = makers.partitions()
    effects = makers.effects(source)
    sent = makers.sent_letters(source)
    intents = makers.intent_committer(intent_store, fenced_committer, effects, loader_counts, sent)
    sink = _sink(appliance, assignment, partitions, intents, receipts, loader_counts, makers)
    memory_bytes = settings.memory_mib * MIB
    intake = FetchIntake(
        source,
        partitions,
        sink,
        assignment,
        loader_counts,
        opened_bytes_max=min(OPENED_BYTES_MAX, int(RESPONSES_PART * memory_bytes)),
    )
    reader = Reader(
        source=source,
        pipelines=partitions,
        checks=makers.source_checks(source, partitions, EpochRegress(source)),
        intake=intake,
        fetch_bytes=appliance.replicator.fetch_mib * MIB,
        pipeline_bytes_max=sink.partition_bytes_max,
        pipelines_bytes_max=sink.read_bytes_max,
        response_bytes_max=min(RESPONSE_BYTES_MAX, int(RESPONSES_PART * memory_bytes)),
        responses_bytes_max=min(RESPONSES_BYTES_MAX, int(RESPONSES_PART * memory_bytes)),
        bytes_min=FETCH_BYTES_MIN,
    )
    region = appliance.region(feed.region)
    return LoaderSession(
        region=feed.region,
        assignment=assignment,
        source=source,
        fenced_committer=fenced_committer,
        partitions=partitions,
        acquisition=makers.acquisition(
            intent_store=intent_store,
            source=source,
            fenced_committer=fenced_committer,
            committer_of=committer_of,
            loader_counts=loader_counts,
        ),
        reader=reader,
        sink=sink,
        intents=intents,
        reporting=Reporting(
            assignment,
            partitions,
            makers.report_store(region.redis_url()),
            sink,
            loader_counts,
        ),
        loader_counts=loader_counts,
        renew_seconds=settings.stale_seconds * RENEWED_PART,
    )


def _sink(
    appliance: Appliance,
    assignment: LoaderAssignment,
    partitions: dict[TopicPartition, HeldPartition],
    intents: IntentCommitter,
    receipts: BlockReceipts,
    loader_counts: LoaderCounts,
    makers: Makers,
) -> Sink:
    feed, memory_mib = assignment.feed, appliance.aggregator.memory_mib
    if isinstance(feed, ObjectFeed):
        return ObjectSink(
            feed,
            assignment,
            partitions,
            intents,
            memory_mib,
            loader_counts,
            makers.object_store,
            makers.object_forming,
            makers.recall,
        )
    assert isinstance(feed, ClickHouseFeed)
    tables = makers.shard_tables(appliance, assignment, loader_counts)
    return TableSink(
        feed, assignment, partitions, intents, tables, memory_mib, receipts, loader_counts
    )
