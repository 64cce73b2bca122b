"""Assembly of a carrier session: makes its parts and connects them.

`ledger_side` makes the parts that an operator's decision needs as well, without a carrier.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from replicator.config.settings import TopicSettings
from replicator.config.topology import Appliance, Route
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.epoch_regress import EpochRegress
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.reader import Reader
from replicator.kafka.client.source_checks import SourceChecks
from replicator.mirror.carrier.acquisition import Acquisition
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.carrier_session import CarrierSession
from replicator.mirror.carrier.command_follower import CommandFollower
from replicator.mirror.carrier.commit_schedule import CommitSchedule
from replicator.mirror.carrier.fetch_intake import FetchIntake
from replicator.mirror.carrier.pace import Pace
from replicator.mirror.carrier.parking import Parking
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.reassignment import Reassignment
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.carrier.releases import Releases
from replicator.mirror.carrier.reporting import Reporting
from replicator.mirror.carrier.retransmission import Retransmission
from replicator.mirror.carrier.sender import Sender
from replicator.mirror.carrier.senders import Senders
from replicator.mirror.carrier.target_watch import TargetWatch
from replicator.mirror.carrier.transaction_watch import TransactionWatch
from replicator.mirror.ledger.ledger import Ledger
from replicator.mirror.ledger.takeover import Takeover
from replicator.mirror.offset_map.redis_writer import RedisWriter
from replicator.mirror.offset_map.runs_publisher import RunsPublisher
from replicator.mirror.offset_map.runs_tail import RunsTail

REQUEST_TIMEOUT_MS = 15_000
PROMISE_SPARE_SECONDS = 5.0
LOOKS = 1.5
LOOK_SECONDS = 5.0
"""Times between two looks at the topics, and of a look, in which a raised limit is followed."""


def clusters_of(appliance: Appliance, route: Route, **options: Any) -> tuple[Cluster, Cluster]:
    """Returns clients of the source and the target; `options` are those of Cluster."""
    return (
        Cluster(f"{route.source} regional", appliance.source_of(route), **options),
        Cluster(f"{route.target} aggregate", appliance.target_of(route), **options),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Makers:
    """Makers of replaceable parts. A test that takes a rule out replaces the part that keeps it."""

    clusters: Callable[..., tuple[Cluster, Cluster]] = clusters_of
    fenced_committer: Callable[..., FencedCommitter] = FencedCommitter
    takeover: Callable[..., Takeover] = Takeover
    pipelines: Callable[[], Pipelines] = Pipelines
    progress_committer: Callable[..., ProgressCommitter] = ProgressCommitter
    commit_schedule: Callable[..., CommitSchedule] = CommitSchedule
    command_follower: Callable[..., CommandFollower] = CommandFollower
    source_checks: Callable[..., SourceChecks] = SourceChecks
    sender: Callable[..., Sender] = Sender
    retransmission: Callable[..., Retransmission] = Retransmission
    target_watch: Callable[..., TargetWatch] = TargetWatch


MAKERS = Makers()


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSide:
    """Parts that read and commit the ledger of one route and publish its runs."""

    source: Cluster
    target: Cluster
    fenced_committer: FencedCommitter
    runs: RunsTail
    ledger: Ledger
    publisher: RunsPublisher
    redis_writer: RedisWriter
    pipelines: Pipelines
    committer: ProgressCommitter


def ledger_side(
    appliance: Appliance,
    route: Route,
    *,
    transactional_id: str,
    carrier: int,
    receipts: ReceiptBook | None = None,
    makers: Makers = MAKERS,
    request_timeout_ms: int = REQUEST_TIMEOUT_MS,
    **options: Any,
) -> LedgerSide:
    """Returns the ledger side of a route.

    Args:
        transactional_id: of the fenced committer.
        carrier: number under which reports are stored.
        receipts: gets each pipeline that was parked or released; None: nobody asks for them.
        options: further options of both clusters.
    """
    source, target = makers.clusters(
        appliance, route, request_timeout_ms=request_timeout_ms, **options
    )
    fenced_committer = makers.fenced_committer(
        target, transactional_id, appliance.replicator.transaction_timeout_ms
    )
    runs = RunsTail(target, route.key)
    ledger = Ledger(target, route, runs)
    settings = appliance.target_of(route)
    publisher = RunsPublisher(
        settings.bootstrap,
        route.key,
        settings.security.aiokafka_options(),
        request_timeout_ms=request_timeout_ms,
    )
    redis_writer = RedisWriter(appliance.region(route.target).redis_url(), route.key, carrier)
    pipelines = makers.pipelines()
    return LedgerSide(
        source=source,
        target=target,
        fenced_committer=fenced_committer,
        runs=runs,
        ledger=ledger,
        publisher=publisher,
        redis_writer=redis_writer,
        pipelines=pipelines,
        committer=makers.progress_committer(
            ledger=ledger,
            fenced_committer=fenced_committer,
            target=target,
            pipelines=pipelines,
            publisher=publisher,
            redis_writer=redis_writer,
            receipts=receipts,
        ),
    )


def takeover_of(
    appliance: Appliance, side: LedgerSide, makers: Makers = MAKERS, **options: Any
) -> Takeover:
    """Returns the takeover of a ledger side; `options` are further ones of Takeover."""
    return makers.takeover(
        ledger=side.ledger,
        fenced_committer=side.fenced_committer,
        source=side.source,
        target=side.target,
        start=appliance.topics.start,
        tell=side.committer.publish_found,
        timeout_ms=appliance.replicator.transaction_timeout_ms,
        runs=side.runs,
        **options,
    )


def assemble(
    appliance: Appliance,
    assignment: CarrierAssignment,
    receipts: ReceiptBook,
    makers: Makers = MAKERS,
) -> CarrierSession:
    """Returns a carrier session that is ready to run."""
    return _Assembly(appliance, assignment, receipts, makers).session()


class _Assembly:
    """Makes each part of one session at its first use: some of them refer to each other."""

    def __init__(
        self,
        appliance: Appliance,
        assignment: CarrierAssignment,
        receipts: ReceiptBook,
        makers: Makers,
    ):
        settings = self._settings = appliance.replicator
        self._appliance = appliance
        self._assignment = assignment
        self._receipts = receipts
        self._makers = makers
        self._limits = dict(assignment.max_message_bytes)
        self._ending = asyncio.Event()
        self._pace = Pace(assignment.route.name, assignment.number, receipts.carrier_counts)
        self._side = ledger_side(
            appliance,
            assignment.route,
            transactional_id=assignment.transactional_id,
            carrier=assignment.number,
            receipts=receipts,
            makers=makers,
            request_timeout_ms=settings.request_timeout_ms,
            client_id=assignment.transactional_id,
            idle_seconds=settings.connections_idle_seconds,
        )
        self._ends = self._side.source, self._side.target

    def session(self) -> CarrierSession:
        side = self._side
        return CarrierSession(
            assignment=self._assignment,
            settings=self._settings,
            receipts=self._receipts,
            source=side.source,
            target=side.target,
            fenced_committer=side.fenced_committer,
            publisher=side.publisher,
            redis_writer=side.redis_writer,
            pipelines=side.pipelines,
            reader=self._reader,
            senders=self._senders,
            committer=side.committer,
            commit_schedule=self._commit_schedule,
            acquisition=self._acquisition,
            reassignment=self._reassignment,
            command_follower=self._makers.command_follower(
                self._assignment,
                target=side.target,
                pipelines=side.pipelines,
                reassignment=self._reassignment,
                acquisition=self._acquisition,
                receipts=self._receipts,
                ending=self._ending,
            ),
            reporting=Reporting(
                pace=self._pace,
                pipelines=side.pipelines,
                committer=side.committer,
                receipts=self._receipts,
                redis_writer=side.redis_writer,
            ),
            target_watch=self._makers.target_watch(side.target, side.pipelines, self._parking),
            transaction_watch=TransactionWatch(
                side.source,
                side.pipelines,
                self._receipts.log_fields,
                self._settings.open_transaction_seconds,
            ),
            ending=self._ending,
        )

    # -- reading

    @cached_property
    def _reader(self) -> Reader[PartitionPipeline]:
        source, pipelines = self._side.source, self._side.pipelines
        return Reader(
            source=source,
            pipelines=pipelines,
            checks=self._makers.source_checks(source, pipelines, EpochRegress(source)),
            intake=FetchIntake(
                source=source,
                pipelines=pipelines,
                senders=self._senders,
                limits=self._limits,
                merge_below_records=self._settings.merge_below_records,
            ),
            fetch_bytes=self._settings.fetch_mib << 20,
        )

    # -- sending

    @cached_property
    def _senders(self) -> Senders:
        return Senders(self._side.target, self._side.pipelines, self._sender)

    def _sender(self, node: int) -> Sender:
        return self._makers.sender(
            node,
            target=self._side.target,
            pipelines=self._side.pipelines,
            producer_id=self._side.fenced_committer.producer_id,
            window=self._settings.window,
            timeout_ms=self._settings.request_timeout_ms // 2,
            committer=self._side.committer,
            retransmission=self._makers.retransmission(
                self._side.target.name, self._parking, self._limits
            ),
            parking=self._parking,
            pace=self._pace,
        )

    # -- custody

    @cached_property
    def _commit_schedule(self) -> CommitSchedule:
        return self._makers.commit_schedule(
            self._settings,
            target=self._side.target,
            runs=self._side.runs,
            pipelines=self._side.pipelines,
            committer=self._side.committer,
            pace=self._pace,
            parking=self._parking,
            senders=self._senders,
            limit_seconds=limit_seconds(self._appliance.topics),
        )

    @cached_property
    def _acquisition(self) -> Acquisition:
        return Acquisition(
            takeover_of(
                self._appliance,
                self._side,
                self._makers,
                limits=self._limits,
                refusing=dict(self._assignment.refusing),
            ),
            releases=Releases(
                own_id=self._assignment.transactional_id,
                promise_seconds=self._settings.request_timeout_ms / 1000 + PROMISE_SPARE_SECONDS,
            ),
            ends=self._ends,
            pipelines=self._side.pipelines,
            committer=self._side.committer,
            receipts=self._receipts,
            reader=self._reader,
        )

    @cached_property
    def _reassignment(self) -> Reassignment:
        return Reassignment(
            self._assignment,
            fenced_committer=self._side.fenced_committer,
            ends=self._ends,
            pipelines=self._side.pipelines,
            acquisition=self._acquisition,
            committer=self._side.committer,
            receipts=self._receipts,
            limits=self._limits,
            ending=self._ending,
        )

    @cached_property
    def _parking(self) -> Parking:
        return Parking(self._side.committer, self._reassignment, self._acquisition, self._receipts)


def limit_seconds(topics: TopicSettings) -> float:
    """Returns how long the driver may take to raise the target's max.message.bytes."""
    if "max.message.bytes" not in topics.synced_configs:
        return 0.0
    return LOOKS * topics.refresh_seconds + LOOK_SECONDS
